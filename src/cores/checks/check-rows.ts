/** Checks as the operations find and return them. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { checks } from '../../../db/schema.ts'
import type { CheckPause, CheckResult } from '../../contracts/check-results.ts'
import { notFound } from '../../contracts/errors.ts'
import { requireApp, requireAppWriter, type App } from '../apps/index.ts'
import type { Directory } from '../directory/index.ts'
import type { MemberPrincipal } from '../principal.ts'
import type { WithJudge } from './judge-port.ts'
import { openWindowUntil } from './maintenance-window.ts'
import { withoutQuery } from './stored-definition.ts'

export type Check = typeof checks.$inferSelect

export const hasCheckKey = ({ orgId, id }: { orgId: string; id: string }) =>
  and(eq(checks.orgId, orgId), eq(checks.id, id))

type Path = { readonly alias: string; readonly check_id: string }

export async function requireCheck(
  directory: Directory,
  db: Handle,
  principal: MemberPrincipal,
  { alias, check_id }: Path,
): Promise<{ check: Check; seesQuery: boolean }> {
  const { app, appRole } = await requireApp(directory, db, principal, alias)
  return { check: await findCheck(db, app, check_id), seesQuery: seesQuery(principal, appRole !== null) }
}

/** The query of an address may hold a key. It is for those who may change the check, and not for support staff. */
export const seesQuery = ({ supportSessionId }: MemberPrincipal, mayWrite: boolean): boolean =>
  mayWrite && supportSessionId === undefined

/** For a change of it: the row is locked, and its author works on the app. */
export async function lockCheck(
  directory: Directory,
  tx: Handle,
  principal: MemberPrincipal,
  { alias, check_id }: Path,
): Promise<{ app: App; check: Check }> {
  const app = await requireAppWriter(directory, tx, principal, alias)
  return { app, check: await findCheck(tx, app, check_id, 'for update') }
}

async function findCheck(db: Handle, app: App, id: string, lock?: 'for update'): Promise<Check> {
  const found = db
    .select()
    .from(checks)
    .where(and(hasCheckKey({ orgId: app.orgId, id }), eq(checks.appId, app.id)))
  const [check] = await (lock ? found.for('update') : found)
  if (!check) throw notFound()
  return check
}

/** All of an app, by name. */
export const readChecks = (db: Handle, { orgId, id: appId }: Pick<App, 'orgId' | 'id'>): Promise<Check[]> =>
  db
    .select()
    .from(checks)
    .where(and(eq(checks.orgId, orgId), eq(checks.appId, appId)))
    .orderBy(checks.name)

/** With the transaction that asks. */
type JudgeReader = WithJudge & { readonly db: Handle }

/** Why it is not run at this moment. */
export async function pauseOf(
  { judge, db }: JudgeReader,
  check: Pick<Check, 'orgId' | 'enabled' | 'definition' | 'maintenanceWindows'>,
  now: Date,
): Promise<CheckPause | null> {
  if (!check.enabled) return 'disabled'
  if (openWindowUntil(check.maintenanceWindows, now)) return 'maintenance_window'
  if (check.definition.kind !== 'judge') return null
  return (await judge?.settingsOf(check.orgId, db)) ? null : 'no_maintenance_model'
}

export const RESULT_INITIALS: Readonly<Record<CheckResult, string>> = {
  pass: 'p',
  fail: 'f',
  error: 'e',
  indeterminate: 'i',
}
const RESULTS = new Map(
  Object.entries(RESULT_INITIALS).map(([result, initial]) => [initial, result as CheckResult]),
)

/** Newest last. */
export const readRecent = (recent: string): CheckResult[] =>
  [...recent].flatMap((initial) => RESULTS.get(initial) ?? [])

export async function presentCheck(
  reader: JudgeReader,
  check: Check,
  { now, seesQuery: isSeen = true }: { readonly now: Date; readonly seesQuery?: boolean },
) {
  const paused = await pauseOf(reader, check, now)
  const until = openWindowUntil(check.maintenanceWindows, now)
  return {
    id: check.id,
    name: check.name,
    definition: isSeen ? check.definition : withoutQuery(check.definition),
    interval_seconds: check.intervalSeconds,
    failure_threshold: check.failureThreshold,
    success_threshold: check.successThreshold,
    enabled: check.enabled,
    maintenance_windows: [...check.maintenanceWindows],
    state: check.state,
    state_since: check.stateSince?.toISOString() ?? null,
    paused,
    last_run_at: check.lastRunAt?.toISOString() ?? null,
    next_run_at: nextRunAt(check, paused, until),
    recent: readRecent(check.recent),
  }
}

function nextRunAt(
  { nextRunAt: at }: Check,
  paused: CheckPause | null,
  until: Date | undefined,
): string | null {
  if (at === null || (paused !== null && paused !== 'maintenance_window')) return null
  return (until && until > at ? until : at).toISOString()
}
