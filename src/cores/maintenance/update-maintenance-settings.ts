/** Turns the agent of an organization on or off. Off covers every app at once, and none is on when it is on again. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { maintenanceRuns, maintenanceSettings } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireRole, type MemberPrincipal } from '../principal.ts'
import { nextDueAt, problemsWithCron } from '../schedule.ts'
import { write, type Verb } from '../verb.ts'
import { manualRunFrom } from './cool-down.ts'
import { recordRightsChange, turnAppsOff } from './maintenance-rights.ts'
import { recordChange } from './record-change.ts'
import { presentSettings } from './show-maintenance-settings.ts'
import {
  lockOrCreateSettings,
  nextSlotAfter,
  type Settings,
  type WithMaintenanceModels,
} from './settings-rows.ts'

export const updateMaintenanceSettings: Verb<'updateMaintenanceSettings', WithMaintenanceModels> = write(
  {
    author: 'admin',
    audit: ['maintenance.switched_on', 'maintenance.switched_off', 'maintenance.changed'],
    events: 'org.maintenance.changed',
  },
  async ({ tx, clock, member, orgId, maintenanceModels, audit }, input) => {
    const before = await lockOrCreateSettings(tx, orgId)
    const now = clock()
    const after = withNextSlot(before, merge(before, input), now)
    if (after.mcpDecisions !== before.mcpDecisions) requireOwnerInConsole(member)
    if (after.allowedClasses.some((one) => !before.allowedClasses.includes(one))) {
      requireRole(member, 'owner', 'Only an owner may open protected files to proposals')
    }
    requireValid({ before, after, now, maintenanceModels })
    await tx.update(maintenanceSettings).set(after).where(eq(maintenanceSettings.orgId, after.orgId))
    await notify(tx, 'schedules')
    if (before.enabled && !after.enabled) await turnAppsOff(tx, clock, after.orgId)
    else if (after.model !== before.model) await changeWaiting(tx, after, now)
    await recordRightsChange(tx, before, after)
    if (after.enabled !== before.enabled)
      await audit(after.enabled ? 'maintenance.switched_on' : 'maintenance.switched_off')
    const changed = changesOf(before, after)
    if (changed.length > 0) await audit('maintenance.changed', changed.join(', '))
    if (decidesRuns(before, after)) await recordChange(tx, clock, member, null)
    return presentSettings(tx, after, { maintenanceModels, clock, userId: member.userId })
  },
)

type Changes = Parameters<Handler<'updateMaintenanceSettings'>>[1]

const merge = (before: Settings, changes: Changes): Settings => ({
  ...before,
  enabled: changes.enabled ?? before.enabled,
  model: changes.model ?? before.model,
  nightlyCron: changes.nightly_cron ?? before.nightlyCron,
  timezone: changes.timezone ?? before.timezone,
  cooldownHours: changes.cooldown_hours ?? before.cooldownHours,
  tokenAllowance: changes.token_allowance ?? before.tokenAllowance,
  protectedPaths: changes.protected_paths ?? before.protectedPaths,
  allowedClasses: changes.allowed_classes ?? before.allowedClasses,
  mcpDecisions: changes.mcp_decisions ?? before.mcpDecisions,
})

/** A time that has come and was not dispatched yet stays due, whatever else is changed. */
function withNextSlot(before: Settings, after: Settings, now: Date): Settings {
  const isSame =
    after.enabled === before.enabled &&
    after.nightlyCron === before.nightlyCron &&
    after.timezone === before.timezone
  if (isSame) return after
  return problemsWithCron(after.nightlyCron, after.timezone, now).length > 0
    ? after
    : { ...after, nextSlotAt: nextSlotAfter(after, now) }
}

/**
 * decisions, 14: chosen by an owner, in the console: no token and no agent may lift its own bar. The signed-in session is what holds;
 * that it is the console's is what the client says of itself.
 */
function requireOwnerInConsole(member: MemberPrincipal): void {
  requireRole(member, 'owner', 'Only an owner may let agents decide about proposals')
  if (member.kind !== 'user' || member.entryPoint !== 'console') {
    throw new ServiceError('FORBIDDEN', 'This can be changed in the console only')
  }
}

type Change = {
  readonly before: Settings
  readonly after: Settings
  readonly now: Date
} & WithMaintenanceModels

