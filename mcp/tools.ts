/** Every tool, at its endpoint, in the order in which `tools/list` shows them: clients cache by it, and models read from the top. */
import type { Tool } from './tool.ts'
import { datasourceList } from './tools/datasource-list.ts'
import { datasourceQuery } from './tools/datasource-query.ts'
import { fetchOne } from './tools/fetch.ts'
import { notificationFollow } from './tools/notification-follow.ts'
import { notificationSubscriptions } from './tools/notification-subscriptions.ts'
import { notificationsAck } from './tools/notifications-ack.ts'
import { notificationsList } from './tools/notifications-list.ts'
import { search } from './tools/search.ts'
import { whoami } from './tools/whoami.ts'

export const TOOLS: readonly Tool[] = [
  // /platform
  search,
  fetchOne,
  datasourceList,
  datasourceQuery,
  // Here, with the core of maintenance: app_list, maintenance_status, maintenance_runs, maintenance_run, maintenance_set.
  // Here, with the core of proposals: proposal_list, proposal_show, proposal_decide, proposal_retry.
  whoami,

  // /notifications
  notificationsList,
  notificationsAck,
  notificationSubscriptions,
  notificationFollow,
]
