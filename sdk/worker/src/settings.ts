/** What a worker needs, from its options and the environment; every mistake is told when it is made. */
import { hostname } from 'node:os'
import { chooseCredentials, type Credentials } from './credentials.ts'
import type { Environment } from './environment.ts'
import type { LogLevel } from './log.ts'
import type { PipelineFunction } from './run-job.ts'

export type ForwardLogs = {
  /** Lines below it are printed only. Default: `info`. */
  readonly level?: LogLevel
  /** What the lines are shown as coming from. Default: the name of the worker. */
  readonly service?: string
}

export type WorkerOptions = {
  /** Alias of the app. Default: `SVC_APP`. */
  readonly app?: string
  /** A function for each pipeline that this worker can run. */
  readonly pipelines: Readonly<Record<string, PipelineFunction>>
  /** Default: `SVC_API_URL`, or `http://localhost:4000`. */
  readonly apiUrl?: string | URL
  /** As the app's page shows it. Workers with different pipelines need different names. Default: the host name. */
  readonly name?: string
  /** Runs at a time. Default: 1. */
  readonly concurrency?: number
  /** Sends what `log` prints to the app's logs as well. Default: no. */
  readonly forwardLogs?: boolean | ForwardLogs
  /** How long stopping may take, with the last reports and log lines. Default: 25. */
  readonly stopSeconds?: number
}

export type Settings = {
  readonly app: string
  readonly pipelines: ReadonlyMap<string, PipelineFunction>
  readonly apiUrl: URL
  readonly name: string
  readonly concurrency: number
  readonly forwardLogs: Required<ForwardLogs> | undefined
  readonly stopSeconds: number
  readonly credentials: Credentials
}

const PIPELINE = /^[a-z](?:[a-z0-9-]{0,58}[a-z0-9])?$/

export function readSettings(options: WorkerOptions, env: Environment): Settings {
  const { pipelines, concurrency = 1, stopSeconds = 25 } = options
  const app = options.app ?? env['SVC_APP'] ?? ''
  const name = options.name ?? hostname()
  const names = Object.keys(pipelines)
  demand(app !== '', 'app: name the app of this worker, or set SVC_APP')
  demand(names.length > 0 && names.length <= 100, 'pipelines: a worker runs 1 to 100 pipelines')
  for (const one of names) {
    demand(
      PIPELINE.test(one),
      `pipelines: ${one} must be a lowercase letter, then up to 59 of a-z, 0-9 and -`,
    )
    demand(typeof pipelines[one] === 'function', `pipelines: ${one} must be a function`)
  }
  demand(name.trim() !== '' && name.length <= 120, 'name: must have 1 to 120 characters')
  demand(
    Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 100,
    'concurrency: must be a whole number from 1 to 100',
  )
  demand(stopSeconds >= 0 && stopSeconds <= 86_400, 'stopSeconds: must be from 0 to 86400')
  const { forwardLogs = false } = options
  const forwarding = forwardLogs === true ? {} : forwardLogs
  return {
    app,
    pipelines: new Map(Object.entries(pipelines)),
    apiUrl: readUrl(options.apiUrl ?? (env['SVC_API_URL'] || 'http://localhost:4000')),
    name,
    concurrency,
    forwardLogs: forwarding === false ? undefined : { level: 'info', service: name, ...forwarding },
    stopSeconds,
    credentials: chooseCredentials(env),
  }
}

function readUrl(given: string | URL): URL {
  const url = URL.canParse(String(given)) ? new URL(String(given)) : undefined
  demand(url?.protocol === 'https:' || url?.protocol === 'http:', 'apiUrl: must be an http or https address')
  // Errors of requests would quote a password, and a path would be dropped.
  demand(url!.href === `${url!.origin}/`, 'apiUrl: must be an address without a password or a path')
  return url as URL
}

function demand(holds: boolean, problem: string): void {
  if (!holds) throw new TypeError(`svc-worker: ${problem}`)
}
