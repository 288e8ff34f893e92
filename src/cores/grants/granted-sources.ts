/** The data sources of a grant: named for whoever reads of them, and taken away. */
import type { Handle } from '../../../db/connect.ts'
import { and, asc, eq, inArray } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { Scope } from '../../contracts/scopes.ts'
import type { MemberCaller } from '../caller.ts'
import { sourceIdOf } from '../databases/index.ts'
import { sourcesToChoose } from '../search/index.ts'

export type Known = { id: string; name: string; title: string }

/**
 * Developers and up read the whole list of data sources anyway. For everybody else a hidden one is as unknown as none,
 * also when a grant of theirs still holds it.
 */
export async function sourcesKnownTo(
  db: Handle,
  { orgId, role }: Pick<MemberCaller, 'orgId' | 'role'>,
): Promise<readonly Known[]> {
  if (!atLeast(role, 'developer')) return sourcesToChoose(db, orgId, role)
  return db
    .select({ id: dataSources.id, name: dataSources.name, title: dataSources.title })
    .from(dataSources)
    .where(eq(dataSources.orgId, orgId))
    .orderBy(asc(dataSources.name))
}

/** The grant holds ids alone, so one that was removed is simply not found here. */
export const presentSources = (granted: readonly string[] | null, known: readonly Known[]) =>
  granted === null
    ? null
    : known
        .filter(({ id }) => granted.includes(id))
        .map(({ id, name, title }) => ({ id, source_id: sourceIdOf(name), name: title }))

/** What is left when these alone are to stay. Unknown, hidden and never approved are told in the same words. */
export function sourcesMeant(
  granted: readonly string[] | null,
  asked: readonly string[] | undefined,
  known: readonly Known[],
): { left: string[] | null; problems: string[] } {
  if (asked === undefined) return { left: granted && [...granted], problems: [] }
  const held = known.filter(({ id }) => granted?.includes(id) ?? true)
  const isNamed = ({ id, name }: Known, given: string) => given === id || given === sourceIdOf(name)
  return {
    left: held.filter((source) => asked.some((given) => isNamed(source, given))).map(({ id }) => id),
    problems: asked
      .filter((given) => !held.some((source) => isNamed(source, given)))
      .map((given) => `sources: ${given} is not one that it may ask`),
  }
}

export async function sourceNames(db: Handle, orgId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await db
    .select({ name: dataSources.name })
    .from(dataSources)
    .where(and(eq(dataSources.orgId, orgId), inArray(dataSources.id, [...ids])))
    .orderBy(asc(dataSources.name))
  return rows.map(({ name }) => name)
}

/** More names than this make a row of the audit trail hard to read. */
const NAMED_MAX = 10

/** The words of the audit trail; `names` are those of the databases, null where nothing limits it. */
export function approvedWords(scopes: readonly Scope[], names: readonly string[] | null): string {
  const words = scopes.join(' ')
  if (names === null || !scopes.includes('data:read')) return words
  if (names.length === 0) return `${words}; no data source`
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ''
  return `${words}; only ${names.slice(0, NAMED_MAX).map(sourceIdOf).join(' ')}${more}`
}
