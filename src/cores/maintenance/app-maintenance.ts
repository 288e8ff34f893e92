/** How the maintenance of an app stands, as the operations return it. */
import { ACTIONABLE } from '../../contracts/outcomes.ts'
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, inArray, sql } from '../../../db/drizzle.ts'
import { maintenanceRuns } from '../../../db/schema.ts'
import { manualRunFrom } from './cool-down.ts'
import type { MaintenanceApp } from './maintenance-access.ts'
import { countEvidence, presentRun, type Run } from './run-rows.ts'
import { readSwitch } from './settings-rows.ts'

export async function presentAppMaintenance(
  db: Handle,
  { app, settings, readsSource }: MaintenanceApp,
  now: Date,
) {
  const enabled = settings.enabled && ((await readSwitch(db, app))?.enabled ?? false)
  const latest = (await readLatestRuns(db, app.orgId, [app.id])).get(app.id)
  const evidence = await countEvidence(db, latest ? [latest] : [])
  const open = (await countOpen(db, app.orgId, [app.id])).get(app.id)
  const from = await manualRunFrom(db, app, settings, now)
  return {
    app: app.alias,
    settings: { enabled },
    model: settings.model,
    nightly_cron: settings.nightlyCron,
    timezone: settings.timezone,
    cooldown_hours: settings.cooldownHours,
    next_run_at: enabled ? (settings.nextSlotAt?.toISOString() ?? null) : null,
    manual_run_from: from?.toISOString() ?? null,
    latest_run:
      latest === undefined
        ? null
        : presentRun(latest, { alias: app.alias, evidenceRead: evidence.get(latest.id) ?? 0, readsSource }),
    open_findings: open?.findings ?? 0,
    open_proposals: open?.proposals ?? 0,
  }
}

/** By app. */
export async function readLatestRuns(
  db: Handle,
  orgId: string,
  appIds: readonly string[],
): Promise<ReadonlyMap<string, Run>> {
  if (appIds.length === 0) return new Map()
  const latest = await db.execute<{ id: string }>(sql`
    select r.id from json_array_elements_text(${JSON.stringify(appIds)}::text::json) as a(id)
    cross join lateral (
      select id from maintenance_runs where org_id = ${orgId} and app_id = a.id order by id desc limit 1
    ) r`)
  if (latest.length === 0) return new Map()
  const rows = await db
    .select()
    .from(maintenanceRuns)
    .where(
      and(
        eq(maintenanceRuns.orgId, orgId),
        inArray(
          maintenanceRuns.id,
          latest.map(({ id }) => id),
        ),
      ),
    )
    .orderBy(desc(maintenanceRuns.id))
  return new Map(rows.map((run) => [run.appId, run]))
}

type Open = { readonly findings: number; readonly proposals: number }

const OPEN_PROPOSALS = sql.raw(`(${['preparing', ...ACTIONABLE].map((state) => `'${state}'`).join(', ')})`)

/** Findings that no proposal waits for, and proposals that a person can do something about; by app. */
export async function countOpen(
  db: Handle,
  orgId: string,
  appIds: readonly string[],
): Promise<ReadonlyMap<string, Open>> {
  const rows = await db.execute<Open & { id: string }>(sql`
    select a.id,
      (select count(*)::int from findings where org_id = ${orgId} and app_id = a.id and state = 'open') as findings,
      (select count(*)::int from proposals
        where org_id = ${orgId} and app_id = a.id and state in ${OPEN_PROPOSALS}) as proposals
    from json_array_elements_text(${JSON.stringify(appIds)}::text::json) as a(id)`)
  return new Map(rows.map(({ id, findings, proposals }) => [id, { findings, proposals }]))
}
