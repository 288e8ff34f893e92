/** Brings the version of a table before a load back, in one statement, or the load's again: what it replaces is kept in its place. */
import { and, eq, gt, inArray, or, sql } from '../../../db/drizzle.ts'
import { stagingName } from '../../../db/managed/drop-staged-table.ts'
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import { loads, type StoredPlan } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOAD_UNDO_DAYS } from '../../contracts/limits.ts'
import {
  requireDiskQuota,
  sourceIdOf,
  writeToDatabase,
  type Queries,
  type SourceRow,
} from '../databases/index.ts'
import { takeWordStatisticsAgain } from '../search/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { failingAsDatabase } from './database-problem.ts'
import { setAside } from './finish-step.ts'
import type { LoadDeps } from './load-deps.ts'
import { isLoad, presentLoad, requireLoad, undoUntilOf, type LoadRow } from './load-rows.ts'
import { swapPassages, swapPassagesOfRows } from './row-passages.ts'
import { idColumn, isEmbedded } from './search-entry.ts'
import {
  beforeTable,
  finalTable,
  hasBefore,
  hasLaterLoad,
  keysTable,
  literal,
  lockTable,
  oneAtATime,
  undoneTable,
} from './staging.ts'
import { readTarget, targetProblems, type Target } from './target-table.ts'

