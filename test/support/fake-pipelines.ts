/** The part of the fake gateway with pipelines: their runs, and the workers that do them. */
import type * as z from 'zod'
import { notFound, ServiceError } from '../../src/contracts/errors.ts'
import { PIPELINE_RUN_STATES } from '../../src/contracts/pipeline-states.ts'
import * as pipelines from '../../src/contracts/pipelines.ts'
import type { FakeAppOverview } from './fake-app-overview.ts'
import type { FakeContext } from './fake-data-sources.ts'

type Listed = z.output<typeof pipelines.listPipelines.output>
type Pipeline = Listed['pipelines'][number]
type Run = z.output<typeof pipelines.startPipelineRun.output>

export type FakePipelines = ReturnType<typeof fakePipelines>

export function fakePipelines({ on, list, id, clock }: FakeContext, overview: FakeAppOverview) {
  const data = { workers: [] as Listed['workers'], runs: [] as Run[] }
  const find = ({ pipeline_id }: { pipeline_id: string }): Pipeline => {
    const found = overview.data.pipelines.find((one) => one.id === pipeline_id)
    if (!found) throw notFound()
    return found
  }
  const withRuns = (pipeline: Pipeline): Pipeline => ({
    ...pipeline,
    recent_runs: data.runs.map(({ id: run, state, due_at }) => ({ id: run, state, at: due_at })),
  })
  on(pipelines.listPipelines, (input) => ({
    ...(list('pipelines', overview.data.pipelines.map(withRuns), input) as object),
    workers: data.workers,
  }))
  on(pipelines.showPipeline, (input) => withRuns(find(input)))
  on(pipelines.listPipelineRuns, ({ state, ...input }) => {
    find(input)
    return list(
      'runs',
      data.runs.filter((run) => !state || run.state === state),
      input,
    )
  })
  on(pipelines.createPipeline, (input) => {
    if (input.cron === 'never') {
      throw new ServiceError('INVALID_REQUEST', undefined, { problems: ['cron: never comes due'] })
    }
    const created = {
      ...input,
      id: id('ppl'),
      trouble: null,
      next_due_at: null,
      last_run: null,
      recent_runs: [],
    }
    overview.data.pipelines.push(created)
    return created
  })
  on(pipelines.updatePipeline, (input) => Object.assign(find(input), input))
  on(pipelines.removePipeline, (input) => {
    const gone = find(input)
    overview.data.pipelines = overview.data.pipelines.filter((one) => one !== gone)
    return {}
  })
  const addRun = (pipeline: Pipeline, facts: Partial<Run> = {}): Run => {
    const at = clock().toISOString()
    const run: Run = {
      id: id('prn'),
      pipeline: pipeline.name,
      state: 'queued',
      code: null,
      scheduled: true,
      due_at: at,
      started_at: null,
      ended_at: null,
      worker: null,
      message: null,
      ...facts,
    }
    data.runs.unshift(run)
    return run
  }
  on(pipelines.startPipelineRun, (input) => addRun(find(input), { scheduled: false }))
  return { data, overview, addRun }
}

/** A run of every kind, and a worker that is there and one that is not. */
export function seedPipelines({ data, overview, addRun }: FakePipelines): void {
  const pipeline = overview.data.pipelines[0]!
  PIPELINE_RUN_STATES.forEach((state, at) => {
    const due_at = overview.daysAgo(PIPELINE_RUN_STATES.length - at)
    const isDone = state === 'succeeded' || state === 'failed'
    addRun(pipeline, {
      state,
      due_at,
      code: state === 'missed' ? 'NOT_CLAIMED' : state === 'failed' ? 'REPORTED' : null,
      worker: isDone ? 'web-1' : null,
      started_at: isDone ? due_at : null,
      ended_at: isDone ? overview.daysAgo(PIPELINE_RUN_STATES.length - at - 0.01) : null,
      message: state === 'failed' ? 'ENOENT: no such file or directory, open orders.ndjson' : null,
    })
  })
  data.workers.push(
    { name: 'web-1', connected: true, last_seen_at: overview.daysAgo(0), pipelines: [pipeline.name] },
    {
      name: 'web-2',
      connected: false,
      last_seen_at: overview.daysAgo(3),
      pipelines: [pipeline.name, 'import'],
    },
  )
}
