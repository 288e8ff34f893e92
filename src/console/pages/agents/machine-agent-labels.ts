/** Where the pages of machine agents are, and what they say alike. */
import type * as z from 'zod'
import type { MachineAgent } from '../../../contracts/machine-agents.ts'
import { type MachineAgentState } from '../../../contracts/machine-agents.ts'
import type { Content } from '../../../pages/parts.ts'
import { badge } from '../../components.ts'

export type Agent = z.output<typeof MachineAgent>

export const MACHINE_AGENTS_PATH = '/console/agents/machine'
export const machineAgentPath = (id: string): string => `${MACHINE_AGENTS_PATH}/${id}`

export const STATE_BADGES: Record<MachineAgentState, Content> = {
  active: badge('Active', 'on'),
  expired: badge('Expired', 'off'),
  disconnected: badge('Disconnected', 'off'),
  owner_left: badge('Without owner', 'wait'),
  blocked: badge('Blocked', 'wait'),
  no_credentials: badge('No credentials', 'wait'),
}

/** In days from now. */
export const EXPIRIES: readonly { value: string; label: string }[] = [
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '180', label: 'In 180 days' },
  { value: '365', label: 'In 1 year' },
]

const DAY_MS = 24 * 60 * 60 * 1000
/** Not to the last moment: between here and the gateway some time passes. */
export const expiryIn = (days: string, now: Date): string =>
  new Date(now.getTime() + Number(days) * DAY_MS - 60_000).toISOString()
