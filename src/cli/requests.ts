/** How each operation is called. Written by `npm run generate` from the contracts; do not edit. */
import type * as activity from '../contracts/activity.ts'
import type * as apps from '../contracts/apps.ts'
import type * as audit from '../contracts/audit.ts'
import type * as dataSources from '../contracts/data-sources.ts'
import type * as databases from '../contracts/databases.ts'
import type * as deliveries from '../contracts/deliveries.ts'
import type * as grants from '../contracts/grants.ts'
import type * as inbox from '../contracts/inbox.ts'
import type * as integrations from '../contracts/integrations.ts'
import type * as members from '../contracts/members.ts'
import type * as organizations from '../contracts/organizations.ts'
import type * as people from '../contracts/people.ts'
import type * as sessions from '../contracts/sessions.ts'
import type * as subscriptions from '../contracts/subscriptions.ts'
import type * as support from '../contracts/support.ts'
import type * as tickets from '../contracts/tickets.ts'
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
  'apps.create': typeof apps.createApp
  'apps.list': typeof apps.listApps
  'apps.show': typeof apps.showApp
  'apps.rename': typeof apps.renameApp
  'apps.setMember': typeof apps.setAppMember
  'apps.removeMember': typeof apps.removeAppMember
  'tickets.file': typeof tickets.fileTicket
  'tickets.list': typeof tickets.listTickets
  'tickets.show': typeof tickets.showTicket
  'tickets.reply': typeof tickets.replyToTicket
  'tickets.move': typeof tickets.moveTicket
  'support.elevate': typeof support.elevateSupportSession
  'support.list': typeof support.listSupportSessions
  'support.end': typeof support.endSupportSession
  'support.listMine': typeof support.listMyVisits
  'integrations.list': typeof integrations.listIntegrations
  'integrations.connectWebhook': typeof integrations.connectWebhook
  'integrations.connectChat': typeof integrations.connectChatWebhook
  'integrations.beginChatInstall': typeof integrations.beginChatInstall
  'integrations.completeChatInstall': typeof integrations.completeChatInstall
  'integrations.connectForum': typeof integrations.connectForum
  'integrations.configureForum': typeof integrations.configureForum
  'integrations.update': typeof integrations.updateIntegration
  'integrations.remove': typeof integrations.removeIntegration
  'chatLink.show': typeof integrations.showChatLink
  'chatLink.begin': typeof integrations.beginChatLink
  'chatLink.complete': typeof integrations.completeChatLink
  'chatLink.remove': typeof integrations.removeChatLink
  'subscriptions.list': typeof subscriptions.listSubscriptions
  'subscriptions.create': typeof subscriptions.createSubscription
  'subscriptions.update': typeof subscriptions.updateSubscription
  'subscriptions.delete': typeof subscriptions.deleteSubscription
  'subscriptions.test': typeof subscriptions.testSubscription
  'subscriptions.preview': typeof subscriptions.previewPattern
  'subscriptions.listMine': typeof subscriptions.listMySubscriptions
  'subscriptions.switchMine': typeof subscriptions.switchMySubscription
  'unsubscribe.show': typeof subscriptions.showUnsubscribe
  'unsubscribe.confirm': typeof subscriptions.unsubscribe
  'follows.list': typeof subscriptions.listFollows
  'follows.set': typeof subscriptions.setFollow
  'deliveries.list': typeof deliveries.listDeliveries
  'deliveries.summarize': typeof deliveries.summarizeDeliveries
  'deliveries.show': typeof deliveries.showDelivery
  'deliveries.replay': typeof deliveries.replayDelivery
  'deliveries.replayFailed': typeof deliveries.replayFailed
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
  'apps.create': ['POST', '/api/deploy/apps'],
  'apps.list': ['GET', '/api/deploy/apps'],
  'apps.show': ['GET', '/api/deploy/apps/{alias}'],
  'apps.rename': ['PATCH', '/api/deploy/apps/{alias}'],
  'apps.setMember': ['PUT', '/api/deploy/apps/{alias}/members/{user_id}'],
  'apps.removeMember': ['DELETE', '/api/deploy/apps/{alias}/members/{user_id}'],
  'tickets.file': ['POST', '/api/deploy/apps/{alias}/tickets'],
  'tickets.list': ['GET', '/api/deploy/apps/{alias}/tickets'],
  'tickets.show': ['GET', '/api/deploy/apps/{alias}/tickets/{ticket_id}'],
  'tickets.reply': ['POST', '/api/deploy/apps/{alias}/tickets/{ticket_id}/replies'],
  'tickets.move': ['PUT', '/api/deploy/apps/{alias}/tickets/{ticket_id}/status'],
  'support.elevate': ['POST', '/api/v1/support-sessions/{support_session_id}/elevate'],
  'support.list': ['GET', '/api/v1/support-sessions'],
  'support.end': ['DELETE', '/api/v1/support-sessions/{support_session_id}'],
  'support.listMine': ['GET', '/api/v1/support-sessions/mine'],
  'integrations.list': ['GET', '/api/integrations'],
  'integrations.connectWebhook': ['POST', '/api/integrations/webhook'],
  'integrations.connectChat': ['POST', '/api/integrations/chat'],
  'integrations.beginChatInstall': ['POST', '/api/integrations/chat/install'],
  'integrations.completeChatInstall': ['POST', '/api/integrations/chat/complete'],
  'integrations.connectForum': ['POST', '/api/integrations/forum/connect'],
  'integrations.configureForum': ['PUT', '/api/integrations/forum'],
  'integrations.update': ['PATCH', '/api/integrations/connections/{integration_id}'],
  'integrations.remove': ['DELETE', '/api/integrations/connections/{integration_id}'],
  'chatLink.show': ['GET', '/api/notifications/chat-link'],
  'chatLink.begin': ['POST', '/api/notifications/chat-link'],
  'chatLink.complete': ['POST', '/api/notifications/chat-link/complete'],
  'chatLink.remove': ['DELETE', '/api/notifications/chat-link'],
  'subscriptions.list': ['GET', '/api/notifications/subscriptions'],
  'subscriptions.create': ['POST', '/api/notifications/subscriptions'],
  'subscriptions.update': ['PATCH', '/api/notifications/subscriptions/{subscription_id}'],
  'subscriptions.delete': ['DELETE', '/api/notifications/subscriptions/{subscription_id}'],
  'subscriptions.test': ['POST', '/api/notifications/subscriptions/{subscription_id}/test'],
  'subscriptions.preview': ['GET', '/api/notifications/preview'],
  'subscriptions.listMine': ['GET', '/api/notifications/my-subscriptions'],
  'subscriptions.switchMine': ['PUT', '/api/notifications/my-subscriptions/{subscription_id}'],
  'unsubscribe.show': ['GET', '/api/notifications/unsubscribe'],
  'unsubscribe.confirm': ['POST', '/api/notifications/unsubscribe'],
  'follows.list': ['GET', '/api/notifications/follows'],
  'follows.set': ['PUT', '/api/notifications/follows/{alias}'],
  'deliveries.list': ['GET', '/api/notifications/deliveries'],
  'deliveries.summarize': ['GET', '/api/notifications/deliveries/summary'],
  'deliveries.show': ['GET', '/api/notifications/deliveries/{delivery_id}'],
  'deliveries.replay': ['POST', '/api/notifications/deliveries/{delivery_id}/replay'],
  'deliveries.replayFailed': ['POST', '/api/notifications/deliveries/replay'],
} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>
