/** `svc apps pipelines …`. */
import { notFound } from '../../contracts/errors.ts'
import type { Output } from '../../contracts/operations.ts'
import type { ConcurrencyPolicy, PipelineRunState } from '../../contracts/pipeline-states.ts'
import { PAGE_MAX } from '../../contracts/limits.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { tableOf } from '../format-output.ts'
import { argument, countOption, isSet, textOption } from '../options.ts'
import { confirm } from '../prompt.ts'
import { readPages } from '../read-pages.ts'
import { usageError } from '../usage-error.ts'

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
  if (isSet(input, 'enable') && isSet(input, 'disable')) {
    throw usageError('--enable and --disable exclude each other', 'Give one of them')
  }
  const enabled = isSet(input, 'enable') ? true : isSet(input, 'disable') ? false : undefined
  const path = await pipelineOf(ctx, input)
  const changed = await ctx.callOperation('updatePipeline', { ...path, ...settingsOf(input), enabled })
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

/** People know it by its name, and the server by its id. */
async function pipelineOf(ctx: CommandContext, input: CommandInput) {
  const [alias, given] = [argument(input, 'app'), argument(input, 'pipeline')]
  if (given.startsWith('ppl_')) return { alias, pipeline_id: given }
  // An app has fewer than fit on a page.
  const { pipelines } = await ctx.callOperation('listPipelines', { alias, limit: PAGE_MAX })
  const found = pipelines.find(({ name }) => name === given)
  if (found) return { alias, pipeline_id: found.id }
  throw notFound()
}

const pipelineTable = (pipelines: readonly Pipeline[]) =>
  tableOf(
    pipelines.map((one) => ({ ...one, last: one.last_run?.state ?? null })),
    {
      PIPELINE: 'name',
      SCHEDULE: 'cron',
      'TIME ZONE': 'timezone',
      ENABLED: 'enabled',
      'NEXT DUE': 'next_due_at',
      'LAST RUN': 'last',
      TROUBLE: 'trouble',
    },
  )

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
