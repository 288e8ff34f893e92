/** The verb of each operation of the api-gateway. Written by `npm run generate` from the contracts; do not edit. */
import { listActivity } from '../cores/activity/list-activity.ts'
import { reportToolCall } from '../cores/activity/report-tool-call.ts'
import { showAgentDay } from '../cores/activity/show-agent-day.ts'
import { summarizeActivity } from '../cores/activity/summarize-activity.ts'
import { watchChanges } from '../cores/changes/watch-changes.ts'
import { attachDatabase } from '../cores/databases/attach-database.ts'
import { createDatabase } from '../cores/databases/create-database.ts'
import { removeDatabase } from '../cores/databases/remove-database.ts'
import { rotateConnectionString } from '../cores/databases/rotate-connection-string.ts'
import { showConnectionString } from '../cores/databases/show-connection-string.ts'
import { createDocuments } from '../cores/documents/create-documents.ts'
import { createEmbeddings } from '../cores/embeddings/create-embeddings.ts'
import { addGroupMember } from '../cores/groups/add-group-member.ts'
import { createGroup } from '../cores/groups/create-group.ts'
import { listGroups } from '../cores/groups/list-groups.ts'
import { removeGroupMember } from '../cores/groups/remove-group-member.ts'
import { removeGroup } from '../cores/groups/remove-group.ts'
import { renameGroup } from '../cores/groups/rename-group.ts'
import { showGroup } from '../cores/groups/show-group.ts'
import { whoAmI } from '../cores/identity/who-am-i.ts'
import { showInstallation } from '../cores/installation/show-installation.ts'
import { cancelLoad } from '../cores/loads/cancel-load.ts'
import { createLoad } from '../cores/loads/create-load.ts'
import { listLoads } from '../cores/loads/list-loads.ts'
import { previewLoad } from '../cores/loads/preview-load.ts'
import { showDocuments } from '../cores/loads/show-documents.ts'
import { showLoad } from '../cores/loads/show-load.ts'
import { startLoad } from '../cores/loads/start-load.ts'
import { syncDocuments } from '../cores/loads/sync-documents.ts'
import { undoDocuments } from '../cores/loads/undo-documents.ts'
import { undoLoad } from '../cores/loads/undo-load.ts'
import { uploadLoadPart } from '../cores/loads/upload-load-part.ts'
import { listDeliveries } from '../cores/notifications/delivery/list-deliveries.ts'
import { listIntegrationHealth } from '../cores/notifications/delivery/list-integration-health.ts'
import { listRecoveries } from '../cores/notifications/delivery/list-recoveries.ts'
import { recoverDeliveries } from '../cores/notifications/delivery/recover-deliveries.ts'
import { replayDelivery } from '../cores/notifications/delivery/replay-delivery.ts'
import { replayFailedDeliveries } from '../cores/notifications/delivery/replay-failed-deliveries.ts'
import { retryDelivery } from '../cores/notifications/delivery/retry-delivery.ts'
import { showDelivery } from '../cores/notifications/delivery/show-delivery.ts'
import { showMessageQueue } from '../cores/notifications/delivery/show-message-queue.ts'
import { summarizeDeliveries } from '../cores/notifications/delivery/summarize-deliveries.ts'
import { acknowledgeNotification } from '../cores/notifications/inbox/acknowledge-notification.ts'
import { listNotifications } from '../cores/notifications/inbox/list-notifications.ts'
import { beginChatInstall } from '../cores/notifications/integrations/begin-chat-install.ts'
import { beginChatLink } from '../cores/notifications/integrations/begin-chat-link.ts'
import { completeChatInstall } from '../cores/notifications/integrations/complete-chat-install.ts'
import { completeChatLink } from '../cores/notifications/integrations/complete-chat-link.ts'
import { configureForum } from '../cores/notifications/integrations/configure-forum.ts'
import { connectChatWebhook } from '../cores/notifications/integrations/connect-chat-webhook.ts'
import { connectEmail } from '../cores/notifications/integrations/connect-email.ts'
import { connectForum } from '../cores/notifications/integrations/connect-forum.ts'
import { connectWebhook } from '../cores/notifications/integrations/connect-webhook.ts'
import { listIntegrations } from '../cores/notifications/integrations/list-integrations.ts'
import { pauseIntegration } from '../cores/notifications/integrations/pause-integration.ts'
import { removeChatLink } from '../cores/notifications/integrations/remove-chat-link.ts'
import { removeIntegration } from '../cores/notifications/integrations/remove-integration.ts'
import { removeWebhookSecret } from '../cores/notifications/integrations/remove-webhook-secret.ts'
import { resumeIntegration } from '../cores/notifications/integrations/resume-integration.ts'
import { rotateWebhookSecret } from '../cores/notifications/integrations/rotate-webhook-secret.ts'
import { sendAddressVerification } from '../cores/notifications/integrations/send-address-verification.ts'
import { showAddressVerification } from '../cores/notifications/integrations/show-address-verification.ts'
import { showChatLink } from '../cores/notifications/integrations/show-chat-link.ts'
import { testIntegration } from '../cores/notifications/integrations/test-integration.ts'
import { updateIntegration } from '../cores/notifications/integrations/update-integration.ts'
import { verifyAddress } from '../cores/notifications/integrations/verify-address.ts'
import { createSubscription } from '../cores/notifications/subscriptions/create-subscription.ts'
import { deleteSubscription } from '../cores/notifications/subscriptions/delete-subscription.ts'
import { listFollows } from '../cores/notifications/subscriptions/list-follows.ts'
import { listMySubscriptions } from '../cores/notifications/subscriptions/list-my-subscriptions.ts'
import { listSubscriptions } from '../cores/notifications/subscriptions/list-subscriptions.ts'
import { previewEventPattern } from '../cores/notifications/subscriptions/preview-event-pattern.ts'
import { setFollow } from '../cores/notifications/subscriptions/set-follow.ts'
import { showUnsubscribe } from '../cores/notifications/subscriptions/show-unsubscribe.ts'
import { testSubscription } from '../cores/notifications/subscriptions/test-subscription.ts'
import { unsubscribe } from '../cores/notifications/subscriptions/unsubscribe.ts'
import { updateMySubscription } from '../cores/notifications/subscriptions/update-my-subscription.ts'
import { updateSubscription } from '../cores/notifications/subscriptions/update-subscription.ts'
import { askEval } from '../cores/search/ask-eval.ts'
import { fetchDataSourceRow } from '../cores/search/fetch-data-source-row.ts'
import { fetchSearchResult } from '../cores/search/fetch-search-result.ts'
import { listAskableDataSources } from '../cores/search/list-askable-data-sources.ts'
import { listDataSources } from '../cores/search/list-data-sources.ts'
import { listEvals } from '../cores/search/list-evals.ts'
import { listTables } from '../cores/search/list-tables.ts'
import { previewDataSource } from '../cores/search/preview-data-source.ts'
import { queryDataSource } from '../cores/search/query-data-source.ts'
import { saveSearchConfiguration } from '../cores/search/save-search-configuration.ts'
import { searchDataSources } from '../cores/search/search-data-sources.ts'
import { setDataSourceExposure } from '../cores/search/set-data-source-exposure.ts'
import { setDataSourceState } from '../cores/search/set-data-source-state.ts'
import { setThreshold } from '../cores/search/set-threshold.ts'
import { showDataSource } from '../cores/search/show-data-source.ts'
import { showQuota } from '../cores/search/show-quota.ts'
import { startEval } from '../cores/search/start-eval.ts'
import { updateDataSource } from '../cores/search/update-data-source.ts'
import { createTrailStream } from '../cores/trail/create-trail-stream.ts'
import { exportTrail } from '../cores/trail/export-trail.ts'
import { listTrailStreams } from '../cores/trail/list-trail-streams.ts'
import { removeTrailStream } from '../cores/trail/remove-trail-stream.ts'
import { rotateTrailKey } from '../cores/trail/rotate-trail-key.ts'
import { showTrailKeys } from '../cores/trail/show-trail-keys.ts'
import { streamTrail } from '../cores/trail/stream-trail.ts'

