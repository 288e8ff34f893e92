/** What the grants core exports. */
export { listRegistrations } from './list-registrations.ts'
export { evictRegistration } from './evict-registration.ts'
export { findManageableGrant } from './find-manageable-grant.ts'
export { andEnded, endGrant, endGrants, type EndReason } from './end-grant.ts'
export {
  describeApproval,
  listVisibleSources,
  narrowSources,
  presentGrantedSources,
  sourceNames,
  type KnownSource,
} from './granted-sources.ts'
export { grantedScopes, payloadWithScopes } from './granted-scopes.ts'
export { narrowUnusedGrants } from './narrow-unused-grants.ts'
export { blockClientAgain, narrowGrantAgain } from './narrow-again.ts'
export { switchOffAgain } from './set-oauth-client-active.ts'
export { resourceAt } from './resource-at.ts'
export { isLive as isLiveGrant, isManageable as isManageableGrant } from './grant-filters.ts'
export { rightsAfter } from './narrow-grant.ts'
export { countGrantCall, findLiveGrant, touchGrant, type LivenessDeps } from './live-grant.ts'
export { sweepOauth } from './sweep-oauth.ts'
