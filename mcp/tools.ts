/** Every tool, in the order of `tools/list`: clients cache by it, and models read from the top. */
import type { Tool } from './tool.ts'
import { appList } from './tools/app-list.ts'
import { datasourceList } from './tools/datasource-list.ts'
import { datasourceQuery } from './tools/datasource-query.ts'
import { fetchHit } from './tools/fetch.ts'
import { maintenanceRun } from './tools/maintenance-run.ts'
import { maintenanceSet } from './tools/maintenance-set.ts'
import { maintenanceStatus } from './tools/maintenance-status.ts'
import { notificationFollow } from './tools/notification-follow.ts'
import { notificationSubscriptions } from './tools/notification-subscriptions.ts'
import { notificationsAck } from './tools/notifications-ack.ts'
import { notificationsList } from './tools/notifications-list.ts'
import { proposalDecide } from './tools/proposal-decide.ts'
import { proposalShow } from './tools/proposal-show.ts'
import { search } from './tools/search.ts'
import { whoami } from './tools/whoami.ts'

export const TOOLS: readonly Tool[] = [
  // /platform
  search,
  fetchHit,
  datasourceList,
  datasourceQuery,
  appList,
  maintenanceStatus,
  maintenanceRun,
  maintenanceSet,
  proposalShow,
  proposalDecide,
  whoami,

  // /notifications
  notificationsList,
  notificationsAck,
  notificationSubscriptions,
  notificationFollow,
]
