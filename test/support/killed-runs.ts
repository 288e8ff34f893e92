/** Runs of pipelines by processes that are killed, and what is true of them afterwards. */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Connection } from '../../db/connect.ts'
import { eq } from '../../db/drizzle.ts'
import { apps, outbox, pipelineRuns, pipelines } from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import type { PipelineRunState } from '../../src/contracts/pipeline-states.ts'
import type { PipelineWorkerSettings } from './pipeline-worker.ts'
import type { SealWorkerSettings } from './seal-worker.ts'

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const WORKER = pathOf('./pipeline-worker.ts')
const SEALER = pathOf('./seal-worker.ts')

const running = new Set<ChildProcess>()
/** For `afterEach` or `afterAll`. */
export const killWorkers = async () => void (await Promise.all([...running].map(kill)))

/** Resolves with it when it has said the word. */
export const startWorker = (settings: PipelineWorkerSettings, word: string) => start(WORKER, settings, word)
export const startSealer = (settings: SealWorkerSettings) => start(SEALER, settings, 'written')

async function start(program: string, settings: object, word: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let said = ''
  await new Promise<void>((resolve, reject) => {
    const listen = (text: string) => {
      said = (said + text).slice(-4_000)
      if (said.includes(word)) resolve()
    }
    child.stdout.setEncoding('utf8').on('data', listen)
    child.stderr.setEncoding('utf8').on('data', listen)
    child.once('exit', () => reject(new Error(`a worker ended: ${said}`)))
  })
  return child
}

export async function kill(child: ChildProcess): Promise<void> {
  running.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await exited
}

export type PipelineApp = { readonly orgId: string; readonly id: string; readonly alias: string }

export async function makeApp({ db }: Pick<Connection, 'db'>, createdAt: Date): Promise<PipelineApp> {
  const app = {
    orgId: makeId('org', createdAt.getTime()),
    id: makeId('app', createdAt.getTime()),
    alias: 'shop',
  }
  await db.insert(apps).values({ ...app, name: 'Shop', createdAt })
  return app
}

export async function makePipelines(
  { db }: Pick<Connection, 'db'>,
  { orgId, id: appId }: PipelineApp,
  number: number,
  at: Date,
): Promise<string[]> {
  const rows = Array.from({ length: number }, () => ({
    orgId,
    id: makeId('ppl', at.getTime()),
    appId,
    name: `job-${randomBytes(6).toString('hex')}`,
    cron: '0 3 * * *',
    timezone: 'UTC',
    graceMinutes: 10,
    timeoutMinutes: 60,
    concurrency: 'skip' as const,
    enabled: true,
    nextDueAt: at,
    told: [],
    createdAt: at,
  }))
  await db.insert(pipelines).values(rows)
  return rows.map(({ id }) => id)
}

export async function stateOf({ db }: Pick<Connection, 'db'>, pipelineId: string) {
  const runs = await db.select().from(pipelineRuns).where(eq(pipelineRuns.pipelineId, pipelineId))
  const told = await db
    .select({ type: outbox.type })
    .from(outbox)
    .where(eq(outbox.subject, `pipelines/${pipelineId}`))
    .orderBy(outbox.seq)
  return {
    states: runs.map(({ state }): PipelineRunState => state),
    told: told.map(({ type }) => type.replace('pipeline.run.', '')),
  }
}
