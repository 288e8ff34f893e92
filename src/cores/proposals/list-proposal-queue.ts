/** The change queue: proposals of all apps of an organization, those that need a reviewer first of all. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, inArray } from '../../../db/drizzle.ts'
import { appMembers, apps, proposals } from '../../../db/schema.ts'
import { ACTIONABLE } from '../../contracts/outcomes.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { maintenanceOff, readSettings } from '../maintenance/index.ts'
import type { MemberPrincipal } from '../principal.ts'
import { list, type Verb } from '../list.ts'
import { readPullRequests } from '../remotes/index.ts'
import { readDecider, rulesOf } from './proposal-access.ts'
import { LISTED, presentProposal } from './proposal-rows.ts'

export const listProposalQueue: Verb<'listProposalQueue', WithDirectory> = list(
  { rows: 'proposals', desc: [proposals.id] },
  async (context, { state }) => {
    const { db, member, orgId, page } = context
    const settings = await readSettings(db, orgId)
    // It was never on.
    if (settings.model === null) throw maintenanceOff()
    const reader = await readReader(context, member)
    return page({
      from: () =>
        db
          .select({ ...LISTED, alias: apps.alias })
          .from(proposals)
          .innerJoin(apps, and(eq(apps.orgId, proposals.orgId), eq(apps.id, proposals.appId))),
      where: and(
        eq(proposals.orgId, orgId),
        state === undefined ? inArray(proposals.state, [...ACTIONABLE]) : eq(proposals.state, state),
      ),
      key: (row) => [row.id],
      present: async (rows) => {
        const pulls = await readPullRequests(
          db,
          orgId,
          rows.map(({ id }) => id),
        )
        return rows.map(({ alias, ...row }) => {
          const viewing = {
            alias,
            who: reader.who,
            readsSource: reader.reads(row.appId),
            rules: rulesOf(settings),
          }
          return presentProposal(row, viewing, pulls.get(row.id))
        })
      },
    })
  },
)

/** Of which apps somebody may read the source: of all of them from developer, else of those they build or maintain. */
async function readReader({ db, directory }: Storage & WithDirectory, member: MemberPrincipal) {
  const isSupport = member.supportSessionId !== undefined
  const membership = isSupport ? null : await directory.readMembership(db, member)
  const role = isSupport ? member.role : (membership?.role ?? null)
  const who = await readDecider(db, member.orgId, member, role)
  if (isSupport) return { who, reads: () => false }
  if (role !== null && atLeast(role, 'developer')) return { who, reads: () => true }
  const own = await readOwnApps(db, member, membership?.appMembershipId ?? null)
  return { who, reads: (appId: string) => own.has(appId) }
}

async function readOwnApps(
  db: Handle,
  { orgId, userId }: MemberPrincipal,
  membershipId: string | null,
): Promise<ReadonlySet<string>> {
  if (membershipId === null) return new Set()
  const rows = await db
    .select({ appId: appMembers.appId })
    .from(appMembers)
    .where(
      and(
        eq(appMembers.orgId, orgId),
        eq(appMembers.userId, userId),
        eq(appMembers.membershipId, membershipId),
      ),
    )
  return new Set(rows.map(({ appId }) => appId))
}
