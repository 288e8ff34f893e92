/**
 * The runs of the maintenance agent, whatever happens to the processes that hold and dispatch them: killed in the midst of a
 * call to a model, stopped beyond the lease and woken again, killed while a thousand apps are due.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { and, count, eq, sql } from '../../db/drizzle.ts'
import {
  appLeases,
  appMaintenance,
  apps,
  maintenanceRuns,
  maintenanceSettings,
  maintenanceSlots,
  outbox,
  runSteps,
  tokenPools,
} from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { claimRun, endRun, expireRuns, underLease } from '../../src/cores/maintenance/index.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import type { MaintenanceWorkerSettings } from '../support/maintenance-worker.ts'

const WORKER = fileURLToPath(new URL('../support/maintenance-worker.ts', import.meta.url))
const NOW = new Date('2026-03-02T03:00:01Z')
const clock = () => NOW

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

type Worker = { readonly child: ChildProcess; readonly hears: (word: string) => Promise<void> }
const running = new Set<ChildProcess>()
afterEach(async () => {
  await Promise.all([...running].map(kill))
})

function startWorker(settings: Omit<MaintenanceWorkerSettings, 'url' | 'now'>): Worker {
  const given = { url, now: NOW.toISOString(), ...settings }
  const child = spawn(process.execPath, [WORKER, JSON.stringify(given)], { stdio: ['pipe', 'pipe', 'pipe'] })
  running.add(child)
  let said = ''
  const listening = new Set<() => void>()
  const listen = (text: string) => {
    said += text
    for (const look of listening) look()
  }
  child.stdout.setEncoding('utf8').on('data', listen)
  child.stderr.setEncoding('utf8').on('data', listen)
  const hears = (word: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!said.includes(word)) return
        listening.delete(look)
        resolve()
      }
      listening.add(look)
      child.once('exit', () => reject(new Error(`a worker ended: ${said}`)))
      look()
    })
  return { child, hears }
}

async function kill(child: ChildProcess): Promise<void> {
  running.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await exited
}

/** An organization with apps that are on. */
async function makeApps(n: number, nextSlotAt: Date | null = null) {
  const { db } = connection
  const orgId = makeId('org', NOW.getTime())
  await db.insert(maintenanceSettings).values({
    orgId,
    enabled: true,
    model: 'rules',
    nightlyCron: '0 3 * * *',
    timezone: 'UTC',
    cooldownHours: 0,
    tokenAllowance: 10_000,
    protectedPaths: [],
    mcpDecisions: 'link',
    nextSlotAt,
  })
  const ids = Array.from({ length: n }, () => makeId('app', NOW.getTime()))
  const of = (appId: string) => ({ orgId, appId })
  await db.insert(apps).values(
    ids.map((id) => ({
      orgId,
      id,
      alias: `a-${randomBytes(6).toString('hex')}`,
      name: 'Shop',
      createdAt: NOW,
    })),
  )
  await db.insert(appMaintenance).values(ids.map((id) => ({ ...of(id), enabled: true, changedAt: NOW })))
  await db.insert(appLeases).values(ids.map(of))
  return { orgId, ids }
}

async function queueRun(orgId: string, appId: string): Promise<string> {
  const id = makeId('exec', NOW.getTime())
  await connection.db
    .insert(maintenanceRuns)
    .values({ orgId, id, appId, status: 'queued', mode: 'nightly', model: 'rules', createdAt: NOW })
  return id
}

const runOf = async (id: string) =>
  (await connection.db.select().from(maintenanceRuns).where(eq(maintenanceRuns.id, id)))[0]!
const eventsOf = async (id: string) =>
  (
    await connection.db
      .select()
      .from(outbox)
      .where(eq(outbox.subject, `maintenance-runs/${id}`))
  ).map(({ type }) => type)
const poolOf = async (orgId: string) =>
  (await connection.db.select().from(tokenPools).where(eq(tokenPools.orgId, orgId)))[0]!
const stepsOf = async (id: string) =>
  (await connection.db.select().from(runSteps).where(eq(runSteps.executionId, id))).length
/** As if its minute were over. */
const endLease = (orgId: string) =>
  connection.db
    .update(appLeases)
    .set({ expiresAt: sql`clock_timestamp() - interval '1 second'` })
    .where(and(eq(appLeases.orgId, orgId), sql`execution_id is not null`))
