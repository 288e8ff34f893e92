/**
 * Puts the table in its place, in one statement: before it nothing can be searched, after it everything. Then adds it to the
 * search configuration, if that was asked for. Once the table is there the load has succeeded, whatever else fails.
 */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { StoredPlan } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOAD_GIVE_UP_SECONDS } from '../../contracts/limits.ts'
import { addToConfiguration, databaseFailureOf, takeWordStatisticsAgain } from '../search/index.ts'
import type { LoadRow } from './load-rows.ts'
import { requireAuthor, requireRights } from './require-rights.ts'
import { withTable } from './search-entry.ts'
import {
  contentTable,
  finalTable,
  finishedTable,
  isFinished,
  literal,
  oneAtATime,
  rowsTable,
  stagedTable,
} from './staging.ts'
import { LoadFailed, type Step, type StepContext } from './step.ts'

export const finishStep: Step = async (context, load) => {
  const { queries, plan } = context
  if (!(await isFinished(queries, load.id))) {
    await requireRights(context, load)
    await queries.query(finish(load.id, plan)).catch((error: unknown) => explain(error, plan))
  }
  if (plan.append) await refreshStatistics(context)
  return succeed(context, load)
}

/** What questions know of a table that has grown: without it they rank a little worse, and the next look at its health mends that. */
export async function refreshStatistics({ deps, source, queries, plan }: StepContext): Promise<void> {
  try {
    await queries.query(`analyze ${finalTable(plan.table)}`)
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
export async function succeed(given: Given, load: LoadRow): Promise<Partial<LoadRow>> {
  const { deps, plan } = given
  const saved = plan.saveConfiguration ? await saveConfiguration(given, load) : false
  return {
    state: 'succeeded',
    configurationSaved: saved,
    failure: plan.saveConfiguration && !saved ? 'configuration' : null,
    finishedAt: deps.clock(),
  }
}

/** In the class of conditions that nobody else uses. */
export const STAGING_LOST = 'SVC01'

/** Whoever comes second finds the mark. Nothing of the file is left behind it. */
const finish = (loadId: string, plan: StoredPlan): string =>
  oneAtATime(
    loadId,
    `if pg_catalog.to_regclass(${literal(finishedTable(loadId))}) is not null then return; end if;
    if pg_catalog.to_regclass(${literal(stagedTable(loadId))}) is null then
      raise exception 'the staged table is gone' using errcode = '${STAGING_LOST}';
    end if;
    ${plan.append ? appendRows(loadId, plan) : moveTable(loadId, plan)}
    drop table if exists ${rowsTable(loadId)}, ${contentTable(loadId)};
    create table ${finishedTable(loadId)} ();`,
  )

const moveTable = (loadId: string, { table }: StoredPlan): string =>
  `alter table ${stagedTable(loadId)} set schema public;
    alter table ${finalTable(loadId)} rename to ${quoteIdentifier(table)};`

function appendRows(loadId: string, plan: StoredPlan): string {
  const names = [...plan.columns.map(({ name }) => name), 'embedding'].map(quoteIdentifier).join(', ')
  return `insert into ${finalTable(plan.table)} (${names}) select ${names} from ${stagedTable(loadId)};
    drop table ${stagedTable(loadId)};`
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
