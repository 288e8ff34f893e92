/**
 * Each run and each event once, whatever happens to the processes that make them: killed between the write and the commit,
 * and at random moments while two of them go through a night with many pipelines.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { and, count, eq, sql } from '../../db/drizzle.ts'
import { apps, outbox, pipelineRuns, pipelines } from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import type { PipelineRunState } from '../../src/contracts/pipeline-states.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import type { PipelineWorkerSettings } from '../support/pipeline-worker.ts'

const WORKER = fileURLToPath(new URL('../support/pipeline-worker.ts', import.meta.url))
const DUE = new Date('2026-03-02T03:00:00Z')
const later = (minutes: number): Date => new Date(DUE.getTime() + minutes * 60_000 + 2_000)

let connection: Connection
let url: string
let drop: () => Promise<unknown>

beforeAll(async () => {
  const server = inject('postgres')
  const name = `kill_${randomBytes(4).toString('hex')}`
  await onServer(server.url, `create database ${name} template ${server.template}`)
  url = databaseUrl(server.url, name)
  drop = () => onServer(server.url, `drop database ${name} with (force)`)
  connection = await connect({ url })
})
afterAll(async () => {
  await connection?.close()
  await drop?.()
})

const running = new Set<ChildProcess>()
afterEach(async () => {
  await Promise.all([...running].map(kill))
})

/** Resolves with it when it has said the word. */
async function startWorker(
  settings: Omit<PipelineWorkerSettings, 'url'>,
  word: string,
): Promise<ChildProcess> {
  const child = spawn(process.execPath, [WORKER, JSON.stringify({ url, ...settings })], {
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

async function kill(child: ChildProcess): Promise<void> {
  running.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await exited
}

const ORG = makeId('org', DUE.getTime())
const app = { id: makeId('app', DUE.getTime()), alias: 'shop' }

async function makePipelines(number: number, at: Date): Promise<string[]> {
  const rows = Array.from({ length: number }, () => ({
    orgId: ORG,
    id: makeId('ppl', at.getTime()),
    appId: app.id,
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
  await connection.db.insert(pipelines).values(rows)
  return rows.map(({ id }) => id)
}

async function stateOf(pipelineId: string) {
  const runs = await connection.db.select().from(pipelineRuns).where(eq(pipelineRuns.pipelineId, pipelineId))
  const told = await connection.db
    .select({ type: outbox.type })
    .from(outbox)
    .where(eq(outbox.subject, `pipelines/${pipelineId}`))
    .orderBy(outbox.seq)
  return {
    states: runs.map(({ state }): PipelineRunState => state),
    told: told.map(({ type }) => type.replace('pipeline.run.', '')),
  }
}

test(
  'killed between the write and the commit, nothing happened; the next process does it once',
  { timeout: 180_000 },
  async () => {
    await connection.db.insert(apps).values({ orgId: ORG, ...app, name: 'Shop', createdAt: DUE })
    const [pipelineId] = await makePipelines(1, DUE)
    const isRun = and(eq(pipelineRuns.orgId, ORG), eq(pipelineRuns.pipelineId, pipelineId!))
    type Step = {
      readonly settings: () => Promise<Omit<PipelineWorkerSettings, 'url'>>
      readonly expected: Awaited<ReturnType<typeof stateOf>>
    }
    const at = (minutes: number) => async () => ({ now: later(minutes).toISOString() })
    const steps: readonly Step[] = [
      { settings: at(0), expected: { states: ['host_offline'], told: ['host_offline'] } },
      // Claimed after all, and then silent.
      {
        settings: async () => {
          await connection.db
            .update(pipelineRuns)
            .set({
              state: 'running',
              claimableUntil: null,
              fence: 1,
              worker: 'w',
              leaseUntil: sql`now() - interval '1 minute'`,
            })
            .where(isRun)
          return { now: later(5).toISOString() }
        },
        expected: { states: ['failed'], told: ['host_offline', 'failed'] },
      },
      {
        settings: async () => {
          const [run] = await connection.db
            .update(pipelineRuns)
            .set({ state: 'running', endedAt: null, code: null, leaseUntil: sql`now() + interval '1 hour'` })
            .where(isRun)
            .returning()
          const report = { orgId: ORG, app, run_id: run!.id, fence: 1 }
          return { now: later(6).toISOString(), report }
        },
        expected: { states: ['succeeded'], told: ['host_offline', 'failed', 'recovered'] },
      },
    ]
    for (const { settings, expected } of steps) {
      const given = await settings()
      const before = await stateOf(pipelineId!)
      for (let n = 0; n < 2; n++) {
        await kill(await startWorker({ ...given, pausing: true }, 'written'))
        expect(await stateOf(pipelineId!)).toEqual(before)
      }
      const whole = await startWorker(given, 'done 0')
      expect(await stateOf(pipelineId!)).toEqual(expected)
      await kill(whole)
    }
  },
)

test(
  'two processes, killed at random while 600 pipelines are due: one run and one event each',
  { timeout: 300_000 },
  async () => {
    const night = new Date(DUE.getTime() + 24 * 3_600_000)
    const ids = await makePipelines(600, night)
    const settings = { now: new Date(night.getTime() + 2_000).toISOString() }
    const workers = [await startWorker(settings, 'ready'), await startWorker(settings, 'ready')]
    const isDue = sql`next_due_at <= ${settings.now}::timestamptz`
    const left = async () => (await connection.db.select({ n: count() }).from(pipelines).where(isDue))[0]!.n
    let kills = 0
    while ((await left()) > 0) {
      await sleep(Math.random() * 150)
      const at = kills++ % 2
      await kill(workers[at]!)
      workers[at] = await startWorker(settings, 'ready')
    }
    const wrong: unknown[] = []
    for (const id of ids) {
      const state = await stateOf(id)
      if (state.states.join() !== 'host_offline' || state.told.join() !== 'host_offline')
        wrong.push({ id, ...state })
    }
    expect(wrong).toEqual([])
    expect(kills).toBeGreaterThan(1)
    console.log(`600 pipelines, ${kills} kills`)
  },
)
