/** The verbs of the auth service. `validateToken` has a route of its own, because its token may be the bearer. */
import type { Verbs } from '../src/contracts/operations.ts'
import * as audit from '../src/cores/audit/index.ts'
import * as grants from '../src/cores/grants/index.ts'
import * as identity from '../src/cores/identity/index.ts'
import * as organizations from '../src/cores/organizations/index.ts'
import * as supportSessions from '../src/cores/support-sessions/index.ts'
import * as workloads from '../src/cores/workloads/index.ts'
import type { AuthDeps } from './dependencies.ts'

export const AUTH_VERBS: Omit<Verbs<'auth-service', AuthDeps>, 'validateToken'> = {
  showProfile: identity.showProfile,
  updateProfile: identity.updateProfile,
  changePassword: identity.changePassword,
  sendEmailVerification: identity.sendEmailVerification,
  createOrganization: organizations.createOrganization,
  listOrganizations: organizations.listOrganizations,
  showOrganization: organizations.showOrganization,
  updateOrganization: organizations.updateOrganization,
  switchOrganization: organizations.switchOrganization,
  createOrganizationAsOperator: organizations.createOrganizationAsOperator,
  addOwnerAsOperator: organizations.addOwnerAsOperator,
  listOrganizationsAsOperator: organizations.listOrganizationsAsOperator,
  setOrganizationDomains: organizations.setOrganizationDomains,
  listMembers: organizations.listMembers,
  changeMemberRole: organizations.changeMemberRole,
  removeMember: organizations.removeMember,
  inviteMember: organizations.inviteMember,
  listInvitations: organizations.listInvitations,
  revokeInvitation: organizations.revokeInvitation,
  acceptInvitation: organizations.acceptInvitation,
  signInWithPassword: identity.signInWithPassword,
  exchangeSignInCode: identity.exchangeSignInCode,
  rotateSession: identity.rotateSession,
  listSessions: identity.listSessions,
  signOut: identity.signOut,
  signOutEverywhere: identity.signOutEverywhere,
  endAccessSince: identity.endAccessSince,
  createApiToken: identity.createApiToken,
  listApiTokens: identity.listApiTokens,
  revokeApiToken: identity.revokeApiToken,
  showServiceAccount: workloads.showServiceAccount,
  listAudit: audit.listAudit,
  listGrants: grants.listGrants,
  showGrant: grants.showGrant,
  narrowGrant: grants.narrowGrant,
  revokeGrant: grants.revokeGrant,
  listOauthClients: grants.listOauthClients,
  blockOauthClient: grants.blockOauthClient,
  setOauthClientActive: grants.setOauthClientActive,
  listRegistrations: grants.listRegistrations,
  evictRegistration: grants.evictRegistration,
  startSupportSession: supportSessions.startSupportSession,
  elevateSupportSession: supportSessions.elevateSupportSession,
  listSupportSessions: supportSessions.listSupportSessions,
  listMySupportSessions: supportSessions.listMySupportSessions,
  endSupportSession: supportSessions.endSupportSession,
}
