/** How each operation is called. Written by `npm run generate` from the contracts; do not edit. */
import type * as activity from '../contracts/activity.ts'
import type * as audit from '../contracts/audit.ts'
import type * as dataSources from '../contracts/data-sources.ts'
import type * as databases from '../contracts/databases.ts'
import type * as grants from '../contracts/grants.ts'
import type * as inbox from '../contracts/inbox.ts'
import type * as members from '../contracts/members.ts'
import type * as organizations from '../contracts/organizations.ts'
import type * as people from '../contracts/people.ts'
import type * as sessions from '../contracts/sessions.ts'
import type * as tokens from '../contracts/tokens.ts'

export type Operations = {
  'me.show': typeof people.whoAmI
  'profile.show': typeof people.showProfile
  'profile.update': typeof people.updateProfile
  'profile.changePassword': typeof people.changePassword
  'profile.verifyEmail': typeof people.sendEmailVerification
  'organizations.create': typeof organizations.createOrganization
  'organizations.list': typeof organizations.listOrganizations
  'organizations.show': typeof organizations.showOrganization
  'organizations.update': typeof organizations.updateOrganization
  'organizations.choose': typeof organizations.chooseOrganization
  'members.list': typeof members.listMembers
  'members.changeRole': typeof members.changeRole
  'members.remove': typeof members.removeMember
  'invitations.create': typeof members.inviteMember
  'invitations.list': typeof members.listInvitations
  'invitations.revoke': typeof members.revokeInvitation
  'invitations.accept': typeof members.acceptInvitation
  'sessions.create': typeof sessions.signInWithPassword
  'sessions.exchange': typeof sessions.exchangeSignInCode
  'sessions.rotate': typeof sessions.rotateSession
  'sessions.list': typeof sessions.listSessions
  'sessions.end': typeof sessions.signOut
  'sessions.endAll': typeof sessions.signOutEverywhere
  'tokens.create': typeof tokens.createToken
  'tokens.list': typeof tokens.listTokens
  'tokens.revoke': typeof tokens.revokeToken
  'tokens.validate': typeof tokens.validateToken
  'audit.list': typeof audit.listAudit
  'grants.list': typeof grants.listGrants
  'grants.narrow': typeof grants.narrowGrant
  'grants.revoke': typeof grants.revokeGrant
  'oauthClients.list': typeof grants.listOauthClients
  'oauthClients.block': typeof grants.blockOauthClient
  'databases.create': typeof databases.createDatabase
  'databases.attach': typeof databases.attachDatabase
  'databases.connection': typeof databases.showConnection
  'databases.remove': typeof databases.removeDatabase
  'dataSources.list': typeof dataSources.listDataSources
  'dataSources.show': typeof dataSources.showDataSource
  'dataSources.configure': typeof dataSources.saveSearchConfiguration
  'dataSources.describe': typeof dataSources.describeDataSource
  'dataSources.setState': typeof dataSources.setDataSourceState
  'dataSources.setExposure': typeof dataSources.setExposure
  'dataSources.listAskable': typeof dataSources.listAskableSources
  'dataSources.query': typeof dataSources.queryDataSource
  'dataSources.fetch': typeof dataSources.fetchHit
  'dataSources.search': typeof dataSources.searchEverywhere
  'dataSources.fetchFound': typeof dataSources.fetchFound
  'dataSources.quota': typeof dataSources.showQuota
  'activity.list': typeof activity.listActivity
  'activity.summarize': typeof activity.summarizeActivity
  'activity.report': typeof activity.reportCall
  'inbox.list': typeof inbox.listInbox
  'inbox.acknowledge': typeof inbox.acknowledge
}

