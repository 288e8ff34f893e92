/** The deploy-api: apps, their members, tokens, logs, checks and tickets. The gateway relays to it. */
import { cors } from 'hono/cors'
import { httpClient } from '../client/http-client.ts'
import { ServiceError } from '../contracts/errors.ts'
import type { Verbs } from '../contracts/operations.ts'
import * as agentTools from '../cores/agent-tools/index.ts'
import { showServiceAccount } from '../contracts/workloads.ts'
import * as appTokens from '../cores/app-tokens/index.ts'
import * as apps from '../cores/apps/index.ts'
import * as checks from '../cores/checks/index.ts'
import type { Storage } from '../cores/dependencies.ts'
import * as deployments from '../cores/deployments/index.ts'
import type { WithDirectory } from '../cores/directory/index.ts'
import * as findings from '../cores/findings/index.ts'
import * as proposals from '../cores/proposals/index.ts'
import * as revisions from '../cores/revisions/index.ts'
import * as pipelines from '../cores/pipelines/index.ts'
import * as logs from '../cores/logs/index.ts'
import * as maintenance from '../cores/maintenance/index.ts'
import * as tickets from '../cores/tickets/index.ts'
import { mountAgentCalls, type AgentCallDeps } from './agent-calls.ts'
import * as workloads from '../cores/workloads/index.ts'
import { readServiceAccountToken } from '../trust/service-account-token.ts'
import { bearerOfPrincipal, type Validate } from './authenticate.ts'
import { mount } from './mount.ts'
import { createServiceApp, type Observation, type ServiceApp } from './service-app.ts'
import { validateRemotely, withTrace, type ValidateDeps } from './validate-remotely.ts'

export type DeployDeps = Observation &
  Storage &
  WithDirectory &
  ValidateDeps &
  revisions.WithSourceThread &
  revisions.SourceLimits &
  checks.ChecksDeps &
  maintenance.WithMaintenanceModels &
  AgentCallDeps &
  logs.LogDeps &
  Pick<workloads.BindingDeps, 'workloadAudience'>

