import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CHANNELS } from '../../contracts/deliveries.ts'
import { settle, type Attempted } from './outcomes.ts'
import { secondsToNextAttempt } from './retry-schedule.ts'

const attemptsOf = (channel: (typeof CHANNELS)[number]): number => {
  let made = 1
  while (secondsToNextAttempt(channel, made, 0.5) !== undefined) made++
  return made
}

test('webhooks are tried ten times over some three days, mails six, the others a handful', () => {
  expect(CHANNELS.map((channel) => [channel, attemptsOf(channel)])).toEqual([
    ['email', 6],
    ['chat', 5],
    ['direct_message', 5],
    ['webhook', 10],
    ['forum', 5],
  ])
})

test('a wait is within a fifth of the schedule, and grows from one attempt to the next', () => {
  fc.assert(
    fc.property(fc.constantFrom(...CHANNELS), fc.double({ min: 0, max: 1, noNaN: true }), (channel, luck) => {
      for (let made = 1; made < attemptsOf(channel); made++) {
        const usual = secondsToNextAttempt(channel, made, 0.5)!
        const now = secondsToNextAttempt(channel, made, luck)!
        expect(Math.abs(now - usual)).toBeLessThanOrEqual(usual * 0.2 + 1e-6)
        if (made > 1) expect(usual).toBeGreaterThan(secondsToNextAttempt(channel, made - 1, 0.5)!)
      }
    }),
  )
})

test('Retry-After makes a wait longer and never shorter, and no longer than a day', () => {
  expect(secondsToNextAttempt('webhook', 1, 0.5, 60)).toBe(60)
  expect(secondsToNextAttempt('webhook', 5, 0.5, 60)).toBe(5 * 60 * 60)
  expect(secondsToNextAttempt('webhook', 1, 0.5, 10 ** 9)).toBe(24 * 60 * 60)
})

const attempted: Attempted = {
  orgId: 'org_1',
  id: 'dlv_1',
  channel: 'webhook',
  integrationId: 'int_1',
  number: 1,
  isRepeatable: false,
}
const how = { now: new Date('2026-11-15T09:00:00Z'), durationMs: 12, luck: 0.5 }

test('a lost answer is over at once, except where a second message is no second one', () => {
  expect(settle(attempted, { kind: 'unknown' }, how)).toMatchObject({
    state: 'failed',
    because: 'outcome_unknown',
    nextAt: null,
  })
  expect(settle({ ...attempted, isRepeatable: true }, { kind: 'unknown' }, how)).toMatchObject({
    state: 'pending',
    nextAt: '2026-11-15T09:00:05.000Z',
  })
  expect(settle({ ...attempted, isRepeatable: true, number: 10 }, { kind: 'unknown' }, how)).toMatchObject({
    state: 'failed',
    because: 'outcome_unknown',
  })
})

test('a refusal that may be repeated is, until it is given up; one that may not keeps its reason', () => {
  const refused = { kind: 'refused', reason: 'server_error', retry: true, httpStatus: 503 } as const
  expect(settle(attempted, refused, how)).toMatchObject({
    state: 'pending',
    because: 'server_error',
    httpStatus: 503,
  })
  expect(settle({ ...attempted, number: 10 }, refused, how)).toMatchObject({
    state: 'failed',
    because: 'gave_up',
  })
  expect(settle(attempted, { ...refused, retry: false, reason: 'endpoint_gone' }, how)).toMatchObject({
    state: 'failed',
    because: 'endpoint_gone',
  })
})
