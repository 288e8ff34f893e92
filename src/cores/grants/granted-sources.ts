/** The data sources of a grant: which of them a reader may know, and what is left after narrowing. */
import type { Handle } from '../../../db/connect.ts'
import { and, asc, eq, inArray } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { Scope } from '../../contracts/scopes.ts'
import type { MemberPrincipal } from '../principal.ts'
import { sourceIdOf } from '../databases/index.ts'
import { listGrantableSources } from '../search/index.ts'

export type KnownSource = { id: string; name: string; title: string }

/**
 * Developers and up read the whole list of data sources anyway. For everybody else a hidden one does not exist, also
 * when a grant of theirs still holds it.
 */
export async function listVisibleSources(
  db: Handle,
  { orgId, role }: Pick<MemberPrincipal, 'orgId' | 'role'>,
): Promise<readonly KnownSource[]> {
  if (!atLeast(role, 'developer')) return listGrantableSources(db, orgId, role)
  return db
    .select({ id: dataSources.id, name: dataSources.name, title: dataSources.title })
    .from(dataSources)
    .where(eq(dataSources.orgId, orgId))
    .orderBy(asc(dataSources.name))
}

/** The grant holds ids only, so a source that was removed is not found here. */
export const presentGrantedSources = (granted: readonly string[] | null, known: readonly KnownSource[]) =>
  granted === null
    ? null
    : known
        .filter(({ id }) => granted.includes(id))
        .map(({ id, name, title }) => ({ id, source_id: sourceIdOf(name), name: title }))

/** What is left when only these are kept. Unknown, hidden and never approved sources give the same problem. */
export function narrowSources(
  granted: readonly string[] | null,
  requested: readonly string[] | undefined,
  known: readonly KnownSource[],
): { left: string[] | null; problems: string[] } {
  if (requested === undefined) return { left: granted && [...granted], problems: [] }
  const held = known.filter(({ id }) => granted?.includes(id) ?? true)
  const hasId = (source: KnownSource, id: string) => id === source.id || id === sourceIdOf(source.name)
  return {
    left: held.filter((source) => requested.some((id) => hasId(source, id))).map(({ id }) => id),
    problems: requested
      .filter((id) => !held.some((source) => hasId(source, id)))
      .map((id) => `sources: ${id} is not one of its data sources`),
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
const SOURCES_LISTED_MAX = 10

/** The subject of the audit row; `names` are those of the databases, null when the grant is not limited to some. */
export function describeApproval(scopes: readonly Scope[], names: readonly string[] | null): string {
  const words = scopes.join(' ')
  if (names === null || !scopes.includes('data:read')) return words
  if (names.length === 0) return `${words}; no data source`
  const more = names.length > SOURCES_LISTED_MAX ? ` and ${names.length - SOURCES_LISTED_MAX} more` : ''
  return `${words}; only ${names.slice(0, SOURCES_LISTED_MAX).map(sourceIdOf).join(' ')}${more}`
}