export const undoLoad: Verb<'undoLoad', LoadDeps> = writeInSteps(
  { audit: 'load.undone' },
  async (context, { load_id, undone }) => {
    const { db, clock, orgId, transaction } = context
    const { load, source } = await requireLoad(db, orgId, load_id)
    const until = undoUntilOf(load)
    if (until === null || until <= clock()) throw nothingBefore()
    await requireDiskQuota(db, orgId, source.kind)
    await transaction(async ({ tx }) => {
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`loads of ${orgId}`}, 0))`)
      await refuseOthers(tx, load)
    })
    // Whoever goes away meanwhile does not end it: what is done is noted below.
    await failingAsDatabase(() =>
      writeToDatabase(context, source, (queries) => bringBack(queries, load, source, undone), {
        isLong: true,
      }),
    )
    // Afterwards: whoever asks again, because the answer was lost, finds it done and notes it.
    const plan = { ...load.plan!, isUndone: undone, undoneAt: clock().toISOString() }
    await transaction(async ({ tx, audit }) => {
      const noted = await tx
        .update(loads)
        .set({ plan, updatedAt: clock() })
        .where(and(isLoad(load), sql`coalesce(${loads.plan} ->> 'isUndone', 'false') <> ${String(undone)}`))
        .returning({ id: loads.id })
      if (noted.length === 0) return
      const what = `${load.filename || load.id} in ${sourceIdOf(source.name)}, table ${plan.table}`
      await audit('load.undone', what)
    })
    // Without them questions rank a little worse, until the next look at its health.
    await takeWordStatisticsAgain(context, source).catch(() => {})
    return presentLoad({ ...load, plan }, source)
  },
)

const nothingBefore = () =>
  new ServiceError('CONFLICT', 'There is no version before this load', {
    hint: `It is kept for ${LOAD_UNDO_DAYS} days, and until the next load of the table.`,
  })

/** Of the same table: one that is under way, or came later. */
async function refuseOthers(tx: Pick<LoadDeps['db'], 'select'>, load: LoadRow): Promise<void> {
  const [other] = await tx
    .select({ state: loads.state })
    .from(loads)
    .where(
      and(
        eq(loads.orgId, load.orgId),
        eq(loads.sourceId, load.sourceId),
        sql`${loads.plan} ->> 'table' = ${load.plan!.table}`,
        sql`${loads.plan} ->> 'dryRun' is null`,
        or(
          eq(loads.state, 'running'),
          and(inArray(loads.state, ['succeeded']), gt(loads.finishedAt, load.finishedAt!)),
        ),
      ),
    )
    .limit(1)
  if (!other) return
  throw other.state === 'running'
    ? new ServiceError('CONFLICT', 'Another file is being loaded into this table', {
        hint: 'Wait for it, or cancel it: svc db loads',
      })
    : loadedAgain()
}

/** In the class of conditions that nobody else uses, as in finish-step.ts. */
const LOADED_AGAIN = 'SVC04'
const loadedAgain = () => new ServiceError('CONFLICT', 'The table was loaded again since then')

async function bringBack(queries: Queries, load: LoadRow, source: SourceRow, undone: boolean): Promise<void> {
  const plan = load.plan!
  if (!(await hasBefore(queries, load.id))) throw nothingBefore()
  const target = await readTarget(queries, plan.table)
  if (!target || (plan.replace && target.isDependedOn)) throw tableChanged()
  if (plan.replace) await refuseUnfit(queries, load.id, plan, target, source, undone)
  const change = plan.replace
    ? swapTables(load.id, plan.table)
    : swapRows(load.id, plan, await columnsBefore(queries, load.id, plan.table, target))
  const mark = undoneTable(load.id)
  // Whoever asks again after a lost answer changes nothing.
  await queries
    .query(
      oneAtATime(
        load.id,
        `if (pg_catalog.to_regclass(${literal(mark)}) is not null) = ${undone} then return; end if;
        ${lockTable(plan.table)}
        if ${hasLaterLoad(load.id, plan.table)} then
          raise exception 'the table was loaded again' using errcode = '${LOADED_AGAIN}';
        end if;
        ${change}
        ${undone ? `create table ${mark} ();` : `drop table ${mark};`}`,
      ),
    )
    .catch((error: unknown) => {
      if ((error as { code?: string }).code === LOADED_AGAIN) throw loadedAgain()
      // Rows or columns that do not fit any more.
      throw /^(42|22|23)/.test((error as { code?: string }).code ?? '') ? tableChanged() : error
    })
}

const tableChanged = () =>
  new ServiceError('CONFLICT', 'The table was changed since the load, and stays as it is')

/** What is configured must be in the table that comes back, or questions would fail, or show rows to everybody. */
async function refuseUnfit(
  queries: Queries,
  loadId: string,
  plan: StoredPlan,
  target: Target,
  { configuration }: SourceRow,
  undone: boolean,
): Promise<void> {
  const found = await queries.query<{ name: string; type: string; comment: string | null; is_done: boolean }>(
    `select a.attname::text as name, pg_catalog.format_type(a.atttypid, a.atttypmod) as type,
        pg_catalog.col_description(a.attrelid, a.attnum) as comment,
        (pg_catalog.to_regclass(${literal(undoneTable(loadId))}) is not null) = ${undone} as is_done
      from pg_catalog.pg_attribute a
      where a.attrelid = pg_catalog.to_regclass(${literal(beforeTable(loadId))}) and a.attnum > 0 and not a.attisdropped
      order by a.attnum limit 2000`,
  )
  // Whoever asks again after a lost answer: what lies there now is what was replaced.
  if (found[0]?.is_done) return
  const columns = found.map(({ name }) => ({ name, header: name }))
  const comment = found.find(({ name }) => name === 'embedding')?.comment ?? ''
  const model = /^Embedded by svc with model (.*?)(?: from columns .*)?$/s.exec(comment)?.[1] ?? plan.model
  const isOfVectors = found.some(({ name }) => name === 'embedding')
  const embed = isOfVectors === isEmbedded(plan) ? plan.embed : isOfVectors ? [0] : []
  const problems = targetProblems({ ...plan, columns, id: 0, model, embed }, target, configuration)
  const typeOf = new Map(found.map(({ name, type }) => [name, type]))
  for (const entry of configuration?.connection_config.embedding_configs ?? []) {
    if (entry.table !== plan.table) continue
    const [[vector], words] = [entry.columns, entry.text_search_column]
    const type = `vector(${entry.dimensions})`
    if (vector !== undefined && typeOf.get(vector) !== type)
      problems.push(`the search configuration names ${type} ${vector}`)
    for (const name of [words, configuration?.access_column]) {
      if (name && !typeOf.has(name)) problems.push(`the search configuration names column ${name}`)
    }
  }
  if (problems.length === 0) return
  throw new ServiceError('CONFLICT', 'The table that would come back does not fit the search configuration', {
    problems: [...new Set(problems)],
  })
}

/** Questions wait for the moment in which one table goes and the other comes. */
const swapTables = (loadId: string, table: string): string =>
  `${setAside(table, `${loadId}_swap`)}
  alter table ${beforeTable(loadId)} set schema public;
  alter table ${finalTable(`${loadId}_before`)} rename to ${quoteIdentifier(table)};
  alter table ${stagingName(`${loadId}_swap`)} rename to ${quoteIdentifier(`${loadId}_before`)};
  ${swapPassages(loadId, table)}`

/** Fixed: its values are the database's own, and may be inserted but not updated. */
type Column = { readonly name: string; readonly is_fixed: boolean }

/** In the order of the table that is kept; a column that was added since stays empty. */
async function columnsBefore(
  queries: Queries,
  loadId: string,
  table: string,
  target: Target,
): Promise<readonly Column[]> {
  const found = await queries.query<Column>(
    `select a.attname::text as name, coalesce(t.attidentity = 'a', false) as is_fixed from pg_catalog.pg_attribute a
      left join pg_catalog.pg_attribute t on t.attname = a.attname and not t.attisdropped
        and t.attrelid = pg_catalog.to_regclass(${literal(finalTable(table))})
      where a.attrelid = pg_catalog.to_regclass(${literal(beforeTable(loadId))}) and a.attnum > 0 and not a.attisdropped
      order by a.attnum limit 2000`,
  )
  if (found.some(({ name }) => !target.stored.includes(name))) throw tableChanged()
  return found
}

/** A row that stays is updated: deleting it would take along what refers to it in other tables. */
function swapRows(loadId: string, plan: StoredPlan, columns: readonly Column[]): string {
  const [table, before, key] = [finalTable(plan.table), beforeTable(loadId), quoteIdentifier(idColumn(plan))]
  const aside = stagingName(`${loadId}_swap`)
  const names = columns.map(({ name }) => quoteIdentifier(name)).join(', ')
  const set = columns
    .filter(({ name, is_fixed }) => !is_fixed && name !== idColumn(plan))
    .map(({ name }) => `${quoteIdentifier(name)} = excluded.${quoteIdentifier(name)}`)
  const isConcerned = `t.${key} in (select k.${key} from ${keysTable(loadId)} k)`
  return `create table ${aside} as select ${names} from ${table} t where ${isConcerned};
  delete from ${table} t where ${isConcerned} and not exists (select from ${before} b where b.${key} = t.${key});
  insert into ${table} (${names}) overriding system value select ${names} from ${before}
    on conflict (${key}) do ${set.length > 0 ? `update set ${set.join(', ')}` : 'nothing'};
  drop table ${before};
  alter table ${aside} rename to ${quoteIdentifier(`${loadId}_before`)};
  ${swapPassagesOfRows(loadId, plan)}`
}
