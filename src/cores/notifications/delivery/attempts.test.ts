import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CHANNEL_NAMES, type Channel } from '../../../contracts/channels.ts'
import { attemptResult, secondsToNextAttempt, type Attempt } from './attempts.ts'

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

test('Retry-After makes a wait longer and never shorter, and no longer than a day', () => {
  expect(secondsToNextAttempt('webhook', 1, 0.5, 60)).toBe(60)
  expect(secondsToNextAttempt('webhook', 5, 0.5, 60)).toBe(5 * 60 * 60)
  expect(secondsToNextAttempt('webhook', 1, 0.5, 10 ** 9)).toBe(24 * 60 * 60)
})

const attempt: Attempt = {
  orgId: 'org_1',
  id: 'msg_1',
  channel: 'webhook',
  integrationId: 'int_1',
  number: 1,
  isRepeatable: false,
}
const how = { now: new Date('2026-11-15T09:00:00Z'), durationMs: 12, jitter: 0.5 }

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
