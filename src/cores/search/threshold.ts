/**
 * Below which score hits are weak. A score means something only beside others of the same table, searched in the same way:
 * each has a threshold of its own, which no longer applies once that is changed.
 */
import type { EvalScore, StoredThreshold } from '../../../db/schema.ts'
import type { Hit, SearchEntry } from '../../contracts/data-sources.ts'
import { THRESHOLD_QUESTIONS_MIN } from '../../contracts/limits.ts'
import type { SourceRow } from '../databases/index.ts'

type Thresholded = Pick<SourceRow, 'configuration' | 'threshold'>

/** Those with vectors. What words are worth grows with the question, and depends on which rows the asker sees. */
export const thresholdEntriesOf = ({
  configuration,
}: Pick<SourceRow, 'configuration'>): readonly SearchEntry[] =>
  configuration?.connection_config.embedding_configs.filter(({ columns }) => columns.length > 0) ?? []

/** What scores depend on. */
const wayOf = ({ table, columns, model, distance_metric, hybrid = false }: SearchEntry): string =>
  JSON.stringify([table, columns, model, distance_metric, hybrid])

export const WEAK = { weak: true } as const

/** An answer without hits says so itself. */
export const isWeak = (hits: readonly Hit[], sourceOf: (hit: Hit) => Thresholded | undefined): boolean =>
  hits.length > 0 && hits.every((hit) => isBelow(hit, sourceOf(hit)))

function isBelow({ metadata: { _score, _target } }: Hit, source: Thresholded | undefined): boolean {
  if (!source?.threshold) return false
  const entry = thresholdEntriesOf(source).find(({ label }) => label === _target)
  const found = entry && source.threshold.targets[entry.label]
  if (!found || found.of !== wayOf(entry)) return false
  // The cosine of a zero vector is no number.
  return !(typeof _score === 'number' && _score >= found.score)
}

export const presentThresholds = (source: Thresholded) =>
  Object.entries(source.threshold?.targets ?? {}).map(([target, { score, of }]) => ({
    target,
    score,
    applies: thresholdEntriesOf(source).some((entry) => entry.label === target && wayOf(entry) === of),
  }))

/** Undefined: too few questions were answered from any table with vectors. */
export function learnThreshold(
  source: Thresholded,
  evalId: string,
  scores: readonly EvalScore[],
): StoredThreshold | undefined {
  const targets = thresholdEntriesOf(source).flatMap((entry) => {
    const score = bestSplit(scores.filter(({ target }) => target === entry.label))
    return score === undefined ? [] : [[entry.label, { score, of: wayOf(entry) }] as const]
  })
  return targets.length === 0 ? undefined : { evalId, targets: Object.fromEntries(targets) }
}

/**
 * The score that tells answers from what only came nearest best: the share of answers that reach it less the share of
 * others that do (Youden's J). Of equals the lowest: an answer that is called weak does more harm.
 */
export function bestSplit(scores: readonly EvalScore[]): number | undefined {
  const answers = scores.filter(({ found }) => found).map(({ score }) => score)
  const others = scores.filter(({ found }) => !found).map(({ score }) => score)
  if (answers.length < THRESHOLD_QUESTIONS_MIN) return undefined
  const reaching = (all: readonly number[], least: number) =>
    all.length === 0 ? 0 : all.filter((score) => score >= least).length / all.length
  let [best, worth] = [Number.NaN, -Infinity]
  for (const least of answers.toSorted((a, b) => a - b)) {
    const here = reaching(answers, least) - reaching(others, least)
    if (here > worth) [best, worth] = [least, here]
  }
  // As people see scores; downward, so that the answer it is taken from reaches it.
  return Math.floor(best * 10_000) / 10_000
}
