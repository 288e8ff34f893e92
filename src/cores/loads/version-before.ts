/** What the newest version of a documents source has replaced: kept beside it for some days, and then deleted. */
import { and, eq, gt } from '../../../db/drizzle.ts'
import { dropStagedTable, stagingName } from '../../../db/managed/drop-staged-table.ts'
import { loads } from '../../../db/schema.ts'
import { DOCUMENTS_UNDO_DAYS } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'
import type { Queries } from '../databases/index.ts'
import { BEFORE, readVersion } from '../documents/index.ts'
import type { LoadRow } from './load-rows.ts'
import { literal } from './staging.ts'

const UNDO_MS = DOCUMENTS_UNDO_DAYS * 24 * 60 * 60_000

/** Null: there is none, or no longer. Before the first version there was nothing to be brought back. */
export async function readUndoUntil(queries: Queries, now: Date): Promise<string | null> {
  const { version, publishedAt } = await readVersion(queries)
  if (version < 2 || publishedAt === null) return null
  const until = new Date(new Date(publishedAt).getTime() + UNDO_MS)
  if (until <= now) return null
  const [found] = await queries.query<{ name: string | null }>(
    `select pg_catalog.to_regclass(${literal(stagingName(BEFORE.documents))})::pg_catalog.text as name`,
  )
  return typeof found?.name === 'string' ? until.toISOString() : null
}

/** A later one keeps what it has replaced itself. */
export async function isNewestSync({ db }: Storage, { orgId, sourceId, id }: LoadRow): Promise<boolean> {
  const later = await db
    .select({ id: loads.id })
    .from(loads)
    .where(
      and(
        eq(loads.orgId, orgId),
        eq(loads.sourceId, sourceId),
        eq(loads.state, 'succeeded'),
        gt(loads.id, id),
      ),
    )
    .limit(1)
  return later.length === 0
}

export async function removeVersionBefore(queries: Queries, loadId: string): Promise<void> {
  for (const name of [BEFORE.passages, BEFORE.documents]) await queries.query(dropStagedTable(loadId, name))
}
