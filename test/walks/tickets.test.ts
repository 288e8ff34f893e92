/** Tickets: who sees which, what is said aloud and what among those who work on the app, and what becomes an event. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { appMembers, outbox } from '../../db/schema.ts'
import { createApp, setAppMember } from '../../src/contracts/apps.ts'
import {
  createTicket,
  listTickets,
  changeTicketStatus,
  replyToTicket,
  searchTickets,
  showTicket,
} from '../../src/contracts/tickets.ts'
import { answerTo } from '../support/answers.ts'
import { makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
let other: Org
let maintainer: Person
let builder: Person
let reporter: Person
let outsider: Person
/** Of the reporter's. */
let ticket: { alias: string; ticket_id: string }

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api' })
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  maintainer = await makeMember(system, org, 'developer')
  ;[builder, reporter, outsider] = [
    await makeMember(system, org, 'viewer'),
    await makeMember(system, org, 'viewer'),
    await makeMember(system, org, 'developer'),
  ]
  for (const { call } of [maintainer, other.owner]) await call(createApp, { alias: 'shop', name: 'Shop' })
  await maintainer.call(setAppMember, { alias: 'shop', user_id: builder.userId, role: 'builder' })
})

beforeEach(async () => {
  const { id } = await reporter.call(createTicket, { alias: 'shop', title: 'It broke', body: 'Badly.' })
  ticket = { alias: 'shop', ticket_id: id }
})

afterAll(() => system.stop())

const events = async (orgId = org.id) => {
  const rows = await system.db
    .select()
    .from(outbox)
    .where(and(eq(outbox.orgId, orgId), eq(outbox.subject, `tickets/${ticket.ticket_id}`)))
    .orderBy(outbox.occurredAt, outbox.id)
  return rows
}
const told = async () => (await events()).map(({ type }) => type.replace('support.ticket.', ''))

