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
import { badge } from '../../components.ts'
import { tabPath } from './app-tabs.ts'

export type Pipeline = z.output<typeof listPipelines.output>['pipelines'][number]

export const pipelinePath = (alias: string, id: string): string => `${tabPath(alias, 'pipelines')}/${id}`

type RunLabel = {
  readonly label: string
  readonly badge: 'on' | 'off' | 'wait' | 'bad'
  /** Of its bar: what went well stands tall, and the rest is lower, because color alone says nothing. */
  readonly height: number
  readonly fill: 'ink-plain' | 'ink-dotted' | 'ink-hatched' | 'strip-ground'
}

const [BAR, GAP, HEIGHT] = [6, 2, 20]

export const RUN_LABELS: Record<PipelineRunState, RunLabel> = {
  queued: { label: 'Waiting', badge: 'wait', height: 4, fill: 'strip-ground' },
  running: { label: 'Running', badge: 'wait', height: 14, fill: 'strip-ground' },
  succeeded: { label: 'Succeeded', badge: 'on', height: HEIGHT, fill: 'ink-plain' },
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

/** `runs` newest first; shown newest last. */
export function runStrip(runs: Pipeline['recent_runs']) {
  const counts = PIPELINE_RUN_STATES.map((state) => ({
    count: runs.filter((run) => run.state === state).length,
    word: RUN_LABELS[state].label.toLowerCase(),
  })).filter(({ count }) => count > 0)
  const about = `Last ${runs.length} runs: ${counts.map(({ count, word }) => `${count} ${word}`).join(', ')}`
  const width = Math.max(1, runs.length * (BAR + GAP) - GAP)
  return html`<svg class="strip" width="${width}" height="${HEIGHT}" role="img" aria-label="${about}">
    ${runs.toReversed().map(({ state, at }, place) => {
      const { label, height, fill } = RUN_LABELS[state]
      return html`<g><title>${label}, ${at.slice(0, 16).replace('T', ' ')} UTC</title><rect class="${fill}" x="${place * (BAR + GAP)}" y="${HEIGHT - height}" width="${BAR}" height="${height}" rx="1" /></g>`
    })}
  </svg>`
}

export const POLICY_LABELS: Record<ConcurrencyPolicy, { label: string; about: string }> = {
  skip: { label: 'Skip', about: 'The new run is skipped' },
  queue: { label: 'Queue', about: 'The new run waits for it' },
  allow: { label: 'Allow', about: 'Both run' },
}

export const schedule = ({ cron, timezone }: Pick<Pipeline, 'cron' | 'timezone'>) =>
  cron === null
    ? html`<span class="note">By hand</span>`
    : html`<code>${cron}</code> <span class="note">${timezone}</span>`
