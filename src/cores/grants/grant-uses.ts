/** What a grant has used of what it may use, and what is left of it when the rest is taken. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, inArray } from '../../../db/drizzle.ts'
import { grantUses } from '../../../db/schema.ts'
import type { Scope } from '../../contracts/scopes.ts'

export type GrantUse = typeof grantUses.$inferSelect
/** The sources are null for all that its person may ask. */
export type Rights = { readonly scopes: Scope[]; readonly sources: string[] | null }

export async function readGrantUses(
  db: Handle,
  orgId: string,
  grantIds: readonly string[],
): Promise<readonly GrantUse[]> {
  if (grantIds.length === 0) return []
  return db
    .select()
    .from(grantUses)
    .where(and(eq(grantUses.orgId, orgId), inArray(grantUses.grantId, [...grantIds])))
}

/** Of these rights, those that were used since then. Never more than they are. */
export function usedSince(
  { scopes, sources }: Rights,
  uses: readonly Pick<GrantUse, 'scope' | 'sourceId' | 'lastUsedAt'>[],
  since: Date,
): Rights {
  const recent = uses.filter(({ lastUsedAt }) => lastUsedAt >= since)
  const left = scopes.filter((scope) => recent.some((use) => use.scope === scope))
  // Without the scope no source can be asked.
  if (!left.includes('data:read'))
    return { scopes: left, sources: scopes.includes('data:read') ? [] : sources }
  const asked = new Set(recent.flatMap(({ sourceId }) => (sourceId === '' ? [] : [sourceId])))
  return { scopes: left, sources: (sources ?? [...asked].toSorted()).filter((id) => asked.has(id)) }
}

/** `left` is a part of `before`, so that only their numbers can differ. */
export const isLess = (left: Rights, before: Rights): boolean =>
  left.scopes.length < before.scopes.length || left.sources?.length !== before.sources?.length
