/** What the credentials core exports. */
export { endByCause, type Cause, type Ended, type People } from './end-by-cause.ts'
export { revokeInvitations } from './revoke-invitations.ts'
