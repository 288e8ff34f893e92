/**
 * decisions, 11: nothing is lost and nothing arrives twice, whatever happens to the workers. They are killed and frozen at
 * random moments while a real receiver writes down what it gets, before it answers.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { copySnapshot, databaseUrl, onServer } from '../support/database.ts'
import {
  end,
  endWorkers,
  LEASES,
  makeEndpoints,
  openReceiver,
  promised,
  startWorker,
  untilDone,
  weigh,
} from '../support/killed-deliveries.ts'
import { notificationHarness } from '../support/notification-harness.ts'
import { processes } from '../support/process.ts'

const KILLS = 10
/** Between two of them at most. */
const POSTS_MAX = 10
const ENDPOINTS = 40
/** On a busy machine a worker needs long for what is left. */
const TIMEOUT_MS = 10 * 60_000
const FROZEN_MS = 4_500

afterEach(endWorkers)

describe('two workers over one Postgres', () => {
  let connection: Connection
  let drop: () => Promise<unknown>
  let url: string

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

  test(
    'killed and frozen at random: nothing twice, nothing lost, and few unconfirmed',
    { timeout: TIMEOUT_MS },
    async () => {
      const receiver = await openReceiver()
      const dataKey = randomBytes(32).toString('hex')
      const harness = await notificationHarness(connection, dataKey, Date.now())
      const org = await makeEndpoints(harness, receiver.url, ENDPOINTS)
      const settings = { database: { url }, dataKey, ...LEASES }
      let [kills, freezes, recorded] = [0, 0, 0]
      const workers = [await startWorker(settings), await startWorker(settings)]
      const isOver = () => kills >= KILLS
      const produce = (async () => {
        for (; !isOver(); recorded++) {
          await harness.record(org, { type: 'deploy.failed' })
          await sleep(200)
        }
      })()
      while (!isOver()) {
        await receiver.untilPosts(randomInt(1, POSTS_MAX))
        const at = Math.random() < 0.5 ? 0 : 1
        const victim = workers[at]!
        if (Math.random() < 0.3) {
          freezes++
          victim.child.kill('SIGSTOP')
          await sleep(FROZEN_MS)
          victim.child.kill('SIGCONT')
        } else {
          kills++
          await end(victim)
          workers[at] = await startWorker(settings)
        }
      }
      await produce
      // One of them is asked to stop, and takes nothing with it.
      workers[0]!.child.kill('SIGTERM')
      expect(await workers[0]!.exited).toBe(0)
      await untilDone(workers[1]!)
      const outcome = await weigh(connection, { orgId: org.id, dataKey }, receiver.ids)
      console.log(`Postgres: ${kills} kills, ${freezes} freezes, ${recorded} events`, outcome)
      await receiver.close()
      expect(outcome).toMatchObject(promised(recorded * ENDPOINTS, kills + freezes, ENDPOINTS))
      expect(receiver.overKept()).toBeGreaterThan(50)
      expect(outcome.rows - outcome.unconfirmed).toBeGreaterThan(100)
    },
  )
})

describe('one worker over PGlite', () => {
  const own = processes()
  afterAll(() => own.cleanUp())

  test(
    'killed at random moments and started again: nothing twice, nothing lost, and few unconfirmed',
    { timeout: TIMEOUT_MS },
    async () => {
      const receiver = await openReceiver()
      const dataKey = randomBytes(32).toString('hex')
      const folder = join(await own.newFolder(), 'data')
      await copySnapshot(folder)
      const EVENTS = 60
      const first = await connect({ folder })
      const harness = await notificationHarness(first, dataKey, Date.now())
      const org = await makeEndpoints(harness, receiver.url, ENDPOINTS)
      for (let n = 0; n < EVENTS; n++) await harness.record(org, { type: 'deploy.failed' })
      await first.close()

      const settings = { database: { folder }, dataKey, ...LEASES }
      for (let kills = 0; kills < KILLS; kills++) {
        const worker = await startWorker(settings)
        // Or there are no more of them.
        await Promise.race([receiver.untilPosts(randomInt(1, POSTS_MAX)), untilDone(worker)])
        await end(worker)
      }
      const last = await startWorker(settings)
      await untilDone(last)
      last.child.kill('SIGTERM')
      expect(await last.exited).toBe(0)
      const { db, close } = await connect({ folder })
      const outcome = await weigh({ db }, { orgId: org.id, dataKey }, receiver.ids)
      await close()
      await receiver.close()
      console.log(`PGlite: ${KILLS} kills, ${EVENTS} events`, outcome)
      expect(outcome).toMatchObject(promised(EVENTS * ENDPOINTS, KILLS, ENDPOINTS))
      expect(receiver.overKept()).toBeGreaterThan(50)
      expect(outcome.rows - outcome.unconfirmed).toBeGreaterThan(100)
    },
  )
})
