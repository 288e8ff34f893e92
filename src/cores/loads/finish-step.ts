/**
 * Puts the table in its place, in one statement: before it nothing can be searched, after it everything. Then adds it to the
 * search configuration, if that was asked for. Once the table is there the load has succeeded, whatever else fails.
 */
import { STAGING_SCHEMA } from '../../../db/managed/drop-staged-table.ts'
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { StoredPlan } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOAD_GIVE_UP_SECONDS, LOAD_UNDO_DAYS } from '../../contracts/limits.ts'
import { addToConfiguration, databaseFailureOf, takeWordStatisticsAgain } from '../search/index.ts'
import type { LoadDeps } from './load-deps.ts'
import type { LoadRow } from './load-rows.ts'
import { requireAuthor, requireRights } from './require-rights.ts'
import { analyzePassages, changePassages, movePassages } from './row-passages.ts'
import { idColumn, isEmbedded, withTable } from './search-entry.ts'
import {
  beforeTable,
  contentTable,
  finalTable,
  finishedTable,
  hasBefore,
  isFinished,
  keysTable,
  literal,
  lockTable,
  markFinished,
  oneAtATime,
  rowsTable,
  stagedTable,
} from './staging.ts'
import { LoadFailed, type Step, type StepContext } from './step.ts'
import { changesTable, readTarget, targetProblems, type Target } from './target-table.ts'

export const finishStep: Step = async (context, load) => {
  const { deps, queries, plan, source } = context
  if (!(await isFinished(queries, load.id))) {
    await requireRights(context, load)
    const target = changesTable(plan) ? await readTarget(queries, plan.table) : undefined
    if (changesTable(plan) && targetProblems(plan, target, source.configuration).length > 0)
      throw new LoadFailed('table_changed')
    await queries.query(finish(load.id, plan, target)).catch((error: unknown) => explain(error, plan))
  }
  if (changesTable(plan)) await refreshStatistics(context)
  return succeed(context, load, (await hasBefore(queries, load.id)) ? undoUntil(deps) : null)
}

/** So long what a load has replaced is kept. */
export const undoUntil = ({ clock }: Pick<LoadDeps, 'clock'>): Date =>
  new Date(clock().getTime() + LOAD_UNDO_DAYS * 24 * 60 * 60_000)

/** What questions know of a table that has grown: without it they rank a little worse, and the next look at its health mends that. */
export async function refreshStatistics({ deps, source, queries, plan }: StepContext): Promise<void> {
  try {
    await queries.query(`analyze ${finalTable(plan.table)}`)
    if (plan.passages) await queries.query(analyzePassages(plan.table))
    await takeWordStatisticsAgain(deps, source)
  } catch (error) {
    deps.log.warn('the statistics of a loaded table could not be taken', {
      source: source.id,
      code: databaseFailureOf(error)?.code,
    })
  }
}

type Given = Pick<StepContext, 'deps' | 'source' | 'plan'>

/** Once its table is in its place. */
export async function succeed(
  given: Given,
  load: LoadRow,
  waitsUntil: Date | null = null,
): Promise<Partial<LoadRow>> {
  const { deps, plan } = given
  const saved = plan.saveConfiguration ? await saveConfiguration(given, load) : false
  return {
    state: 'succeeded',
    configurationSaved: saved,
    failure: plan.saveConfiguration && !saved ? 'configuration' : null,
    finishedAt: deps.clock(),
    waitsUntil,
  }
}

/** In the class of conditions that nobody else uses. */
export const STAGING_LOST = 'SVC01'

/** Whoever comes second finds the mark. Nothing of the file is left behind it. */
const finish = (loadId: string, plan: StoredPlan, target: Target | undefined): string =>
  oneAtATime(
    loadId,
    `if pg_catalog.to_regclass(${literal(finishedTable(loadId))}) is not null then return; end if;
    if pg_catalog.to_regclass(${literal(stagedTable(loadId))}) is null then
      raise exception 'the staged table is gone' using errcode = '${STAGING_LOST}';
    end if;
    ${target && !plan.replace ? changeRows(loadId, plan, target) : moveTable(loadId, plan, target !== undefined)}
    drop table if exists ${rowsTable(loadId)}, ${contentTable(loadId)};
    ${markFinished(loadId, plan.table)}`,
  )

