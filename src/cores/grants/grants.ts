/** Connected agents: listed, narrowed, disconnected; one's own by everybody, all of them by owners and admins. */
import { and, desc, eq, gt, isNull, lt } from '../../../db/drizzle.ts'
import { platformAccessGrants, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { listGrants, narrowGrant, revokeGrant } from '../../contracts/grants.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { atLeast } from '../../contracts/roles.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, requireRole, type MemberCaller } from '../caller.ts'
import { withTransaction } from '../transaction.ts'
import { endGrant } from './end-grant.ts'
import { approvedWords, presentSources, sourcesKnownTo, sourcesMeant, type Known } from './granted-sources.ts'
import type { LivenessNeeds } from './live-grant.ts'

type Row = {
  grant: typeof platformAccessGrants.$inferSelect
  user: { id: string; email: string; name: string }
}

const COLUMNS = { grant: platformAccessGrants, user: { id: users.id, email: users.email, name: users.name } }

const present = ({ grant, user }: Row, known: readonly Known[]) => ({
  id: grant.id,
  client_id: grant.clientId,
  client_kind: grant.clientKind,
  client_name: grant.clientName,
  host: grant.clientKind === 'metadata_document' ? new URL(grant.clientId).host : grant.redirectHost,
  user,
  resource: grant.resource,
  scopes: grant.scopes,
  sources: presentSources(grant.sources, known),
  created_at: grant.createdAt.toISOString(),
  last_used_at: grant.lastUsedAt?.toISOString() ?? null,
  expires_at: grant.expiresAt.toISOString(),
})

const isLive = ({ clock, keyEpoch }: LivenessNeeds) =>
  and(
    isNull(platformAccessGrants.revokedAt),
    gt(platformAccessGrants.expiresAt, clock()),
    eq(platformAccessGrants.keyEpoch, keyEpoch),
  )

export const grantsOf =
  (needs: LivenessNeeds): Handler<typeof listGrants> =>
  async (who, { all, client_id, limit, cursor }) => {
    const caller = asMember(who)
    if (all) requireRole(caller, 'admin', 'Only an owner or admin sees everybody’s agents')
    const before = readCursor(cursor, 1)?.[0]
    const rows = await needs.db
      .select(COLUMNS)
      .from(platformAccessGrants)
      .innerJoin(users, eq(users.id, platformAccessGrants.userId))
      .where(
        and(
          eq(platformAccessGrants.orgId, caller.orgId),
          all ? undefined : eq(platformAccessGrants.userId, caller.userId),
          client_id === undefined ? undefined : eq(platformAccessGrants.clientId, client_id),
          isLive(needs),
          before === undefined ? undefined : lt(platformAccessGrants.id, before),
        ),
      )
      .orderBy(desc(platformAccessGrants.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.grant.id])
    const isLimited = page.rows.some(({ grant }) => grant.sources !== null)
    const known = isLimited ? await sourcesKnownTo(needs.db, caller) : []
    return { grants: page.rows.map((row) => present(row, known)), next_cursor: page.next_cursor }
  }

/** For everybody else a colleague's grant is as unknown as none. */
const within = (caller: MemberCaller, grantId: string) =>
  and(
    eq(platformAccessGrants.orgId, caller.orgId),
    eq(platformAccessGrants.id, grantId),
    atLeast(caller.role, 'admin') ? undefined : eq(platformAccessGrants.userId, caller.userId),
  )

export const takeAway =
  (needs: LivenessNeeds): Handler<typeof narrowGrant> =>
  (who, { grant_id, scopes, sources }) =>
    withTransaction(needs.db, async (tx) => {
      const caller = asMember(who)
      if (scopes === undefined && sources === undefined) {
        throw new ServiceError('INVALID_REQUEST', undefined, {
          problems: ['scopes or sources must be given'],
        })
      }
      const [found] = await tx
        .select(COLUMNS)
        .from(platformAccessGrants)
        .innerJoin(users, eq(users.id, platformAccessGrants.userId))
        .where(and(within(caller, grant_id), isLive(needs)))
        .for('update', { of: platformAccessGrants })
      if (!found) throw notFound()
      const { grant } = found
      const known = await sourcesKnownTo(tx, caller)
      const wider = (scopes ?? []).filter((scope) => !grant.scopes.includes(scope))
      const meant = sourcesMeant(grant.sources, sources, known)
      const problems = [...wider.map((scope) => `scopes: ${scope} was not approved`), ...meant.problems]
      if (problems.length > 0) {
        throw new ServiceError('INVALID_REQUEST', 'A grant can only be narrowed', {
          problems,
          hint: 'To allow more, connect the agent again.',
        })
      }
      const left = {
        scopes: scopes ? grant.scopes.filter((scope) => scopes.includes(scope)) : grant.scopes,
        sources: meant.left,
      }
      const isSame =
        left.scopes.length === grant.scopes.length && left.sources?.length === grant.sources?.length
      if (isSame) return present(found, known)
      const set = { ...left, payload: narrowed(grant.payload, left.scopes) }
      await tx.update(platformAccessGrants).set(set).where(eq(platformAccessGrants.id, grant_id))
      const names =
        left.sources && known.filter(({ id }) => left.sources?.includes(id)).map(({ name }) => name)
      const subject = `${grant.clientName ?? grant.clientId}: ${approvedWords(left.scopes, names)}`
      await recordAudit(tx, needs.clock, caller, { orgId: caller.orgId, action: 'grant.narrowed', subject })
      return present({ ...found, grant: { ...grant, ...set } }, known)
    })

/** What the authorization server itself remembers of the grant: the next refresh must not bring the scopes back. */
function narrowed(payload: Record<string, unknown>, scopes: readonly string[]): Record<string, unknown> {
  const resources = Object.keys(payload.resources ?? {})
  return { ...payload, resources: Object.fromEntries(resources.map((name) => [name, scopes.join(' ')])) }
}

export const disconnect =
  (needs: LivenessNeeds): Handler<typeof revokeGrant> =>
  (who, { grant_id }) =>
    withTransaction(needs.db, async (tx) => {
      const caller = asMember(who)
      const [found] = await tx
        .select({ userId: platformAccessGrants.userId })
        .from(platformAccessGrants)
        .where(within(caller, grant_id))
      if (!found) throw notFound()
      const reason = found.userId === caller.userId ? 'disconnected' : 'revoked'
      if (!(await endGrant(tx, needs.clock, caller, grant_id, reason))) throw notFound()
      return {}
    })
