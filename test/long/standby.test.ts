/** A primary with a synchronous standby, which hangs: what waits for it, what does not, and what every process sees at once. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sql as text } from '../../db/drizzle.ts'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { sendAppEvent } from '../../src/contracts/app-events.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { pushLogs } from '../../src/contracts/logs.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { createTicket, listTickets } from '../../src/contracts/tickets.ts'
import { revokeApiToken } from '../../src/contracts/tokens.ts'
import { migrate } from '../../db/migrate.ts'
import { openReplica } from '../../db/replica.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import { run } from '../../src/cli/run.ts'
import { answerTo } from '../support/answers.ts'
import { startListeningSystem } from '../support/assistant.ts'
import { fakeEnvironment } from '../support/fake-environment.ts'
import { processes } from '../support/process.ts'
import { makeApiToken, makeMember, makeOrganization, unique } from '../support/make.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { OPERATOR_TOKEN, startSystem } from '../support/system.ts'
import { newWalker } from '../support/walker.ts'
import { connect, confirmationOf, type Connection } from '../../db/connect.ts'
import { COMMIT_LOCALLY, locally, serverOf } from '../../db/commit-locally.ts'
import { runCall } from '../../db/current-call.ts'
import { notify } from '../../db/listen.ts'
import { endingKeepersOf } from '../../src/cores/record-ending.ts'
import { refundThrottle, resetThrottle, throttle } from '../../src/cores/throttle.ts'
import { withTransaction } from '../../src/cores/transaction.ts'

let primary: TestPostgres
let standby: TestPostgres
let direct: Connection
beforeAll(async () => {
  primary = await startPostgres(undefined, 3, { synchronous_commit: 'on', fsync: 'off' })
  standby = await primary.follow('standby1')
  direct = await connect({ url: primary.url }, { poolSize: 4 })
  await direct.sql.query('create table story (part text)')
  await direct.sql.query(`alter system set synchronous_standby_names = 'standby1'`)
  await direct.sql.query('select pg_reload_conf()')
  const isSynchronous = async () =>
    (await direct.sql.query(`select from pg_stat_replication where sync_state = 'sync'`)).length > 0
  while (!(await isSynchronous())) await sleep(50)
})
afterAll(async () => {
  await standby.stop()
  await direct.close()
  await primary.stop()
})

/** For the standby. */
const waiting = () => direct.sql.query(`select pid from pg_stat_activity where wait_event = 'SyncRep'`)
const confirming = () =>
  direct.sql.query(`select from pg_stat_activity where wait_event = 'SyncRep' and query like '%confirm%'`)
const migrateAll = async ({ sql }: Connection) =>
  migrate(sql, await readMigrations(fileURLToPath(new URL('../../db/migrations', import.meta.url))))

const parts = async () =>
  (await direct.sql.query<{ part: string }>('select part from story order by part')).map(({ part }) => part)

test('a standby as the address is refused by name', async () => {
  await expect(connect({ url: standby.url })).rejects.toThrow(/: The server is a standby/)
})

test('while the standby hangs, questions and what commits locally go on, and changes wait for it', async () => {
  const connection = await connect({ url: primary.url }, { poolSize: 4 })
  onTestFinished(() => connection.close())
  const { db } = connection
  await standby.halt()
  let done = 0
  // More than there are connections: what waits must not take those of the others.
  const changes = Array.from({ length: 6 }, (_, n) =>
    n % 2 === 0
      ? db.execute(text`insert into story values ('alone')`)
      : db.transaction((tx) => tx.execute(text`insert into story values ('together')`)),
  ).map((change) => change.then(() => (done += 1)))
  await db.execute(text`insert into story select 'counted' where ${locally}`)
  await runCall(async (call) => {
    call.durability = 'local'
    await db.transaction(async (tx) => {
      await tx.execute(text.raw(COMMIT_LOCALLY))
      await tx.execute(text`insert into story values ('of a local call')`)
    })
  })
  for (let n = 0; n < 20; n++) await db.execute(text`select count(*) from story`)
  expect(done).toBe(0)
  expect(await parts()).toContain('of a local call')
  await standby.resume()
  await Promise.all(changes)
  expect((await parts()).filter((part) => part === 'alone' || part === 'together')).toHaveLength(6)
})