export const VERBS = {
  whoAmI,
  showInstallation,
  createDatabase,
  attachDatabase,
  showConnectionString,
  rotateConnectionString,
  removeDatabase,
  createLoad,
  uploadLoadPart,
  previewLoad,
  startLoad,
  showLoad,
  listLoads,
  undoLoad,
  cancelLoad,
  createEmbeddings,
  listDataSources,
  showDataSource,
  listTables,
  saveSearchConfiguration,
  updateDataSource,
  setDataSourceState,
  setDataSourceExposure,
  previewDataSource,
  listAskableDataSources,
  queryDataSource,
  searchDataSources,
  fetchSearchResult,
  showQuota,
  fetchDataSourceRow,
  listActivity,
  summarizeActivity,
  showAgentDay,
  reportToolCall,
  listNotifications,
  acknowledgeNotification,
  listIntegrations,
  connectEmail,
  showAddressVerification,
  verifyAddress,
  connectWebhook,
  connectChatWebhook,
  beginChatInstall,
  completeChatInstall,
  connectForum,
  configureForum,
  updateIntegration,
  pauseIntegration,
  resumeIntegration,
  rotateWebhookSecret,
  removeWebhookSecret,
  sendAddressVerification,
  testIntegration,
  removeIntegration,
  showChatLink,
  beginChatLink,
  completeChatLink,
  removeChatLink,
  listSubscriptions,
  createSubscription,
  updateSubscription,
  deleteSubscription,
  testSubscription,
  previewEventPattern,
  listMySubscriptions,
  updateMySubscription,
  showUnsubscribe,
  unsubscribe,
  listFollows,
  setFollow,
  listDeliveries,
  summarizeDeliveries,
  listIntegrationHealth,
  showDelivery,
  replayDelivery,
  retryDelivery,
  replayFailedDeliveries,
  recoverDeliveries,
  listRecoveries,
  watchChanges,
  createDocuments,
  syncDocuments,
  showDocuments,
  undoDocuments,
  startEval,
  askEval,
  listEvals,
  setThreshold,
  createGroup,
  listGroups,
  showGroup,
  renameGroup,
  removeGroup,
  addGroupMember,
  removeGroupMember,
  showMessageQueue,
  showTrailKeys,
  rotateTrailKey,
  exportTrail,
  streamTrail,
  createTrailStream,
  listTrailStreams,
  removeTrailStream,
}
