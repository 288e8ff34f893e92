/** Removes scopes or data sources from a live grant: those that are not kept, or those that it does not use. */
import { and, eq } from '../../../db/drizzle.ts'
import { platformAccessGrants, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Storage } from '../dependencies.ts'
import { write, type InputOf, type Verb } from '../verb.ts'
import { describeApproval, listVisibleSources, narrowSources, type KnownSource } from './granted-sources.ts'
import { isLess, readGrantUses, usedSince, type GrantUse, type Rights } from './grant-uses.ts'
import type { LivenessDeps } from './live-grant.ts'
import { grantedScopes } from './granted-scopes.ts'
import { isLive, isManageable } from './grant-filters.ts'
import { GRANT_COLUMNS, presentGrant } from './present-grant.ts'
import { writeNarrowed } from './write-narrowed.ts'

export const narrowGrant: Verb<'narrowGrant', LivenessDeps> = write(
  { audit: 'grant.narrowed' },
  async (context, { grant_id, ...input }) => {
    const { tx, clock, member, audit } = context
    const [found] = await tx
      .select(GRANT_COLUMNS)
      .from(platformAccessGrants)
      .innerJoin(users, eq(users.id, platformAccessGrants.userId))
      .where(and(isManageable(tx, member, grant_id), isLive(context)))
      .for('update', { of: platformAccessGrants })
    if (!found) throw notFound()
    const { grant } = found
    const known = await listVisibleSources(tx, member)
    const { before, left } = await rightsAfter({ db: tx, clock }, grant, input, known)
    if (!isLess(left, before)) return presentGrant(found, known)
    const set = await writeNarrowed(tx, grant, left)
    const names = left.sources && known.filter(({ id }) => left.sources?.includes(id)).map(({ name }) => name)
    await audit(
      'grant.narrowed',
      `${grant.clientName ?? grant.clientId}: ${describeApproval(left.scopes, names)}`,
    )
    return presentGrant({ ...found, grant: { ...grant, ...set } }, known)
  },
)

/** What it has, and what narrowing it so would leave: for whoever narrows it, and whoever wants to know before. */
export async function rightsAfter(
  { db, clock }: Storage,
  grant: typeof platformAccessGrants.$inferSelect,
  input: Kept,
  known: readonly KnownSource[],
): Promise<{ before: Rights; left: Rights }> {
  requireOneWay(input)
  const before = { scopes: grantedScopes(grant), sources: grant.sources }
  if (input.used_within_days === undefined) return { before, left: keptOf(before, input, known) }
  const uses = await readGrantUses(db, grant.orgId, [grant.id])
  const since = new Date(clock().getTime() - input.used_within_days * DAY_MS)
  return { before, left: usedOf(before, uses, { since, countedSince: grant.usesSince }) }
}

type Kept = Omit<InputOf<'narrowGrant'>, 'grant_id'>

const DAY_MS = 24 * 60 * 60 * 1000

function requireOneWay({ scopes, sources, used_within_days }: Kept): void {
  const isByHand = scopes !== undefined || sources !== undefined
  if (isByHand !== (used_within_days !== undefined)) return
  throw new ServiceError('INVALID_REQUEST', undefined, {
    problems: [
      isByHand
        ? 'used_within_days cannot be given together with scopes or sources'
        : 'scopes, sources or used_within_days must be given',
    ],
  })
}

function keptOf(before: Rights, { scopes, sources }: Kept, known: readonly KnownSource[]): Rights {
  const wider = (scopes ?? []).filter((scope) => !before.scopes.includes(scope))
  const narrowed = narrowSources(before.sources, sources, known)
  const problems = [...wider.map((scope) => `scopes: ${scope} was not approved`), ...narrowed.problems]
  if (problems.length > 0) {
    throw new ServiceError('INVALID_REQUEST', 'A grant can only be narrowed', {
      problems,
      hint: 'To allow more, connect the agent again.',
    })
  }
  return {
    scopes: scopes ? before.scopes.filter((scope) => scopes.includes(scope)) : before.scopes,
    sources: narrowed.left,
  }
}

function usedOf(
  before: Rights,
  uses: readonly GrantUse[],
  { since, countedSince }: { readonly since: Date; readonly countedSince: Date },
): Rights {
  if (countedSince > since) {
    throw new ServiceError('CONFLICT', 'What it uses has not been counted for so many days yet', {
      hint: `It is counted since ${countedSince.toISOString().slice(0, 10)}.`,
    })
  }
  const left = usedSince(before, uses, since)
  if (left.scopes.length > 0) return left
  throw new ServiceError('CONFLICT', 'It has used none of its permissions', {
    hint: 'Disconnect it if it is not needed.',
  })
}
