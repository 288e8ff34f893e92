import { expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import type { CallOperation } from '../call-operation.ts'
import { startReporter } from './output-reporter.ts'

type Sent = { text: string; position: number; last: boolean }

/** A server that takes whole lines, and sometimes does not answer. */
function fakeServer(fail: (count: number) => Error | undefined = () => undefined) {
  const kept: string[] = []
  let [position, dropped, requests, cancelled] = [0, 0, 0, false]
  const call = (async (_name: string, { text, position: from, last }: Sent) => {
    const failure = fail(requests++)
    if (failure) throw failure
    const fresh = Buffer.from(text)
      .subarray(Math.max(0, position - from))
      .toString()
    const taken = last || fresh.length > 16_384 ? fresh : fresh.slice(0, fresh.lastIndexOf('\n') + 1)
    if (taken !== '' || fresh === '') {
      dropped += Math.max(0, from - position)
      position = Math.max(position, from) + Buffer.byteLength(taken)
    }
    kept.push(taken)
    return { position, cancelled }
  }) as unknown as CallOperation
  return {
    call,
    text: () => kept.join(''),
    position: () => position,
    dropped: () => dropped,
    requests: () => requests,
    cancel: () => (cancelled = true),
  }
}
const PATH = { alias: 'shop', deployment_id: 'dep_1', fence: 1 }

test('everything arrives once and in order, also the last unfinished line', async () => {
  const server = fakeServer()
  const reporter = startReporter(server.call, PATH, 60_000)
  const written = Array.from({ length: 2_000 }, (_, index) => `line ${index} äöü 😀\n`).join('')
  reporter.write(`\0\u0001${written}`)
  reporter.write('no line break')
  await reporter.finish()
  expect(server.text()).toBe(`${written}no line break`)
  expect(server.dropped()).toBe(0)
})

test.each([
  ['TIMEOUT', 'did not answer'],
  ['OVERLOADED', 'had no room for'],
  ['UNAVAILABLE', 'could not keep, while its database fails over,'],
] as const)('on %s: what a server %s is sent again', async (code, _why) => {
  const server = fakeServer((count) => (count % 2 === 0 ? new ServiceError(code) : undefined))
  const reporter = startReporter(server.call, PATH, 60_000)
  reporter.write('one\ntwo\n')
  await reporter.finish()
  expect(server.text()).toBe('one\ntwo\n')
  expect(reporter.stopped.aborted).toBe(false)
})

test('while nobody answers the oldest output is let go, and counted by its position', async () => {
  const server = fakeServer((count) => (count < 3 ? new ServiceError('UNEXPECTED') : undefined))
  const reporter = startReporter(server.call, PATH, 60_000)
  const line = `${'x'.repeat(65_535)}\n`
  for (let n = 0; n < 24; n++) reporter.write(line)
  reporter.write('last\n')
  await reporter.finish()
  expect(server.text().endsWith('last\n')).toBe(true)
  expect(server.dropped()).toBeGreaterThan(400_000)
  expect(server.position()).toBe(24 * line.length + 5)
})

test.each([
  ['CONFLICT', 'another holds it'],
  ['UNAUTHENTICATED', 'its token was revoked'],
] as const)('on %s the command is to be stopped: %s', async (code, _why) => {
  const server = fakeServer(() => new ServiceError(code))
  const reporter = startReporter(server.call, PATH, 60_000)
  await expect.poll(() => reporter.stopped.aborted).toBe(true)
  await reporter.finish()
})

test('a person’s cancellation arrives with the next report', async () => {
  const server = fakeServer()
  server.cancel()
  const reporter = startReporter(server.call, PATH, 60_000)
  await expect.poll(() => reporter.stopped.aborted).toBe(true)
  reporter.stop()
})

test('an unfinished line alone is not sent again and again; the signs of life go on', async () => {
  const server = fakeServer()
  const [waited, requests]: [number[], number[]] = [[], []]
  const enough = Promise.withResolvers<void>()
  const reporter = startReporter(server.call, PATH, 6_000, async (ms) => {
    waited.push(ms)
    if (requests.push(server.requests()) < 6) return
    reporter.stop()
    enough.resolve()
  })
  reporter.write('no line break')
  await enough.promise
  // Every second, a sixth of the lease.
  expect(waited).toEqual(Array(6).fill(500))
  expect(requests).toEqual([1, 1, 2, 2, 3, 3])
})
