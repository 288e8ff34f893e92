/** The steps of a run over its time: what it asked, what came back, what it spent. */
import { html } from 'hono/html'
import type { RunReason } from '../../../contracts/outcomes.ts'
import { table } from '../../components.ts'
import { formatDuration } from '../../format.ts'
import type { RunDetails } from './maintenance-labels.ts'

type Step = RunDetails['steps'][number]

/** `stepPath`: left out for those who may not read what was said. */
export function runTimeline(steps: readonly Step[], stepPath: ((step: number) => string) | undefined) {
  const span = spanOf(steps)
  return table(
    'Steps in order',
    ['Step', 'Time', 'Took', 'Tokens', 'Result'],
    steps.map((step) => [
      html`${step.number}. ${stepPath === undefined ? nameOf(step) : html`<a class="subject" href="${stepPath(step.number)}">${nameOf(step)}</a>`}`,
      timeBar(step, span),
      formatDuration(step.ms),
      step.tokens === 0 ? html`<span class="note">0</span>` : step.tokens.toLocaleString('en'),
      step.result === 'ok' ? html`<span class="note">ok</span>` : html`<code>${step.result}</code>`,
    ]),
  )
}

/** Where one agent runner was stopped, and the next one began anew. */
const STOPPED: RunReason = 'RUNNER_STOPPED'

export function nameOf({ tool, result }: Pick<Step, 'tool' | 'result'>) {
  if (tool !== null) return html`<code>${tool}</code>`
  return result === STOPPED ? 'Given back' : 'Question to the model'
}

type Span = { readonly from: number; readonly ms: number }

/** A step is recorded when it has ended. */
const startOf = ({ at, ms }: Step): number => Date.parse(at) - ms

function spanOf(steps: readonly Step[]): Span {
  const from = Math.min(...steps.map(startOf))
  return { from, ms: Math.max(1, Math.max(...steps.map(({ at }) => Date.parse(at))) - from) }
}

/** A short step stays visible. */
const WIDTH_MIN = 1

function timeBar(step: Step, { from, ms }: Span) {
  const width = Math.max(WIDTH_MIN, (step.ms / ms) * 100)
  const x = Math.min(((startOf(step) - from) / ms) * 100, 100 - width)
  const after = formatDuration(Math.max(0, startOf(step) - from))
  return html`<svg class="run-bar" width="100%" height="12" role="img" aria-label="Began after ${after}"><title>Began after ${after}</title><rect class="strip-ground" width="100%" height="12" rx="3" /><rect class="${step.tool === null ? 'ink-hatched' : 'ink-plain'}" x="${x.toFixed(2)}%" width="${width.toFixed(2)}%" height="12" rx="2" /></svg>`
}
