/** The verb of each operation of the auth-service. Written by `npm run generate` from the contracts; do not edit. */
import { showAccess } from '../src/cores/access/show-access.ts'
import { listAudit } from '../src/cores/audit/list-audit.ts'
import { blockOauthClient } from '../src/cores/grants/block-oauth-client.ts'
import { evictRegistration } from '../src/cores/grants/evict-registration.ts'
import { listGrants } from '../src/cores/grants/list-grants.ts'
import { listOauthClients } from '../src/cores/grants/list-oauth-clients.ts'
import { listRegistrations } from '../src/cores/grants/list-registrations.ts'
import { narrowGrant } from '../src/cores/grants/narrow-grant.ts'
import { revokeGrant } from '../src/cores/grants/revoke-grant.ts'
import { setOauthClientActive } from '../src/cores/grants/set-oauth-client-active.ts'
import { showGrant } from '../src/cores/grants/show-grant.ts'
import { activateIdentityProvider } from '../src/cores/identity-provider/activate-identity-provider.ts'
import { allowIdentityProviderClient } from '../src/cores/identity-provider/allow-identity-provider-client.ts'
import { createIdentityProviderClient } from '../src/cores/identity-provider/create-identity-provider-client.ts'
import { createIdentityProvider } from '../src/cores/identity-provider/create-identity-provider.ts'
import { deleteIdentityProvider } from '../src/cores/identity-provider/delete-identity-provider.ts'
import { endEnterpriseGrants } from '../src/cores/identity-provider/end-enterprise-grants.ts'
import { forbidIdentityProviderClient } from '../src/cores/identity-provider/forbid-identity-provider-client.ts'
import { linkIdentity } from '../src/cores/identity-provider/link-identity.ts'
import { listIdentityLinks } from '../src/cores/identity-provider/list-identity-links.ts'
import { listIdentityProviderClients } from '../src/cores/identity-provider/list-identity-provider-clients.ts'
import { listIdentityProviderRules } from '../src/cores/identity-provider/list-identity-provider-rules.ts'
import { listRefusals } from '../src/cores/identity-provider/list-refusals.ts'
import { moveIdentityProvider } from '../src/cores/identity-provider/move-identity-provider.ts'
import { previewIdentityProviderRules } from '../src/cores/identity-provider/preview-identity-provider-rules.ts'
import { probeIdentityProvider } from '../src/cores/identity-provider/probe-identity-provider.ts'
import { setIdentityProviderRules } from '../src/cores/identity-provider/set-identity-provider-rules.ts'
import { showIdentityProvider } from '../src/cores/identity-provider/show-identity-provider.ts'
import { unlinkIdentity } from '../src/cores/identity-provider/unlink-identity.ts'
import { updateIdentityProvider } from '../src/cores/identity-provider/update-identity-provider.ts'
import { changePassword } from '../src/cores/identity/change-password.ts'
import { createApiToken } from '../src/cores/identity/create-api-token.ts'
import { endAccessSince } from '../src/cores/identity/end-access-since.ts'
import { exchangeSignInCode } from '../src/cores/identity/exchange-sign-in-code.ts'
import { listApiTokens } from '../src/cores/identity/list-api-tokens.ts'
import { listSessions } from '../src/cores/identity/list-sessions.ts'
import { revokeApiToken } from '../src/cores/identity/revoke-api-token.ts'
import { rotateApiToken } from '../src/cores/identity/rotate-api-token.ts'
import { rotateSession } from '../src/cores/identity/rotate-session.ts'
import { sendEmailVerification } from '../src/cores/identity/send-email-verification.ts'
import { showProfile } from '../src/cores/identity/show-profile.ts'
import { signInWithPassword } from '../src/cores/identity/sign-in-with-password.ts'
import { signOutEverywhere } from '../src/cores/identity/sign-out-everywhere.ts'
import { signOut } from '../src/cores/identity/sign-out.ts'
import { updateProfile } from '../src/cores/identity/update-profile.ts'
import { addMachineAgentCredential } from '../src/cores/machine-agents/add-machine-agent-credential.ts'
import { createMachineAgent } from '../src/cores/machine-agents/create-machine-agent.ts'
import { listMachineAgents } from '../src/cores/machine-agents/list-machine-agents.ts'
import { removeMachineAgent } from '../src/cores/machine-agents/remove-machine-agent.ts'
import { revokeMachineAgentCredential } from '../src/cores/machine-agents/revoke-machine-agent-credential.ts'
import { rotateMachineAgentCredential } from '../src/cores/machine-agents/rotate-machine-agent-credential.ts'
import { showMachineAgent } from '../src/cores/machine-agents/show-machine-agent.ts'
import { updateMachineAgent } from '../src/cores/machine-agents/update-machine-agent.ts'
import { acceptInvitation } from '../src/cores/organizations/accept-invitation.ts'
import { addOwnerAsOperator } from '../src/cores/organizations/add-owner-as-operator.ts'
import { changeMemberRole } from '../src/cores/organizations/change-member-role.ts'
import { createOrganizationAsOperator } from '../src/cores/organizations/create-organization-as-operator.ts'
import { createOrganization } from '../src/cores/organizations/create-organization.ts'
import { inviteMember } from '../src/cores/organizations/invite-member.ts'
import { listInvitations } from '../src/cores/organizations/list-invitations.ts'
import { listMembers } from '../src/cores/organizations/list-members.ts'
import { listOrganizationsAsOperator } from '../src/cores/organizations/list-organizations-as-operator.ts'
import { listOrganizations } from '../src/cores/organizations/list-organizations.ts'
import { removeMember } from '../src/cores/organizations/remove-member.ts'
import { revokeInvitation } from '../src/cores/organizations/revoke-invitation.ts'
import { setOrganizationDomains } from '../src/cores/organizations/set-organization-domains.ts'
import { showOrganization } from '../src/cores/organizations/show-organization.ts'
import { switchOrganization } from '../src/cores/organizations/switch-organization.ts'
import { updateOrganization } from '../src/cores/organizations/update-organization.ts'
import { endWithReceipt } from '../src/cores/receipts/end-with-receipt.ts'
import { listReceipts } from '../src/cores/receipts/list-receipts.ts'
import { removeOrganizationAsOperator } from '../src/cores/receipts/remove-organization-as-operator.ts'
import { removeOrganization } from '../src/cores/receipts/remove-organization.ts'
import { showReceipt } from '../src/cores/receipts/show-receipt.ts'
import { createScimBearer } from '../src/cores/scim/create-scim-bearer.ts'
import { listProvisionedGroups } from '../src/cores/scim/list-provisioned-groups.ts'
import { revokeScimBearer } from '../src/cores/scim/revoke-scim-bearer.ts'
import { rotateScimBearer } from '../src/cores/scim/rotate-scim-bearer.ts'
import { setGroupRole } from '../src/cores/scim/set-group-role.ts'
import { showScim } from '../src/cores/scim/show-scim.ts'
import { elevateSupportSession } from '../src/cores/support-sessions/elevate-support-session.ts'
import { endSupportSession } from '../src/cores/support-sessions/end-support-session.ts'
import { listMySupportSessions } from '../src/cores/support-sessions/list-my-support-sessions.ts'
import { listSupportSessions } from '../src/cores/support-sessions/list-support-sessions.ts'
import { startSupportSession } from '../src/cores/support-sessions/start-support-session.ts'
import { showServiceAccount } from '../src/cores/workloads/show-service-account.ts'

