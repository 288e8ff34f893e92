/** `svc apps pipelines …`. */
import type { Output } from '../../contracts/operations.ts'
import type { ConcurrencyPolicy, PipelineRunState } from '../../contracts/pipeline-states.ts'
import { PAGE_MAX } from '../../contracts/limits.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { findByName, isIdOf } from '../find-by-name.ts'
import { tableOf } from '../format-output.ts'
import { argument, countOption, enabledOf, textOption } from '../options.ts'
import { confirm } from '../prompt.ts'
import { readPages } from '../read-pages.ts'

type Pipeline = Output<'showPipeline'>
type PipelineRun = Output<'startPipelineRun'>

export const listPipelines: Run = async (ctx, input) => {
  const found = await readPages(ctx, input, 'listPipelines', 'pipelines', { alias: argument(input, 'app') })
  ctx.print(found, pipelineTable(found.pipelines))
}

export const createPipeline: Run = async (ctx, input) => {
  const [alias, name] = [argument(input, 'app'), argument(input, 'pipeline')]
  const created = await ctx.callOperation('createPipeline', { alias, name, ...settingsOf(input) })
  ctx.print(created, pipelineTable([created]))
}

export const updatePipeline: Run = async (ctx, input) => {
  const enabled = enabledOf(input)
  const path = await pipelineOf(ctx, input)
  const changed = await ctx.callOperation('updatePipeline', { ...path, ...settingsOf(input), ...enabled })
  ctx.print(changed, pipelineTable([changed]))
}

export const removePipeline: Run = async (ctx, input) => {
  await confirm(ctx, input, `This removes ${argument(input, 'pipeline')} and its runs.`)
  await ctx.callOperation('removePipeline', await pipelineOf(ctx, input))
  ctx.info(`Removed ${argument(input, 'pipeline')}`)
}

export const startPipelineRun: Run = async (ctx, input) => {
  const started = await ctx.callOperation('startPipelineRun', await pipelineOf(ctx, input))
  ctx.print(started, runTable([started]))
}

export const listPipelineRuns: Run = async (ctx, input) => {
  const filters = {
    ...(await pipelineOf(ctx, input)),
    state: textOption(input, 'state') as PipelineRunState | undefined,
  }
  const found = await readPages(ctx, input, 'listPipelineRuns', 'runs', filters)
  ctx.print(found, runTable(found.runs))
}

const MINUTES_MAX = 24 * 60

/** An empty schedule is none: it then runs when somebody starts it. */
function settingsOf(input: CommandInput) {
  const cron = textOption(input, 'cron')
  return {
    cron: cron === '' ? null : cron,
    timezone: textOption(input, 'timezone'),
    grace_minutes: countOption(input, 'grace', MINUTES_MAX),
    timeout_minutes: countOption(input, 'timeout-minutes', MINUTES_MAX),
    concurrency: textOption(input, 'concurrency') as ConcurrencyPolicy | undefined,
  }
}

async function pipelineOf(ctx: CommandContext, input: CommandInput) {
  const [alias, given] = [argument(input, 'app'), argument(input, 'pipeline')]
  if (isIdOf('ppl', given)) return { alias, pipeline_id: given }
  const { id } = await findByName('pipeline', given, async (cursor) => {
    const page = await ctx.callOperation('listPipelines', { alias, limit: PAGE_MAX, cursor })
    return { rows: page.pipelines, next_cursor: page.next_cursor }
  })
  return { alias, pipeline_id: id }
}

const STRIP: Readonly<Record<PipelineRunState, string>> = {
  succeeded: '.',
  failed: 'F',
  missed: 'M',
  host_offline: 'O',
  skipped: 's',
  running: 'r',
  queued: 'q',
}

const pipelineTable = (pipelines: readonly Pipeline[]) =>
  tableOf(pipelines, {
    NAME: 'name',
    ID: 'id',
    SCHEDULE: 'cron',
    'TIME ZONE': 'timezone',
    ENABLED: 'enabled',
    TROUBLE: 'trouble',
    // Newest last, as for checks.
    LAST: ({ recent_runs }) =>
      recent_runs
        .toReversed()
        .map(({ state }) => STRIP[state])
        .join(''),
    'NEXT DUE': 'next_due_at',
  })

const runTable = (runs: readonly PipelineRun[]) =>
  tableOf(runs, {
    RUN: 'id',
    STATE: 'state',
    CODE: 'code',
    DUE: 'due_at',
    STARTED: 'started_at',
    ENDED: 'ended_at',
    WORKER: 'worker',
    MESSAGE: 'message',
  })
