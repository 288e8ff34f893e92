/** The operations of the auth service, each beside the verb that does it. */
import { listAudit } from '../src/contracts/audit.ts'
import * as agents from '../src/contracts/grants.ts'
import * as members from '../src/contracts/members.ts'
import * as organizations from '../src/contracts/organizations.ts'
import * as people from '../src/contracts/people.ts'
import * as sessions from '../src/contracts/sessions.ts'
import * as support from '../src/contracts/support.ts'
import * as tokens from '../src/contracts/tokens.ts'
import { readAudit } from '../src/cores/audit/index.ts'
import * as grants from '../src/cores/grants/index.ts'
import * as identity from '../src/cores/identity/index.ts'
import * as orgs from '../src/cores/organizations/index.ts'
import * as supportAccess from '../src/cores/support-access/index.ts'
import { does, type Row } from '../src/http/mount.ts'
import type { AuthNeeds } from './needs.ts'

export const AUTH_OPERATIONS: readonly Row<AuthNeeds>[] = [
  does(people.showProfile, identity.profileOf),
  does(people.updateProfile, identity.rename),
  does(people.changePassword, identity.replacePassword),
  does(people.sendEmailVerification, identity.mailVerification),
  does(organizations.createOrganization, orgs.foundOrganization),
  does(organizations.listOrganizations, orgs.myOrganizations),
  does(organizations.showOrganization, orgs.oneOrganization),
  does(organizations.updateOrganization, orgs.changeOrganization),
  does(organizations.chooseOrganization, orgs.pickOrganization),
  does(organizations.createOrganizationForAdmin, orgs.openOrganization),
  does(organizations.listOrganizationsForAdmin, orgs.allOrganizations),
  does(organizations.setOrganizationDomains, orgs.replaceDomains),
  does(members.listMembers, orgs.membersOf),
  does(members.changeRole, orgs.giveRole),
  does(members.removeMember, orgs.endMembership),
  does(members.inviteMember, orgs.invite),
  does(members.listInvitations, orgs.openInvitations),
  does(members.revokeInvitation, orgs.takeBackInvitation),
  does(members.acceptInvitation, orgs.joinByInvitation),
  does(sessions.signInWithPassword, identity.signIn),
  does(sessions.exchangeSignInCode, identity.swapSignInCode),
  does(sessions.rotateSession, identity.renewSession),
  does(sessions.listSessions, identity.mySessions),
  does(sessions.signOut, identity.endSession),
  does(sessions.signOutEverywhere, identity.endEverySession),
  does(tokens.createToken, identity.makeToken),
  does(tokens.listTokens, identity.tokensOf),
  does(tokens.revokeToken, identity.endToken),
  does(listAudit, readAudit),
  does(agents.listGrants, grants.grantsOf),
  does(agents.narrowGrant, grants.takeAway),
  does(agents.revokeGrant, grants.disconnect),
  does(agents.listOauthClients, grants.clientsOf),
  does(agents.blockOauthClient, grants.blockHere),
  does(agents.setClientActive, grants.switchClient),
  does(support.startSupportSession, supportAccess.letIn),
  does(support.elevateSupportSession, supportAccess.raiseVisit),
  does(support.listSupportSessions, supportAccess.visitsTo),
  does(support.listMyVisits, supportAccess.visitsOf),
  does(support.endSupportSession, supportAccess.endVisit),
]
