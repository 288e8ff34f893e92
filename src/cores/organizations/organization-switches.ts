/** The settings of an organization that give others a right in it. */
import type { organizations } from '../../../db/schema.ts'
import type { EndedRow } from '../record-ending.ts'

export type Switches = Pick<
  typeof organizations.$inferSelect,
  'agentsEnabled' | 'registeredClients' | 'adminsMayInvite' | 'supportAccessEnabled'
>

/** What is left of `before` where `after` allows less; undefined where it does not. */
export function withoutMore(before: Switches, after: Switches): Switches | undefined {
  const left: Switches = {
    agentsEnabled: before.agentsEnabled && after.agentsEnabled,
    registeredClients: after.registeredClients === 'refused' ? 'refused' : before.registeredClients,
    adminsMayInvite: before.adminsMayInvite && after.adminsMayInvite,
    supportAccessEnabled: before.supportAccessEnabled && after.supportAccessEnabled,
  }
  return NAMES.some((name) => left[name] !== before[name]) ? left : undefined
}

const NAMES = ['agentsEnabled', 'registeredClients', 'adminsMayInvite', 'supportAccessEnabled'] as const

type Written = NonNullable<EndedRow['to']>

export const writeSwitches = (switches: Switches): Written =>
  Object.fromEntries(NAMES.map((name) => [name, String(switches[name])]))

export const readSwitches = (written: Written): Switches => ({
  agentsEnabled: written.agentsEnabled === 'true',
  registeredClients: written.registeredClients === 'refused' ? 'refused' : 'allowed',
  adminsMayInvite: written.adminsMayInvite === 'true',
  supportAccessEnabled: written.supportAccessEnabled === 'true',
})
