/** Work that lies in rows: leases, claims and what ends them; loops, and waiting. And work that waits for its turn in memory. */
export { chooseDue, claimFirst, notAhead } from './claim.ts'
export { handleInTurns } from './expire.ts'
export { onTimeline } from './fence.ts'
export { leased } from './lease.ts'
export { startLoops, type Loop, type Loops } from './loop.ts'
export { createTurns, type Turns } from './turns.ts'
export { createSignal, waitUntil } from './wait.ts'
export { createWaits } from './waits.ts'
