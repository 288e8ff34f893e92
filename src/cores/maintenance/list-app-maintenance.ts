import type { Handle } from '../../../db/connect.ts'
import { and, asc, eq, gt, sql } from '../../../db/drizzle.ts'
import { appMaintenance, apps } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireMember } from '../principal.ts'
import { totalOf } from '../total-of.ts'
import { countOpen, readLatestRuns } from './app-maintenance.ts'
import { countEvidence, presentRun } from './run-rows.ts'

/** Turning the organization off has turned off every app, so each says for itself whether it is on. */
const isOn = sql<boolean>`coalesce(${appMaintenance.enabled}, false)`

const appRows = (db: Handle) =>
  db
    .select({ id: apps.id, alias: apps.alias, name: apps.name, enabled: isOn })
    .from(apps)
    .leftJoin(appMaintenance, and(eq(appMaintenance.orgId, apps.orgId), eq(appMaintenance.appId, apps.id)))

export const listAppMaintenance =
  ({ db, directory }: Storage & WithDirectory): Handler<'listAppMaintenance'> =>
  async (principal, { enabled, limit, cursor, count }) => {
    const member = requireMember(principal)
    const { orgId } = member
    const after = readCursor(cursor, 1)?.[0]
    const membership = await directory.readMembership(db, member)
    // Whoever has part in one app finds its summary on the page of that app.
    const readsSource = membership !== null && atLeast(membership.role, 'developer')
    const matching = and(eq(apps.orgId, orgId), enabled === undefined ? undefined : eq(isOn, enabled))
    const rows = await appRows(db)
      .where(and(matching, after === undefined ? undefined : gt(apps.alias, after)))
      .orderBy(asc(apps.alias))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.alias])
    const ids = page.rows.map(({ id }) => id)
    const latest = await readLatestRuns(db, orgId, ids)
    const evidence = await countEvidence(db, [...latest.values()])
    const open = await countOpen(db, orgId, ids)
    const counted = await totalOf(db, { count, cursor }, page, () => appRows(db).where(matching))
    return {
      apps: page.rows.map(({ id, alias, name, enabled: on }) => {
        const run = latest.get(id)
        return {
          app: alias,
          name,
          enabled: on,
          latest_run: run
            ? presentRun(run, { alias, evidenceRead: evidence.get(run.id) ?? 0, readsSource })
            : null,
          open_findings: open.get(id)?.findings ?? 0,
          open_proposals: open.get(id)?.proposals ?? 0,
        }
      }),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
