/** Starts a load: from here on it needs nobody, and a kill only delays it. */
import { and, eq, ne, sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { loads, type StoredPlan } from '../../../db/schema.ts'
import type { SearchConfiguration } from '../../contracts/data-sources.ts'
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOAD_PROBLEMS_SHOWN } from '../../contracts/limits.ts'
import { notifyChange } from '../changes/index.ts'
import { requireDiskQuota, sourceIdOf, writeToDatabase, type Queries } from '../databases/index.ts'
import { requireBulkModel } from '../embeddings/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { loadLease } from './claim-load.ts'
import { failingAsDatabase } from './database-problem.ts'
import type { LoadDeps } from './load-deps.ts'
import { fileFormatOf, isLoad, presentLoad, requireLoad, type LoadRow } from './load-rows.ts'
import { isSamePlan, planLoad } from './plan-load.ts'
import { inTurn, readBeginning, readFirstBytes } from './read-beginning.ts'
import type { Header } from './read-rows.ts'
import { changesTable, readTarget, targetProblems, type Target } from './target-table.ts'

export const startLoad: Verb<'startLoad', LoadDeps> = writeInSteps(
  { audit: 'load.started' },
  async (context, { load_id, ...asked }) => {
    const { db, clock, member, orgId, models, transaction } = context
    const { load, source } = await requireLoad(db, orgId, load_id)
    fileFormatOf(load)
    // Without vectors no model has to be there.
    const dimensions =
      asked.embed_columns.length === 0 ? 0 : requireBulkModel(models, asked.model ?? BUILT_IN_MODEL.name)
    // Nothing of its file may be left in the database by now.
    if (load.plan && (load.state === 'running' || load.state === 'succeeded')) {
      const again = planLoad(asked, headerIn(load.plan), source, member, dimensions)
      return presentLoad(await alreadyStarted(context, load, again), source)
    }
    requireUploaded(load)
    await requireDiskQuota(db, orgId, source.kind)
    const { header, target, languages } = await inTurn(context, load, async (signal) => {
      const { first, ...found } = await failingAsDatabase(() =>
        writeToDatabase(
          context,
          source,
          async (queries) => ({
            first: await readFirstBytes(queries, load),
            target: await readTarget(queries, asked.table ?? source.name),
            languages: await readLanguages(queries),
          }),
          { signal },
        ),
      )
      return { header: (await readBeginning(context, load, first, asked)).header, ...found }
    })
    const plan = await notingRefusal(context, load, header, () => {
      const chosen = planLoad(asked, header, source, member, dimensions)
      requireTarget(chosen, target, languages, source.configuration)
      return chosen
    })
    const started = await transaction(async ({ tx, audit }) => {
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`loads of ${orgId}`}, 0))`)
      const [busy] = await tx
        .select({ id: loads.id })
        .from(loads)
        .where(
          and(
            eq(loads.orgId, orgId),
            eq(loads.sourceId, source.id),
            eq(loads.state, 'running'),
            ne(loads.id, load.id),
            sql`${loads.plan} ->> 'table' = ${plan.table}`,
          ),
        )
      if (busy) throw new ServiceError('CONFLICT', `Another file is being loaded into table ${plan.table}`)
      const now = clock()
      const [updated] = await tx
        .update(loads)
        .set({
          plan,
          state: 'running',
          phase: 'reading',
          updatedAt: now,
          failingSince: null,
          readBytes: header.consumed,
          readLines: header.line,
          ...loadLease.given,
        })
        .where(and(isLoad(load), eq(loads.state, 'uploading')))
        .returning()
      // Somebody else was faster, or it was canceled.
      if (!updated) return undefined
      await notify(tx, 'loads')
      await notifyChange(tx, 'loads', { orgId })
      await audit(
        'load.started',
        `${load.filename || load.id} into ${sourceIdOf(source.name)}, table ${plan.table}`,
      )
      return updated
    })
    return presentLoad(started ?? (await alreadyStarted(context, load, plan)), source)
  },
)

function requireTarget(
  plan: StoredPlan,
  target: Target | undefined,
  languages: readonly string[],
  configuration: SearchConfiguration | null,
): void {
  if (!languages.includes(plan.language)) {
    throw new ServiceError('INVALID_REQUEST', undefined, {
      problems: [`language: must be one of ${languages.join(', ')}`],
    })
  }
  const problems = targetProblems(plan, target, configuration)
  if (problems.length === 0) return
  const hint = 'Choose another table, or append to this one, change its rows by their id, or replace it.'
  throw new ServiceError('CONFLICT', `Table ${plan.table} cannot take this file`, {
    problems,
    ...(changesTable(plan) ? {} : { hint }),
  })
}

/** A file that can never be loaded ends at once; one that was refused for its choices makes way for others (create-load.ts). */
async function notingRefusal<T>(
  { db, clock }: LoadDeps,
  load: LoadRow,
  { problems }: Header,
  choose: () => T,
): Promise<T> {
  try {
    return choose()
  } catch (error) {
    const now = clock()
    await db
      .update(loads)
      .set(
        problems.length > 0
          ? {
              state: 'failed',
              failure: 'file',
              problems: problems.slice(0, LOAD_PROBLEMS_SHOWN),
              problemCount: problems.length,
              updatedAt: now,
              finishedAt: now,
            }
          : { failingSince: now },
      )
      .where(and(isLoad(load), eq(loads.state, 'uploading')))
    if (problems.length > 0) await notify(db, 'loads')
    throw error
  }
}

function requireUploaded({ state, received, bytes }: LoadRow): void {
  if (state === 'uploading' && received < bytes) {
    throw new ServiceError('CONFLICT', `${received} of ${bytes} bytes of the file were uploaded`, {
      hint: 'Upload the rest first.',
    })
  }
  if (state !== 'uploading') {
    throw new ServiceError('CONFLICT', 'This load has ended', { hint: 'Upload the file again.' })
  }
}

const headerIn = ({ columns, delimiter, encoding, sheet }: StoredPlan): Header => ({
  headers: columns.map(({ header }) => header),
  lists: columns.flatMap(({ header, isList }) => (isList ? [header] : [])),
  jsons: columns.flatMap(({ header, isJson }) => (isJson ? [header] : [])),
  delimiter,
  encoding,
  sheet,
  consumed: 0,
  line: 1,
  problems: [],
})

/** Text search configurations, without their schema. */
async function readLanguages(queries: Queries): Promise<string[]> {
  const rows = await queries.query<{ name: string }>(
    `select cfgname::text as name from pg_ts_config where pg_ts_config_is_visible(oid) order by 1 limit 200`,
  )
  return rows.map(({ name }) => name)
}

/** Started before, with the same choice: a client that was killed asks again. */
async function alreadyStarted({ db }: LoadDeps, load: LoadRow, plan: StoredPlan): Promise<LoadRow> {
  const { load: now } = await requireLoad(db, load.orgId, load.id)
  const isStarted = now.state === 'running' || now.state === 'succeeded'
  if (isStarted && now.plan && isSamePlan(now.plan, plan)) return now
  throw new ServiceError('CONFLICT', 'This load was started with other choices, or has ended')
}
