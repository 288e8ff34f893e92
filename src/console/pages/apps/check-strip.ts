/** How checks are shown: the state in a word, and the last results in one line of text. */
import { html } from 'hono/html'
import {
  CHECK_PAUSES,
  CHECK_RESULTS,
  type CheckPause,
  type CheckResult,
} from '../../../contracts/check-results.ts'
import { countsOf, STRIP_HEIGHT, stripOfBars, type StripBar } from '../../../pages/strip.ts'
import { badge } from '../../components.ts'

type ResultLabel = {
  readonly label: string
  readonly word: string
  readonly badge: 'on' | 'bad' | 'wait'
  /** What passed stands tall, and the rest is lower: color alone says nothing. */
  readonly bar: Pick<StripBar, 'height' | 'fill'>
}

export const RESULT_LABELS: Record<CheckResult, ResultLabel> = {
  pass: { label: 'Passing', word: 'passed', badge: 'on', bar: { height: STRIP_HEIGHT, fill: 'ink-plain' } },
  fail: { label: 'Failing', word: 'failed', badge: 'bad', bar: { height: 9, fill: 'ink-dotted' } },
  error: { label: 'Error', word: 'could not run', badge: 'wait', bar: { height: 4, fill: 'ink-hatched' } },
  indeterminate: {
    label: 'Indeterminate',
    word: 'indeterminate',
    badge: 'wait',
    bar: { height: 4, fill: 'strip-ground' },
  },
}

export const resultBadge = (state: CheckResult | null) =>
  state === null ? badge('Not run yet', 'off') : badge(RESULT_LABELS[state].label, RESULT_LABELS[state].badge)

const PAUSE_LABELS: Record<CheckPause, string> = {
  disabled: 'Turned off',
  maintenance_window: 'In maintenance',
  no_maintenance_model: 'No model',
}

/** The reason in full on hover. */
export const pauseBadge = (paused: CheckPause) =>
  html`<span title="${CHECK_PAUSES[paused]}">${badge(PAUSE_LABELS[paused], 'off')}</span>`

/** A check that is not run has no state that holds. */
export const checkBadge = ({ state, paused }: { state: CheckResult | null; paused: CheckPause | null }) =>
  paused === null ? resultBadge(state) : pauseBadge(paused)

const WORDS = Object.fromEntries(
  CHECK_RESULTS.map((result) => [result, RESULT_LABELS[result].word]),
) as Record<CheckResult, string>

/** Newest last. */
export const checkStrip = (recent: readonly CheckResult[]) =>
  stripOfBars(
    countsOf('results', recent, WORDS),
    recent.map((result) => ({ title: RESULT_LABELS[result].word, ...RESULT_LABELS[result].bar })),
  )
