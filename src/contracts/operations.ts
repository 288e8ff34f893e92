/** Every operation: the services, OpenAPI, the client and the tests read this table. */
import type * as z from 'zod'
import * as access from './access.ts'
import * as activity from './activity.ts'
import * as appTokens from './app-tokens.ts'
import * as apps from './apps.ts'
import * as audit from './audit.ts'
import * as checks from './checks.ts'
import * as dataSources from './data-sources.ts'
import * as databases from './databases.ts'
import * as deliveries from './deliveries.ts'
import * as deployments from './deployments.ts'
import * as embeddings from './embeddings.ts'
import * as grants from './grants.ts'
import * as identityProvider from './identity-provider.ts'
import * as inbox from './inbox.ts'
import * as installation from './installation.ts'
import * as integrations from './integrations.ts'
import * as loads from './loads.ts'
import * as logs from './logs.ts'
import * as machineAgents from './machine-agents.ts'
import * as maintenance from './maintenance.ts'
import * as members from './members.ts'
import * as messageQueue from './message-queue.ts'
import type { Operation, OperationService, Principal } from './operation.ts'
import * as organizations from './organizations.ts'
import * as people from './people.ts'
import * as revisions from './revisions.ts'
import * as pipelines from './pipelines.ts'
import * as proposals from './proposals.ts'
import * as sessions from './sessions.ts'
import * as subscriptions from './subscriptions.ts'
import * as support from './support.ts'
import * as tickets from './tickets.ts'
import * as tokens from './tokens.ts'
import * as workloads from './workloads.ts'

