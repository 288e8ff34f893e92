import type { Handle } from '../../../db/connect.ts'
import { and, count, eq } from '../../../db/drizzle.ts'
import { appMaintenance } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { read, type Verb } from '../verb.ts'
import { decidesFrom } from './record-change.ts'
import { nextSlotAfter, readSettings, type Settings, type WithMaintenanceModels } from './settings-rows.ts'

export const showMaintenanceSettings: Verb<'showMaintenanceSettings', WithMaintenanceModels> = read(
  async ({ db, clock, orgId, userId, maintenanceModels }) =>
    presentSettings(db, await readSettings(db, orgId), { maintenanceModels, clock, userId }),
)

export async function presentSettings(
  db: Handle,
  settings: Settings,
  { maintenanceModels, clock, userId }: WithMaintenanceModels & { clock: Clock; userId: string },
) {
  const from = await decidesFrom(db, settings.orgId, userId, clock())
  const [on] = await db
    .select({ n: count() })
    .from(appMaintenance)
    .where(and(eq(appMaintenance.orgId, settings.orgId), eq(appMaintenance.enabled, true)))
  return {
    enabled: settings.enabled,
    model: settings.model,
    models: [...maintenanceModels],
    nightly_cron: settings.nightlyCron,
    timezone: settings.timezone,
    cooldown_hours: settings.cooldownHours,
    token_allowance: settings.tokenAllowance,
    protected_paths: [...settings.protectedPaths],
    allowed_classes: [...settings.allowedClasses],
    mcp_decisions: settings.mcpDecisions,
    next_run_at: settings.nextSlotAt?.toISOString() ?? null,
    next_runs: nextSlots(settings, clock()).map((at) => at.toISOString()),
    apps_enabled: on!.n,
    you_decide_from: from?.toISOString() ?? null,
  }
}

/** As many as tell a schedule from a similar one. */
const SLOTS_SHOWN = 3

function nextSlots(settings: Settings, now: Date): Date[] {
  const slots: Date[] = []
  for (
    let at = nextSlotAfter(settings, now);
    at && slots.length < SLOTS_SHOWN;
    at = nextSlotAfter(settings, at)
  )
    slots.push(at)
  return slots
}
