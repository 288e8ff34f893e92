/** Labels and paths of apps and tickets. */
import type * as z from 'zod'
import type { listApps } from '../../../contracts/apps.ts'
import type { TicketStatus } from '../../../contracts/tickets.ts'
import { badge } from '../../components.ts'

export const APPS_PATH = '/console/apps'
export const appPath = (alias: string): string => `${APPS_PATH}/${encodeURIComponent(alias)}`
export const ticketPath = (alias: string, id: string): string => `${appPath(alias)}/tickets/${id}`

type App = z.output<typeof listApps.output>['apps'][number]

const PARTS = { builder: 'Builder', maintainer: 'Maintainer', administrator: 'Administrator' } as const
export const PART_OPTIONS = [
  { value: 'builder', label: PARTS.builder },
  { value: 'maintainer', label: PARTS.maintainer },
]
export const partLabel = (part: keyof typeof PARTS): string => PARTS[part]
export const partBadge = (part: App['my_role']) =>
  part === null ? null : badge(PARTS[part], part === 'builder' ? 'off' : 'on')

export const STATUS_LABELS: Record<TicketStatus, { label: string; badge: 'on' | 'off' | 'wait' }> = {
  open: { label: 'Open', badge: 'wait' },
  in_progress: { label: 'In progress', badge: 'on' },
  done: { label: 'Done', badge: 'off' },
}
export const statusBadge = (status: TicketStatus) =>
  badge(STATUS_LABELS[status].label, STATUS_LABELS[status].badge)

/** Maintainers, owners and admins change an app. */
export const canManage = (part: App['my_role']): boolean => part === 'maintainer' || part === 'administrator'
