/** The face of the grants core. */
export { blockHere, clientsOf, switchClient } from './clients.ts'
export { endGrant } from './end-grant.ts'
export { approvedWords, sourceNames } from './granted-sources.ts'
export { disconnect, grantsOf, takeAway } from './grants.ts'
export { findLiveGrant, touchGrant, type LivenessNeeds } from './live-grant.ts'
