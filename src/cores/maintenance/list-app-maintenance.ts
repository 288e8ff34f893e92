import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { appMaintenance, apps } from '../../../db/schema.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { WithDirectory } from '../directory/index.ts'
import { list, type Verb } from '../list.ts'
import { countOpen, readLatestRuns } from './app-maintenance.ts'
import { countEvidence, presentRun } from './run-rows.ts'

/** Turning the organization off has turned off every app, so each says for itself whether it is on. */
const isOn = sql<boolean>`coalesce(${appMaintenance.enabled}, false)`

const appRows = (db: Handle) =>
  db
    .select({ id: apps.id, alias: apps.alias, name: apps.name, enabled: isOn })
    .from(apps)
    .leftJoin(appMaintenance, and(eq(appMaintenance.orgId, apps.orgId), eq(appMaintenance.appId, apps.id)))

export const listAppMaintenance: Verb<'listAppMaintenance', WithDirectory> = list(
  { rows: 'apps', asc: [apps.alias] },
  async ({ db, member, orgId, directory, page }, { enabled }) => {
    const membership = await directory.readMembership(db, member)
    // Whoever has part in one app finds its summary on the page of that app.
    const readsSource = membership !== null && atLeast(membership.role, 'developer')
    return page({
      from: () => appRows(db),
      where: and(eq(apps.orgId, orgId), enabled === undefined ? undefined : eq(isOn, enabled)),
      key: (row) => [row.alias],
      present: async (rows) => {
        const ids = rows.map(({ id }) => id)
        const latest = await readLatestRuns(db, orgId, ids)
        const evidence = await countEvidence(db, [...latest.values()])
        const open = await countOpen(db, orgId, ids)
        return rows.map(({ id, alias, name, enabled: on }) => {
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
        })
      },
    })
  },
)
