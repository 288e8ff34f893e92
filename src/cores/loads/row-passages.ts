/**
 * The passages of rows whose text is longer than the model reads, in a table of the same name as theirs. Whatever changes the
 * rows changes them in the same statement, and keeps what they were beside what the rows were.
 */
import { STAGING_SCHEMA, stagingName } from '../../../db/managed/drop-staged-table.ts'
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { StoredPlan } from '../../../db/schema.ts'
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import { PASSAGE_TOKENS, QUESTION_MAX_CHARACTERS } from '../../contracts/limits.ts'
import type { Queries } from '../databases/index.ts'
import { PASSAGES_SCHEMA, passagesComment, passagesTable } from '../search/index.ts'
import { wholeText } from './compare-rows.ts'
import type { LoadRow } from './load-rows.ts'
import { idColumn } from './search-entry.ts'
import {
  keysTable,
  literal,
  oneAtATime,
  passagesBefore,
  passagesBeforeName,
  stagedPassages,
} from './staging.ts'
import { LoadFailed } from './step.ts'

/** pgvector: an index takes vectors of at most 2,000 dimensions. Without one a search reads all rows. */
export const INDEXED_DIMENSIONS_MAX = 2_000

/** Of a staged row `r`. A text has no more tokens than characters; what other models read nobody knows, and is cut by us. */
export const mayBeLong = (plan: StoredPlan): string =>
  `char_length(${wholeText(plan)}) > ${plan.model === BUILT_IN_MODEL.name ? PASSAGE_TOKENS - 2 : QUESTION_MAX_CHARACTERS}`

const COLUMNS = 'row_id, place, heading, passage, text_sha256, embedding'

const keyType = ({ id, columns }: StoredPlan): string => (id === -1 ? 'text' : (columns[id]!.type ?? 'text'))

const createPassages = (name: string, plan: StoredPlan): string =>
  `create table if not exists ${name} (row_id ${keyType(plan)} not null, place int not null, heading text not null,
      passage text not null, text_sha256 text not null, embedding vector(${plan.dimensions}), primary key (row_id, place));
    comment on table ${name} is ${literal(passagesComment({ key: idColumn(plan), model: plan.model, dimensions: plan.dimensions }))};`

/** With an index of those that have no vector yet. */
export const createStagedPassages = (loadId: string, plan: StoredPlan): string =>
  `${createPassages(stagedPassages(loadId), plan)}
    create index if not exists ${quoteIdentifier(`${loadId}_passages_left`)} on ${stagedPassages(loadId)} (row_id, place)
      where embedding is null;`

const createIndexes = (name: string, prefix: string, { dimensions }: StoredPlan): string =>
  `create index if not exists ${quoteIdentifier(`${prefix}_passages_text`)} on ${name} using hash (text_sha256);
    ${dimensions <= INDEXED_DIMENSIONS_MAX ? `create index if not exists ${quoteIdentifier(`${prefix}_passages_embedding`)} on ${name} using hnsw (embedding vector_cosine_ops);` : ''}`

/**
 * Where no row was long after all there is nothing to keep, and the step may come again after the drop. Of a table that rows are
 * added to, the indexes are there.
 */
export async function indexPassages(queries: Queries, plan: StoredPlan, load: LoadRow): Promise<void> {
  const staged = stagedPassages(load.id)
  if (plan.longRows === 0) {
    await queries.query(oneAtATime(load.id, `drop table if exists ${staged};`))
    return
  }
  const [found] = await queries.query<{ rows: string; without: string }>(
    `select count(distinct row_id)::text as rows, count(*) filter (where embedding is null)::text as without from ${staged}`,
  )
  if (found?.without !== '0' || found.rows !== String(plan.longRows)) throw new LoadFailed('staging_lost')
  await queries.query(
    oneAtATime(
      load.id,
      `drop index if exists ${stagingName(`${load.id}_passages_left`)};
        ${plan.append || plan.upsert ? '' : createIndexes(staged, load.id, plan)}`,
    ),
  )
  await queries.query(`analyze ${staged}`)
}

const isThere = (name: string): string => `(pg_catalog.to_regclass(${literal(name)}) is not null)`

const setAside = (table: string, name: string): string =>
  `if ${isThere(passagesTable(table))} then
      alter table ${passagesTable(table)} rename to ${quoteIdentifier(name)};
      alter table ${passagesTable(name)} set schema ${STAGING_SCHEMA};
    end if;`

const putInPlace = (name: string, table: string): string =>
  `if ${isThere(stagingName(name))} then
      create schema if not exists ${PASSAGES_SCHEMA};
      alter table ${stagingName(name)} set schema ${PASSAGES_SCHEMA};
      alter table ${passagesTable(name)} rename to ${quoteIdentifier(table)};
    end if;`

/** With the table of their rows. Those of an earlier table of that name go, whether or not there are new ones. */
export const movePassages = (loadId: string, table: string): string =>
  `${setAside(table, passagesBeforeName(loadId))}
    ${putInPlace(`${loadId}_passages`, table)}`

export const swapPassages = (loadId: string, table: string): string =>
  `${setAside(table, `${loadId}_passages_swap`)}
  ${putInPlace(passagesBeforeName(loadId), table)}
  if ${isThere(stagingName(`${loadId}_passages_swap`))} then
    alter table ${stagingName(`${loadId}_passages_swap`)} rename to ${quoteIdentifier(passagesBeforeName(loadId))};
  end if;`

/** Of the rows that are written. */
export function changePassages(loadId: string, plan: StoredPlan): string {
  const [staged, passages, before] = [
    stagedPassages(loadId),
    passagesTable(plan.table),
    passagesBefore(loadId),
  ]
  const isConcerned = `row_id in (select k.${quoteIdentifier(idColumn(plan))} from ${keysTable(loadId)} k)`
  // A table that is there has its indexes, by the name of the load that made it.
  return `if ${isThere(staged)} and not ${isThere(passages)} then
      create schema if not exists ${PASSAGES_SCHEMA};
      ${createPassages(passages, plan)}
      ${createIndexes(passages, loadId, plan)}
    end if;
    if ${isThere(passages)} then
      create table ${before} as select ${COLUMNS} from ${passages} where ${isConcerned};
      delete from ${passages} where ${isConcerned};
    end if;
    if ${isThere(staged)} then
      insert into ${passages} (${COLUMNS}) select ${COLUMNS} from ${staged} where ${isConcerned};
      drop table ${staged};
    end if;`
}

export function swapPassagesOfRows(loadId: string, plan: StoredPlan): string {
  const [passages, before, aside] = [
    passagesTable(plan.table),
    passagesBefore(loadId),
    stagingName(`${loadId}_passages_swap`),
  ]
  const isConcerned = `row_id in (select k.${quoteIdentifier(idColumn(plan))} from ${keysTable(loadId)} k)`
  return `if ${isThere(passages)} and ${isThere(before)} then
    create table ${aside} as select ${COLUMNS} from ${passages} where ${isConcerned};
    delete from ${passages} where ${isConcerned};
    insert into ${passages} (${COLUMNS}) select ${COLUMNS} from ${before};
    drop table ${before};
    alter table ${aside} rename to ${quoteIdentifier(passagesBeforeName(loadId))};
  end if;`
}

export const analyzePassages = (table: string): string =>
  `do $svc$ begin if ${isThere(passagesTable(table))} then analyze ${passagesTable(table)}; end if; end $svc$`
