/** What the organizations core exports. */
export { acceptInvitationAs, findInvitation } from './accept-invitation.ts'
export { type FoundingDeps, createOrganization } from './create-organization.ts'
export type { InvitationDeps } from './send-invitation.ts'
export { joinByDomain, wasRemoved } from './join-by-domain.ts'
export { endProof } from './end-proof.ts'
export { findMember, refuseHigherRole } from './membership-changes.ts'
export { listDomains } from './organization-domains.ts'
export { sweepInvitations } from './sweep-invitations.ts'
