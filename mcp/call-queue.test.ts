import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { callQueue, QUEUE_LIMITS, type QueueLimits, type Turn } from './call-queue.ts'

const never = new AbortController().signal

/** A queue whose calls stay until the test ends them; `started` has their credentials in order. */
function queueOf(limits: Partial<QueueLimits>) {
  const { openCalls } = callQueue({ ...QUEUE_LIMITS, ...limits })
  const started: string[] = []
  const turns: Turn[] = []
  const call = async (credential: string, signal = never, person = credential) => {
    const calls = openCalls({ credential, person }, 1)
    const turn = await calls?.turn(signal)
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

test('a credential has so many calls open and no more, until one ends', async () => {
  const { call, endOne } = queueOf({ openPerCredential: 3, runningPerPerson: 1 })
  expect(await call('a')).toBe('started')
  void call('a')
  void call('a')
  expect(await call('a')).toBe('refused')
  expect(await call('b')).toBe('started')
  await endOne()
  const next = call('a')
  await endOne()
  await endOne()
  await endOne()
  expect(await next).toBe('started')
})

test('whoever has the fewest running is next, however long the others have waited', async () => {
  const { call, started, endOne } = queueOf({ running: 2, runningPerPerson: 2 })
  for (let made = 0; made < 6; made += 1) void call('busy')
  await sleep(0)
  void call('quiet')
  await endOne()
  expect(started).toEqual(['busy', 'busy', 'quiet'])
})

test('credentials take turns, in the order of their last turn or of their arrival', async () => {
  const { call, started, endOne } = queueOf({ running: 1, runningPerPerson: 1 })
  for (const credential of ['a', 'a', 'a', 'b', 'b', 'c']) void call(credential)
  for (let ended = 0; ended < 6; ended += 1) await endOne()
  // The first starts before anybody else is there.
  expect(started).toEqual(['a', 'a', 'b', 'c', 'a', 'b'])
})

test('a credential that waits for its own calls leaves the other places free', async () => {
  const { call, started } = queueOf({ running: 4, runningPerPerson: 2 })
  for (let made = 0; made < 4; made += 1) void call('busy')
  expect(await call('quiet')).toBe('started')
  expect(started).toEqual(['busy', 'busy', 'quiet'])
})

test('a slow call that waits for something else lets the next one start, and still counts as open', async () => {
  const { call, turns } = queueOf({ running: 1, openPerCredential: 2, slowMs: 10 })
  await call('slow')
  const next = call('slow')
  turns[0]!.yieldWhenSlow()
  expect(await next).toBe('started')
  expect(await call('slow')).toBe('refused')
  // Its place was given away once and is not given away again at its end.
  const third = call('other')
  turns[0]!.end()
  expect(await Promise.race([third, sleep(20, 'waiting')])).toBe('waiting')
  turns[1]!.end()
  expect(await third).toBe('started')
})

test('a call that waits too long is refused, and one whose client has gone is forgotten', async () => {
  const { call, endOne } = queueOf({ running: 1, openPerCredential: 2, waitMs: 20 })
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
  const { call } = queueOf({ running: 1, openPerCredential: 1, openMs: 10 })
  await call('a')
  expect(await call('a')).toBe('refused')
  await sleep(20)
  expect(await call('a')).toBe('started')
})

test('ten credentials of one person have the share of one', async () => {
  const { call, started, endOne } = queueOf({ running: 3, runningPerPerson: 2 })
  for (let made = 0; made < 10; made += 1) void call(`credential ${made}`, never, 'busy')
  await sleep(0)
  expect(started).toHaveLength(2)
  expect(await call('another', never, 'quiet')).toBe('started')
  await endOne()
  expect(started).toEqual(['credential 0', 'credential 1', 'another', 'credential 2'])
})

test('the calls of a batch are all open, and each has a turn of its own', async () => {
  const { openCalls, call } = queueOf({ openPerCredential: 3, runningPerPerson: 1 })
  const batch = openCalls({ credential: 'a', person: 'a' }, 3)!
  expect(await call('a')).toBe('refused')
  for (let made = 0; made < 3; made += 1) (await batch.turn(never))!.end()
  const last = await batch.turn(never)
  // Its end ends the turn that is left.
  batch.close()
  last!.end()
  expect(await call('a')).toBe('started')
  expect(openCalls({ credential: 'a', person: 'a' }, 3)).toBeUndefined()
})