function requireValid({ before, after, now, maintenanceModels }: Change): void {
  const isKnown = (model: string) => maintenanceModels.some(({ name }) => name === model)
  const isNewModel = after.model !== before.model || (after.enabled && !before.enabled)
  const problems = [
    ...(after.enabled && after.model === null ? ['model: is required to turn the agent on'] : []),
    ...(after.model !== null && isNewModel && !isKnown(after.model)
      ? ['model: must be one of those in `models`']
      : []),
    ...problemsWithSlots(after, now),
  ]
  if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', undefined, { problems })
}

const HOUR_MS = 60 * 60 * 1000
/** More than an hour has that comes due every few minutes. */
const TIMES_LOOKED_AT = 30

function problemsWithSlots({ nightlyCron, timezone }: Settings, now: Date): string[] {
  const problems = problemsWithCron(nightlyCron, timezone, now)
  if (problems.length > 0) return problems.map((problem) => problem.replace(/^cron:/, 'nightly_cron:'))
  // As in a zone whose clocks never change: at a change, those of two hours may be closer together for once.
  let last = nextDueAt(nightlyCron, 'UTC', now)
  for (let n = 0; n < TIMES_LOOKED_AT && last; n++) {
    const next = nextDueAt(nightlyCron, 'UTC', last)
    if (next && next.getTime() - last.getTime() < HOUR_MS) {
      return ['nightly_cron: must come due at most once an hour']
    }
    last = next
  }
  return []
}

/** What waits is done by the model that is chosen now: the earlier one may cost more, or be gone. */
async function changeWaiting(tx: Transaction, settings: Settings, now: Date): Promise<void> {
  const { orgId, model } = settings
  if (model === null) return
  const waiting = await tx
    .update(maintenanceRuns)
    .set({ model })
    .where(and(eq(maintenanceRuns.orgId, orgId), eq(maintenanceRuns.status, 'queued')))
    .returning({ id: maintenanceRuns.id, appId: maintenanceRuns.appId, by: maintenanceRuns.requestedById })
  // Started for another model, it would be one more of this one within its cool-down.
  for (const { id, appId, by } of waiting) {
    if (by === null || !(await manualRunFrom(tx, { orgId, id: appId }, settings, now))) continue
    await tx
      .update(maintenanceRuns)
      .set({ status: 'ended', terminalCode: 'skipped', reason: 'COOLING_DOWN', endedAt: now })
      .where(and(eq(maintenanceRuns.orgId, orgId), eq(maintenanceRuns.id, id)))
  }
  await notify(tx, 'maintenance')
}

/** When a run is made, by what, with how much, and what it may propose. */
const decidesRuns = (before: Settings, after: Settings): boolean =>
  (['enabled', 'model', 'nightlyCron', 'timezone', 'tokenAllowance'] as const).some(
    (name) => before[name] !== after[name],
  ) ||
  after.allowedClasses.some((name) => !before.allowedClasses.includes(name)) ||
  before.protectedPaths.some((path) => !after.protectedPaths.includes(path))

function changesOf(before: Settings, after: Settings): string[] {
  const change = (name: string, from: string | number | null, to: string | number | null) =>
    from === to ? [] : [`${name}: ${from ?? 'none'} → ${to ?? 'none'}`]
  return [
    ...change('model', before.model, after.model),
    ...change('nightly_cron', before.nightlyCron, after.nightlyCron),
    ...change('timezone', before.timezone, after.timezone),
    ...change('cooldown_hours', before.cooldownHours, after.cooldownHours),
    ...change('token_allowance', before.tokenAllowance, after.tokenAllowance),
    ...pathChanges('added', after.protectedPaths, before.protectedPaths),
    ...pathChanges('removed', before.protectedPaths, after.protectedPaths),
    ...change('allowed_classes', before.allowedClasses.join(' '), after.allowedClasses.join(' ')),
    ...change('mcp_decisions', before.mcpDecisions, after.mcpDecisions),
  ]
}

/** By name, as many as a line has place for. */
const PATHS_NAMED = 10

function pathChanges(word: 'added' | 'removed', of: readonly string[], without: readonly string[]): string[] {
  const changed = of.filter((path) => !without.includes(path))
  if (changed.length === 0) return []
  const more = changed.length - PATHS_NAMED
  const named = changed.slice(0, PATHS_NAMED).join(' ')
  return [`protected_paths ${word}: ${named}${more > 0 ? ` and ${more} more` : ''}`]
}
