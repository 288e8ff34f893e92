/**
 * Each run and each event once, whatever happens to the processes that make them: killed between the write and the commit,
 * and at random moments while two of them go through a night with many pipelines.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { and, count, eq, sql } from '../../db/drizzle.ts'
import { pipelineRuns, pipelines } from '../../db/schema.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { kill, killWorkers, makeApp, makePipelines, startWorker, stateOf } from '../support/killed-runs.ts'
import type { PipelineWorkerSettings } from '../support/pipeline-worker.ts'

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

afterEach(killWorkers)

test(
  'killed between the write and the commit, nothing happened; the next process does it once',
  { timeout: 180_000 },
  async () => {
    const app = await makeApp(connection, DUE)
    const [pipelineId] = await makePipelines(connection, app, 1, DUE)
    const isRun = and(eq(pipelineRuns.orgId, app.orgId), eq(pipelineRuns.pipelineId, pipelineId!))
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
        // Another trouble of one that has not recovered is not told again.
        expected: { states: ['failed'], told: ['host_offline'] },
      },
      {
        settings: async () => {
          const [run] = await connection.db
            .update(pipelineRuns)
            .set({ state: 'running', endedAt: null, code: null, leaseUntil: sql`now() + interval '1 hour'` })
            .where(isRun)
            .returning()
          const report = { orgId: app.orgId, app, run_id: run!.id, fence: 1 }
          return { now: later(6).toISOString(), report }
        },
        expected: { states: ['succeeded'], told: ['host_offline', 'recovered'] },
      },
    ]
    for (const { settings, expected } of steps) {
      const given = await settings()
      const before = await stateOf(connection, pipelineId!)
      for (let n = 0; n < 2; n++) {
        await kill(await startWorker({ url, ...given, pausing: true }, 'written'))
        expect(await stateOf(connection, pipelineId!)).toEqual(before)
      }
      const whole = await startWorker({ url, ...given }, 'done 0')
      expect(await stateOf(connection, pipelineId!)).toEqual(expected)
      await kill(whole)
    }
  },
)

test(
  'two processes, killed at random while 600 pipelines are due: one run and one event each',
  { timeout: 300_000 },
  async () => {
    const night = new Date(DUE.getTime() + 24 * 3_600_000)
    const ids = await makePipelines(connection, await makeApp(connection, night), 600, night)
    const settings = { now: new Date(night.getTime() + 2_000).toISOString() }
    const workers = [
      await startWorker({ url, ...settings }, 'ready'),
      await startWorker({ url, ...settings }, 'ready'),
    ]
    const isDue = sql`next_due_at <= ${settings.now}::timestamptz`
    const left = async () => (await connection.db.select({ n: count() }).from(pipelines).where(isDue))[0]!.n
    let kills = 0
    while ((await left()) > 0) {
      await sleep(Math.random() * 150)
      const at = kills++ % 2
      await kill(workers[at]!)
      workers[at] = await startWorker({ url, ...settings }, 'ready')
    }
    const wrong: unknown[] = []
    for (const id of ids) {
      const state = await stateOf(connection, id)
      if (state.states.join() !== 'host_offline' || state.told.join() !== 'host_offline')
        wrong.push({ id, ...state })
    }
    expect(wrong).toEqual([])
    expect(kills).toBeGreaterThan(1)
    console.log(`600 pipelines, ${kills} kills`)
  },
)
