/** One question to every source the principal may ask, merged by the same rules as the tables of one source. */
import type { Hit } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { ANSWER_MAX_BYTES } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember } from '../principal.ts'
import { sourceIdOf, type SourceRow } from '../databases/index.ts'
import {
  embedQuestion,
  withDatabaseCheck,
  searchEntries,
  type SearchDeps,
  type RankedLists,
  type Vectors,
} from './search-entries.ts'
import { listAskable } from './askable-sources.ts'
import { truncateAnswer } from './truncate-answer.ts'
import { createHandle } from './row-handle.ts'
import { mergeHits } from './merge-hits.ts'
import { countQuestion } from './question-limits.ts'
import { recordingActivity } from '../activity/index.ts'

/** Each may open a database of its own. */
const CONCURRENT_SOURCES = 4

export const searchDataSources =
  (deps: SearchDeps): Handler<'searchDataSources'> =>
  (principal, { query, sources, top_k }) =>
    recordingActivity(deps, principal, query, async (trace) => {
      const member = requireMember(principal)
      trace.name = 'search'
      const isAskable = await listAskable(deps.db, member, sources)
      await countQuestion(deps, member.orgId)
      const searchable = isAskable.filter(({ configuration }) => configuration !== null)
      const entries = searchable.flatMap(entriesOf)
      const vectors = await embedQuestion(deps, member.orgId, entries, query)

      const unavailable: string[] = []
      const lists = await mapConcurrently(searchable, async (source) => {
        try {
          return await searchSource(deps, source, vectors, { query, top_k })
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error
          unavailable.push(sourceIdOf(source.name))
          return []
        }
      })
      const result = truncateAnswer(mergeHits(lists.flat(), top_k), ANSWER_MAX_BYTES)
      const answer = unavailable.length === 0 ? result : { ...result, unavailable: unavailable.toSorted() }
      trace.hits = result.count
      trace.answer = JSON.stringify(answer)
      return answer
    })

const entriesOf = ({ configuration }: SourceRow) => configuration?.connection_config.embedding_configs ?? []

async function searchSource(
  deps: SearchDeps,
  source: SourceRow,
  vectors: Vectors,
  { query, top_k }: { query: string; top_k: number },
): Promise<RankedLists> {
  const lists = await withDatabaseCheck(deps, source, () =>
    searchEntries(deps, source, entriesOf(source), vectors, { query, filters: [], top_k }),
  )
  return lists.map(({ group, hits }) => ({
    // A hybrid list can be compared with no other, not even one of the same label in another source.
    group: group.startsWith('hybrid') ? `${group} of ${source.id}` : group,
    hits: hits.flatMap((hit) => asSearchHit(deps, source, hit)),
  }))
}

/** Its id is a handle: among several sources an id must say which one. */
function asSearchHit({ dataKeys, clock }: SearchDeps, source: SourceRow, hit: Hit): Hit[] {
  const id = createHandle(dataKeys, source, 'search', hit, clock())
  if (id === undefined) return []
  const { _handle, ...metadata } = hit.metadata
  return [{ id, title: hit.title ?? hit.id, metadata: { ...metadata, _source: sourceIdOf(source.name) } }]
}

async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const queue = items.entries()
  await Promise.all(
    Array.from({ length: CONCURRENT_SOURCES }, async () => {
      for (const [at, item] of queue) results[at] = await work(item)
    }),
  )
  return results
}
