import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { FAIR_QUEUES } from '../src/contracts/fair-queues.ts'
import { createOpenCalls, OPEN_PER_CREDENTIAL, type CallTurn } from './open-calls.ts'

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
  await vi.waitFor(() => expect(third).toHaveBeenCalledWith('started'))
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
  await vi.waitFor(async () => expect(await call('a')).toBe('started'))
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
