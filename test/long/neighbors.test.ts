/**
 * decisions, 11, "No organization feels another, and no target its neighbour": while one has hung endpoints, a flood of
 * events or mails that a dead mail server keeps waiting, the message of another waits for none of them; and neither does
 * that of a healthy endpoint beside 4, 20 and 40 hung ones of its own organization. Whole loops, real sockets, Postgres.
 * Counted is what was done before it, not how long it took: `npm run bench notifications` says that.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { messages } from '../../db/schema.ts'
import { FAN_OUT_EVENTS, LANES } from '../../src/contracts/limits.ts'
import { notificationMail } from '../../src/adapters/mail/notification-mail.ts'
import { outbound } from '../../src/adapters/outbound/guarded-post.ts'
import { sendWebhook } from '../../src/adapters/outbound/send-webhook.ts'
import { startNotifications, type Notifications } from '../../src/worker/notifications.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import {
  notificationHarness,
  type HarnessOrg,
  type NotificationHarness,
} from '../support/notification-harness.ts'

const MESSAGES = 40
const EVERY_MS = 50
/** Longer than any of this takes, and shorter than the lease of an attempt: whatever hangs does so until the end. */
const DEADLINE_MS = 110_000
/** The events that are being fanned out when it comes, and those that are sent meanwhile. */
const OVERTAKEN_MAX = 2 * FAN_OUT_EVENTS

const HUNG = 40
/** Mails of both organizations together that have certainly taken all they get. */
const MAILS = 8

let database: TestDatabase
let harness: NotificationHarness
let busy: HarnessOrg
let quiet: HarnessOrg
let lone: HarnessOrg
let silentPort: number
let running: Notifications
const servers: Server[] = []
/** Messages of others that were received or given up. */
let done = 0
/** By the subject of the event, how many were when it came. */
const doneBefore = new Map<string, number>()
const silentSockets = new Set<Socket>()
const out = outbound({ allowNets: ['127.0.0.0/8'], deadlineMs: DEADLINE_MS })

async function serve(server: Server): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function webhook(org: HarnessOrg, url: string, pattern: string): Promise<void> {
  const { integrationId } = await harness.integration(org, 'webhook', { url })
  await harness.subscription(org, integrationId, pattern)
}

beforeAll(async () => {
  database = await newDatabase()
  harness = await notificationHarness(database, undefined, Date.now())
  ;[busy, quiet, lone] = [
    await harness.organization(),
    await harness.organization(),
    await harness.organization(),
  ]
  const port = await serve(
    createHttpServer((request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', (text: string) => (body += text))
      request.once('end', () => {
        const subjects = (JSON.parse(body) as { subject: string }[]).map(({ subject }) => subject)
        if (request.url === '/flood') done += subjects.length
        else for (const subject of subjects) doneBefore.set(subject, done)
        response.end('ok')
      })
    }),
  )
  // Both accept and say nothing, to the end of the test.
  const silent = () =>
    createServer((socket) => {
      silentSockets.add(socket.on('error', () => {}).on('close', () => silentSockets.delete(socket)))
    })
  const [silentHttp, silentMail] = [await serve(silent()), await serve(silent())]
  silentPort = silentHttp
  await webhook(quiet, `http://127.0.0.1:${port}/quiet`, 'deploy.*')
  await webhook(lone, `http://127.0.0.1:${port}/lone`, 'deploy.*')
  for (let n = 0; n < HUNG; n++)
    await webhook(busy, `http://127.0.0.1:${silentHttp}/${n}`, 'application.check.*')
  await webhook(busy, `http://127.0.0.1:${port}/flood`, 'pipeline.*')
  const settings = { url: `smtp://127.0.0.1:${silentMail}`, from: 'svc@example.test' }
  const [mail, post] = [notificationMail(settings, DEADLINE_MS), sendWebhook(out.post, 'svc/test')]
  const givenUp = () => void done++
  running = startNotifications({
    ...harness.deps,
    clock: () => new Date(),
    channels: {
      ...harness.deps.channels,
      webhook(message) {
        const answered = post(message)
        return message.url.includes(`:${silentPort}/`) ? answered.finally(givenUp) : answered
      },
      email: (message) => mail.send(message).finally(givenUp),
    },
  })
})
afterAll(async () => {
  for (const server of servers) server.close()
  // What is in flight to the silent ones would be waited for.
  for (const socket of silentSockets) socket.destroy()
  await running?.stop()
  out.close()
  await database?.close()
})

