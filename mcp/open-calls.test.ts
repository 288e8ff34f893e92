import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { FAIR_QUEUES } from '../src/contracts/fair-queues.ts'
import { createOpenCalls, OPEN_PER_CREDENTIAL, type CallTurn } from './open-calls.ts'

/** Of a person whose credentials are `a0`, `a1` and so on. */
const credentialsOf = (person: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${person}${at}`)

const never = new AbortController().signal

type Limits = { all?: number; person?: number; waitMs?: number; slowMs?: number; openMs?: number }

/** Calls that stay until the test ends them; `started` has their credentials in order. */
function callsOf({ all = 32, person = 2, waitMs = 15_000, ...limits }: Limits) {
  const rules = { ...FAIR_QUEUES.mcpCalls, running: { all, person }, waitMs }
  const openCalls = createOpenCalls({ rules, ...limits })
  const started: string[] = []
  const turns: CallTurn[] = []
  const call = async (credential: string, signal = never, person = credential) => {
    const calls = openCalls({ credential, person }, 1)
    const turn = await calls?.turn(signal).catch(() => undefined)
    if (!calls || !turn) {
      calls?.close()
      return 'refused'
    }
    started.push(credential)
    turns.push({ ...turn, end: () => calls.close() })
    return 'started'
  }
  /** Ends the call that has run longest. */
  const endOne = async () => {
    turns.shift()?.end()
    await sleep(0)
  }
  return { call, started, turns, endOne, openCalls }
}

test('a credential has sixteen calls open and no more, until one ends', async () => {
  const { call, endOne, openCalls } = callsOf({ person: 1 })
  expect(await call('a')).toBe('started')
  const rest = openCalls({ credential: 'a', person: 'a' }, OPEN_PER_CREDENTIAL - 1)
  expect(await call('a')).toBe('refused')
  expect(await call('b')).toBe('started')
  await endOne()
  expect(await call('a')).toBe('started')
  rest!.close()
})

test('whoever has the fewest running is next, however long the others have waited', async () => {
  const { call, started, endOne } = callsOf({ all: 2 })
  for (let made = 0; made < 6; made += 1) void call('busy')
  await sleep(0)
  void call('quiet')
  await endOne()
  expect(started).toEqual(['busy', 'busy', 'quiet'])
})

test('somebody who waits for their own calls leaves the other places free, and ten credentials have the share of one', async () => {
  const { call, started, endOne } = callsOf({ all: 3 })
  for (let made = 0; made < 10; made += 1) void call(`credential ${made}`, never, 'busy')
  await sleep(0)
  expect(started).toHaveLength(2)
  expect(await call('another', never, 'quiet')).toBe('started')
  await endOne()
  expect(started).toEqual(['credential 0', 'credential 1', 'another', 'credential 2'])
})

test('as many calls of a person wait as of four credentials, and one more of another person', async () => {
  const { waiting, running } = FAIR_QUEUES.mcpCalls
  expect(waiting.person).toBe(4 * OPEN_PER_CREDENTIAL)
  const { call, started, endOne } = callsOf({ all: 2 })
  const all = credentialsOf('a', waiting.person + running.person).map((name) => call(name, never, 'a'))
  await sleep(0)
  expect(started).toEqual(['a0', 'a1'])
  expect(await call('a99', never, 'a')).toBe('refused')
  const other = call('b', never, 'b')
  await endOne()
  expect(await other).toBe('started')
  await endOne()
  expect(started).toEqual(['a0', 'a1', 'b', 'a2'])
  const again = call('a99', never, 'a')
  for (let ended = 0; ended < all.length + 1; ended++) await endOne()
  expect(await Promise.all([...all, again])).toEqual([...all, again].map(() => 'started'))
})

test('where all together may wait no more, whoever has most gives way to another person', async () => {
  const rules = { ...FAIR_QUEUES.mcpCalls, running: { all: 1 }, waiting: { all: 3 } }
  const openCalls = createOpenCalls({ rules })
  const outcomes: string[] = []
  const ask = (person: string) => {
    const calls = openCalls({ credential: person, person }, 1)!
    calls.turn(never).then(
      () => outcomes.push(`${person} runs`),
      () => outcomes.push(`${person} is refused`),
    )
    return calls
  }
  const first = ask('a')
  const rest = [ask('a'), ask('a'), ask('a'), ask('b'), ask('c')]
  await sleep(0)
  expect(outcomes).toEqual(['a runs', 'a is refused', 'a is refused'])
  first.close()
  await sleep(0)
  expect(outcomes.at(-1)).toBe('b runs')
  for (const calls of rest) calls.close()
})

test('a slow call that waits for something else lets the next one start, and gives its place away once', async () => {
  const { call, turns, endOne } = callsOf({ all: 1, slowMs: 10 })
  await call('slow')
  const next = call('slow')
  turns[0]!.yieldWhenSlow()
  expect(await next).toBe('started')
  const third = vi.fn<(outcome: string) => void>()
  void call('other').then(third)
  await endOne()
  expect(third).not.toHaveBeenCalled()
  await endOne()
  await expect.poll(() => third.mock.calls).toEqual([['started']])
})

test('a call that waits too long is refused, and one whose client has gone is forgotten', async () => {
  const { call, endOne } = callsOf({ all: 1, waitMs: 20 })
  await call('a')
  expect(await call('b')).toBe('refused')
  const gone = new AbortController()
  const left = call('b', gone.signal)
  gone.abort()
  expect(await left).toBe('refused')
  expect(await call('b', gone.signal)).toBe('refused')
  await endOne()
  expect(await call('b')).toBe('started')
})

test('a call whose end nobody reports does not count for ever', async () => {
  const { call, openCalls } = callsOf({ all: 1, openMs: 10 })
  openCalls({ credential: 'a', person: 'a' }, OPEN_PER_CREDENTIAL - 1)
  await call('a')
  expect(await call('a')).toBe('refused')
  await expect.poll(() => call('a')).toBe('started')
})

test('the calls of a batch are all open, and each has a turn of its own', async () => {
  const { openCalls, call } = callsOf({ person: 1 })
  const batch = openCalls({ credential: 'a', person: 'a' }, OPEN_PER_CREDENTIAL)!
  expect(await call('a')).toBe('refused')
  for (let made = 0; made < 3; made += 1) (await batch.turn(never)).end()
  const last = await batch.turn(never)
  // Its end ends the turn that is left.
  batch.close()
  last.end()
  expect(await call('a')).toBe('started')
  expect(openCalls({ credential: 'a', person: 'a' }, OPEN_PER_CREDENTIAL)).toBeUndefined()
})
