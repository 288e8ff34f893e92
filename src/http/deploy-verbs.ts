/** The verb of each operation of the deploy-api. Written by `npm run generate` from the contracts; do not edit. */
import { showRunStep } from '../cores/agent-tools/show-run-step.ts'
import { createAppToken } from '../cores/app-tokens/create-app-token.ts'
import { listAppTokens } from '../cores/app-tokens/list-app-tokens.ts'
import { revokeAppToken } from '../cores/app-tokens/revoke-app-token.ts'
import { rotateAppToken } from '../cores/app-tokens/rotate-app-token.ts'
import { createApp } from '../cores/apps/create-app.ts'
import { listApps } from '../cores/apps/list-apps.ts'
import { removeAppMember } from '../cores/apps/remove-app-member.ts'
import { renameApp } from '../cores/apps/rename-app.ts'
import { setAppMember } from '../cores/apps/set-app-member.ts'
import { showApp } from '../cores/apps/show-app.ts'
import { createCheck } from '../cores/checks/create-check.ts'
import { listCheckRuns } from '../cores/checks/list-check-runs.ts'
import { listChecks } from '../cores/checks/list-checks.ts'
import { removeCheck } from '../cores/checks/remove-check.ts'
import { runCheck } from '../cores/checks/run-check.ts'
import { showCheck } from '../cores/checks/show-check.ts'
import { updateCheck } from '../cores/checks/update-check.ts'
import { cancelDeployment } from '../cores/deployments/cancel-deployment.ts'
import { claimDeployment } from '../cores/deployments/claim-deployment.ts'
import { confirmDeploymentEnded } from '../cores/deployments/confirm-deployment-ended.ts'
import { createDeployment } from '../cores/deployments/create-deployment.ts'
import { finishDeployment } from '../cores/deployments/finish-deployment.ts'
import { listDeployments } from '../cores/deployments/list-deployments.ts'
import { readDeploymentOutput } from '../cores/deployments/read-deployment-output.ts'
import { reportBrokenRollout } from '../cores/deployments/report-broken-rollout.ts'
import { reportDeploymentOutput } from '../cores/deployments/report-deployment-output.ts'
import { rollBackDeployment } from '../cores/deployments/roll-back-deployment.ts'
import { showDeployment } from '../cores/deployments/show-deployment.ts'
import { listFindings } from '../cores/findings/list-findings.ts'
import { showFinding } from '../cores/findings/show-finding.ts'
import { showRunEvidence } from '../cores/findings/show-run-evidence.ts'
import { showIncident } from '../cores/incidents/show-incident.ts'
import { summarizeApps } from '../cores/incidents/summarize-apps.ts'
import { exportLogs } from '../cores/logs/export-logs.ts'
import { listLogGroups } from '../cores/logs/list-log-groups.ts'
import { listLogs } from '../cores/logs/list-logs.ts'
import { pushLogs } from '../cores/logs/push-logs.ts'
import { summarizeLogs } from '../cores/logs/summarize-logs.ts'
import { listAppMaintenance } from '../cores/maintenance/list-app-maintenance.ts'
import { listMaintenanceRuns } from '../cores/maintenance/list-maintenance-runs.ts'
import { showAppMaintenance } from '../cores/maintenance/show-app-maintenance.ts'
import { showMaintenanceRun } from '../cores/maintenance/show-maintenance-run.ts'
import { showMaintenanceSettings } from '../cores/maintenance/show-maintenance-settings.ts'
import { showMaintenanceUsage } from '../cores/maintenance/show-maintenance-usage.ts'
import { startMaintenanceRun } from '../cores/maintenance/start-maintenance-run.ts'
import { updateAppMaintenance } from '../cores/maintenance/update-app-maintenance.ts'
import { updateMaintenanceSettings } from '../cores/maintenance/update-maintenance-settings.ts'
import { sendAppEvent } from '../cores/notifications/events/send-app-event.ts'
import { claimPipelineRun } from '../cores/pipelines/claim-pipeline-run.ts'
import { createPipeline } from '../cores/pipelines/create-pipeline.ts'
import { finishPipelineRun } from '../cores/pipelines/finish-pipeline-run.ts'
import { keepPipelineRun } from '../cores/pipelines/keep-pipeline-run.ts'
import { listPipelineRuns } from '../cores/pipelines/list-pipeline-runs.ts'
import { listPipelines } from '../cores/pipelines/list-pipelines.ts'
import { removePipeline } from '../cores/pipelines/remove-pipeline.ts'
import { showPipeline } from '../cores/pipelines/show-pipeline.ts'
import { startPipelineRun } from '../cores/pipelines/start-pipeline-run.ts'
import { updatePipeline } from '../cores/pipelines/update-pipeline.ts'
import { approveProposal } from '../cores/proposals/approve-proposal.ts'
import { denyProposal } from '../cores/proposals/deny-proposal.ts'
import { downloadProposalPatch } from '../cores/proposals/download-proposal-patch.ts'
import { listProposalQueue } from '../cores/proposals/list-proposal-queue.ts'
import { listProposals } from '../cores/proposals/list-proposals.ts'
import { retryProposal } from '../cores/proposals/retry-proposal.ts'
import { showProposal } from '../cores/proposals/show-proposal.ts'
import { createRemoteSecret } from '../cores/remotes/create-remote-secret.ts'
import { receiveRemoteCall } from '../cores/remotes/receive-remote-call.ts'
import { removeAppRemote } from '../cores/remotes/remove-app-remote.ts'
import { setAppRemote } from '../cores/remotes/set-app-remote.ts'
import { showAppRemote } from '../cores/remotes/show-app-remote.ts'
import { createRevision } from '../cores/revisions/create-revision.ts'
import { diffRevisions } from '../cores/revisions/diff-revisions.ts'
import { downloadRevision } from '../cores/revisions/download-revision.ts'
import { findMissingFiles } from '../cores/revisions/find-missing-files.ts'
import { listRevisions } from '../cores/revisions/list-revisions.ts'
import { pushRevision } from '../cores/revisions/push-revision.ts'
import { readSourceFile } from '../cores/revisions/read-source-file.ts'
import { showRevision } from '../cores/revisions/show-revision.ts'
import { uploadFiles } from '../cores/revisions/upload-files.ts'
import { changeTicketStatus } from '../cores/tickets/change-ticket-status.ts'
import { createTicket } from '../cores/tickets/create-ticket.ts'
import { listTickets } from '../cores/tickets/list-tickets.ts'
import { replyToTicket } from '../cores/tickets/reply-to-ticket.ts'
import { searchTickets } from '../cores/tickets/search-tickets.ts'
import { showTicket } from '../cores/tickets/show-ticket.ts'
import { bindServiceAccount } from '../cores/workloads/bind-service-account.ts'
import { listServiceAccounts } from '../cores/workloads/list-service-accounts.ts'
import { unbindServiceAccount } from '../cores/workloads/unbind-service-account.ts'

