/** Hybrid search: vectors and full text each find rows, merged by reciprocal rank fusion. */
import type { Hit, WordStatistics } from '../../contracts/data-sources.ts'
import type { Queries } from '../databases/index.ts'
import { candidateLimit, nearestRows, type VectorSearch } from './nearest-rows.ts'
import { wordRows } from './word-rows.ts'

/** Cormack, Clarke and Büttcher (SIGIR 2009) found 60; nothing measured here argued for another number. */
const RANK_CONSTANT = 60

export async function hybridRows(
  queries: Queries,
  search: VectorSearch & { readonly statistics?: WordStatistics | undefined },
  question: string,
): Promise<readonly Hit[]> {
  const wide = { ...search, limit: candidateLimit(search.limit) }
  const [byVector, byText] = await Promise.all([
    nearestRows(queries, wide),
    wordRows(queries, wide, question),
  ])
  return fuse([byVector, byText.map(({ hit }) => hit)], search.limit).map((hit) => ({
    ...hit,
    metadata: { ...hit.metadata, _mode: 'hybrid' },
  }))
}

function fuse(lists: readonly (readonly Hit[])[], limit: number): Hit[] {
  const found = new Map<string, { hit: Hit; weight: number }>()
  for (const list of lists) {
    for (const [rank, hit] of list.entries()) {
      const known = found.get(hit.id) ?? { hit, weight: 0 }
      known.weight += 1 / (RANK_CONSTANT + rank + 1)
      found.set(hit.id, known)
    }
  }
  return [...found.values()]
    .toSorted((a, b) => b.weight - a.weight)
    .slice(0, limit)
    .map(({ hit }) => hit)
}
