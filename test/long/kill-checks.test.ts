/** Each transition of a check is one event, whatever happens to the workers: also a kill between the write and its commit. */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { SQL } from 'drizzle-orm'
import { eq, sql } from '../../db/drizzle.ts'
import { checkRuns, checks, outbox } from '../../db/schema.ts'
import { CheckDefinition } from '../../src/contracts/checks.ts'
import { makeId } from '../../src/contracts/ids.ts'
import type { CheckWorkerSettings } from '../support/check-worker.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'

const WORKER = fileURLToPath(new URL('../support/check-worker.ts', import.meta.url))
const TIMEOUT_MS = 5 * 60_000
const CHECKS = 60

let database: TestDatabase
const dataKey = randomBytes(32).toString('hex')
const ORG = makeId('org', Date.now())
const running = new Set<ChildProcess>()

beforeAll(async () => {
  database = await newDatabase()
})
afterAll(() => database.close())
afterEach(async () => {
  await Promise.all([...running].map(kill))
  await database.db.delete(checks)
})

async function startWorker(): Promise<ChildProcess> {
  const settings: CheckWorkerSettings = { url: database.url!, dataKey, leaseSeconds: 2 }
  const child = spawn(process.execPath, [WORKER, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2_000)))
  running.add(child)
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve())
    child.once('exit', () => reject(new Error(`a worker did not start: ${said}`)))
  })
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  running.delete(child)
  const exited = new Promise((resolve) => child.once('exit', resolve))
  if (!child.kill('SIGKILL')) return
  await exited
}

/** Its host answers 500, and one failure suffices. */
async function makeChecks(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => makeId('chk', Date.now()))
  await database.db.insert(checks).values(
    ids.map((id) => ({
      orgId: ORG,
      id,
      appId: 'app_1',
      name: id,
      definition: CheckDefinition.parse({ kind: 'http', url: 'https://app.test/' }),
      intervalSeconds: 3_600,
      failureThreshold: 1,
      successThreshold: 1,
      enabled: true,
      maintenanceWindows: [],
      nextRunAt: new Date(),
      createdAt: new Date(),
    })),
  )
  return ids
}

const eventsOf = (id: string) =>
  database.db
    .select()
    .from(outbox)
    .where(eq(outbox.subject, `checks/${id}`))
const stateOf = async (id: string) => (await database.db.select().from(checks).where(eq(checks.id, id)))[0]!
async function until(what: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 50) {
    if (await what()) return
    await sleep(50)
  }
  throw new Error('it did not come to pass')
}

async function countOf(which: SQL): Promise<number> {
  const [counted] = await database.db.execute<{ n: number }>(
    sql`select count(*)::int as n from checks where ${which}`,
  )
  return counted!.n
}

describe('kill -9', () => {
  test(
    'between the write and its commit: nothing of it stays, and the next worker tells once',
    async () => {
      // The event is written, then the transaction waits here until the test lets it go on.
      await database.sql.query(`
        create function hold_check_event() returns trigger language plpgsql as $$
          begin perform pg_advisory_xact_lock(4711); return new; end $$;
        create trigger hold_check_event after insert on outbox for each row execute function hold_check_event()`)
      const release = Promise.withResolvers<void>()
      const held = Promise.withResolvers<void>()
      const holding = database.db.transaction(async (tx) => {
        await tx.execute(sql`select pg_advisory_xact_lock(4711)`)
        held.resolve()
        await release.promise
      })
      await held.promise
      const [id] = (await makeChecks(1)) as [string]
      const first = await startWorker()
      await until(async () => {
        const waiting = await database.sql.query(
          `select 1 from pg_locks where locktype = 'advisory' and objid = 4711 and not granted`,
        )
        return waiting.length === 1
      })
      await kill(first)
      // Its session is still there, waiting; it ends as any does whose client is gone.
      await database.sql.query(`
        select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = 4711 and not granted`)
      await until(async () => {
        const left = await database.sql.query(
          `select 1 from pg_locks where locktype = 'advisory' and objid = 4711 and not granted`,
        )
        return left.length === 0
      })
      expect([(await stateOf(id)).state, await eventsOf(id)]).toEqual([null, []])
      release.resolve()
      await holding
      await database.sql.query(`drop trigger hold_check_event on outbox; drop function hold_check_event()`)
      await startWorker()
      await until(async () => (await stateOf(id)).state === 'fail')
      expect(await eventsOf(id)).toMatchObject([{ type: 'application.check.failed', data: { check_id: id } }])
      const runs = await database.db.select().from(checkRuns).where(eq(checkRuns.checkId, id))
      expect(runs).toHaveLength(1)
    },
    TIMEOUT_MS,
  )

  test(
    'at random moments, with two workers: every check is run, and each tells once',
    async () => {
      const ids = await makeChecks(CHECKS)
      let interrupted = 0
      for (let round = 0; round < 4; round++) {
        const workers = await Promise.all([startWorker(), startWorker()])
        // Some are run just now, unless all have been.
        await until(
          async () =>
            (await countOf(sql`claim is not null`)) > 0 || (await countOf(sql`state is null`)) === 0,
        )
        await sleep(Math.random() * 40)
        await Promise.all(workers.map(kill))
        interrupted += await countOf(sql`claim is not null`)
      }
      // Some of them died in the midst of it: otherwise this shows nothing.
      expect(interrupted).toBeGreaterThan(0)
      await Promise.all([startWorker(), startWorker()])
      await until(async () => (await countOf(sql`state is null`)) === 0)
      for (const id of ids) {
        expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['application.check.failed'])
        expect(await database.db.select().from(checkRuns).where(eq(checkRuns.checkId, id))).toHaveLength(1)
      }
    },
    TIMEOUT_MS,
  )
})