test('while the standby hangs, a change that tells of work waits for it, and nobody else who tells of work does', async () => {
  await standby.halt()
  let isDone = false
  const change = withTransaction(direct.db, async (tx) => {
    await tx.execute(text`insert into story values ('told')`)
    await notify(tx, 'events')
  }).then(() => (isDone = true))
  await expect.poll(parts).toContain('told')
  await notify(direct.db, 'changes')
  await runCall(async (call) => {
    call.durability = 'local'
    await withTransaction(direct.db, (tx) => notify(tx, 'messages'))
  })
  expect(isDone).toBe(false)
  await standby.resume()
  await change
})

test('while the standby hangs, a change that tells of work waits for it also beside the pool', async () => {
  await standby.halt()
  let isDone = false
  const change = direct.server!.aside(({ db }) =>
    withTransaction(db, async (tx) => {
      await tx.execute(text`insert into story values ('told beside')`)
      await notify(tx, 'schedules')
    }).then(() => (isDone = true)),
  )
  await expect.poll(parts).toContain('told beside')
  await expect.poll(async () => isDone || (await confirming()).length > 0).toBe(true)
  expect(isDone).toBe(false)
  await standby.resume()
  await change
})

test('while the standby hangs, a change that counts against a limit waits for it, and a count alone does not', async () => {
  await migrateAll(direct)
  const limit = { count: 2, seconds: 60 }
  const storage = { db: direct.db, clock: () => new Date() }
  await standby.halt()
  const changes = ['counted', 'counted and told'].map((part) =>
    withTransaction(direct.db, async (tx) => {
      await throttle({ ...storage, db: tx }, unique('limit'), limit)
      await refundThrottle({ ...storage, db: tx }, unique('limit'), limit)
      await resetThrottle({ ...storage, db: tx }, unique('limit'))
      await tx.execute(text`insert into story values (${part})`)
      if (part.endsWith('told')) await notify(tx, 'events')
    }),
  )
  await expect.poll(waiting).toHaveLength(2)
  const alone = unique('limit')
  await throttle(storage, alone, limit)
  await refundThrottle(storage, alone, limit)
  await resetThrottle(storage, alone)
  expect(await waiting()).toHaveLength(2)
  await standby.resume()
  await Promise.all(changes)
})

test('a change whose connection is lost before the standby has it may be done, and says so', async () => {
  const connection = await connect({ url: primary.url }, { poolSize: 2 })
  onTestFinished(() => connection.close())
  await standby.halt()
  onTestFinished(() => standby.resume())
  const change = withTransaction(connection.db, async (tx) => {
    await tx.execute(text`insert into story values ('unconfirmed')`)
    await notify(tx, 'events')
  })
  const told = change.catch((error: { code?: string }) => error.code)
  const waiting = `select pid from pg_stat_activity where wait_event = 'SyncRep' and query like '%confirm%'`
  await expect.poll(() => direct.sql.query(waiting)).toHaveLength(1)
  await direct.sql.query(`select pg_terminate_backend(pid) from (${waiting}) waiting`)
  expect(await told).toBe('OUTCOME_UNKNOWN')
  expect(await parts()).toContain('unconfirmed')
})

test('a confirmation comes when the standby has what was committed', async () => {
  const confirm = confirmationOf(direct.db)!
  expect(await confirm()).toBe(await serverOf(direct.db))
  await standby.halt()
  let isConfirmed = false
  await direct.db.execute(text`insert into story select 'ended' where ${locally}`)
  const confirmed = confirm().then(() => (isConfirmed = true))
  // Seen at once by everybody, although it is not confirmed.
  expect(await parts()).toContain('ended')
  expect(isConfirmed).toBe(false)
  await standby.resume()
  await confirmed
})

test('a standby is asked for what may be old while it is near enough, and no other server is taken for one', async () => {
  const open = (url: string) =>
    openReplica(url, direct, { poolSize: 2, prepare: true, timing: { oldMs: 2_000, lookMs: 50 } })
  await expect(open(primary.url)).rejects.toThrow('DATABASE_REPLICA_URL names a server that is no standby')
  await direct.sql.query('create database elsewhere')
  // Until the standby has it, it is away.
  const elsewhere = async () => {
    const replica = await open(standby.url.replace(/postgres$/, 'elsewhere'))
    await replica.close()
  }
  await expect
    .poll(() => elsewhere().catch((error: Error) => error.message), { timeout: 20_000 })
    .toBe('DATABASE_REPLICA_URL names a standby of another installation than DATABASE_URL')
  const replica = await open(standby.url)
  onTestFinished(() => replica.close())
  // Were it to take over, it would be known for another one.
  await expect.poll(() => replica.current(), { timeout: 10_000 }).toBeDefined()
  expect(await serverOf(replica.current()!.db)).not.toBe(await serverOf(direct.db))
  await direct.sql.query(`insert into story values ('old')`)
  const read = async () => replica.current()?.db.execute(text`select part from story where part = 'old'`)
  await expect.poll(read, { timeout: 10_000 }).toEqual([{ part: 'old' }])
  await expect.poll(() => replica.current()?.ageSeconds).toBeLessThanOrEqual(2)
  await standby.halt()
  await expect.poll(() => replica.current(), { timeout: 10_000 }).toBeUndefined()
  await standby.resume()
  await expect.poll(() => replica.current()?.ageSeconds, { timeout: 10_000 }).toBeGreaterThan(0)
})

