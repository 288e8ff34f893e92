/** What the credentials core exports. */
export { endSessions } from './end-sessions.ts'
export { removeServiceAccounts } from './remove-service-accounts.ts'
export { revokeAppTokens } from './revoke-app-tokens.ts'
export { revokeScimBearers } from './revoke-scim-bearers.ts'
export { revokeInvitations } from './revoke-invitations.ts'
export { endByCause, type Cause, type People } from './end-by-cause.ts'
