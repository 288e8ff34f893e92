import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CHANNEL_NAMES, type Channel } from '../../../contracts/channels.ts'
import { NOT_REACHED } from '../../../contracts/deliveries.ts'
import type { Storage } from '../../dependencies.ts'
import type { Outcome } from '../channels/channel-ports.ts'
import {
  attemptResult,
  finishAndStartAttempts,
  isRepeatable,
  secondsToNextAttempt,
  type Attempt,
} from './attempts.ts'

const attemptsOf = (channel: Channel): number => {
  let made = 1
  while (secondsToNextAttempt(channel, made, 0.5) !== undefined) made++
  return made
}

test('webhooks are tried ten times over some three days, mails six, the others a handful', () => {
  expect(CHANNEL_NAMES.map((channel) => [channel, attemptsOf(channel)])).toEqual([
    ['email', 6],
    ['chat', 5],
    ['direct_message', 5],
    ['webhook', 10],
    ['forum', 5],
  ])
})

test('a wait is within a fifth of the schedule, and grows from one attempt to the next', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...CHANNEL_NAMES),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (channel, jitter) => {
        for (let made = 1; made < attemptsOf(channel); made++) {
          const usual = secondsToNextAttempt(channel, made, 0.5)!
          const now = secondsToNextAttempt(channel, made, jitter)!
          expect(Math.abs(now - usual)).toBeLessThanOrEqual(usual * 0.2 + 1e-6)
          if (made > 1) expect(usual).toBeGreaterThan(secondsToNextAttempt(channel, made - 1, 0.5)!)
        }
      },
    ),
  )
})

test('a wait is a fifth shorter at least jitter, and a fifth longer at most', () => {
  const [least, usual, most] = [0, 0.5, 1].map((jitter) => secondsToNextAttempt('webhook', 1, jitter)!)
  expect(usual).toBe(5)
  expect(least).toBeCloseTo(4)
  expect(most).toBeCloseTo(6)
})

test('a repetition is no second message where the channel says so, or the integration allows it', () => {
  const repeatable = (allows: boolean) => CHANNEL_NAMES.filter((channel) => isRepeatable(channel, allows))
  expect(repeatable(false)).toEqual(['forum'])
  expect(repeatable(true)).toEqual(['webhook', 'forum'])
})

test('with nothing to write the database is not asked', async () => {
  const db = new Proxy({}, { get: () => expect.unreachable() }) as Storage['db']
  const nothing = { ended: [], started: [], recovered: [] }
  const how = { worker: 'w', leaseSeconds: 1 }
  expect(await finishAndStartAttempts({ db, clock: () => new Date() }, how, [], [])).toEqual(nothing)
})

const attempt: Attempt = {
  orgId: 'org_1',
  id: 'msg_1',
  channel: 'webhook',
  integrationId: 'int_1',
  number: 1,
  isRepeatable: false,
  carriedBy: null,
}
const how = {
  now: new Date('2026-11-15T09:00:00Z'),
  durationMs: 12,
  jitter: 0.5,
  isShared: false,
  response: null,
}

test('a message that was sent is over, with everything that is known of its attempt', () => {
  const requestHeaders = { 'webhook-id': 'msg_1' }
  const known = { ...how, response: 'thank you' }
  const carried = { ...attempt, carriedBy: 'msg_0' }
  expect(attemptResult(carried, { kind: 'sent', httpStatus: 200, requestHeaders }, known)).toEqual({
    orgId: 'org_1',
    id: 'msg_1',
    number: 1,
    integrationId: 'int_1',
    carriedBy: 'msg_0',
    outcome: 'sent',
    state: 'sent',
    reason: null,
    deliveryReason: null,
    httpStatus: 200,
    durationMs: 12,
    nextAt: null,
    answered: true,
    heldUntil: null,
    brokeKeptSocket: false,
    goesAlone: false,
    response: 'thank you',
    responseWithheld: false,
    requestHeaders,
  })
  expect(attemptResult(attempt, { kind: 'sent' }, how)).toMatchObject({
    httpStatus: null,
    requestHeaders: null,
  })
})

test('a kept connection was broken only where that is why the answer was lost', () => {
  const broke = (outcome: Outcome) => attemptResult(attempt, outcome, how).brokeKeptSocket
  expect(broke({ kind: 'unknown', brokeKeptSocket: true })).toBe(true)
  expect([{ kind: 'unknown' } as const, { kind: 'sent' } as const].map(broke)).toEqual([false, false])
})

