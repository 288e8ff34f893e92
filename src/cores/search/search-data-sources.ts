/** One question to every source the principal may ask, merged by the same rules as the tables of one source. */
import type { Hit } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { ANSWER_MAX_BYTES } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember, type MemberPrincipal } from '../principal.ts'
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
import { namesOf, rowAccessOf, type RowAccess } from './row-access.ts'
import { isWeak, WEAK } from './threshold.ts'
import { whileCounting } from './question-limits.ts'
import { recordingActivity } from '../activity/index.ts'

/** Each may open a database of its own. */
const CONCURRENT_SOURCES = 4

export const searchDataSources =
  (deps: SearchDeps): Handler<'searchDataSources'> =>
  (principal, { query, sources, top_k }) =>
    recordingActivity(deps, principal, query, async (trace) => {
      const member = requireMember(principal)
      trace.name = 'search'
      const { sources: askable, counts } = await listAskable(deps.db, member, sources)
      const { lists, unavailable } = await whileCounting(deps, member.orgId, counts, () =>
        searchSources(deps, member, askable, { query, top_k }),
      )
      const hits = mergeHits(lists, top_k)
      const sourceOf = ({ metadata }: Hit) =>
        askable.find(({ name }) => sourceIdOf(name) === metadata['_source'])
      const mark = isWeak(hits, sourceOf) ? WEAK : {}
      const missing = unavailable.length === 0 ? {} : { unavailable: unavailable.toSorted(byId) }
      const room = ANSWER_MAX_BYTES - Buffer.byteLength(JSON.stringify({ ...mark, ...missing }))
      const result = truncateAnswer(hits, room)
      const answer = { ...result, ...mark, ...missing }
      // Those that were named would be missed; of all others, those that something was found in.
      trace.sources = sources ? askable : [...new Set(hits.flatMap((hit) => sourceOf(hit) ?? []))]
      trace.hits = result.count
      trace.answer = JSON.stringify(answer)
      return answer
    })

type Question = { readonly query: string; readonly top_k: number }
type Found = { lists: RankedLists; unavailable: { source_id: string; reason: string }[] }

async function searchSources(
  deps: SearchDeps,
  member: MemberPrincipal,
  askable: readonly SourceRow[],
  question: Question,
): Promise<Found> {
  const searchable = askable.filter(({ configuration }) => configuration !== null)
  const embedOnce = onceEach((model) => deps.models.embed(member.orgId, model, question.query))
  const namesOnce = onceEach(() => namesOf(deps, member))
  const unavailable: Found['unavailable'] = []
  const lists = await mapConcurrently(searchable, async (source) => {
    try {
      const vectors = await embedQuestion(embedOnce, entriesOf(source))
      const access = await rowAccessOf(deps, member, source, () => namesOnce(member.userId))
      return await searchSource(deps, source, vectors, { ...question, access })
    } catch (error) {
      // Of the organization, not of a source.
      if (error instanceof ServiceError && error.code === 'RATE_LIMITED') throw error
      deps.log.warn('a data source could not be searched', { source: source.id, org: source.orgId, error })
      unavailable.push({ source_id: sourceIdOf(source.name), reason: reasonOf(error) })
      return []
    }
  })
  return { lists: lists.flat(), unavailable }
}

const byId = (a: { source_id: string }, b: { source_id: string }): number =>
  a.source_id < b.source_id ? -1 : 1

/** Messages of ours are for anybody; any other error is for the log alone. */
const reasonOf = (error: unknown): string =>
  error instanceof ServiceError ? error.message : 'It could not be searched'

/** Sources that share a model share its vector, or its failure. */
function onceEach<Result>(work: (key: string) => Promise<Result>): (key: string) => Promise<Result> {
  const begun = new Map<string, Promise<Result>>()
  return (key) => {
    const known = begun.get(key) ?? work(key)
    begun.set(key, known)
    return known
  }
}

const entriesOf = ({ configuration }: SourceRow) => configuration?.connection_config.embedding_configs ?? []

async function searchSource(
  deps: SearchDeps,
  source: SourceRow,
  vectors: Vectors,
  { query, top_k, access }: Question & { readonly access: RowAccess },
): Promise<RankedLists> {
  const lists = await withDatabaseCheck(deps, source, () =>
    searchEntries(deps, source, entriesOf(source), vectors, { query, filters: [], access, top_k }),
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
  return [
    { ...hit, id, title: hit.title ?? hit.id, metadata: { ...metadata, _source: sourceIdOf(source.name) } },
  ]
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
