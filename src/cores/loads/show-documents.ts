/** What a documents source holds, as far as its people may know: names of files, and never what is in them. */
import { and, desc, eq } from '../../../db/drizzle.ts'
import { loads } from '../../../db/schema.ts'
import { DOCUMENTS_FOLDERS_SHOWN, DOCUMENTS_LEFT_OUT_SHOWN } from '../../contracts/limits.ts'
import { readWithOwnLogin, sourceIdOf, type Queries } from '../databases/index.ts'
import { readVersion, requireDocuments, type DocumentsRow } from '../documents/index.ts'
import { read, type OutputOf, type Verb } from '../verb.ts'
import { failingAsDatabase } from './database-problem.ts'
import type { LoadDeps } from './load-deps.ts'
import { presentLoad } from './load-rows.ts'
import { readUndoUntil } from './version-before.ts'

export const showDocuments: Verb<'showDocuments', LoadDeps> = read(async (context, { name }) => {
  const { db, orgId, principal } = context
  return readStatus(context, await requireDocuments(db, orgId, name), principal.signal)
})

export async function readStatus(
  deps: LoadDeps,
  source: DocumentsRow,
  signal: AbortSignal | undefined,
): Promise<OutputOf<'showDocuments'>> {
  const { db, clock } = deps
  const { orgId } = source
  const [newest] = await db
    .select()
    .from(loads)
    .where(and(eq(loads.orgId, orgId), eq(loads.sourceId, source.id)))
    .orderBy(desc(loads.id))
    .limit(1)
  const held =
    source.configuration === null
      ? NOTHING
      : await failingAsDatabase(() =>
          readWithOwnLogin(deps, source, (queries) => readHeld(queries, clock()), { signal }),
        )
  return {
    source_id: sourceIdOf(source.name),
    ...held,
    sync: newest ? presentLoad(newest, source) : null,
  }
}

/** Its tables are made together with its configuration. */
const NOTHING = {
  version: 0,
  published_at: null,
  documents: 0,
  passages: 0,
  folders: [],
  left_out: [],
  left_out_count: 0,
  undo_until: null,
}

async function readHeld(queries: Queries, now: Date) {
  const { version, publishedAt } = await readVersion(queries)
  const [counted] = await queries.query<{ documents: string; passages: string; problems: string }>(
    `select count(*) filter (where passages > 0)::text as documents, coalesce(sum(passages), 0)::text as passages,
        count(problem)::text as problems from public.documents`,
  )
  const leftOut = await queries.query<{ path: string; reason: string }>(
    `select path, problem as reason from public.documents where problem is not null
      order by path limit ${DOCUMENTS_LEFT_OUT_SHOWN}`,
  )
  const folders = await queries.query<{ folder: string }>(
    `select distinct split_part(path, '/', 1) as folder from public.documents where path like '%/%'
      order by folder limit ${DOCUMENTS_FOLDERS_SHOWN}`,
  )
  return {
    version,
    published_at: publishedAt,
    documents: Number(counted!.documents),
    passages: Number(counted!.passages),
    folders: folders.map(({ folder }) => folder),
    left_out: [...leftOut],
    left_out_count: Number(counted!.problems),
    undo_until: await readUndoUntil(queries, now),
  }
}
