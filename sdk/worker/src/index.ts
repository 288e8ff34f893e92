/** Runs the pipelines of an svc app. */
import { environment } from './environment.ts'
import { readSettings, type WorkerOptions } from './settings.ts'
import { startableWorker, type Worker } from './worker.ts'

export type { Log, LogFields, LogLevel } from './log.ts'
export type { PipelineContext, PipelineFunction, PipelineRun } from './run-job.ts'
export type { AppEvent } from './send-event.ts'
export type { ForwardLogs, WorkerOptions } from './settings.ts'
export type { Worker } from './worker.ts'

/** Throws at once when an option is wrong, or when there is no token to be found. */
export const createWorker = (options: WorkerOptions): Worker =>
  startableWorker(readSettings(options, environment()))