test('a lost answer is over at once, except where a second message is no second one', () => {
  expect(attemptResult(attempt, { kind: 'unknown' }, how)).toMatchObject({
    state: 'failed',
    deliveryReason: 'outcome_unknown',
    nextAt: null,
  })
  expect(attemptResult({ ...attempt, isRepeatable: true }, { kind: 'unknown' }, how)).toMatchObject({
    state: 'pending',
    nextAt: '2026-11-15T09:00:05.000Z',
  })
  expect(
    attemptResult({ ...attempt, isRepeatable: true, number: 10 }, { kind: 'unknown' }, how),
  ).toMatchObject({
    state: 'failed',
    deliveryReason: 'outcome_unknown',
  })
})

test('a refusal that may be repeated is, until it is given up; one that may not keeps its reason', () => {
  const refused = { kind: 'refused', reason: 'server_error', retry: true, httpStatus: 503 } as const
  expect(attemptResult(attempt, refused, how)).toMatchObject({
    state: 'pending',
    deliveryReason: 'server_error',
    httpStatus: 503,
  })
  expect(attemptResult({ ...attempt, number: 10 }, refused, how)).toMatchObject({
    state: 'failed',
    deliveryReason: 'gave_up',
  })
  expect(attemptResult(attempt, { ...refused, retry: false, reason: 'endpoint_gone' }, how)).toMatchObject({
    state: 'failed',
    deliveryReason: 'endpoint_gone',
  })
})

test('Retry-After of 429 and 503 holds the target for at most a day, and leaves the message its schedule', () => {
  const refused = { kind: 'refused', reason: 'server_error', retry: true } as const
  const after = (httpStatus: number, retryAfterSeconds?: number) =>
    attemptResult(attempt, { ...refused, httpStatus, retryAfterSeconds }, how)
  for (const status of [429, 503]) {
    expect(after(status, 60)).toMatchObject({
      heldUntil: '2026-11-15T09:01:00.000Z',
      nextAt: '2026-11-15T09:00:05.000Z',
    })
    expect(after(status, 10 ** 9).heldUntil).toBe('2026-11-16T09:00:00.000Z')
    for (const none of [undefined, 0, -1]) expect(after(status, none).heldUntil).toBeNull()
  }
  expect(after(500, 60).heldUntil).toBeNull()
  const unknown = { kind: 'unknown', httpStatus: 503, retryAfterSeconds: 60 } as Outcome
  expect(attemptResult(attempt, unknown, how).heldUntil).toBeNull()
})

test('a target answered whatever status it said; without an answer or a connection it did not', () => {
  const answered = (outcome: Outcome) => attemptResult(attempt, outcome, how).answered
  const refused = { kind: 'refused', reason: 'server_error', retry: true } as const
  expect(
    [
      { kind: 'sent' } as const,
      { ...refused, httpStatus: 500 },
      { kind: 'unknown', httpStatus: 502 } as const,
    ].map(answered),
  ).toEqual([true, true, true])
  expect(
    [{ kind: 'unknown' } as const, ...NOT_REACHED.map((reason) => ({ ...refused, reason }) as const)].map(
      answered,
    ),
  ).toEqual(Array(1 + NOT_REACHED.length).fill(false))
  expect(answered({ ...refused, reason: 'address_refused' })).toBeNull()
})

test('goes alone after it was refused together with others for its content, or its answer was lost', () => {
  const alone = (outcome: Outcome, isShared: boolean, number = 1) =>
    attemptResult({ ...attempt, number }, outcome, { ...how, isShared }).goesAlone
  const refused = (httpStatus?: number) =>
    ({ kind: 'refused', reason: 'server_error', retry: true, httpStatus }) as const
  expect([400, 413, 422].map((status) => alone(refused(status), true))).toEqual([true, true, true])
  // Of the receiver, and not of what it was sent: an hour of errors must not leave the backlog to go one by one.
  for (const status of [429, 500, 502, 503, 504, undefined]) expect(alone(refused(status), true)).toBe(false)
  expect(alone(refused(400), false)).toBe(false)
  // Unless it goes on for hours: one of them may be the reason.
  expect([alone(refused(500), true, 4), alone(refused(500), true, 5)]).toEqual([false, true])
  expect([429, 503].map((status) => alone(refused(status), true, 9))).toEqual([false, false])
  expect([alone({ kind: 'unknown' }, true), alone({ kind: 'unknown' }, false)]).toEqual([true, true])
  expect(alone({ kind: 'sent', httpStatus: 200 }, true)).toBe(false)
})
