/** How checks are shown: the state in a word, and the last results in one line of text. */
import { html } from 'hono/html'
import { CHECK_RESULTS, type CheckResult } from '../../../contracts/check-results.ts'
import { badge } from '../../components.ts'

export const RESULT_LABELS: Record<
  CheckResult,
  { label: string; word: string; badge: 'on' | 'bad' | 'wait' }
> = {
  pass: { label: 'Passing', word: 'passed', badge: 'on' },
  fail: { label: 'Failing', word: 'failed', badge: 'bad' },
  error: { label: 'Error', word: 'could not run', badge: 'wait' },
  indeterminate: { label: 'Unclear', word: 'unclear', badge: 'wait' },
}

export const resultBadge = (state: CheckResult | null) =>
  state === null ? badge('Not run yet', 'off') : badge(RESULT_LABELS[state].label, RESULT_LABELS[state].badge)

const [BAR, GAP, HEIGHT] = [6, 2, 20]
/** What passed stands tall, and the rest is lower: color alone says nothing. */
const HEIGHTS: Record<CheckResult, number> = { pass: HEIGHT, fail: 9, error: 4, indeterminate: 4 }
const FILLS: Record<CheckResult, string> = {
  pass: 'ink-plain',
  fail: 'ink-dotted',
  error: 'ink-hatched',
  indeterminate: 'strip-ground',
}

/** Newest last. */
export function checkStrip(recent: readonly CheckResult[]) {
  const counts = CHECK_RESULTS.map((result) => ({
    count: recent.filter((one) => one === result).length,
    word: RESULT_LABELS[result].word,
  })).filter(({ count }) => count > 0)
  const about = `Last ${recent.length} results: ${counts.map(({ count, word }) => `${count} ${word}`).join(', ')}`
  const width = Math.max(1, recent.length * (BAR + GAP) - GAP)
  // Where it does not fit, bars become narrower: the newest must not be cut off.
  return html`<svg class="strip" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${about}">
    ${recent.map(
      (result, at) =>
        html`<rect class="${FILLS[result]}" x="${at * (BAR + GAP)}" y="${HEIGHT - HEIGHTS[result]}" width="${BAR}" height="${HEIGHTS[result]}" rx="1" />`,
    )}
  </svg>`
}