export const OPERATIONS = [
  people.whoAmI,
  installation.showInstallation,
  people.showProfile,
  people.updateProfile,
  people.changePassword,
  people.sendEmailVerification,
  organizations.createOrganization,
  organizations.listOrganizations,
  organizations.showOrganization,
  organizations.updateOrganization,
  organizations.switchOrganization,
  organizations.createOrganizationAsOperator,
  organizations.addOwnerAsOperator,
  organizations.listOrganizationsAsOperator,
  organizations.setOrganizationDomains,
  members.listMembers,
  members.changeMemberRole,
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
  access.endAccessSince,
  tokens.createApiToken,
  tokens.listApiTokens,
  tokens.revokeApiToken,
  tokens.validateToken,
  workloads.showServiceAccount,
  audit.listAudit,
  grants.listGrants,
  grants.showGrant,
  grants.narrowGrant,
  grants.revokeGrant,
  grants.listOauthClients,
  grants.blockOauthClient,
  grants.setOauthClientActive,
  grants.listRegistrations,
  grants.evictRegistration,
  machineAgents.createMachineAgent,
  machineAgents.listMachineAgents,
  machineAgents.showMachineAgent,
  machineAgents.updateMachineAgent,
  machineAgents.addMachineAgentCredential,
  machineAgents.revokeMachineAgentCredential,
  machineAgents.removeMachineAgent,
  identityProvider.showIdentityProvider,
  identityProvider.createIdentityProvider,
  identityProvider.probeIdentityProvider,
  identityProvider.updateIdentityProvider,
  identityProvider.activateIdentityProvider,
  identityProvider.deleteIdentityProvider,
  identityProvider.moveIdentityProvider,
  identityProvider.listIdentityProviderClients,
  identityProvider.createIdentityProviderClient,
  identityProvider.allowIdentityProviderClient,
  identityProvider.forbidIdentityProviderClient,
  identityProvider.listIdentityProviderRules,
  identityProvider.setIdentityProviderRules,
  identityProvider.previewIdentityProviderRules,
  identityProvider.listIdentityLinks,
  identityProvider.linkIdentity,
  identityProvider.unlinkIdentity,
  identityProvider.listRefusals,
  identityProvider.endEnterpriseGrants,
  databases.createDatabase,
  databases.attachDatabase,
  databases.showConnectionString,
  databases.removeDatabase,
  loads.createLoad,
  loads.uploadLoadPart,
  loads.previewLoad,
  loads.startLoad,
  loads.showLoad,
  loads.listLoads,
  loads.cancelLoad,
  embeddings.createEmbeddings,
  dataSources.listDataSources,
  dataSources.listTables,
  dataSources.showDataSource,
  dataSources.saveSearchConfiguration,
  dataSources.updateDataSource,
  dataSources.setDataSourceState,
  dataSources.setDataSourceExposure,
  dataSources.listAskableDataSources,
  dataSources.queryDataSource,
  dataSources.fetchDataSourceRow,
  dataSources.searchDataSources,
  dataSources.fetchSearchResult,
  dataSources.showQuota,
  activity.listActivity,
  activity.summarizeActivity,
  activity.reportToolCall,
  inbox.listNotifications,
  inbox.acknowledgeNotification,
  apps.createApp,
  apps.listApps,
  apps.showApp,
  apps.renameApp,
  apps.setAppMember,
  apps.removeAppMember,
  deployments.createDeployment,
  deployments.rollBackDeployment,
  deployments.listDeployments,
  deployments.claimDeployment,
  deployments.showDeployment,
  deployments.readDeploymentOutput,
  deployments.cancelDeployment,
  deployments.confirmDeploymentEnded,
  deployments.reportBrokenRollout,
  deployments.reportDeploymentOutput,
  deployments.finishDeployment,
  revisions.pushRevision,
  revisions.findMissingFiles,
  revisions.uploadFiles,
  revisions.createRevision,
  revisions.listRevisions,
  revisions.showRevision,
  revisions.readSourceFile,
  revisions.downloadRevision,
  revisions.diffRevisions,
  appTokens.createAppToken,
  appTokens.listAppTokens,
  appTokens.revokeAppToken,
  workloads.bindServiceAccount,
  workloads.listServiceAccounts,
  workloads.unbindServiceAccount,
  logs.exportLogs,
  logs.pushLogs,
  logs.listLogs,
  logs.listLogGroups,
  logs.summarizeLogs,
  tickets.createTicket,
  tickets.listTickets,
  tickets.searchTickets,
  tickets.showTicket,
  tickets.replyToTicket,
  tickets.changeTicketStatus,
  checks.createCheck,
  checks.listChecks,
  checks.showCheck,
  checks.updateCheck,
  checks.removeCheck,
  checks.runCheck,
  checks.listCheckRuns,
  pipelines.createPipeline,
  pipelines.listPipelines,
  pipelines.showPipeline,
  pipelines.updatePipeline,
  pipelines.removePipeline,
  pipelines.startPipelineRun,
  pipelines.listPipelineRuns,
  pipelines.claimPipelineRun,
  pipelines.keepPipelineRun,
  pipelines.finishPipelineRun,
  maintenance.showMaintenanceSettings,
  maintenance.updateMaintenanceSettings,
  maintenance.showMaintenanceUsage,
  maintenance.listAppMaintenance,
  maintenance.showAppMaintenance,
  maintenance.updateAppMaintenance,
  maintenance.startMaintenanceRun,
  maintenance.listMaintenanceRuns,
  maintenance.showMaintenanceRun,
  maintenance.showRunEvidence,
  maintenance.showRunStep,
  maintenance.listFindings,
  maintenance.showFinding,
  proposals.listProposals,
  proposals.listProposalQueue,
  proposals.showProposal,
  proposals.downloadProposalPatch,
  proposals.approveProposal,
  proposals.denyProposal,
  proposals.retryProposal,
  support.startSupportSession,
  support.elevateSupportSession,
  support.listSupportSessions,
  support.endSupportSession,
  support.listMySupportSessions,
  integrations.listIntegrations,
  integrations.connectEmail,
  integrations.showAddressVerification,
  integrations.verifyAddress,
  integrations.sendAddressVerification,
  integrations.connectWebhook,
  integrations.connectChatWebhook,
  integrations.beginChatInstall,
  integrations.completeChatInstall,
  integrations.connectForum,
  integrations.configureForum,
  integrations.updateIntegration,
  integrations.testIntegration,
  integrations.removeIntegration,
  integrations.showChatLink,
  integrations.beginChatLink,
  integrations.completeChatLink,
  integrations.removeChatLink,
  subscriptions.listSubscriptions,
  subscriptions.createSubscription,
  subscriptions.updateSubscription,
  subscriptions.deleteSubscription,
  subscriptions.testSubscription,
  subscriptions.previewEventPattern,
  subscriptions.listMySubscriptions,
  subscriptions.updateMySubscription,
  subscriptions.showUnsubscribe,
  subscriptions.unsubscribe,
  subscriptions.listFollows,
  subscriptions.setFollow,
  deliveries.listDeliveries,
  // Before the single one, because routes are mounted in this order: `summary` would be taken for an id.
  deliveries.summarizeDeliveries,
  deliveries.showDelivery,
  deliveries.retryDelivery,
  deliveries.replayDelivery,
  deliveries.replayFailedDeliveries,
  messageQueue.showMessageQueue,
  deliveries.recoverDeliveries,
  deliveries.listRecoveries,
  deliveries.listIntegrationHealth,
] as const satisfies readonly Operation[]

type Listed = (typeof OPERATIONS)[number]
export type OperationName = Listed['name']
type OperationNamed<Name extends OperationName> = Extract<Listed, { name: Name }>
/** What a client sends, and what it gets. */
export type Input<Name extends OperationName> = z.input<OperationNamed<Name>['input']>
export type Output<Name extends OperationName> = z.output<OperationNamed<Name>['output']>

/** What does an operation, for one principal at a time. */
export type Handler<Name extends OperationName> =
  OperationNamed<Name> extends Operation<infer I, infer O>
    ? (principal: Principal, input: z.output<I>) => Promise<z.input<O>>
    : never

/** The verb of every operation of a service: one that is missing, or does not fit its operation, does not compile. */
export type Verbs<Service extends OperationService, Deps> = {
  readonly [Name in Extract<Listed, { service: Service }>['name']]: (deps: Deps) => Handler<Name>
}
