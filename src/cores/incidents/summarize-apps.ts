import { and, eq, isNotNull } from '../../../db/drizzle.ts'
import { appMembers, apps } from '../../../db/schema.ts'
import { atLeast } from '../../contracts/roles.ts'
import { appRows, effectiveRole, presentApp } from '../apps/index.ts'
import { summarizeChecks } from '../checks/index.ts'
import { readLastDeployments } from '../deployments/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { findNewestOpen } from '../findings/index.ts'
import { list, type Verb } from '../list.ts'
import { countErrors } from '../logs/index.ts'
import { countOpen } from '../maintenance/index.ts'

const DAY_MS = 24 * 60 * 60_000

export const summarizeApps: Verb<'summarizeApps', WithDirectory> = list(
  { rows: 'apps', asc: [apps.alias], search: [apps.alias, apps.name] },
  async ({ db, clock, member, orgId, directory, page }, { mine }) => {
    const membership = await directory.readMembership(db, member)
    const isStaff = member.supportSessionId !== undefined
    const isDeveloper = membership !== null && atLeast(membership.role, 'developer')
    return page({
      from: () => appRows(db, member, membership?.appMembershipId ?? null),
      where: and(eq(apps.orgId, orgId), mine ? isNotNull(appMembers.userId) : undefined),
      key: (row) => [row.app.alias],
      present: async (rows) => {
        const ids = rows.map(({ app }) => app.id)
        const since = new Date(clock().getTime() - DAY_MS)
        // One statement for all apps of the page, each over an index of its own.
        const [deployments, checks, errors, open, findings] = await Promise.all([
          readLastDeployments(db, orgId, ids),
          summarizeChecks(db, orgId, ids),
          isStaff ? new Map<string, number>() : countErrors(db, orgId, ids, since),
          countOpen(db, orgId, ids),
          findNewestOpen(db, orgId, ids),
        ])
        return rows.map(({ app, appRole, openTickets }) => {
          const role = effectiveRole(member.role, appRole)
          const readsLog = !isStaff && (isDeveloper || role !== null)
          return {
            ...presentApp(app, role, openTickets),
            running: deployments.get(app.id)?.running ?? null,
            last_deployment: deployments.get(app.id)?.last ?? null,
            ...(checks.get(app.id) ?? { checks: [], checks_total: 0, checks_failing: 0 }),
            errors_of_a_day: readsLog ? (errors.get(app.id) ?? 0) : null,
            open_proposals: open.get(app.id)?.proposals ?? 0,
            open_findings: open.get(app.id)?.findings ?? 0,
            finding_id: findings.get(app.id) ?? null,
          }
        })
      },
    })
  },
)