test('whoever changed something reads it from the database through every process, and others from the standby', async () => {
  const connections = await Promise.all([1, 2].map(() => connect({ url: primary.url }, { poolSize: 4 })))
  await migrateAll(connections[0]!)
  const [here, elsewhere] = await Promise.all(
    connections.map((connection) => startSystem({ DATABASE_REPLICA_URL: standby.url }, { connection })),
  )
  onTestFinished(async () => {
    await Promise.all([here!.stop(), elsewhere!.stop()])
    await Promise.all(connections.map((connection) => connection.close()))
  })
  const [org, other] = [await makeOrganization(here!), await makeOrganization(here!)]
  const [reader, outsider] = [await makeMember(here!, org, 'admin'), await makeMember(here!, other, 'admin')]
  const trail = (person: typeof reader, of: typeof org) =>
    elsewhere!.as({ token: person.token, organization: of.id })(listAudit, { org_id: of.id })
  // Whoever was made has signed up and joined a moment ago; the clock of the systems decides how long that is.
  for (const system of [here!, elsewhere!]) system.clock.advance(60)
  const { audit, age_seconds } = await trail(reader, org)
  expect([audit.length > 0, age_seconds]).toEqual([true, expect.any(Number)])
  await here!.as({ token: reader.token, organization: org.id })(createApp, {
    alias: unique('app'),
    name: 'Shop',
  })
  expect(await trail(reader, org)).toMatchObject({ audit: [{ action: 'app.created' }, ...audit] })
  expect((await trail(reader, org)).age_seconds).toBeUndefined()
  expect((await trail(outsider, other)).age_seconds).toEqual(expect.any(Number))
  expect((await trail(outsider, other)).audit.map(({ action }) => action)).not.toContain('app.created')
})