export const VERBS = {
  bindServiceAccount,
  listServiceAccounts,
  unbindServiceAccount,
  createApp,
  listApps,
  showApp,
  renameApp,
  setAppMember,
  removeAppMember,
  createDeployment,
  rollBackDeployment,
  listDeployments,
  showDeployment,
  readDeploymentOutput,
  cancelDeployment,
  confirmDeploymentEnded,
  reportBrokenRollout,
  claimDeployment,
  reportDeploymentOutput,
  finishDeployment,
  pushRevision,
  findMissingFiles,
  uploadFiles,
  createRevision,
  listRevisions,
  showRevision,
  readSourceFile,
  downloadRevision,
  diffRevisions,
  createAppToken,
  listAppTokens,
  rotateAppToken,
  revokeAppToken,
  pushLogs,
  exportLogs,
  listLogs,
  listLogGroups,
  summarizeLogs,
  createTicket,
  listTickets,
  searchTickets,
  showTicket,
  replyToTicket,
  changeTicketStatus,
  createCheck,
  listChecks,
  showCheck,
  updateCheck,
  removeCheck,
  runCheck,
  listCheckRuns,
  createPipeline,
  listPipelines,
  showPipeline,
  updatePipeline,
  removePipeline,
  startPipelineRun,
  listPipelineRuns,
  claimPipelineRun,
  keepPipelineRun,
  finishPipelineRun,
  showMaintenanceSettings,
  updateMaintenanceSettings,
  showMaintenanceUsage,
  listAppMaintenance,
  showAppMaintenance,
  updateAppMaintenance,
  startMaintenanceRun,
  listMaintenanceRuns,
  showMaintenanceRun,
  showRunEvidence,
  showRunStep,
  listFindings,
  showFinding,
  listProposals,
  listProposalQueue,
  showProposal,
  downloadProposalPatch,
  approveProposal,
  denyProposal,
  retryProposal,
  sendAppEvent,
  summarizeApps,
  showIncident,
  showAppRemote,
  setAppRemote,
  removeAppRemote,
  createRemoteSecret,
  receiveRemoteCall,
}
