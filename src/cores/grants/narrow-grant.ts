/** Removes scopes or data sources from a live grant. */
import { and, eq } from '../../../db/drizzle.ts'
import { platformAccessGrants, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { recordEnding } from '../record-ending.ts'
import { write, type Verb } from '../verb.ts'
import { describeApproval, listVisibleSources, narrowSources } from './granted-sources.ts'
import type { LivenessDeps } from './live-grant.ts'
import { grantedScopes, payloadWithScopes } from './granted-scopes.ts'
import { isLive, isManageable } from './grant-filters.ts'
import { GRANT_COLUMNS, presentGrant } from './present-grant.ts'

export const narrowGrant: Verb<'narrowGrant', LivenessDeps> = write(
  { audit: 'grant.narrowed' },
  async (context, { grant_id, scopes, sources }) => {
    const { tx, member, audit } = context
    if (scopes === undefined && sources === undefined) {
      throw new ServiceError('INVALID_REQUEST', undefined, {
        problems: ['scopes or sources must be given'],
      })
    }
    const [found] = await tx
      .select(GRANT_COLUMNS)
      .from(platformAccessGrants)
      .innerJoin(users, eq(users.id, platformAccessGrants.userId))
      .where(and(isManageable(tx, member, grant_id), isLive(context)))
      .for('update', { of: platformAccessGrants })
    if (!found) throw notFound()
    const { grant } = found
    const granted = grantedScopes(grant)
    const known = await listVisibleSources(tx, member)
    const wider = (scopes ?? []).filter((scope) => !granted.includes(scope))
    const narrowed = narrowSources(grant.sources, sources, known)
    const problems = [...wider.map((scope) => `scopes: ${scope} was not approved`), ...narrowed.problems]
    if (problems.length > 0) {
      throw new ServiceError('INVALID_REQUEST', 'A grant can only be narrowed', {
        problems,
        hint: 'To allow more, connect the agent again.',
      })
    }
    const left = {
      scopes: scopes ? granted.filter((scope) => scopes.includes(scope)) : granted,
      sources: narrowed.left,
    }
    const isSame = left.scopes.length === granted.length && left.sources?.length === grant.sources?.length
    if (isSame) return presentGrant(found, known)
    const set = { ...left, payload: payloadWithScopes(grant.payload, left.scopes) }
    await tx.update(platformAccessGrants).set(set).where(eq(platformAccessGrants.id, grant_id))
    // It is never widened, so what a later one left is part of this.
    const to = { scopes: left.scopes.join(' '), sources: left.sources?.join(' ') ?? null }
    recordEnding(tx, 'grant_narrowed', [{ id: grant.id, orgId: grant.orgId, to }])
    const names = left.sources && known.filter(({ id }) => left.sources?.includes(id)).map(({ name }) => name)
    await audit(
      'grant.narrowed',
      `${grant.clientName ?? grant.clientId}: ${describeApproval(left.scopes, names)}`,
    )
    return presentGrant({ ...found, grant: { ...grant, ...set } }, known)
  },
)
