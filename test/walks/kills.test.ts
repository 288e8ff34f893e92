/**
 * A process that is killed in the midst of its work: nothing is lost, and nothing is done twice. Small, so that it runs with
 * every change; test/long kills more of them, more often, at any moment, and on both engines.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, inject, test } from 'vitest'
import { count, eq, sql } from '../../db/drizzle.ts'
import { loads, pipelines } from '../../db/schema.ts'
import { createDatabase, removeDatabase } from '../../src/contracts/databases.ts'
import { listLoads, showLoad } from '../../src/contracts/loads.ts'
import { trailVerifier } from '../../src/cli/trail/verify-trail.ts'
import { exportTrail, sealTrail } from '../../src/cores/trail/index.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { inDatabase } from '../support/data-sources.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import * as killed from '../support/killed-deliveries.ts'
import * as runs from '../support/killed-runs.ts'
import { startFile, takeLoadSteps } from '../support/loads.ts'
import { makeApiToken, makeOrganization } from '../support/make.ts'
import { notificationHarness } from '../support/notification-harness.ts'
import { processes, realClock } from '../support/process.ts'
import { freshSecrets, startSystem } from '../support/system.ts'

/** Most of it waits for leases. Each has a database of its own, because its workers work for everybody there. */
const AT_ONCE = { timeout: 120_000, concurrent: true }

