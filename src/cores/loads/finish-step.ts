/**
 * Puts the table in its place, in one statement: before it nothing can be searched, after it everything. Then adds it to the
 * search configuration, if that was asked for.
 */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { StoredPlan } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { lockAuthor } from '../lock-author.ts'
import { addToConfiguration } from '../search/index.ts'
import { withTransaction } from '../transaction.ts'
import type { LoadRow } from './load-rows.ts'
import { withTable } from './search-entry.ts'
import { CONTENT, finalTable, FINISHED, literal, rowsTable, stagedTable } from './staging.ts'
import { LoadFailed, type Step, type StepContext } from './step.ts'

export const finishStep: Step = async (context, load) => {
  const { queries, plan } = context
  await requireAuthor(context, load)
  const isDone = await isFinished(context, load)
  if (!isDone) {
    const [staged] = await queries.query<{ rows: string }>(
      `select case when to_regclass(${literal(stagedTable(load.id))}) is null then '-1' else 'there' end as rows`,
    )
    if (staged?.rows !== 'there') throw new LoadFailed('staging_lost')
    await queries.query(plan.append ? appendRows(load.id, plan) : moveTable(load.id, plan)).catch(explain)
  }
  const saved = plan.saveConfiguration ? await saveConfiguration(context, load) : false
  return {
    state: 'succeeded',
    configurationSaved: saved,
    failure: plan.saveConfiguration && !saved ? 'configuration' : null,
    finishedAt: context.deps.clock(),
  }
}

/** A removed member, a lowered role or a revoked token ends what was begun with it. */
async function requireAuthor({ deps, plan }: StepContext, { orgId }: LoadRow): Promise<void> {
  const { userId, role, tokenId } = plan.author
  try {
    await withTransaction(deps.db, (tx) =>
      lockAuthor(tx, deps.clock, { orgId, userId, role, ...(tokenId && { tokenId }) }, 'developer'),
    )
  } catch (error) {
    const isRefused = error instanceof ServiceError && ['FORBIDDEN', 'UNAUTHENTICATED'].includes(error.code)
    throw isRefused ? new LoadFailed('not_allowed') : error
  }
}

async function isFinished({ queries }: StepContext, load: LoadRow): Promise<boolean> {
  const found = await queries.query(`select from ${FINISHED} where load_id = $1`, [load.id])
  return found.length > 0
}

/** Nothing of the file is left behind it but the mark that it is done. */
const ending = (loadId: string): string =>
  `drop table if exists ${rowsTable(loadId)};
    delete from ${CONTENT} where load_id = ${literal(loadId)};
    insert into ${FINISHED} values (${literal(loadId)});`

const moveTable = (loadId: string, { table }: StoredPlan): string => `do $svc$ begin
    alter table ${stagedTable(loadId)} set schema public;
    alter table ${finalTable(loadId)} rename to ${quoteIdentifier(table)};
    ${ending(loadId)}
  end $svc$`

function appendRows(loadId: string, plan: StoredPlan): string {
  const names = [...plan.columns.map(({ name }) => name), 'embedding'].map(quoteIdentifier).join(', ')
  return `do $svc$ begin
    insert into ${finalTable(plan.table)} (${names}) select ${names} from ${stagedTable(loadId)};
    drop table ${stagedTable(loadId)};
    ${ending(loadId)}
  end $svc$`
}

function explain(error: unknown): never {
  const code = (error as { code?: string }).code ?? ''
  if (code === '42P07') throw new LoadFailed('table_exists')
  if (code === '23505') throw new LoadFailed('rows_exist')
  if (/^(42|22|23)/.test(code)) throw new LoadFailed('table_changed')
  throw error
}

async function saveConfiguration({ deps, source, plan }: StepContext, load: LoadRow): Promise<boolean> {
  const { userId, userName, kind, requestId } = plan.author
  const actor = { kind, userId, userName, requestId }
  return addToConfiguration(deps, actor, { orgId: load.orgId, id: source.id }, (before) =>
    withTable(before, plan),
  )
}
