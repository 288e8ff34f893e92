/** What the grants core exports. */
export { blockOauthClient } from './block-oauth-client.ts'
export { listOauthClients } from './list-oauth-clients.ts'
export { setOauthClientActive } from './set-oauth-client-active.ts'
export { listRegistrations } from './list-registrations.ts'
export { evictRegistration } from './evict-registration.ts'
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
export { resourceAt } from './resource-at.ts'
export { revokeGrant } from './revoke-grant.ts'
export { isLive as isLiveGrant } from './grant-filters.ts'
export { listGrants } from './list-grants.ts'
export { showGrant } from './show-grant.ts'
export { narrowGrant } from './narrow-grant.ts'
export { countGrantCall, findLiveGrant, touchGrant, type LivenessDeps } from './live-grant.ts'
export { sweepOauth } from './sweep-oauth.ts'
