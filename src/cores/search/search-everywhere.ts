/** One question to every source the caller may ask: embedded once per model, merged by the same rules as the tables of one source. */
import type { Hit, searchEverywhere } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { ANSWER_MAX_BYTES } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operation.ts'
import { asMember } from '../caller.ts'
import { sourceIdOf, type SourceRow } from '../databases/index.ts'
import {
  embedOncePerModel,
  searched,
  searchEntries,
  type AskNeeds,
  type RankedLists,
  type Vectors,
} from './ask.ts'
import { allAskable } from './askable-sources.ts'
import { cutAnswer } from './cut-answer.ts'
import { handleOf } from './hit-handles.ts'
import { mergeHits } from './merge-hits.ts'
import { takeQuestion } from './question-limits.ts'
import { recordingActivity } from './record-activity.ts'

/** Sources asked at the same time: each may open a database of its own. */
const AT_ONCE = 4

export const askEverywhere =
  (needs: AskNeeds): Handler<typeof searchEverywhere> =>
  (who, { query, sources, top_k }) =>
    recordingActivity(needs, who, query, async (trace) => {
      const caller = asMember(who)
      trace.name = 'search'
      const askable = await allAskable(needs.db, caller, sources)
      await takeQuestion(needs, caller.orgId)
      const searchable = askable.filter(({ configuration }) => configuration !== null)
      const entries = searchable.flatMap(entriesOf)
      const vectors = await embedOncePerModel(needs, caller.orgId, entries, query)

      const unavailable: string[] = []
      const lists = await inTurn(searchable, async (source) => {
        try {
          return await listsOf(needs, source, vectors, { query, top_k })
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error
          unavailable.push(sourceIdOf(source.name))
          return []
        }
      })
      const result = cutAnswer(mergeHits(lists.flat(), top_k), ANSWER_MAX_BYTES)
      const answer = unavailable.length === 0 ? result : { ...result, unavailable: unavailable.toSorted() }
      trace.hits = result.count
      trace.answer = JSON.stringify(answer)
      return answer
    })

const entriesOf = ({ configuration }: SourceRow) => configuration?.connection_config.embedding_configs ?? []

async function listsOf(
  needs: AskNeeds,
  source: SourceRow,
  vectors: Vectors,
  { query, top_k }: { query: string; top_k: number },
): Promise<RankedLists> {
  const lists = await searched(needs, source, () =>
    searchEntries(needs, source, entriesOf(source), vectors, { query, filters: [], top_k }),
  )
  return lists.map(({ group, hits }) => ({
    // A fused list can be compared with nothing else, also not with one of the same label elsewhere.
    group: group.startsWith('hybrid') ? `${group} of ${source.id}` : group,
    hits: hits.flatMap((hit) => found(needs, source, hit)),
  }))
}

/** The handle is its id here: what is shown of several sources needs one that says which. */
function found({ dataKeys, clock }: AskNeeds, source: SourceRow, hit: Hit): Hit[] {
  const id = handleOf(dataKeys, source, 'search', hit, clock())
  if (id === undefined) return []
  const { _handle, ...metadata } = hit.metadata
  return [{ id, title: hit.title ?? hit.id, metadata: { ...metadata, _source: sourceIdOf(source.name) } }]
}

async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const queue = items.entries()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const [at, item] of queue) results[at] = await work(item)
    }),
  )
  return results
}
