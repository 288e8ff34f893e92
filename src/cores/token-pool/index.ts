/** What the token pool exports. */
export { expireReservations } from './expire-reservations.ts'
export { markSent } from './mark-sent.ts'
export { noteOutcome, outageState, outcomeNote, readOutageState, takeProbe } from './model-outages.ts'
export { dayOf, readTokenPool } from './read-token-pool.ts'
export { reservationParts, reserveTokens } from './reserve-tokens.ts'
export { closeReservations, settlementParts, settleTokens } from './settle-tokens.ts'
export { sweepTokenPools } from './sweep-token-pools.ts'