export const VERBS = {
  showProfile,
  updateProfile,
  changePassword,
  sendEmailVerification,
  createOrganization,
  listOrganizations,
  showOrganization,
  updateOrganization,
  removeOrganization,
  removeOrganizationAsOperator,
  createOrganizationAsOperator,
  addOwnerAsOperator,
  listOrganizationsAsOperator,
  setOrganizationDomains,
  switchOrganization,
  listMembers,
  changeMemberRole,
  removeMember,
  inviteMember,
  listInvitations,
  revokeInvitation,
  acceptInvitation,
  signInWithPassword,
  exchangeSignInCode,
  rotateSession,
  listSessions,
  signOut,
  signOutEverywhere,
  showAccess,
  endAccessSince,
  createApiToken,
  listApiTokens,
  rotateApiToken,
  revokeApiToken,
  showServiceAccount,
  listAudit,
  listGrants,
  showGrant,
  narrowGrant,
  revokeGrant,
  listOauthClients,
  blockOauthClient,
  setOauthClientActive,
  listRegistrations,
  evictRegistration,
  createMachineAgent,
  listMachineAgents,
  showMachineAgent,
  updateMachineAgent,
  addMachineAgentCredential,
  rotateMachineAgentCredential,
  revokeMachineAgentCredential,
  removeMachineAgent,
  showIdentityProvider,
  createIdentityProvider,
  probeIdentityProvider,
  updateIdentityProvider,
  activateIdentityProvider,
  deleteIdentityProvider,
  moveIdentityProvider,
  listIdentityProviderClients,
  createIdentityProviderClient,
  allowIdentityProviderClient,
  forbidIdentityProviderClient,
  listIdentityProviderRules,
  setIdentityProviderRules,
  previewIdentityProviderRules,
  listIdentityLinks,
  linkIdentity,
  unlinkIdentity,
  listRefusals,
  endEnterpriseGrants,
  startSupportSession,
  elevateSupportSession,
  listSupportSessions,
  endSupportSession,
  listMySupportSessions,
  endWithReceipt,
  showReceipt,
  listReceipts,
  showScim,
  createScimBearer,
  rotateScimBearer,
  revokeScimBearer,
  listProvisionedGroups,
  setGroupRole,
}
