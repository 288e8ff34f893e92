/** How pipelines and their runs are shown. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { listPipelines } from '../../../contracts/pipelines.ts'
import {
  PIPELINE_RUN_STATES,
  type ConcurrencyPolicy,
  type PipelineRunState,
  type PipelineTrouble,
} from '../../../contracts/pipeline-states.ts'
import { countsOf, STRIP_HEIGHT, stripOfBars, type StripBar } from '../../../pages/strip.ts'
import { badge } from '../../components.ts'
import { tabPath } from './app-tabs.ts'

export type Pipeline = z.output<typeof listPipelines.output>['pipelines'][number]

export const pipelinePath = (alias: string, id: string): string => `${tabPath(alias, 'pipelines')}/${id}`

type RunLabel = {
  readonly label: string
  readonly badge: 'on' | 'off' | 'wait' | 'bad'
  /** Of its bar: what went well stands tall, and the rest is lower, because color alone says nothing. */
  readonly height: number
  readonly fill: StripBar['fill']
}

export const RUN_LABELS: Record<PipelineRunState, RunLabel> = {
  queued: { label: 'Queued', badge: 'wait', height: 4, fill: 'strip-ground' },
  running: { label: 'Running', badge: 'wait', height: 14, fill: 'strip-ground' },
  succeeded: { label: 'Succeeded', badge: 'on', height: STRIP_HEIGHT, fill: 'ink-plain' },
  failed: { label: 'Failed', badge: 'bad', height: 9, fill: 'ink-dotted' },
  skipped: { label: 'Skipped', badge: 'off', height: 2, fill: 'strip-ground' },
  missed: { label: 'Missed', badge: 'bad', height: 4, fill: 'ink-hatched' },
  host_offline: { label: 'No worker', badge: 'bad', height: 4, fill: 'ink-hatched' },
}

export const runBadge = (state: PipelineRunState) => badge(RUN_LABELS[state].label, RUN_LABELS[state].badge)

const TROUBLES: Record<PipelineTrouble, string> = {
  failed: 'Failing',
  missed: 'Missed',
  host_offline: 'No worker',
}

export function pipelineBadge({ enabled, cron, trouble, last_run }: Pipeline) {
  if (!enabled) return badge('Off', 'off')
  if (trouble !== null) return badge(TROUBLES[trouble], 'bad')
  if (last_run !== null) return runBadge(last_run.state)
  return badge(cron === null ? 'Not run yet' : 'Scheduled', 'off')
}

const WORDS = Object.fromEntries(
  PIPELINE_RUN_STATES.map((state) => [state, RUN_LABELS[state].label.toLowerCase()]),
) as Record<PipelineRunState, string>

/** `runs` newest first; shown newest last. */
export const runStrip = (runs: Pipeline['recent_runs']) =>
  stripOfBars(
    countsOf(
      'runs',
      runs.map(({ state }) => state),
      WORDS,
    ),
    runs.toReversed().map(({ state, at }) => ({
      title: `${RUN_LABELS[state].label}, ${at.slice(0, 16).replace('T', ' ')} UTC`,
      height: RUN_LABELS[state].height,
      fill: RUN_LABELS[state].fill,
    })),
  )

export const POLICY_LABELS: Record<ConcurrencyPolicy, { label: string; about: string }> = {
  skip: { label: 'Skip', about: 'The new run is skipped' },
  queue: { label: 'Queue', about: 'The new run waits for it' },
  allow: { label: 'Allow', about: 'Both run' },
}

export const schedule = ({ cron, timezone }: Pick<Pipeline, 'cron' | 'timezone'>) =>
  cron === null
    ? html`<span class="note">Manual</span>`
    : html`<code>${cron}</code> <span class="note">${timezone}</span>`