test('in the whole product questions and log lines go on, a ticket has an unknown outcome, and what is revoked is refused everywhere', async () => {
  const connections = await Promise.all([1, 2].map(() => connect({ url: primary.url }, { poolSize: 4 })))
  await migrateAll(connections[0]!)
  const [here, elsewhere] = await Promise.all(
    connections.map((connection) => startSystem({}, { connection, deadlineMs: 10_000 })),
  )
  onTestFinished(async () => {
    await Promise.all([here!.stop(), elsewhere!.stop()])
    await Promise.all(connections.map((connection) => connection.close()))
  })
  const orgs = await Promise.all([1, 2].map(() => makeOrganization(here!)))
  const furnished = await Promise.all(
    orgs.map(async (org) => {
      const alias = unique('app')
      const owner = here!.as({ token: org.owner.token, organization: org.id })
      await owner(createApp, { alias, name: 'Shop' })
      const reporter = await owner(createAppToken, { alias, name: 'logs', scope: 'apps:report' })
      const token = await makeApiToken(here!, org, org.owner)
      return { org, alias, owner, reporter: reporter.token, token }
    }),
  )
  const ask = (system: typeof here, token: string) =>
    system!
      .as({ token })(whoAmI, {})
      .then(
        () => 'answered',
        (error: { code?: string }) => error.code,
      )
  await standby.halt()

  const key = { 'idempotency-key': unique('key') }
  const asked = { alias: furnished[0]!.alias, title: 'It broke', body: 'Badly.' }
  const file = () =>
    answerTo(here!, { ...orgs[0]!.owner, organization: orgs[0]!.id, headers: key }, createTicket, asked)
  const filed = file()
  const revoked = furnished[0]!
    .owner(revokeApiToken, { token_id: furnished[0]!.token.id })
    .catch((error: unknown) => error)
  await expect
    .poll(() => ask(elsewhere, furnished[0]!.token.token), { timeout: 20_000 })
    .toBe('UNAUTHENTICATED')
  expect(await ask(here, furnished[0]!.token.token)).toBe('UNAUTHENTICATED')
  for (const { token, alias, reporter } of [furnished[1]!]) {
    expect(await Promise.all([ask(here, token.token), ask(elsewhere, token.token)])).toEqual([
      'answered',
      'answered',
    ])
    const lines = Buffer.from('{"level":"info","text":"up"}\n')
    expect(await here!.as({ token: reporter })(pushLogs, { alias, body: lines })).toMatchObject({
      accepted: 1,
    })
  }
  // Both places for changes that wait are taken, and the process still says that it is there.
  const beats = async () =>
    (
      await direct.sql.query<{ n: number }>(
        `select (value ->> 'beat')::int as n from installation_facts where name = 'database_timeline'`,
      )
    )[0]!.n
  const before = await beats()
  await expect.poll(beats, { timeout: 20_000 }).toBeGreaterThan(before)
  const { status, text: answer } = await filed
  expect([status, JSON.parse(answer)]).toMatchObject([504, { error: { message: UNKNOWN } }])
  expect(await revoked).toMatchObject({ code: 'TIMEOUT', message: UNKNOWN })

  // As if a failover had lost it: the process that revoked it has not heard that the standby has it.
  const { id, token: lost } = furnished[0]!.token
  await direct.sql.query(
    `update api_tokens set revoked_at = null where id = '${id}' and set_config('synchronous_commit', 'local', true) is not null`,
  )
  expect(await ask(elsewhere, lost)).toBe('answered')
  await direct.sql.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and query like '%emit_message%'`,
  )
  await expect.poll(() => ask(elsewhere, lost), { timeout: 20_000 }).toBe('UNAUTHENTICATED')
  expect(
    await direct.sql.query(`select org_id, subject from audit_log where action = 'access.ended_again'`),
  ).toEqual([{ org_id: orgs[0]!.id, subject: expect.stringContaining(id) as string }])

  await standby.resume()
  const found = await file()
  expect([found.status, found.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
  const { tickets } = await furnished[0]!.owner(listTickets, { alias: asked.alias })
  expect(tickets).toHaveLength(1)
})

test('while the standby hangs, a repeated key waits for it like the first, and is answered once', async () => {
  const connection = await connect({ url: primary.url }, { poolSize: 12 })
  await migrateAll(connection)
  const system = await startSystem({}, { connection, deadlineMs: 60_000 })
  onTestFinished(async () => {
    await system.stop()
    await connection.close()
  })
  const orgs = await Promise.all([1, 2].map(() => makeOrganization(system)))
  const alias = unique('app')
  const reporters = await Promise.all(
    orgs.map(async ({ owner }) => {
      await owner.call(createApp, { alias, name: 'Shop' })
      return (await owner.call(createAppToken, { alias, name: 'events', scope: 'apps:report' })).token
    }),
  )
  const key = unique('key')
  const ticket = { alias, title: 'It broke', body: 'Badly.' }
  const event = { alias, type: `app.${alias}.order.failed`, subject: 'order-1', idempotency_key: key }
  await standby.halt()
  const file = ({ id, owner }: (typeof orgs)[number]) =>
    answerTo(
      system,
      { ...owner, organization: id, headers: { 'idempotency-key': key } },
      createTicket,
      ticket,
    )
  const send = (token: string) => system.as({ token })(sendAppEvent, event)
  const first = [orgs.map(file), reporters.map(send)] as const
  await expect.poll(confirming, { timeout: 20_000 }).toHaveLength(4)
  const again = [orgs.map(file), reporters.map(send)] as const
  await expect.poll(confirming, { timeout: 20_000 }).toHaveLength(8)
  await standby.resume()
  const [tickets, filedAgain] = [await Promise.all(first[0]), await Promise.all(again[0])]
  expect(tickets.map(({ status }) => status)).toEqual([201, 201])
  const answers = (some: typeof tickets) => some.map(({ text: answer }) => JSON.parse(answer) as unknown)
  expect(answers(filedAgain)).toEqual(answers(tickets))
  const [events, sentAgain] = [await Promise.all(first[1]), await Promise.all(again[1])]
  expect(sentAgain).toEqual(events.map((one) => ({ ...one, replayed: true })))
})

test('while the standby hangs, a process keeps its lease, and no number of receipts takes its connections', async () => {
  const connection = await connect({ url: primary.url }, { poolSize: 4 })
  await migrateAll(connection)
  const system = await startListeningSystem({}, { connection, deadlineMs: 10_000 })
  onTestFinished(async () => {
    await system.stop()
    await connection.close()
  })
  const org = await makeOrganization(system)
  const { token } = await makeApiToken(system, org, org.owner)
  const lease = async () =>
    (
      await direct.sql.query<{ until: string }>(
        `select max(until)::text as until from processes where until > now()`,
      )
    )[0]!.until
  await standby.halt()
  await direct.db.transaction(async (tx) => {
    await tx.execute(text.raw(COMMIT_LOCALLY))
    await tx.execute(text`insert into receipts
      (id, org_id, of_kind, of_id, of_name, by_name, is_rehearsal, began_at, ended, remains, whose)
      select 'rct_' || n, ${org.id}, 'client', 'nobody', 'nobody', 'svc', true, now(), '{}', '[]', '[]'
      from generate_series(1, 8) n`)
    await notify(tx, 'endings')
  })
  const before = await lease()
  await expect.poll(lease, { timeout: 30_000, interval: 1_000 }).not.toBe(before)
  const again = await lease()
  await expect.poll(lease, { timeout: 30_000, interval: 1_000 }).not.toBe(again)
  const answer = await fetch(`${system.origin}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })
  expect(answer.status).toBe(200)
  await standby.resume()
  const pending = () => direct.sql.query(`select from receipts where final_at is null`)
  await expect.poll(pending, { timeout: 30_000 }).toEqual([])
})