/**
 * How many others were done with between an event and its receiver, the least first. One every so often, whether or not those
 * before it have arrived: one at a time, a single message would wait through all of a jam, and the others would not notice it.
 */
async function measure(org: HarnessOrg): Promise<number[]> {
  const waited = await Promise.all(
    Array.from({ length: MESSAGES }, async (_, n) => {
      await sleep(n * EVERY_MS)
      const subject = `things/${randomUUID()}`
      const before = done
      await harness.record(org, { type: 'deploy.failed', subject })
      await until(async () => doneBefore.has(subject))
      return doneBefore.get(subject)! - before
    }),
  )
  return waited.toSorted((a, b) => a - b)
}
const NONE = Array.from({ length: MESSAGES }, () => 0)

const stateOf = async (org: HarnessOrg, state: string, channel?: string) =>
  (await harness.db.select().from(messages).where(eq(messages.orgId, org.id))).filter(
    (row) => row.state === state && (channel === undefined || row.channel === channel),
  ).length

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const start = performance.now()
  while (!(await isSo())) {
    if (performance.now() - start > 120_000) throw new Error('it did not happen within two minutes')
    await sleep(5)
  }
}

const waitingOf = async (org: HarnessOrg) =>
  (await harness.db.select().from(messages).where(eq(messages.orgId, org.id))).filter(({ state }) =>
    ['pending', 'claimed', 'sending'].includes(state),
  ).length

describe('the message of an organization waits for nothing that hangs', () => {
  test.each([
    [4, 4],
    [20, 16],
    [HUNG, 20],
  ])('beside %i hung endpoints of its own', async (_count, more) => {
    for (let n = 0; n < more; n++)
      await webhook(lone, `http://127.0.0.1:${silentPort}/lone/${randomUUID()}`, 'application.check.*')
    for (let n = 0; n < 10; n++) await harness.record(lone, { type: 'application.check.failed' })
    await until(async () => (await stateOf(lone, 'sending')) >= more * LANES.perTarget)
    expect(await measure(lone)).toEqual(NONE)
    expect(await waitingOf(lone)).toBeGreaterThan(more)
  })

  test('while another has forty hung endpoints', async () => {
    for (let n = 0; n < 10; n++) await harness.record(busy, { type: 'application.check.failed' })
    // All slots that it gets are taken by then.
    await until(async () => (await stateOf(busy, 'sending')) >= HUNG * LANES.perTarget)
    expect(await measure(quiet)).toEqual(NONE)
    expect(await waitingOf(busy)).toBeGreaterThan(100)
  })

  test('while another has six thousand events waiting', async () => {
    await database.sql.query(`
      insert into outbox (org_id, id, source, dedup_key, type, subject, data, occurred_at)
      select '${busy.id}', 'evt_flood' || n, 'test', 'flood-' || n, 'pipeline.run.failed', 'things/' || n,
        '{"pipeline_id":"pl_1"}', now()
      from generate_series(1, 6000) n`)
    const waited = await measure(quiet)
    expect(waited[MESSAGES / 2]).toBeLessThanOrEqual(OVERTAKEN_MAX)
    expect(await waitingOf(busy)).toBeGreaterThan(1_000)
  })

  test('while the mail server hangs, for both of them', async () => {
    // Each by itself: what is left of the others is over.
    await database.sql.query(
      `update messages set state = 'dropped' where state = 'pending' and org_id = '${busy.id}'`,
    )
    for (const org of [busy, quiet]) {
      for (let n = 0; n < 50; n++) {
        const { userId } = await harness.person(org, 'viewer')
        const about = { concernsId: userId, actorId: org.owner.userId }
        await harness.record(org, { type: 'support.ticket.replied', ...about })
      }
    }
    await until(
      async () =>
        (await stateOf(busy, 'sending', 'email')) + (await stateOf(quiet, 'sending', 'email')) >= MAILS,
    )
    expect(await measure(quiet)).toEqual(NONE)
    expect(await stateOf(quiet, 'pending', 'email')).toBeGreaterThan(0)
  })
})
