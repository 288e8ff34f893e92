/** The face of the grants core. */
export { blockHere, clientsOf, switchClient } from './clients.ts'
export { endGrant } from './end-grant.ts'
export { disconnect, grantsOf, takeScopesAway } from './grants.ts'
export { findLiveGrant, touchGrant, type LivenessNeeds } from './live-grant.ts'
