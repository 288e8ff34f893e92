/**
 * Hybrid search: meaning and words each find rows, merged by their scores. Both legs are scaled alike, from 0 for what they
 * do not find to 1 for what they find best, and count alike. Reciprocal ranks, which forget how far apart two rows are,
 * ranked worse on both halves of SciFact (docs/decisions/0006-what-was-tried-for-speed.md).
 */
import type { Hit, WordStatistics } from '../../contracts/data-sources.ts'
import type { Queries } from '../databases/index.ts'
import { candidateLimit, nearestRows } from './nearest-rows.ts'
import { isVectorSearch, type TableSearch, type VectorSearch } from './table-search.ts'
import { wordRows, type WordHit } from './word-rows.ts'

type WordSearch = TableSearch & { readonly statistics?: WordStatistics | undefined }

const ATTEMPTS = 3

/** All of one version: between two statements a load may put other rows in their place, and then they are asked once more. */
export async function foundRows(
  queries: Queries,
  search: WordSearch,
  question: string,
): Promise<readonly Hit[]> {
  const { versions } = search
  for (let attempt = 1; ; attempt += 1) {
    versions?.clear()
    const hits = await rowsOfEntry(queries, search, question)
    if (!versions || versions.size <= 1 || attempt === ATTEMPTS) return hits
  }
}

/** As its entry says. */
function rowsOfEntry(queries: Queries, search: WordSearch, question: string): Promise<readonly Hit[]> {
  if (!isVectorSearch(search)) return rowsByWords(queries, search, question)
  return search.entry.hybrid ? hybridRows(queries, search, question) : nearestRows(queries, search)
}

export async function hybridRows(
  queries: Queries,
  search: WordSearch & VectorSearch,
  question: string,
): Promise<readonly Hit[]> {
  const wide = { ...search, limit: candidateLimit(search.limit) }
  const [byMeaning, byWords] = await Promise.all([
    nearestRows(queries, wide),
    wordRows(queries, wide, question),
  ])
  return fuseLegs(byMeaning, byWords, { searched: wide.limit, limit: search.limit })
}

type Leg = 'meaning' | 'words'

/** `searched`: how many rows each leg was asked for. A row is known by its id; of equals those of meaning come first. */
export function fuseLegs(
  byMeaning: readonly Hit[],
  byWords: readonly WordHit[],
  { searched, limit }: { readonly searched: number; readonly limit: number },
): Hit[] {
  const found = new Map<string, { hit: Hit; worth: number; legs: Leg[] }>()
  const add = (leg: Leg, hits: readonly Hit[], scale: (at: number) => number) => {
    for (const [at, hit] of hits.entries()) {
      const known = found.get(hit.id) ?? { hit, worth: 0, legs: [] }
      // Several rows may have one id: the best of them counts.
      if (known.legs.includes(leg)) continue
      found.set(hit.id, { hit: known.hit, worth: known.worth + scale(at), legs: [...known.legs, leg] })
    }
  }
  const scores = byMeaning.map(({ metadata }) => Number(metadata['_score']))
  const worths = byWords.map(({ worth }) => worth)
  add('meaning', byMeaning, scaled(scores, scores.at(-1)))
  // Not as many as were asked for: no other row has a word of the question, and is worth nothing.
  add(
    'words',
    byWords.map(({ hit }) => hit),
    scaled(worths, worths.length < searched ? 0 : worths.at(-1)),
  )
  return [...found.values()]
    .toSorted((a, b) => b.worth - a.worth)
    .slice(0, limit)
    .map(({ hit, legs }) => ({
      ...hit,
      metadata: { ...hit.metadata, _mode: 'hybrid', _found_by: legs },
    }))
}

/** Best first. Where all are alike, others may be as well that were not asked for: then the leg says nothing. */
const scaled =
  (scores: readonly number[], lowest = 0) =>
  (at: number): number =>
    scores[0]! > lowest ? (scores[at]! - lowest) / (scores[0]! - lowest) : 0

/** Where no row has a vector: by words alone, and `_score` is what BM25 gives a row. */
async function rowsByWords(queries: Queries, search: WordSearch, question: string): Promise<readonly Hit[]> {
  const found = await wordRows(queries, search, question)
  return found.map(({ hit }) => ({
    ...hit,
    metadata: { ...hit.metadata, _mode: 'words', _found_by: ['words' satisfies Leg] },
  }))
}