const DEPLOY_VERBS: Verbs<'deploy-api', DeployDeps & workloads.BindingDeps> = {
  createApp: apps.createApp,
  listApps: apps.listApps,
  showApp: apps.showApp,
  renameApp: apps.renameApp,
  setAppMember: apps.setAppMember,
  removeAppMember: apps.removeAppMember,
  createDeployment: deployments.createDeployment,
  rollBackDeployment: deployments.rollBackDeployment,
  listDeployments: deployments.listDeployments,
  claimDeployment: deployments.claimDeployment,
  showDeployment: deployments.showDeployment,
  readDeploymentOutput: deployments.readDeploymentOutput,
  cancelDeployment: deployments.cancelDeployment,
  confirmDeploymentEnded: deployments.confirmDeploymentEnded,
  reportBrokenRollout: deployments.reportBrokenRollout,
  reportDeploymentOutput: deployments.reportDeploymentOutput,
  finishDeployment: deployments.finishDeployment,
  pushRevision: revisions.pushRevision,
  findMissingFiles: revisions.findMissingFiles,
  uploadFiles: revisions.uploadFiles,
  createRevision: revisions.createRevision,
  listRevisions: revisions.listRevisions,
  showRevision: revisions.showRevision,
  readSourceFile: revisions.readSourceFile,
  downloadRevision: revisions.downloadRevision,
  diffRevisions: revisions.diffRevisions,
  createAppToken: appTokens.createAppToken,
  listAppTokens: appTokens.listAppTokens,
  revokeAppToken: appTokens.revokeAppToken,
  bindServiceAccount: workloads.bindServiceAccount,
  listServiceAccounts: workloads.listServiceAccounts,
  unbindServiceAccount: workloads.unbindServiceAccount,
  exportLogs: logs.exportLogs,
  pushLogs: logs.pushLogs,
  listLogs: logs.listLogs,
  listLogGroups: logs.listLogGroups,
  summarizeLogs: logs.summarizeLogs,
  createTicket: tickets.createTicket,
  listTickets: tickets.listTickets,
  searchTickets: tickets.searchTickets,
  showTicket: tickets.showTicket,
  replyToTicket: tickets.replyToTicket,
  changeTicketStatus: tickets.changeTicketStatus,
  createCheck: checks.createCheck,
  listChecks: checks.listChecks,
  showCheck: checks.showCheck,
  updateCheck: checks.updateCheck,
  removeCheck: checks.removeCheck,
  runCheck: checks.runCheck,
  listCheckRuns: checks.listCheckRuns,
  createPipeline: pipelines.createPipeline,
  listPipelines: pipelines.listPipelines,
  showPipeline: pipelines.showPipeline,
  updatePipeline: pipelines.updatePipeline,
  removePipeline: pipelines.removePipeline,
  startPipelineRun: pipelines.startPipelineRun,
  listPipelineRuns: pipelines.listPipelineRuns,
  claimPipelineRun: pipelines.claimPipelineRun,
  keepPipelineRun: pipelines.keepPipelineRun,
  finishPipelineRun: pipelines.finishPipelineRun,
  showMaintenanceSettings: maintenance.showMaintenanceSettings,
  updateMaintenanceSettings: maintenance.updateMaintenanceSettings,
  showMaintenanceUsage: maintenance.showMaintenanceUsage,
  listAppMaintenance: maintenance.listAppMaintenance,
  showAppMaintenance: maintenance.showAppMaintenance,
  updateAppMaintenance: maintenance.updateAppMaintenance,
  startMaintenanceRun: maintenance.startMaintenanceRun,
  listMaintenanceRuns: maintenance.listMaintenanceRuns,
  showMaintenanceRun: maintenance.showMaintenanceRun,
  showRunEvidence: findings.showRunEvidence,
  showRunStep: agentTools.showRunStep,
  listFindings: findings.listFindings,
  showFinding: findings.showFinding,
  listProposals: proposals.listProposals,
  listProposalQueue: proposals.listProposalQueue,
  showProposal: proposals.showProposal,
  downloadProposalPatch: proposals.downloadProposalPatch,
  approveProposal: proposals.approveProposal,
  denyProposal: proposals.denyProposal,
  retryProposal: proposals.retryProposal,
}

export function createDeployApi(deps: DeployDeps): ServiceApp {
  const app = createServiceApp('deploy-api', deps)
  app.use('/api/*', cors({ origin: '*', exposeHeaders: ['x-request-id', 'retry-after'], maxAge: 600 }))
  mount(
    app,
    DEPLOY_VERBS,
    { ...deps, findServiceAccount: findServiceAccount(deps) },
    {
      validate: refusingWorkloads(deps, validateRemotely(deps)),
      validateAppToken: appTokens.validateAppToken({
        ...deps,
        servedOrganizations: deps.hosted?.servedOrganizations,
      }),
      operatorToken: undefined,
    },
  )
  mountAgentCalls(app, deps)
  return app
}

/** In the name of whoever binds it: the auth-service checks their role itself. */
const findServiceAccount =
  (deps: DeployDeps): workloads.BindingDeps['findServiceAccount'] =>
  (principal, account) => {
    const { requestId, address, orgId } = principal
    const as = { token: bearerOfPrincipal(principal), organization: orgId ?? undefined, requestId, address }
    return httpClient(withTrace(deps, deps.auth), as)(showServiceAccount, account)
  }

/** contract, Authentication 9: tokens for any audience but ours, and all of them where SVC_WORKLOAD_AUDIENCE is empty. */
const refusingWorkloads =
  ({ workloadAudience }: DeployDeps, validate: Validate): Validate =>
  (presented) => {
    const claims = readServiceAccountToken(presented.token)
    const isForUs = !claims || (workloadAudience !== undefined && claims.audiences.includes(workloadAudience))
    return isForUs ? validate(presented) : Promise.reject(new ServiceError('UNAUTHENTICATED'))
  }