describe('who sees it', () => {
  test('its reporter and those who work on the app; for everybody else there is no such ticket', async () => {
    const seen = async ({ call }: Person) => {
      const listed = (await call(listTickets, { alias: 'shop' })).tickets.some(
        ({ id }) => id === ticket.ticket_id,
      )
      const shown = await call(showTicket, ticket).then(
        () => true,
        (error: { code: string }) => error.code !== 'NOT_FOUND',
      )
      const found = (await call(searchTickets, { search: ticket.ticket_id })).tickets.length === 1
      return [listed, shown, found]
    }
    for (const person of [reporter, builder, maintainer, org.owner]) {
      expect(await seen(person)).toEqual([true, true, true])
    }
    // As whoever left and came back: their part in the app was that of a membership that has ended.
    const former = { alias: 'shop', user_id: outsider.userId }
    await maintainer.call(setAppMember, { ...former, role: 'builder' })
    const isFormer = eq(appMembers.userId, outsider.userId)
    await system.db.update(appMembers).set({ membershipId: 'ended' }).where(isFormer)
    for (const person of [outsider, other.owner]) expect(await seen(person)).toEqual([false, false, false])
  })

  test('what is hidden, what belongs to another organization and what does not exist answer alike, to the last byte', async () => {
    await org.owner.call(createApp, { alias: unique('app'), name: 'Another' }).catch(() => undefined)
    const asked = (who: Person, ticket_id = ticket.ticket_id) =>
      answerTo(system, who, showTicket, { alias: 'shop', ticket_id })
    const nothing = await asked(outsider, `tkt_${'0'.repeat(25)}`)
    expect(nothing.status).toBe(404)
    for (const answer of [await asked(outsider), await asked(other.owner)]) {
      expect(answer.text).toBe(nothing.text)
    }
  })

  test('nor can it be answered or moved, nor reached through another app', async () => {
    const alias = unique('app')
    await org.owner.call(createApp, { alias, name: 'Another' })
    for (const attempt of [
      () => outsider.call(replyToTicket, { ...ticket, body: 'Hello' }),
      () => outsider.call(changeTicketStatus, { ...ticket, status: 'done' }),
      () => other.owner.call(changeTicketStatus, { ...ticket, status: 'done' }),
      () => org.owner.call(showTicket, { ...ticket, alias }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    expect(await told()).toEqual(['created'])
  })

  test('lists by status', async () => {
    await builder.call(changeTicketStatus, { ...ticket, status: 'in_progress' })
    const ids = async (status: 'open' | 'in_progress' | 'done') =>
      (await reporter.call(listTickets, { alias: 'shop', status })).tickets.map(({ id }) => id)
    expect(await ids('in_progress')).toContain(ticket.ticket_id)
    expect(await ids('open')).not.toContain(ticket.ticket_id)
  })
})

test('filing one is an event of the same moment that carries ids and nothing that was written', async () => {
  const [event] = await events()
  expect(event).toMatchObject({
    type: 'support.ticket.created',
    source: 'tickets',
    actorId: reporter.userId,
    concernsId: reporter.userId,
    appId: expect.stringMatching(/^app_/),
    data: { ticket_id: ticket.ticket_id },
  })
  expect(JSON.stringify(event)).not.toContain('broke')
})

test('on an app that does not exist nothing is filed', async () => {
  await expect(
    reporter.call(createTicket, { alias: 'nothing', title: 'x', body: 'x' }),
  ).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
})

describe('answers and notes', () => {
  test('an answer is read by all who see the ticket, and told', async () => {
    const { id } = await builder.call(replyToTicket, { ...ticket, body: 'We look at it.' })
    await reporter.call(replyToTicket, { ...ticket, body: 'Thank you.' })
    const { replies } = await reporter.call(showTicket, ticket)
    expect(replies.map(({ body, author }) => [body, author.id])).toEqual([
      ['We look at it.', builder.userId],
      ['Thank you.', reporter.userId],
    ])
    const [, answered] = await events()
    expect(answered).toMatchObject({
      type: 'support.ticket.replied',
      actorId: builder.userId,
      concernsId: reporter.userId,
      data: { ticket_id: ticket.ticket_id, reply_id: id },
    })
    expect(await told()).toEqual(['created', 'replied', 'replied'])
  })

  test('a note is seen by those who work on the app alone, and tells nobody anything', async () => {
    const before = await reporter.call(showTicket, ticket)
    system.clock.advance(5)
    await builder.call(replyToTicket, { ...ticket, body: 'Their own fault', internal: true })
    expect(await reporter.call(showTicket, ticket)).toEqual(before)
    for (const { call } of [maintainer, builder, org.owner]) {
      expect((await call(showTicket, ticket)).replies).toMatchObject([{ internal: true }])
    }
    expect(await told()).toEqual(['created'])
  })

  test('whoever only filed it leaves no notes', async () => {
    await expect(
      reporter.call(replyToTicket, { ...ticket, body: 'x', internal: true }),
    ).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test('a reporter who works on the app sees the notes', async () => {
    const { id } = await builder.call(createTicket, { alias: 'shop', title: 'x', body: 'x' })
    const own = { alias: 'shop', ticket_id: id }
    await maintainer.call(replyToTicket, { ...own, body: 'x', internal: true })
    expect((await builder.call(showTicket, own)).replies).toHaveLength(1)
  })
})

describe('moving', () => {
  test('those who work on the app move it anywhere, its reporter to open and done', async () => {
    await builder.call(changeTicketStatus, { ...ticket, status: 'in_progress' })
    await reporter.call(changeTicketStatus, { ...ticket, status: 'done' })
    await reporter.call(changeTicketStatus, { ...ticket, status: 'open' })
    await expect(
      reporter.call(changeTicketStatus, { ...ticket, status: 'in_progress' }),
    ).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    await builder.call(changeTicketStatus, { ...ticket, status: 'in_progress' })
    const moves = (await events()).slice(1)
    expect(moves.map(({ data }) => [data['from'], data['to']])).toEqual([
      ['open', 'in_progress'],
      ['in_progress', 'done'],
      ['done', 'open'],
      ['open', 'in_progress'],
    ])
    // Also of the one that went to where it was before.
    expect(new Set(moves.map(({ dedupKey }) => dedupKey)).size).toBe(4)
    expect(moves[0]).toMatchObject({ actorId: builder.userId, concernsId: reporter.userId })
  })

  test('to where it is already changes nothing and tells nobody', async () => {
    const before = await reporter.call(showTicket, ticket)
    system.clock.advance(5)
    await maintainer.call(changeTicketStatus, { ...ticket, status: 'open' })
    expect(await reporter.call(showTicket, ticket)).toEqual(before)
    expect(await told()).toEqual(['created'])
  })

  test('by many at once is one move and one event', async () => {
    const people = [maintainer, builder, org.owner, reporter]
    await Promise.all(
      [...people, ...people].map(({ call }) => call(changeTicketStatus, { ...ticket, status: 'done' })),
    )
    expect(await told()).toEqual(['created', 'status_changed'])
  })

  test('back and forth at once ends in one state, by a chain of events without a gap', async () => {
    await Promise.all(
      (['in_progress', 'done', 'in_progress', 'open', 'done'] as const).map((status) =>
        maintainer.call(changeTicketStatus, { ...ticket, status }),
      ),
    )
    const { status } = await maintainer.call(showTicket, ticket)
    const moves = (await events()).slice(1).map(({ data }) => [data['from'], data['to']] as const)
    // Which came first is the database's business; each begins where another ended.
    const balance = new Map<string, number>()
    for (const [from, to] of moves) {
      balance.set(from!, (balance.get(from!) ?? 0) - 1)
      balance.set(to!, (balance.get(to!) ?? 0) + 1)
    }
    const expected = new Map<string, number>([['open', -1]])
    expected.set(status, (expected.get(status) ?? 0) + 1)
    for (const name of ['open', 'in_progress', 'done']) {
      expect([name, balance.get(name) ?? 0]).toEqual([name, expected.get(name) ?? 0])
    }
  })
})

test('a ticket filed twice with one key is filed once and told once', async () => {
  const who = { ...reporter, headers: { 'idempotency-key': unique('key') } }
  const input = { alias: 'shop', title: 'Once', body: 'x' }
  const [first, second] = [
    await answerTo(system, who, createTicket, input),
    await answerTo(system, who, createTicket, input),
  ]
  expect(first.status).toBe(201)
  expect(JSON.parse(second.text)).toEqual(JSON.parse(first.text))
  const { id } = JSON.parse(first.text) as { id: string }
  ticket = { alias: 'shop', ticket_id: id }
  expect(await told()).toEqual(['created'])
})
