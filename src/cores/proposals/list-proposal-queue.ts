/** The change queue: proposals of all apps of an organization, those that need a reviewer first of all. */
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, inArray, lt } from '../../../db/drizzle.ts'
import { appMembers, apps, proposals } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { ACTIONABLE } from '../../contracts/outcomes.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { maintenanceOff, readSettings } from '../maintenance/index.ts'
import { requireMember, type MemberPrincipal } from '../principal.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { readDecider, rulesOf } from './proposal-access.ts'
import { LISTED, presentProposal } from './proposal-rows.ts'

export const listProposalQueue =
  (deps: Storage & WithDirectory): Handler<'listProposalQueue'> =>
  async (principal, { state, limit, cursor, count }) => {
    const { db } = deps
    const before = readCursor(cursor, 1)?.[0]
    const member = requireMember(principal)
    const settings = await readSettings(db, member.orgId)
    // It was never on.
    if (settings.model === null) throw maintenanceOff()
    const reader = await readReader(deps, member)
    const matching = and(
      eq(proposals.orgId, member.orgId),
      state === undefined ? inArray(proposals.state, [...ACTIONABLE]) : eq(proposals.state, state),
    )
    const rows = await db
      .select({ ...LISTED, alias: apps.alias })
      .from(proposals)
      .innerJoin(apps, and(eq(apps.orgId, proposals.orgId), eq(apps.id, proposals.appId)))
      .where(and(matching, before === undefined ? undefined : lt(proposals.id, before)))
      .orderBy(desc(proposals.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(proposals).where(matching),
    )
    return {
      proposals: page.rows.map(({ alias, ...row }) =>
        presentProposal(row, {
          alias,
          who: reader.who,
          readsSource: reader.reads(row.appId),
          rules: rulesOf(settings),
        }),
      ),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }

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
