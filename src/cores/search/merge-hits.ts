/** Merges the hits of several tables: by score where scores can be compared, by rank elsewhere. */
import type { Hit } from '../../contracts/data-sources.ts'

/** The hits of one table, best first. Tables of one group share model and metric. */
export type RankedList = { readonly group: string; readonly hits: readonly Hit[] }

export function mergeHits(lists: readonly RankedList[], limit: number): Hit[] {
  const groups = Map.groupBy(lists, ({ group }) => group)
  return fuse(
    [...groups.values()].map((members) =>
      mergeByScore(
        members.map(({ hits }) => hits),
        limit,
      ),
    ),
    limit,
  )
}

/** Always the better one of the lists' next hits; of equals the one of the earlier list. No list changes its own order. */
function mergeByScore(lists: readonly (readonly Hit[])[], limit: number): Hit[] {
  const next = lists.map(() => 0)
  const merged: Hit[] = []
  while (merged.length < limit) {
    let best = -1
    for (const [at, hits] of lists.entries()) {
      const candidate = hits[next[at]!]
      if (candidate && (best < 0 || scoreOf(candidate) > scoreOf(lists[best]![next[best]!]!))) best = at
    }
    if (best < 0) break
    merged.push(lists[best]![next[best]!++]!)
  }
  return merged
}

/** Reciprocal rank fusion, 1/(60 + rank): a hit stands in one group only, so it means that groups take turns. */
function fuse(groups: readonly (readonly Hit[])[], limit: number): Hit[] {
  const fused: Hit[] = []
  const longest = Math.max(0, ...groups.map(({ length }) => length))
  for (let rank = 0; rank < longest; rank++) fused.push(...groups.flatMap((hits) => hits[rank] ?? []))
  return fused.slice(0, Math.max(0, limit))
}

/** The cosine of a zero vector is no number; it is nobody's best hit. */
function scoreOf({ metadata: { _score } }: Hit): number {
  return typeof _score === 'number' && !Number.isNaN(_score) ? _score : -Infinity
}
