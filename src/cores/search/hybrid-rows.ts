/** Hybrid search: vectors and words each find rows, merged by reciprocal rank fusion. */
import type { Hit, WordStatistics } from '../../contracts/data-sources.ts'
import type { Queries } from '../databases/index.ts'
import { candidateLimit, nearestRows, type VectorSearch } from './nearest-rows.ts'
import { wordRows, type WordHit } from './word-rows.ts'

/** Cormack, Clarke and Büttcher (SIGIR 2009) found 60; nothing measured here argued for another number. */
const RANK_CONSTANT = 60

export async function hybridRows(
  queries: Queries,
  search: VectorSearch & { readonly statistics?: WordStatistics | undefined },
  question: string,
): Promise<readonly Hit[]> {
  const wide = { ...search, limit: candidateLimit(search.limit) }
  const [byMeaning, byWords] = await Promise.all([
    nearestRows(queries, wide),
    wordRows(queries, wide, question),
  ])
  return fuseLegs(byMeaning, byWords, search.limit)
}

type Leg = 'meaning' | 'words'

/** A row is known by its id. Of equals the one that meaning found comes first. */
export function fuseLegs(byMeaning: readonly Hit[], byWords: readonly WordHit[], limit: number): Hit[] {
  const found = new Map<string, { hit: Hit; weight: number; legs: Leg[] }>()
  const add = (leg: Leg, hit: Hit, rank: number) => {
    const known = found.get(hit.id) ?? { hit, weight: 0, legs: [] }
    known.weight += 1 / (RANK_CONSTANT + rank + 1)
    if (!known.legs.includes(leg)) known.legs.push(leg)
    found.set(hit.id, known)
  }
  for (const [rank, hit] of byMeaning.entries()) add('meaning', hit, rank)
  for (const [rank, { hit }] of byWords.entries()) add('words', hit, rank)
  return [...found.values()]
    .toSorted((a, b) => b.weight - a.weight)
    .slice(0, limit)
    .map(({ hit, legs }) => ({
      ...hit,
      metadata: { ...hit.metadata, _mode: 'hybrid', _found_by: legs },
    }))
}
