/**
 * Publishes a sync, in one statement: before it questions find the version before, after it this one. What it replaces is
 * kept beside it. Once it is published the sync has succeeded, whatever else fails.
 */
import { stagingName } from '../../../db/managed/drop-staged-table.ts'
import { DOCUMENTS_UNDO_DAYS } from '../../contracts/limits.ts'
import {
  ACCESS_RULES,
  APPLY_ACCESS,
  BEFORE,
  DOCUMENT_COLUMNS,
  embeddingIndex,
  PASSAGE_COLUMNS,
  READER_VERSION,
  type DocumentsRow,
} from '../documents/index.ts'
import { refreshStatistics, STAGING_LOST, succeed } from './finish-step.ts'
import type { LoadRow } from './load-rows.ts'
import { requireRights } from './require-rights.ts'
import {
  contentTable,
  finishedTable,
  isFinished,
  literal,
  oneAtATime,
  rowsTable,
  stagedTable,
} from './staging.ts'
import { LoadFailed, type Step, type StepContext } from './step.ts'

export const publishStep: Step = async (context, load) => {
  const { queries } = context
  if (!(await isFinished(queries, load.id))) {
    await requireRights(context, load)
    await queries.query(publish(context, load)).catch(explain)
  }
  await refreshStatistics(context)
  const { clock } = context.deps
  // Then what it has replaced is deleted, with the rest of it.
  const waitsUntil = new Date(clock().getTime() + DOCUMENTS_UNDO_DAYS * 24 * 60 * 60_000)
  return { ...(await succeed(context, load)), waitsUntil }
}

/** In the class of conditions that nobody else uses, as in finish-step.ts. */
const OTHER_VERSION = 'SVC03'

function explain(error: unknown): never {
  const code = (error as { code?: string }).code ?? ''
  if (code === STAGING_LOST) throw new LoadFailed('staging_lost')
  if (code === OTHER_VERSION) throw new LoadFailed('version')
  throw error
}

const [DOCUMENTS_BEFORE, PASSAGES_BEFORE] = [stagingName(BEFORE.documents), stagingName(BEFORE.passages)]

const ACCESS_OF_FILE = `case when jsonb_typeof(cells -> 'access') = 'array'
          then array(select jsonb_array_elements_text(cells -> 'access')) end`

/** Whoever comes second finds the mark. Nothing of the files is left behind it. */
function publish({ deps, source, plan }: StepContext, load: LoadRow): string {
  const { sent, keep, base } = plan.sync!
  const [rows, staged] = [rowsTable(load.id), stagedTable(load.id)]
  const at = `${literal(deps.clock().toISOString())}::timestamptz`
  const columns = PASSAGE_COLUMNS.replace('as_of', at).replace('access', 'rule_access')
  const passages = `with ${ACCESS_RULES} select ${columns} from ${staged} join access_rules on rule_path = path`
  return oneAtATime(
    load.id,
    `if pg_catalog.to_regclass(${literal(finishedTable(load.id))}) is not null then return; end if;
    if pg_catalog.to_regclass(${literal(rows)}) is null${sent === 0 ? '' : ` or exists (select from ${staged} where embedding is null) or (select count(*) from ${staged}) <> ${load.rows}`} then
      raise exception 'what was staged is gone' using errcode = '${STAGING_LOST}';
    end if;
    if coalesce((select max(version) from public.versions), 0) <> ${base} then
      raise exception 'another version was published' using errcode = '${OTHER_VERSION}';
    end if;
    drop table if exists ${DOCUMENTS_BEFORE}, ${PASSAGES_BEFORE};
    create table ${DOCUMENTS_BEFORE} as select ${DOCUMENT_COLUMNS} from public.documents d
      where exists (select from ${rows} r where r.n <= ${sent} and r.cells ->> 'path' = d.path)
        ${keep ? '' : `or not exists (select from ${rows} r where r.cells ->> 'path' = d.path)`};
    create table ${PASSAGES_BEFORE} as select ${PASSAGE_COLUMNS} from public.passages p
      where p.path in (select b.path from ${DOCUMENTS_BEFORE} b);
    delete from public.passages p where p.path in (select b.path from ${DOCUMENTS_BEFORE} b);
    delete from public.documents d where d.path in (select b.path from ${DOCUMENTS_BEFORE} b);
    insert into public.documents (${DOCUMENT_COLUMNS})
      select cells ->> 'path', cells ->> 'sha256', (cells ->> 'bytes')::bigint, ${READER_VERSION}, cells ->> 'title',
        (cells ->> 'passages')::int, cells ->> 'problem', ${at}, ${base + 1}, ${ACCESS_OF_FILE}
      from ${rows} r where r.n <= ${sent};
    ${sent === 0 ? '' : insertPassages(source as DocumentsRow, passages)}
    ${APPLY_ACCESS}
    insert into public.versions values (${base + 1}, ${at});
    drop table if exists ${rows}, ${contentTable(load.id)}, ${staged};
    create table ${finishedTable(load.id)} ();`,
  )
}

/**
 * An index over all rows of a table is made much faster than it grows by each of them. Only where there were none: making it
 * keeps questions out.
 */
const insertPassages = ({ documents }: DocumentsRow, passages: string): string =>
  `if not exists (select from public.passages) and not exists (select from ${PASSAGES_BEFORE}) then
      drop index if exists public.passages_embedding;
      insert into public.passages (${PASSAGE_COLUMNS}) ${passages};
      ${embeddingIndex(documents)}
    else
      insert into public.passages (${PASSAGE_COLUMNS}) ${passages};
    end if;`
