/** One question, in the order of the contract's rules: find, role, limits, configuration, filters; then embed, search, merge, cut. */
import type { Hit, queryDataSource, SearchEntry } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { ANSWER_MAX_BYTES } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operation.ts'
import { asMember } from '../caller.ts'
import { reach, type SourceRow } from '../databases/index.ts'
import { findAskable, requireMinimumRole } from './askable-sources.ts'
import { cutAnswer } from './cut-answer.ts'
import { DatabaseChanged, spokenByDatabase } from './database-words.ts'
import { matchOf } from './filter-columns.ts'
import { handleOf } from './hit-handles.ts'
import { hybridRows } from './hybrid-rows.ts'
import { mergeHits } from './merge-hits.ts'
import { nearestRows, type Asked } from './nearest-rows.ts'
import { takeQuestion, type LimitNeeds } from './question-limits.ts'
import { readFilters, type ReadFilter } from './read-filters.ts'
import { recordingActivity } from './record-activity.ts'
import { check, type ConfigurationNeeds } from './save-configuration.ts'

export type AskNeeds = ConfigurationNeeds & LimitNeeds

export const ask =
  (needs: AskNeeds): Handler<typeof queryDataSource> =>
  (who, question) =>
    recordingActivity(needs, who, question.query, async (trace) => {
      const caller = asMember(who)
      const source = await findAskable(needs.db, caller, question.source_id)
      trace.source = source
      requireMinimumRole(caller, source)
      await takeQuestion(needs, caller.orgId)
      const entries = chosenEntries(source, question.target)
      const filters = readFilters(source.configuration!.filter_schema, question.filters)

      const vectors = await embedOncePerModel(needs, caller.orgId, entries, question.query)
      const lists = await searched(needs, source, async () => {
        await requireServableFilters(needs, source, filters)
        return searchEntries(needs, source, entries, vectors, { ...question, filters })
      })

      const result = cutAnswer(mergeHits(lists, question.top_k), ANSWER_MAX_BYTES)
      trace.hits = result.count
      trace.answer = JSON.stringify(result)
      return result
    })

export type Vectors = ReadonlyMap<string, ArrayLike<number>>
export type RankedLists = readonly { readonly group: string; readonly hits: readonly Hit[] }[]

/** Each table by itself; which lists can be compared is for whoever merges them. */
export const searchEntries = (
  needs: AskNeeds,
  source: SourceRow,
  entries: readonly SearchEntry[],
  vectors: Vectors,
  { query, filters, top_k }: { query: string; filters: readonly ReadFilter[]; top_k: number },
): Promise<RankedLists> =>
  Promise.all(
    entries.map(async (entry) => {
      const vector = vectors.get(entry.model)!
      const hits = await rowsOf(needs, source, query, { entry, vector, filters, limit: top_k })
      return { group: groupOf(entry), hits }
    }),
  )

/** Scores of one model and metric can be compared; those of a fused list with nothing else. */
const groupOf = ({ label, model, distance_metric, hybrid }: SearchEntry): string =>
  hybrid ? `hybrid ${label}` : `${distance_metric} ${model}`

export function entriesOf(source: SourceRow): readonly SearchEntry[] {
  const entries = source.configuration?.connection_config.embedding_configs ?? []
  if (entries.length > 0) return entries
  throw new ServiceError('NO_SEMANTIC_SEARCH', undefined, {
    hint: 'A developer, admin or owner of the organization can save a search configuration for it.',
  })
}

function chosenEntries(source: SourceRow, target: string | undefined): readonly SearchEntry[] {
  const entries = entriesOf(source)
  if (target === undefined) return entries
  const chosen = entries.filter(({ label }) => label === target)
  if (chosen.length > 0) return chosen
  throw new ServiceError('INVALID_REQUEST', 'This data source has no such target', {
    problems: [`target: must be one of ${entries.map(({ label }) => `"${label}"`).join(', ')}`],
  })
}

/** Several tables of one model share one vector; a model whose size changed answers nothing rather than something wrong. */
export async function embedOncePerModel(
  { models }: AskNeeds,
  owner: string,
  entries: readonly SearchEntry[],
  question: string,
): Promise<Vectors> {
  const names = [...new Set(entries.map(({ model }) => model))]
  const vectors = await Promise.all(
    names.map(async (name) => {
      const vector = await models.embed(owner, name, question)
      if (entries.some(({ model, dimensions }) => model === name && dimensions !== vector.length)) {
        throw new ServiceError('EMBEDDING_UNAVAILABLE', 'The embedding model has another size than the table')
      }
      return [name, vector] as const
    }),
  )
  return new Map(vectors)
}

/** A table without the column cannot match. When the column is gone from all of them, or has another type, "nothing found" would be wrong. */
async function requireServableFilters(
  needs: AskNeeds,
  source: SourceRow,
  filters: readonly ReadFilter[],
): Promise<void> {
  if (filters.length === 0) return
  const queries = reach(needs, source)
  const tables = [...new Set(entriesOf(source).map(({ table }) => table))]
  const facts = await Promise.all(tables.map((table) => needs.facts.read(queries, table, needs.clock())))
  for (const { column: name, type } of filters) {
    const columns = facts.flatMap((table) => table?.columns.get(name) ?? [])
    if (columns.length === 0 || columns.some((column) => !matchOf(type, column))) {
      throw new DatabaseChanged('a filter fits no column any more')
    }
  }
}

async function rowsOf(
  needs: AskNeeds,
  source: SourceRow,
  question: string,
  about: Omit<Asked, 'facts'>,
): Promise<readonly Hit[]> {
  const queries = reach(needs, source)
  const facts = await needs.facts.read(queries, about.entry.table, needs.clock())
  if (!facts) throw new DatabaseChanged(`table ${about.entry.table} is gone`)
  const asked = { ...about, facts }
  const hits = await (about.entry.hybrid ? hybridRows(queries, asked, question) : nearestRows(queries, asked))
  return about.entry.fetchable ? hits.map((hit) => withHandle(needs, source, hit)) : hits
}

function withHandle({ dataKeys, clock }: AskNeeds, source: SourceRow, hit: Hit): Hit {
  const handle = handleOf(dataKeys, source, 'hit', hit, clock())
  return handle === undefined ? hit : { ...hit, metadata: { ...hit.metadata, _handle: handle } }
}

/** A table or column that was dropped since the save is said as clearly as it would have been at the save. */
export async function searched<T>(
  needs: ConfigurationNeeds,
  source: SourceRow,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await spokenByDatabase(work)
  } catch (error) {
    if (!(error instanceof DatabaseChanged)) throw error
    const queries = reach(needs, source)
    needs.facts.forget(queries)
    const { problems } = await spokenByDatabase(() => check(needs, queries, source.configuration!))
    const found =
      problems.length > 0 ? problems : ['the database refused the search; it may have just changed']
    throw new ServiceError(
      'INVALID_SEARCH_CONFIGURATION',
      'The database changed since the search was configured',
      {
        problems: found,
        hint: 'A developer, admin or owner of the organization can save a configuration that fits it.',
        cause: error,
      },
    )
  }
}