const log = { warn: (event: string, fields?: object) => console.error(event, fields) }
const reap = () => expireRuns({ db: connection.db, clock, log })
const claim = async () =>
  (await claimRun(
    { db: connection.db, clock },
    { claimId: randomBytes(8).toString('hex'), models: ['rules'] },
  ))!.key

test(
  'killed in the midst of a call to the model: an agent error, its tokens charged, and the next fence is higher',
  { timeout: 120_000 },
  async () => {
    const { orgId, ids } = await makeApps(1)
    const first = await queueRun(orgId, ids[0]!)
    const holder = startWorker({ does: 'hold' })
    await holder.hears('sent')
    await kill(holder.child)
    // Its lease goes on for a moment, and with it the run.
    expect(await reap()).toBe(0)
    expect(await runOf(first)).toMatchObject({ status: 'running' })
    await endLease(orgId)
    expect(await reap()).toBe(1)
    expect(await runOf(first)).toMatchObject({
      terminalCode: 'lease_lost',
      reason: 'RUNNER_LOST',
      tokens: 500,
    })
    expect(await eventsOf(first)).toEqual(['application.maintenance.run.failed'])
    expect(await poolOf(orgId)).toMatchObject({ reserved: 0, spent: 500, overage: 0 })
    await queueRun(orgId, ids[0]!)
    expect((await claim()).fence).toBeGreaterThan((await runOf(first)).fence!)
  },
)

test(
  'stopped beyond its lease and woken when the next run has ended: nothing of it is written or counted',
  { timeout: 120_000 },
  async () => {
    const { orgId, ids } = await makeApps(1)
    const first = await queueRun(orgId, ids[0]!)
    const zombie = startWorker({ does: 'hold' })
    await zombie.hears('sent')
    zombie.child.kill('SIGSTOP')
    await endLease(orgId)
    expect(await reap()).toBe(1)
    const second = await queueRun(orgId, ids[0]!)
    const next = await claim()
    // While the next one runs, and after it.
    zombie.child.stdin!.write('write\nrenew\nend\n')
    zombie.child.kill('SIGCONT')
    for (const word of ['write', 'renew', 'end']) await zombie.hears(`${word} refused`)
    await withTransaction(connection.db, async (tx) => {
      await underLease(tx, next)
      await endRun(tx, clock, next, { code: 'found_nothing' })
    })
    zombie.child.stdin!.write('settle\n')
    await zombie.hears('settle refused')
    expect(await stepsOf(first)).toBe(0)
    expect(await runOf(first)).toMatchObject({ terminalCode: 'lease_lost', tokens: 500 })
    expect(await runOf(second)).toMatchObject({ terminalCode: 'found_nothing', tokens: 0 })
    expect(await eventsOf(first)).toEqual(['application.maintenance.run.failed'])
    expect(await poolOf(orgId)).toMatchObject({ reserved: 0, spent: 500, overage: 0 })
  },
)

test(
  'two processes, killed at random and right before they commit, while a thousand apps are due: one run each',
  { timeout: 300_000 },
  async () => {
    const made = []
    for (let n = 0; n < 50; n++) made.push(await makeApps(20, new Date('2026-03-02T03:00:00Z')))
    const pausing = startWorker({ does: 'dispatch', pausing: true })
    await pausing.hears('written')
    await kill(pausing.child)
    const [none] = await connection.db.select({ n: count() }).from(maintenanceSlots)
    expect(none!.n).toBe(0)
    const isDue = sql`next_slot_at <= ${NOW.toISOString()}::timestamptz`
    const left = async () =>
      (await connection.db.select({ n: count() }).from(maintenanceSettings).where(isDue))[0]!.n
    const workers = [startWorker({ does: 'dispatch' }), startWorker({ does: 'dispatch' })]
    let kills = 0
    while ((await left()) > 0) {
      await sleep(Math.random() * 100)
      const at = kills++ % 2
      await kill(workers[at]!.child)
      workers[at] = startWorker({ does: 'dispatch' })
      await workers[at].hears('ready')
    }
    const [counted] = await connection.db.execute<{ runs: number; apps: number; slots: number }>(sql`
      select count(*)::int as runs, count(distinct app_id)::int as apps,
        (select count(*)::int from maintenance_slots) as slots
      from maintenance_runs where slot_at is not null`)
    expect(counted).toEqual({ runs: 1000, apps: 1000, slots: 1000 })
    console.log(`1,000 apps, ${kills} kills`)
  },
)