test('while the standby hangs, an ending of which nobody knows is done again at once, and so is the next one', async () => {
  const connection = await connect({ url: primary.url }, { poolSize: 4 })
  await migrateAll(connection)
  const system = await startSystem({}, { connection, deadlineMs: 60_000 })
  onTestFinished(async () => {
    await system.stop()
    await connection.close()
  })
  const org = await makeOrganization(system)
  const tokens = await Promise.all([1, 2, 3].map(() => makeApiToken(system, org, org.owner)))
  const alias = unique('app')
  await org.owner.call(createApp, { alias, name: 'Shop' })
  await standby.halt()
  const tickets = [1, 2, 3].map((n) =>
    org.owner.call(createTicket, { alias, title: `It broke ${n}`, body: 'Badly.' }),
  )
  await expect.poll(confirming, { timeout: 20_000 }).toHaveLength(2)
  const ask = (at: number) =>
    tokens[at]!.call(whoAmI, {}).then(
      () => 'answered',
      (error: { code?: string }) => error.code,
    )
  for (const at of [0, 1]) {
    const ending = { kind: 'api_token' as const, orgId: org.id, id: tokens[at]!.id }
    for (const keeper of endingKeepersOf(system.db)) keeper.unknown?.([ending], false)
    await expect.poll(() => ask(at), { timeout: 10_000 }).toBe('UNAUTHENTICATED')
    expect(await ask(2)).toBe('answered')
  }
  await standby.resume()
  await Promise.all(tickets)
})

test('a standby that no commit waits for is told of at the start, by /readyz, by doctor and to the operator', async () => {
  const started = processes()
  const system = await startListeningSystem({}, { connection: direct })
  onTestFinished(async () => {
    await started.cleanUp()
    await system.stop()
  })
  const org = await makeOrganization(system)
  const { token } = await makeApiToken(system, org, org.owner)
  const start = async () => {
    const env = {
      DATABASE_URL: primary.url,
      SVC_SERVICES: 'worker',
      DATA_KEY: randomBytes(32).toString('hex'),
      BASE_DOMAIN: 'localhost',
    }
    const server = await started.start({ env })
    const warned = server.logLines().map(({ event }) => event)
    await server.stop()
    return warned.join('\n')
  }
  const ready = async () => JSON.stringify(await (await fetch(`${system.origin}/readyz`)).json())
  const doctor = async () => {
    const environment = fakeEnvironment({ env: { SVC_API_URL: system.origin, SVC_API_KEY: token } })
    await run(['doctor'], environment)
    return environment.out()
  }
  const overview = async () => {
    const walker = newWalker(system, { overSockets: true })
    const page = await walker.open('/auth/operator/registrations')
    await walker.submit(page, 'Continue', { token: OPERATOR_TOKEN })
    return (await walker.open('/auth/operator/registrations')).words
  }
  const places = async () => [await start(), await ready(), await doctor(), await overview()]
  const TOLD = 'synchronous_standby_names is empty'
  for (const text of await places()) expect(text).not.toContain(TOLD)
  await direct.sql.query('alter system reset synchronous_standby_names')
  await direct.sql.query('select pg_reload_conf()')
  await expect.poll(ready, { timeout: 10_000 }).toContain(TOLD)
  for (const text of await places()) expect(text).toContain(TOLD)
})

const UNKNOWN = expect.stringContaining('outcome is unknown') as string
