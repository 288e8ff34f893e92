/**
 * Access ends with a receipt: in two processes over one database what is open for it is cut off, the receipt says how much of
 * each, is final once both have acknowledged it, and holds offline. Another organization keeps all of its own.
 */
import { verify, createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { sql } from '../../db/drizzle.ts'
import { deliveries, messages } from '../../db/schema.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { listGrants, listOauthClients } from '../../src/contracts/grants.ts'
import { REMOTE_ANSWER_SECONDS } from '../../src/contracts/limits.ts'
import { listLogs } from '../../src/contracts/logs.ts'
import {
  addMachineAgentCredential,
  createMachineAgent,
  listMachineAgents,
  revokeMachineAgentCredential,
} from '../../src/contracts/machine-agents.ts'
import { listMembers } from '../../src/contracts/members.ts'
import {
  listOrganizations,
  removeOrganization,
  removeOrganizationAsOperator,
  switchOrganization,
} from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { receiptText, type SignedReceipt } from '../../src/contracts/receipt-format.ts'
import { endWithReceipt, listReceipts, showReceipt } from '../../src/contracts/receipts.ts'
import { rotateConnectionString } from '../../src/cores/databases/rotate-connection-string.ts'
import { emptyRemovedOrganizations } from '../../src/cores/receipts/index.ts'
import { recordAudit } from '../../src/cores/record-audit.ts'
import { sealTrail } from '../../src/cores/trail/index.ts'
import { memberOf } from '../../src/trust/open-answers.ts'
import { startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import { agentOf, insertSource } from '../support/data-sources.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { statementsDuring } from '../support/statements.ts'
import { freshSecrets, OPERATOR_TOKEN } from '../support/system.ts'

const SETTINGS = { ...freshSecrets(), SVC_SERVICES: 'api-gateway,auth-service,deploy-api,mcp-server' }

let own: TestDatabase
let systems: ListeningSystem[]
let system: ListeningSystem
let org: Org
let other: Org
let person: Person
let admin: Person
const alias = unique('shop')

beforeAll(async () => {
  // Of its own: a receipt waits for each process of the database, also for those that other walks have just stopped.
  own = await newDatabase()
  const connection = { ...own, close: async () => {} }
  systems = [
    await startListeningSystem(SETTINGS, { connection }),
    await startListeningSystem(SETTINGS, { connection }),
  ]
  system = systems[0]!
})
afterAll(async () => {
  for (const one of systems) await one.stop()
  await own.close()
})
beforeEach(async () => {
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  person = await makeMember(system, org, 'developer')
  admin = await makeMember(system, org, 'admin')
  await makeMember(system, other, 'developer', person)
  for (const { id, owner } of [org, other])
    await system.as({ token: owner.token, organization: id })(createApp, { alias, name: 'Shop' })
})

/** Somebody has read the connection string of a data source. */
const read = (
  { userId, name: userName }: Person,
  subject: string,
  action: 'database.connection_shown' | 'database.rotated' | 'database.removed' = 'database.connection_shown',
) =>
  system.db.transaction((tx) =>
    recordAudit(
      tx,
      () => system.clock.now(),
      { kind: 'user', userId, userName, requestId: unique('req') },
      { orgId: org.id, action, subject },
    ),
  )

/** What arrives of an answer, and when. */
type Open = { readonly over: Promise<'answered' | 'refused' | 'cut off'>; readonly bytes: () => number }

/** A long poll at each of the processes, which waits for lines that do not come. */
async function polls(token: string, where: Org, at = systems): Promise<Open[]> {
  const { after } = await system.as({ token, organization: where.id })(listLogs, { alias })
  return at.map(({ origin }) => {
    let bytes = 0
    const read = async () => {
      const url = `${origin}/api/deploy/apps/${alias}/logs?after=${after}&wait_seconds=20`
      const headers = { authorization: `Bearer ${token}`, 'x-svc-org': where.id }
      const answer = await fetch(url, { headers })
      for await (const chunk of answer.body!) if (answer.ok) bytes += (chunk as Uint8Array).length
      return answer.ok ? ('answered' as const) : ('refused' as const)
    }
    const over = read().catch(() => 'cut off' as const)
    return { over, bytes: () => bytes }
  })
}

/**
 * All are over, and have read nothing. Returns how many were cut off: all of them, but behind a pooler, where whoever waits
 * looks every second and may be refused first.
 */
async function cutOffOf(own: readonly Open[]): Promise<number> {
  const ends = await Promise.all(own.map(({ over }) => over))
  const allowed = inject('isPooled') ? /^(cut off|refused)$/ : /^cut off$/
  expect(ends).toEqual(own.map(() => expect.stringMatching(allowed)))
  expect(own.map(({ bytes }) => bytes())).toEqual(own.map(() => 0))
  return ends.filter((end) => end === 'cut off').length
}

const openFor = (whose: string) => systems.map(({ system: { answers } }) => answers.count([whose]).long_polls)

const ofAdmin = () => system.as({ token: admin.token, organization: org.id })
const final = (id: string, call = ofAdmin(), wait = 20) => call(showReceipt, { receipt_id: id, wait })

async function signedBy({ signed, signature, keys }: Awaited<ReturnType<typeof final>>) {
  const receipt = JSON.parse(signed!) as SignedReceipt
  const { public_key: x } = keys.find(({ id }) => id === receipt.key)!
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  expect(verify(null, Buffer.from(receiptText(signed!)), key, Buffer.from(signature!, 'base64url'))).toBe(
    true,
  )
  return receipt
}

/** What is to be sent to them, in every state there is; returns what has become of it, with its deliveries. */
async function messagesTo({ userId }: Person, where: Org) {
  const at = system.clock.now()
  const states = ['open', 'pending', 'claimed', 'sending', 'sent', 'failed'] as const
  const common = { orgId: where.id, userId, channel: 'email' as const, createdAt: at }
  const ids = states.map((state) => unique(`msg_${state}`))
  const target = `email:${userId}`
  const rows = states.map((state, nth) => ({ ...common, id: ids[nth]!, target, state, nextAt: at }))
  await system.db.insert(messages).values(rows)
  await system.db.insert(deliveries).values(
    states.map((state, nth) => {
      const of = { ...common, id: unique('dlv'), eventId: unique('evt'), messageId: ids[nth]! }
      const settled = state === 'sent' || state === 'failed' ? state : ('waiting' as const)
      return { ...of, type: 'support.ticket.replied', state: settled }
    }),
  )
  return async () =>
    system.db.execute<{ was: string; state: string; delivery: string; reason: string | null }>(sql`
      select split_part(substr(m.id, 5), '-', 1) as was, m.state, d.state as delivery, d.reason
      from messages m join deliveries d on d.org_id = m.org_id and d.message_id = m.id
      where m.org_id = ${where.id} and m.user_id = ${userId} order by m.id`)
}

describe('a person', () => {
  test('loses what is open in both processes, and nothing elsewhere', async () => {
    const token = await makeApiToken(system, org, person)
    const there = await makeApiToken(system, other, person)
    const waiting = await messagesTo(person, org)
    const others = [await messagesTo(person, other), await messagesTo(admin, org)]
    const othersBefore = await Promise.all(others.map((read) => read()))
    // By their session, too, which outlives the membership: in the other organization it goes on.
    const bySession = (where: Org) => polls(person.token, where, [system])
    const own = [...(await polls(token.token, org)), ...(await bySession(org))]
    const elsewhere = [...(await polls(there.token, other)), ...(await bySession(other))]
    const openIn = ({ id }: Org) => openFor(memberOf(id, person.userId))
    await expect
      .poll(() => [openIn(org), openIn(other)])
      .toEqual([
        [2, 1],
        [2, 1],
      ])

    const asked = { of: 'person', id: person.userId } as const
    const rehearsed = await final((await ofAdmin()(endWithReceipt, { ...asked, dry_run: true })).id)
    expect(rehearsed).toMatchObject({ rehearsal: true, cut: { long_polls: 3 } })
    expect(openIn(org)).toEqual([2, 1])
    expect((await token.call(whoAmI, {})).kind).toBe('api_token')

    const { id, state } = await ofAdmin()(endWithReceipt, asked)
    expect(state).toBe('pending')
    const cut = { long_polls: await cutOffOf(own) }
    const receipt = await final(id)
    expect(receipt).toMatchObject({
      state: 'final',
      rehearsal: false,
      of: { kind: 'person', id: person.userId, name: person.email },
      by: { id: admin.userId },
      // What a worker has claimed it drops itself; what is on its way is not called back.
      ended: { api_token: 1, membership: 1, personal_message: 3 },
      cut,
      processes: { waiting_for: 0 },
      remains: [],
    })
    const dropped = { state: 'dropped', delivery: 'dropped', reason: 'not_a_member' }
    expect(new Map((await waiting()).map(({ was, ...is }) => [was, is]))).toEqual(
      new Map<string, object>([
        ['claimed', { state: 'claimed', delivery: 'waiting', reason: null }],
        ['failed', { state: 'failed', delivery: 'failed', reason: null }],
        ['open', dropped],
        ['pending', dropped],
        ['sending', { state: 'sending', delivery: 'waiting', reason: null }],
        ['sent', { state: 'sent', delivery: 'sent', reason: null }],
      ]),
    )
    expect(await Promise.all(others.map((read) => read()))).toEqual(othersBefore)
    expect(receipt.processes.acknowledged).toBeGreaterThanOrEqual(2)
    expect(rehearsed.ended).toEqual(receipt.ended)
    expect(await signedBy(receipt)).toMatchObject({ id, org: org.id, final_at: receipt.final_at })
    expect(await signedBy(rehearsed)).toMatchObject({ rehearsal: true })

    await expect(token.call(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(openIn(other)).toEqual([2, 1])
    expect((await there.call(whoAmI, {})).kind).toBe('api_token')
    const { audit } = await ofAdmin()(listAudit, { org_id: org.id, action: 'access.ended' })
    expect(audit.map(({ subject }) => subject)).toEqual([
      `${person.email}, receipt ${id}: 1 API token, 1 member, 3 queued message`,
    ])
    // Neither is waited for any longer than the tests of this file.
    for (const one of elsewhere) void one.over
  })

  test('keeps the connection strings that they read, until each is rotated or its database removed', async () => {
    const { name } = await insertSource(system, org)
    const subject = `db_${name}`
    // What was rotated before they read it is the string that they have.
    await read(admin, subject, 'database.rotated')
    for (const one of systems) one.clock.advance(1)
    for (const who of [person, admin]) await read(who, subject)
    // One that was made anew under the name of another has another string.
    const anew = `db_${(await insertSource(system, org)).name}`
    await read(person, anew)
    await read(admin, anew, 'database.removed')
    const rotated = `db_${(await insertSource(system, org)).name}`
    await read(person, rotated)
    await read(admin, rotated, 'database.rotated')
    const { id } = await ofAdmin()(endWithReceipt, { of: 'person', id: person.userId })
    const receipt = await final(id)
    expect((await signedBy(receipt)).remains).toEqual(receipt.remains)
    expect(receipt.remains).toEqual([
      { connection_string: subject, read_by: person.name, read_at: expect.any(String) },
    ])
  })

  test('is ended by whoever may remove them, and never by themselves', async () => {
    const of = 'person'
    const call = system.as({ token: person.token, organization: org.id })
    await expect(call(endWithReceipt, { of, id: admin.userId })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(call(endWithReceipt, { of, id: person.userId })).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(ofAdmin()(endWithReceipt, { of, id: org.owner.userId })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    await expect(ofAdmin()(endWithReceipt, { of, id: other.owner.userId })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    const { members } = await ofAdmin()(listMembers, { org_id: org.id })
    expect(members).toHaveLength(3)
  })
})

describe('a connection string that is rotated', () => {
  const principal = () => ({
    kind: 'user',
    orgId: org.id,
    userId: admin.userId,
    userName: admin.name,
    role: 'admin',
    requestId: unique('req'),
  })
  const rotating = (
    rotate: (verifier: string) => Promise<void>,
    clock = () => system.clock.now(),
    release = async () => {},
  ) =>
    rotateConnectionString({
      db: system.ownDb,
      clock,
      dataKeys: system.system.gateway!.dataKeys,
      managed: { rotate: (_: string, verifier: string) => rotate(verifier) },
      connections: { release },
    } as never)
  const told = async () =>
    (await ofAdmin()(listAudit, { org_id: org.id, action: 'database.rotated' })).audit.length

  test('is told of once the server has the new one', async () => {
    const { name } = await insertSource(system, org, { physicalName: unique('db') })
    const failing = rotating(() => Promise.reject(new Error('is away')))
    await expect(failing(principal() as never, { name })).rejects.toThrow('is away')
    expect(await told()).toBe(0)
    // Of the time when it was stored: whoever read it since has the new one.
    const storedAt = system.clock.now()
    let now = storedAt
    let released = 0
    await rotating(
      async () => void (now = new Date(storedAt.getTime() + 60_000)),
      () => now,
      async () => void (released += 1),
    )(principal() as never, { name })
    expect(await told()).toBe(1)
    const { audit } = await ofAdmin()(listAudit, { org_id: org.id, action: 'database.rotated' })
    expect([audit[0]!.at, released]).toEqual([storedAt.toISOString(), 1])
  })

  test('twice at once has the same password here and at the server', async () => {
    const { id, name } = await insertSource(system, org, { physicalName: unique('db') })
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let atServer = ''
    let isFirst = true
    const slow = rotating(async (verifier) => {
      if (isFirst) {
        isFirst = false
        begun.resolve()
        await goOn.promise
      }
      atServer = verifier
    })(principal() as never, { name })
    await begun.promise
    await rotating(async (verifier) => void (atServer = verifier))(principal() as never, { name })
    goOn.resolve()
    await slow
    const [row] = await system.db.execute<{ verifier: string }>(
      sql`select verifier from data_sources where id = ${id}`,
    )
    expect(atServer).toBe(row!.verifier)
    expect(await told()).toBe(2)
  })
})

test('an agent, by the person it acts for; their other agent goes on', async () => {
  const [first, second] = [await agentOf(system, org, person), await agentOf(system, org, person)]
  const call = system.as({ token: person.token, organization: org.id })
  const { grants } = await call(listGrants, {})
  const { clientId } = await first()
  const grant = grants.find(({ client_id }) => client_id === clientId)!
  const { id } = await call(endWithReceipt, { of: 'agent', id: grant.id })
  expect(await final(id, call)).toMatchObject({ ended: { grant: 1 }, of: { id: grant.id } })
  await expect(first().then((who) => system.as(who)(whoAmI, {}))).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  })
  expect((await system.as(await second())(whoAmI, {})).kind).toBe('actor')
  await expect(call(endWithReceipt, { of: 'agent', id: grant.id })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
})

test('a client is blocked, and its agents end; the same client elsewhere goes on', async () => {
  const agent = await agentOf(system, org, person)
  const { clientId } = await agent()
  const { ended } = await ofAdmin()(endWithReceipt, { of: 'client', id: clientId })
  expect(ended).toEqual({ client_block: 1, grant: 1 })
  const { oauth_clients } = await ofAdmin()(listOauthClients, {})
  expect(oauth_clients).toMatchObject([{ client_id: clientId, blocked: true, live_grants: 0 }])
  const unknown = { of: 'client', id: unique('client') } as const
  await expect(ofAdmin()(endWithReceipt, unknown)).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

describe('is pending', () => {
  const endSomebody = async () => {
    const { userId: id } = await makeMember(system, org, 'viewer')
    return (await ofAdmin()(endWithReceipt, { of: 'person', id })).id
  }
  /** After both processes have acknowledged it, and could have made it final. */
  const shown = async (receipt_id: string) => {
    const show = (wait: number) => ofAdmin()(showReceipt, { receipt_id, wait })
    await expect.poll(async () => (await show(0)).processes.acknowledged).toBeGreaterThanOrEqual(2)
    return show(3)
  }

  test.runIf(inject('everyCase'))('until a process that says nothing has lost its lease', async () => {
    const silent = unique('process')
    await system.db.execute(sql`insert into processes (name, until, is_remote)
      values (${silent}, clock_timestamp() + interval '1 hour', false)`)
    const id = await endSomebody()
    expect(await shown(id)).toMatchObject({
      state: 'pending',
      final_at: null,
      signed: null,
      processes: { waiting_for: 1 },
    })
    const since = performance.now()
    const asked = await statementsDuring(system.db, () => final(id, ofAdmin(), 3))
    // Each process with its beat, as long as it would be told of what changes.
    const beats = 2 + (performance.now() - since) / 5_000
    if (!inject('isPooled'))
      expect(
        asked.filter((text) => text.includes('where final_at is null order by id')).length,
      ).toBeLessThanOrEqual(beats * systems.length)
    await system.db.execute(sql`update processes set until = clock_timestamp() where name = ${silent}`)
    expect(await final(id)).toMatchObject({ state: 'final' })
  })

  test.runIf(inject('everyCase'))(
    'until a process without a database writes nothing for them any more; a rehearsal does not wait',
    async () => {
      await system.db.execute(sql`insert into processes (name, until, is_remote)
      values ('remote', clock_timestamp() + interval '1 hour', true)`)
      try {
        const { id: rehearsal } = await ofAdmin()(endWithReceipt, {
          of: 'person',
          id: person.userId,
          dry_run: true,
        })
        expect(await final(rehearsal)).toMatchObject({ state: 'final', rehearsal: true })
        const id = await endSomebody()
        expect(await shown(id)).toMatchObject({ state: 'pending', processes: { waiting_for: 0 } })
        await system.db.execute(sql`update receipt_acknowledgements
        set at = at - make_interval(secs => ${REMOTE_ANSWER_SECONDS}) where receipt_id = ${id}`)
        expect(await final(id)).toMatchObject({ state: 'final' })
      } finally {
        await system.db.execute(sql`delete from processes where name = 'remote'`)
      }
    },
  )
})

test('a machine agent, with its credentials; one that was revoked before has ended already', async () => {
  const name = unique('robot')
  const { id, credentials } = await ofAdmin()(createMachineAgent, { name, scopes: ['data:read'] })
  const path = { machine_agent_id: id }
  await ofAdmin()(addMachineAgentCredential, path)
  await ofAdmin()(revokeMachineAgentCredential, { ...path, credential_id: credentials[0]!.id })
  const { ended } = await ofAdmin()(endWithReceipt, { of: 'machine_agent', id })
  expect(ended).toEqual({ machine_agent: 1, machine_credential: 1, grant: 1 })
  expect((await ofAdmin()(listMachineAgents, {})).machine_agents).toEqual([])
  const { audit } = await ofAdmin()(listAudit, { org_id: org.id, search: name })
  expect(audit.map(({ action }) => action)).toContain('machine_agent.removed')
})

test('everything of an organization, except what it is ended with; another’s goes on', async () => {
  const [token, there] = [await makeApiToken(system, org, person), await makeApiToken(system, other, person)]
  const agent = await agentOf(system, org, person)
  const own = await makeApiToken(system, org, org.owner)
  const ended = await own.call(endWithReceipt, { of: 'organization' })
  expect(ended.ended).toMatchObject({ api_token: 1, grant: 1 })
  await expect(token.call(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  await expect(agent().then((who) => system.as(who)(whoAmI, {}))).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  })
  expect((await there.call(whoAmI, {})).kind).toBe('api_token')
  expect(await final(ended.id, own.call)).toMatchObject({ state: 'final' })
  await expect(ofAdmin()(endWithReceipt, { of: 'organization' })).rejects.toMatchObject({
    code: expect.stringMatching(/FORBIDDEN|UNAUTHENTICATED/),
  })
})

test('everything of an organization: also sessions of its people that chose another one last', async () => {
  await person.call(switchOrganization, { org_id: other.id })
  const { id, ended } = await org.owner.call(endWithReceipt, { of: 'organization' })
  // That of the person, and that of the admin; the owner's is what it is ended with.
  expect(ended).toMatchObject({ session: 2 })
  for (const { token } of [person, admin])
    await expect(
      system.as({ token, organization: org.id })(listMembers, { org_id: org.id }),
    ).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  expect(await final(id, org.owner.call)).toMatchObject({ state: 'final' })
  const { members } = await other.owner.call(listMembers, { org_id: other.id })
  expect(members.map(({ user_id }) => user_id)).toContain(person.userId)
})

test('is seen by whoever made it and by admins, in its own organization alone', async () => {
  const agent = await agentOf(system, org, person)
  const call = system.as({ token: person.token, organization: org.id })
  const { clientId } = await agent()
  const grant = (await call(listGrants, {})).grants.find(({ client_id }) => client_id === clientId)!
  const { id } = await call(endWithReceipt, { of: 'agent', id: grant.id })
  const colleague = await makeMember(system, org, 'developer')
  const asked = { receipt_id: id }
  for (const who of [
    system.as({ token: colleague.token, organization: org.id }),
    system.as({ token: other.owner.token, organization: other.id }),
  ])
    await expect(who(showReceipt, asked)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect((await ofAdmin()(listReceipts, {})).receipts.map((one) => one.id)).toEqual([id])
  expect((await other.owner.call(listReceipts, {})).receipts).toEqual([])
})

describe('removing an organization', () => {
  const remove = (asked: { confirm: string }, call = org.owner.call) =>
    call(removeOrganization, { org_id: org.id, ...asked })

  test('only by a signed-in owner who types its name', async () => {
    const confirm = org.name
    await expect(remove({ confirm: 'another' })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    await expect(remove({ confirm }, ofAdmin())).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const token = await makeApiToken(system, org, org.owner)
    await expect(remove({ confirm }, token.call)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(remove({ confirm }, other.owner.call)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect((await token.call(whoAmI, {})).kind).toBe('api_token')
  })

  test('ends all of it, deletes its rows, and leaves its sealed trail for as long as the operator says', async () => {
    const token = await makeApiToken(system, org, person)
    const there = await makeApiToken(system, other, person)
    const { sourceId: connection_string } = await insertSource(system, org, { physicalName: null })
    for (const one of [person, admin]) await read(one, connection_string)
    const own = await polls(token.token, org)
    await expect.poll(() => openFor(token.id)).toEqual([1, 1])
    const before = await rowsIn(other.id)
    const receipt = await remove({ confirm: org.name })
    expect(receipt).toMatchObject({
      state: 'final',
      ended: { membership: 3 },
      cut: { long_polls: await cutOffOf(own) },
    })
    // Until its databases are dropped.
    const remains = [person, admin].map(({ name }) => ({ connection_string, read_by: name }))
    expect(await signedBy(receipt)).toMatchObject({ org: org.id, remains })
    // The person is signed in, and works elsewhere.
    const { organizations } = await person.call(listOrganizations, {})
    expect(organizations.map(({ id }) => id)).toEqual([other.id])

    const deps = { db: system.ownDb, clock: () => system.clock.now(), removedTrailDays: 30 }
    const removed: string[] = []
    const managed = { remove: async (name: string) => void removed.push(name) }
    await emptyRemovedOrganizations({ ...deps, managed })
    expect(Object.keys(await rowsIn(org.id)).toSorted()).toEqual([
      'audit_log',
      'receipts',
      'removed_organizations',
    ])
    await sealTrail({ ...deps, log: { warn() {} }, dataKeys: system.system.gateway!.dataKeys })
    const { removed_organizations: stump, ...trail } = await rowsIn(org.id)
    expect(stump).toBe(1)
    expect(Object.keys(trail)).toContain('trail_seals')
    system.clock.advance(31 * 24 * 60 * 60)
    await emptyRemovedOrganizations({ ...deps, managed })
    expect(await rowsIn(org.id)).toEqual({})
    const { trail_seals: _, ...after } = await rowsIn(other.id)
    expect(after).toEqual(before)
    expect((await there.call(whoAmI, {})).kind).toBe('api_token')
  })

  test.runIf(inject('everyCase'))(
    'names connection strings that were read, until their databases are dropped; one that stays stops no other',
    async () => {
      const names = ['stays', 'goes'].map((one) => unique(one))
      const [stays, goes] = [
        await insertSource(system, org, { physicalName: names[0]! }),
        await insertSource(system, org, { physicalName: names[1]! }),
      ]
      await insertSource(system, other, { physicalName: unique('there') })
      for (const { sourceId } of [stays, goes]) await read(person, sourceId)
      const receipt = await remove({ confirm: org.name })
      const left = receipt.remains.map(({ connection_string }) => connection_string)
      expect(left.toSorted()).toEqual([stays.sourceId, goes.sourceId].toSorted())
      expect((await signedBy(receipt)).remains).toEqual(receipt.remains)

      const gone = await makeOrganization(system)
      await gone.owner.call(removeOrganization, { org_id: gone.id, confirm: gone.name })
      const removed: string[] = []
      let isAway = true
      const managed = {
        async remove(name: string) {
          if (isAway && name === names[0]) throw new Error('is away')
          removed.push(name)
        },
      }
      // Nothing is kept, except what is not proven yet.
      const deps = { db: system.ownDb, clock: () => system.clock.now(), removedTrailDays: 0, managed }
      system.clock.advance(1)
      await expect(emptyRemovedOrganizations(deps)).rejects.toThrow('of the parts failed')
      expect(removed).toEqual([names[1]])
      expect(await rowsIn(org.id)).toMatchObject({ data_sources: 1, receipts: 1 })
      expect(await rowsIn(gone.id)).not.toHaveProperty('data_sources')

      isAway = false
      // A process that has a lease and says nothing: the receipt is pending again.
      const silent = unique('process')
      await system.db.execute(sql`insert into processes (name, until, is_remote)
      values (${silent}, clock_timestamp() + interval '1 hour', false)`)
      try {
        await system.db.execute(sql`update receipts set final_at = null where id = ${receipt.id}`)
        await emptyRemovedOrganizations(deps)
        expect(removed).toEqual([names[1], names[0]])
        expect(await rowsIn(other.id)).toMatchObject({ data_sources: 1 })
        const kept = { receipts: 1, removed_organizations: 1 }
        // The receipt of the other one is final, and rows of it wait for their seal.
        for (const { id } of [org, gone]) expect(await rowsIn(id)).toMatchObject(kept)
        await sealTrail({ ...deps, log: { warn() {} }, dataKeys: system.system.gateway!.dataKeys })
        await emptyRemovedOrganizations(deps)
        expect(await rowsIn(gone.id)).toEqual({})
        expect(await rowsIn(org.id)).toMatchObject(kept)
      } finally {
        await system.db.execute(sql`delete from processes where name = ${silent}`)
      }
    },
  )

  test('also by the operator', async () => {
    const operator = system.as({ token: OPERATOR_TOKEN })
    const asked = { org_id: org.id, confirm: org.name }
    expect(await operator(removeOrganizationAsOperator, asked)).toMatchObject({
      by: { name: 'operator' },
      state: 'final',
    })
  })

  test('the operator fetches its receipt later, whoever removed it, by sending the same again', async () => {
    const operator = system.as({ token: OPERATOR_TOKEN })
    const asked = { org_id: org.id, confirm: org.name }
    const everything = await org.owner.call(endWithReceipt, { of: 'organization' })
    const { id } = await remove({ confirm: org.name })
    expect(id).not.toBe(everything.id)
    const receipt = await operator(removeOrganizationAsOperator, asked)
    expect(receipt).toMatchObject({ id, state: 'final', by: { id: org.owner.userId } })
    expect(await signedBy(receipt)).toMatchObject({ id, org: org.id })
    const { audit } = await other.owner.call(listAudit, { org_id: other.id })
    expect(audit.map(({ action }) => action)).not.toContain('organization.removed')
    for (const wrong of [
      { org_id: org.id, confirm: other.name },
      { org_id: unique('org'), confirm: org.name },
    ])
      await expect(operator(removeOrganizationAsOperator, wrong)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

/** How many rows of an organization each table has, without those that have none. */
async function rowsIn(orgId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const tables = await system.db.execute<{ name: string }>(
    sql`select table_name as name from information_schema.columns join information_schema.tables using (table_name, table_schema)
      where table_schema = 'public' and column_name = 'org_id' and table_name <> 'sessions'
        and table_name !~ '_(rest|[0-9]+)$' order by 1`,
  )
  for (const { name } of tables) {
    const count = await system.db.$count(sql.raw(name), sql`org_id = ${orgId}`)
    if (count > 0) counts[name] = count
  }
  return counts
}
