/** Finds what a question of an eval expects among its hits: by id, and in documents by path, or path and heading. */
import type { EvalScore } from '../../../db/schema.ts'
import type { Hit } from '../../contracts/data-sources.ts'
import { EVAL_HITS } from '../../contracts/limits.ts'

export type Judged = {
  /** Of the first expected row; null: none was found. */
  readonly rank: number | null
  /** Not among the first hits. */
  readonly missing: readonly string[]
  /** Share of those expected among the first hits; null: nothing is. */
  readonly recall: number | null
  readonly scores: readonly EvalScore[]
}

export function judgeHits(expected: readonly string[], hits: readonly Hit[]): Judged {
  const wanted = [...new Set(expected)]
  const first = hits.slice(0, EVAL_HITS.recall)
  const rank = hits.findIndex((hit) => wanted.some((one) => isExpected(one, hit)))
  const missing = wanted.filter((one) => !first.some((hit) => isExpected(one, hit)))
  return {
    rank: rank === -1 ? null : rank + 1,
    missing,
    recall: wanted.length === 0 ? null : (wanted.length - missing.length) / wanted.length,
    scores: scoresOf(hits, (hit) => first.includes(hit) && wanted.some((one) => isExpected(one, hit))),
  }
}

/** Passages of one document are one hit: the further ones that it names count as well. */
function isExpected(expected: string, { id, metadata, passages = [] }: Hit): boolean {
  if (id === expected || passages.some((passage) => passage.id === expected)) return true
  const { path, heading } = metadata
  // Only documents have both.
  if (typeof path !== 'string' || typeof heading !== 'string') return false
  if (path === expected) return true
  if (!expected.startsWith(`${path}#`)) return false
  const wanted = wordsOf(expected.slice(path.length + 1))
  return [heading, ...passages.map((passage) => passage.heading)].some((headings) =>
    headings.split(SEPARATOR).some((one) => wordsOf(one) === wanted),
  )
}

const SEPARATOR = ' > '

/** `Parental leave` as people write it, or `parental-leave` as links have it. */
const wordsOf = (heading: string): string => (heading.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(' ')

/** The best of each table. */
function scoresOf(hits: readonly Hit[], isFound: (hit: Hit) => boolean): EvalScore[] {
  const best = new Map<string, EvalScore>()
  for (const hit of hits) {
    const { _score: score, _target: target } = hit.metadata
    if (typeof score !== 'number' || Number.isNaN(score) || typeof target !== 'string') continue
    const known = best.get(target)
    best.set(target, {
      target,
      score: Math.max(score, known?.score ?? -Infinity),
      found: isFound(hit) || (known?.found ?? false),
    })
  }
  return [...best.values()]
}
