/** The table of every operation: gateway, auth service, OpenAPI and the tests that walk all of them read it. */
import * as activity from './activity.ts'
import * as audit from './audit.ts'
import * as dataSources from './data-sources.ts'
import * as databases from './databases.ts'
import * as grants from './grants.ts'
import * as inbox from './inbox.ts'
import * as members from './members.ts'
import type { Operation } from './operation.ts'
import * as organizations from './organizations.ts'
import * as people from './people.ts'
import * as sessions from './sessions.ts'
import * as tokens from './tokens.ts'

export const OPERATIONS = [
  people.whoAmI,
  people.showProfile,
  people.updateProfile,
  people.changePassword,
  people.sendEmailVerification,
  organizations.createOrganization,
  organizations.listOrganizations,
  organizations.showOrganization,
  organizations.updateOrganization,
  organizations.chooseOrganization,
  organizations.createOrganizationForAdmin,
  organizations.listOrganizationsForAdmin,
  organizations.setOrganizationDomains,
  members.listMembers,
  members.changeRole,
  members.removeMember,
  members.inviteMember,
  members.listInvitations,
  members.revokeInvitation,
  members.acceptInvitation,
  sessions.signInWithPassword,
  sessions.exchangeSignInCode,
  sessions.rotateSession,
  sessions.listSessions,
  sessions.signOut,
  sessions.signOutEverywhere,
  tokens.createToken,
  tokens.listTokens,
  tokens.revokeToken,
  tokens.validateToken,
  audit.listAudit,
  grants.listGrants,
  grants.narrowGrant,
  grants.revokeGrant,
  grants.listOauthClients,
  grants.blockOauthClient,
  grants.setClientActive,
  databases.createDatabase,
  databases.attachDatabase,
  databases.showConnection,
  databases.removeDatabase,
  dataSources.listDataSources,
  dataSources.showDataSource,
  dataSources.saveSearchConfiguration,
  dataSources.describeDataSource,
  dataSources.setDataSourceState,
  dataSources.setExposure,
  dataSources.listAskableSources,
  dataSources.queryDataSource,
  dataSources.fetchHit,
  dataSources.searchEverywhere,
  dataSources.fetchFound,
  dataSources.showQuota,
  activity.listActivity,
  activity.summarizeActivity,
  activity.reportCall,
  inbox.listInbox,
  inbox.acknowledge,
] as const satisfies readonly Operation[]