/** Several processes over one database need a server. */
describe.skipIf(inject('engine') === 'pglite')('killed in the midst', AT_ONCE, () => {
  const own = processes()
  const databases: TestDatabase[] = []
  const ownDatabase = async (): Promise<TestDatabase> => {
    const database = await newDatabase()
    databases.push(database)
    return database
  }
  afterAll(async () => {
    await Promise.all([killed.endWorkers(), runs.killWorkers(), own.cleanUp()])
    await Promise.all(databases.map((database) => database.close()))
  })

  test('of deliveries: none is lost, none arrives twice, of neither organization', async ({ expect }) => {
    const database = await ownDatabase()
    const ENDPOINTS = 6
    const EVENTS = 15
    const receiver = await killed.openReceiver()
    const dataKey = randomBytes(32).toString('hex')
    const harness = await notificationHarness(database, dataKey, realClock().getTime())
    const orgs = [
      await killed.makeEndpoints(harness, receiver.url, ENDPOINTS),
      await killed.makeEndpoints(harness, receiver.url, ENDPOINTS),
    ]
    for (let n = 0; n < EVENTS; n++) {
      for (const org of orgs) await harness.record(org, { type: 'deploy.failed' })
    }
    const settings = { database: { url: database.url! }, dataKey, ...killed.LEASES }
    const victim = await killed.startWorker(settings)
    await receiver.untilPosts(5)
    await killed.end(victim)
    const atKill = receiver.ids.length
    const last = await killed.startWorker(settings)
    await killed.untilDone(last)
    for (const { id } of orgs) {
      const outcome = await killed.weigh(database, { orgId: id, dataKey }, receiver.ids)
      expect(outcome).toMatchObject({
        ...killed.promised(ENDPOINTS * EVENTS, 1, ENDPOINTS),
        // The receiver's list is of both.
        receivedButUnknown: expect.any(Number),
      })
      expect(outcome.rows).toBeGreaterThan(outcome.unconfirmed)
    }
    await receiver.close()
    expect(atKill).toBeGreaterThan(0)
    expect(atKill).toBeLessThan(2 * ENDPOINTS * EVENTS)
  })

  test('of runs: each due time has one run and one event, of either organization', async ({ expect }) => {
    const database = await ownDatabase()
    const due = new Date('2026-03-02T03:00:00Z')
    const ids = (
      await Promise.all(
        [1, 2].map(async () => runs.makePipelines(database, await runs.makeApp(database, due), 30, due)),
      )
    ).flat()
    const settings = { url: database.url!, now: new Date(due.getTime() + 2_000).toISOString() }
    // Right before its commit: of this one nothing has happened.
    await runs.kill(await runs.startWorker({ ...settings, pausing: true }, 'written'))
    expect(await runs.stateOf(database, ids[0]!)).toEqual({ states: [], told: [] })
    const last = await runs.startWorker(settings, 'done')
    const isDue = sql`next_due_at <= ${settings.now}::timestamptz`
    const left = async () => (await database.db.select({ n: count() }).from(pipelines).where(isDue))[0]!.n
    await expect.poll(left, { timeout: 20_000 }).toBe(0)
    await runs.kill(last)
    const states = await Promise.all(ids.map((id) => runs.stateOf(database, id)))
    expect(states).toEqual(ids.map(() => ({ states: ['host_offline'], told: ['host_offline'] })))
  })

  test('of sealing: what it had committed is whole, and the next one seals the rest, of either organization', async ({
    expect,
  }) => {
    const trail = await ownDatabase()
    // As many as are sealed at once, and some more.
    const ROWS = 5_000
    const orgs = ['org_a', 'org_b']
    await trail.db.execute(sql`
      with added as (
        insert into activity (org_id, id, at, type, name, user_id, user_name, entry_point, outcome, duration_ms,
          question_bytes, answer_bytes, request_id, trail_order)
        select 'org_' || substr('ab', 1 + n % 2, 1), 'act_0mzzzzzzz' || lpad(n::text, 16, '0'), now(), 'function',
          'whoami', 'usr_1', 'Ada', 'mcp', 'answered', 3, 0, 120, 'req_1', nextval('trail_order')
        from generate_series(1, ${ROWS}) n returning trail_order, org_id, id)
      insert into trail_pending select * from added`)
    const dataKey = randomBytes(32).toString('hex')
    const log = { warn: () => {} }
    const deps = { db: trail.db, clock: realClock, dataKeys: dataKeys(dataKey), log }
    const verified = async (orgId: string) => {
      const verifier = trailVerifier()
      const principal = { kind: 'user', orgId, userId: 'usr_1', role: 'owner' } as never
      for (let after: number | undefined = 0; after !== undefined;) {
        const { body } = await exportTrail(deps)(principal, { after })
        const lines = Buffer.from(body).toString().split('\n').slice(0, -1)
        after = (JSON.parse(lines.at(-1)!) as { next?: number }).next
        for (const line of after === undefined ? lines : lines.slice(0, -1)) verifier.take(line)
      }
      return verifier.end(true)
    }
    await runs.kill(await runs.startSealer({ url: trail.url!, dataKey, pausingAt: 2 }))
    const sealed = await Promise.all(orgs.map(verified))
    expect(sealed).toMatchObject(orgs.map(() => ({ problem: null, rows: 2_000, unsealed: 500 })))
    expect(await sealTrail(deps)).toBe(1_000)
    const all = await Promise.all(orgs.map(verified))
    expect(all).toMatchObject(orgs.map(() => ({ problem: null, rows: ROWS / 2, unsealed: 0 })))
  })

  describe('of a load', () => {
    const ROWS = 30
    let model: Server
    /** How many texts are embedded before answers stay out; null: all. */
    let answersLeft: number | null = 10
    const inTheMidst = Promise.withResolvers<void>()
    beforeAll(async () => {
      const answer = JSON.stringify({ data: [{ index: 0, embedding: [1, 0, 0] }] })
      model = createServer((request, response) => {
        request.resume().once('end', () => {
          if (answersLeft === 0) return inTheMidst.resolve()
          if (answersLeft !== null) answersLeft -= 1
          response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
        })
      }).listen(0, '127.0.0.1')
      await new Promise((resolve) => model.once('listening', resolve))
    })
    afterAll(() => {
      model?.closeAllConnections()
      model?.close()
    })

    test('another process ends it, with every row once', async ({ expect }) => {
      const database = await ownDatabase()
      const { port } = model.address() as AddressInfo
      const env = {
        ...freshSecrets(),
        SVC_SERVICES: 'api-gateway,auth-service,worker',
        DATABASE_URL: database.url!,
        SVC_DATA_DIR: await own.newFolder(),
        MANAGED_DATABASE_URL: inject('managedDatabases'),
        MANAGED_DATABASE_PORT: '0',
        EMBEDDING_MODELS: JSON.stringify({
          slow: { url: `http://127.0.0.1:${port}/v1`, dimensions: 3, bulk: true },
        }),
      }
      const survivor = await startSystem(env, { connection: database, clock: realClock })
      const org = await makeOrganization(survivor)
      const { token } = await makeApiToken(survivor, org, org.owner)
      const server = await own.start({ env })
      const there = server.as({ token })
      await there(createDatabase, { name: 'notes' })
      const csv = Array.from({ length: ROWS }, (_, n) => `n${n},"Note ${n}",words ${n}`)
      const { id: load_id } = await startFile(there, 'notes', `id,title,text\n${csv.join('\n')}\n`, {
        id_column: 'id',
        title_column: 'title',
        embed_columns: ['text'],
        model: 'slow',
      })
      await inTheMidst.promise
      expect(await there(showLoad, { load_id })).toMatchObject({ state: 'running', phase: 'embedding' })
      await server.stop('SIGKILL')
      answersLeft = null
      // Instead of half a minute: until its lease is over nobody else takes it.
      await takeLoadSteps(survivor)
      const here = survivor.as({ token })
      expect(await here(showLoad, { load_id })).toMatchObject({ state: 'running' })
      await database.db
        .update(loads)
        .set({ leaseUntil: sql`now() - interval '1 second'` })
        .where(eq(loads.id, load_id))
      await takeLoadSteps(survivor)
      expect((await here(listLoads, { name: 'notes' })).loads).toMatchObject([
        { id: load_id, state: 'succeeded' },
      ])
      const [found] = await inDatabase({ ...org, owner: { ...org.owner, call: here } }, 'notes', (client) =>
        client.unsafe(`select count(*)::int as rows, count(distinct id)::int as ids,
          count(embedding)::int as vectors from notes`),
      )
      expect(found).toEqual({ rows: ROWS, ids: ROWS, vectors: ROWS })
      await here(removeDatabase, { name: 'notes', confirm: 'notes' })
      await survivor.stop()
    })
  })
})