export const REQUESTS = {
  'me.show': ['GET', '/api/v1/me'],
  'profile.show': ['GET', '/api/v1/profile'],
  'profile.update': ['PATCH', '/api/v1/profile'],
  'profile.changePassword': ['PUT', '/api/v1/profile/password'],
  'profile.verifyEmail': ['POST', '/api/v1/profile/email-verification'],
  'organizations.create': ['POST', '/api/v1/orgs'],
  'organizations.list': ['GET', '/api/v1/orgs'],
  'organizations.show': ['GET', '/api/v1/orgs/{org_id}'],
  'organizations.update': ['PATCH', '/api/v1/orgs/{org_id}'],
  'organizations.choose': ['PUT', '/api/v1/orgs/{org_id}/choice'],
  'members.list': ['GET', '/api/v1/orgs/{org_id}/members'],
  'members.changeRole': ['PATCH', '/api/v1/orgs/{org_id}/members/{user_id}'],
  'members.remove': ['DELETE', '/api/v1/orgs/{org_id}/members/{user_id}'],
  'invitations.create': ['POST', '/api/v1/orgs/{org_id}/invitations'],
  'invitations.list': ['GET', '/api/v1/orgs/{org_id}/invitations'],
  'invitations.revoke': ['DELETE', '/api/v1/orgs/{org_id}/invitations/{invitation_id}'],
  'invitations.accept': ['POST', '/api/v1/invitations/accept'],
  'sessions.create': ['POST', '/api/v1/sessions'],
  'sessions.exchange': ['POST', '/api/v1/sessions/exchange'],
  'sessions.rotate': ['POST', '/api/v1/sessions/rotate'],
  'sessions.list': ['GET', '/api/v1/sessions'],
  'sessions.end': ['DELETE', '/api/v1/sessions/{session_id}'],
  'sessions.endAll': ['DELETE', '/api/v1/sessions'],
  'tokens.create': ['POST', '/api/v1/tokens'],
  'tokens.list': ['GET', '/api/v1/tokens'],
  'tokens.revoke': ['DELETE', '/api/v1/tokens/{token_id}'],
  'tokens.validate': ['POST', '/api/v1/tokens/validate'],
  'audit.list': ['GET', '/api/v1/orgs/{org_id}/audit'],
  'grants.list': ['GET', '/api/v1/grants'],
  'grants.narrow': ['PATCH', '/api/v1/grants/{grant_id}'],
  'grants.revoke': ['DELETE', '/api/v1/grants/{grant_id}'],
  'oauthClients.list': ['GET', '/api/v1/oauth-clients'],
  'oauthClients.block': ['PUT', '/api/v1/oauth-clients'],
  'databases.create': ['POST', '/api/wf/databases'],
  'databases.attach': ['POST', '/api/wf/databases/attach'],
  'databases.connection': ['GET', '/api/wf/databases/{name}/connection'],
  'databases.remove': ['DELETE', '/api/wf/databases/{name}'],
  'dataSources.list': ['GET', '/api/wf/data-sources'],
  'dataSources.show': ['GET', '/api/wf/data-sources/{source_id}'],
  'dataSources.configure': ['PUT', '/api/wf/data-sources/{source_id}'],
  'dataSources.describe': ['PATCH', '/api/wf/data-sources/{source_id}'],
  'dataSources.setState': ['PUT', '/api/wf/data-sources/{source_id}/state'],
  'dataSources.setExposure': ['PUT', '/api/wf/data-sources/{source_id}/exposure'],
  'dataSources.listAskable': ['GET', '/api/wf/slim/data-sources'],
  'dataSources.query': ['POST', '/api/wf/slim/data-sources/{source_id}/query'],
  'dataSources.fetch': ['POST', '/api/wf/slim/data-sources/{source_id}/fetch'],
  'dataSources.search': ['POST', '/api/wf/slim/search'],
  'dataSources.fetchFound': ['POST', '/api/wf/slim/fetch'],
  'dataSources.quota': ['GET', '/api/wf/quota'],
  'activity.list': ['GET', '/api/wf/activity'],
  'activity.summarize': ['GET', '/api/wf/activity/summary'],
  'activity.report': ['POST', '/api/wf/activity'],
  'inbox.list': ['GET', '/api/notifications/inbox'],
  'inbox.acknowledge': ['POST', '/api/notifications/inbox/{notification_id}/ack'],
} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>