/** Questions wait for the moment in which one table goes and the other comes. */
const moveTable = (loadId: string, plan: StoredPlan, isThere: boolean): string =>
  `${isThere ? setAside(plan.table, `${loadId}_before`) : ''}
    alter table ${stagedTable(loadId)} set schema public;
    alter table ${finalTable(loadId)} rename to ${quoteIdentifier(plan.table)};
    ${movePassages(loadId, plan.table)}`

export const setAside = (table: string, name: string): string =>
  `alter table ${finalTable(table)} rename to ${quoteIdentifier(name)};
    alter table ${finalTable(name)} set schema ${STAGING_SCHEMA};`

/** Only what differs is written. What those rows were is kept, with their keys. */
function changeRows(loadId: string, plan: StoredPlan, { stored }: Target): string {
  const [staged, table, keys] = [stagedTable(loadId), finalTable(plan.table), keysTable(loadId)]
  const key = quoteIdentifier(idColumn(plan))
  const names = [...plan.columns.map(({ name }) => name), ...(isEmbedded(plan) ? ['embedding'] : [])].map(
    quoteIdentifier,
  )
  const values = (of: string) => `row(${names.map((name) => `${of}.${name}`).join(', ')})`
  const isStaged = `exists (select from ${staged} s where s.${key} = t.${key})`
  const missing = plan.deleteMissing
    ? `insert into ${keys} select t.${key} from ${table} t where not ${isStaged};`
    : ''
  const set = names.filter((name) => name !== key).map((name) => `${name} = excluded.${name}`)
  return `${lockTable(plan.table)}
    create table ${keys} as select s.${key} from ${staged} s left join ${table} t on t.${key} = s.${key}
      where ${plan.append ? 'true' : `t.${key} is null or ${values('t')} is distinct from ${values('s')}`};
    ${missing}
    create table ${beforeTable(loadId)} as select ${stored.map(quoteIdentifier).join(', ')} from ${table} t
      where t.${key} in (select k.${key} from ${keys} k);
    ${plan.deleteMissing ? `delete from ${table} t where t.${key} in (select k.${key} from ${keys} k) and not ${isStaged};` : ''}
    insert into ${table} (${names.join(', ')}) select ${names.join(', ')} from ${staged} s
      where s.${key} in (select k.${key} from ${keys} k)
      ${plan.upsert ? `on conflict (${key}) do update set ${set.join(', ')}` : ''};
    ${changePassages(loadId, plan)}
    drop table ${staged};`
}

function explain(error: unknown, { append }: StoredPlan): never {
  const code = (error as { code?: string }).code ?? ''
  if (code === STAGING_LOST) throw new LoadFailed('staging_lost')
  if (code === '42P07') throw new LoadFailed('table_exists')
  if (code === '23505' && append) throw new LoadFailed('rows_exist')
  // Not those that the next attempt tells more about: a table made at the same moment, a quota that is over meanwhile.
  if (/^(42|22|23)/.test(code) && !['23505', '42501'].includes(code)) throw new LoadFailed('table_changed')
  throw error
}

/** A model or database that is away is waited for, for a day; then it is left to people. */
async function saveConfiguration({ deps, source, plan }: Given, load: LoadRow): Promise<boolean> {
  const { userId, userName, kind, requestId } = plan.author
  const actor = { kind, userId, userName, requestId }
  try {
    return await addToConfiguration(
      deps,
      actor,
      { orgId: load.orgId, id: source.id },
      {
        change: (before) => withTable(before, plan),
        authorize: (tx) => requireAuthor(deps, tx, load.orgId, plan.author),
      },
    )
  } catch (error) {
    const failingMs = load.failingSince ? deps.clock().getTime() - load.failingSince.getTime() : 0
    if (error instanceof LoadFailed || failingMs > LOAD_GIVE_UP_SECONDS * 1000) return false
    throw error instanceof ServiceError ? error : new ServiceError('TIMEOUT', undefined, { cause: error })
  }
}
