import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { countSteps } from '../../test/support/count-steps.ts'
import { requestQueue, type QueueLimits } from './request-queue.ts'

type From = { readonly address?: string; readonly counts?: boolean; readonly isUrgent?: boolean }

/** A queue whose requests run until the test ends them; `started` has their credentials in order. */
function queueOf(limits: Partial<QueueLimits> = {}) {
  const queue = requestQueue({
    startsPerTurn: 100,
    turnsPerStart: 4,
    urgentPerTurn: 100,
    running: 100,
    slowMs: 60_000,
    waiting: 100,
    waitMs: 60_000,
    ...limits,
  })
  const started: string[] = []
  const refused: string[] = []
  /** Returns how to say that it is over. */
  const add = (credential: string, { address = 'a', counts = true, isUrgent = false }: From = {}) =>
    queue.add({
      address,
      credential,
      counts,
      isUrgent,
      start: () => started.push(credential),
      refuse: (because) => refused.push(`${credential} ${because}`),
    })
  return { ...queue, add, started, refused }
}

/** One in which something is under way, as it is under load. */
function busyQueue(limits: Partial<QueueLimits> = {}) {
  const queue = queueOf(limits)
  queue.add('first', { counts: false })
  queue.started.length = 0
  return queue
}

async function turns(count: number, each: () => void = () => {}): Promise<void> {
  for (let made = 0; made < count; made += 1) {
    each()
    await turn()
  }
}

test('where nothing is under way a request starts at once, and the next one in its turn', async () => {
  const { add, started, counts } = queueOf()
  const overs = [add('one'), add('two')]
  expect(started).toEqual(['one'])
  await turns(2)
  expect(started).toEqual(['one', 'two'])
  expect(counts()).toEqual({ open: 2, waiting: 0 })
  for (const over of overs) over()
  expect(counts()).toEqual({ open: 0, waiting: 0 })
  add('three')
  expect(started).toEqual(['one', 'two', 'three'])
})

test('of requests that are answered at once, a turn starts one at once, and the others in their turn', async () => {
  const { add, started } = queueOf()
  add('one')()
  add('two')
  expect(started).toEqual(['one'])
  await turns(1)
  expect(started).toEqual(['one', 'two'])
  const held = queueOf({ turnsPerStart: 4 })
  await turns(8, () => {
    held.connectionAccepted()
    held.add('any')()
  })
  expect(held.started).toHaveLength(2)
})

test('of several addresses one request of each starts in turn, whatever credentials each shows', async () => {
  const { add, started } = busyQueue({ startsPerTurn: 1 })
  for (let made = 0; made < 4; made += 1) add(`made-up-${made}`, { address: 'many' })
  add('one', { address: 'b' })
  add('other', { address: 'c' })
  add('other', { address: 'c' })
  await turns(10)
  expect(started).toEqual(['made-up-0', 'one', 'other', 'made-up-1', 'other', 'made-up-2', 'made-up-3'])
})

test('of several credentials at one address one request of each starts in turn', async () => {
  const { add, started } = busyQueue({ startsPerTurn: 1 })
  for (let made = 0; made < 5; made += 1) add('many')
  add('one')
  add('other')
  add('other')
  await turns(10)
  expect(started).toEqual(['many', 'one', 'other', 'many', 'other', 'many', 'many', 'many'])
})

test('a turn of the event loop starts few requests', async () => {
  const { add, started } = busyQueue({ startsPerTurn: 2 })
  for (let made = 0; made < 5; made += 1) add('a')
  const after: number[] = []
  for (let made = 0; made < 3; made += 1) {
    await turn()
    after.push(started.length)
  }
  expect(after).toEqual([2, 4, 5])
})

test('urgent ones start at once, so many in a turn, and more of them wait like all others', async () => {
  const { add, started } = busyQueue({ urgentPerTurn: 2, running: 1 })
  add('running')
  await turns(1)
  add('waiting')
  for (const name of ['u1', 'u2', 'u3']) add(name, { counts: false, isUrgent: true })
  expect(started).toEqual(['running', 'u1', 'u2'])
  await turns(2)
  expect(started).toEqual(['running', 'u1', 'u2'])
  add('u4', { counts: false, isUrgent: true })
  expect(started).toEqual(['running', 'u1', 'u2', 'u4'])
})

test('as long as connections are accepted, one starts in so many turns, and afterwards the others', async () => {
  const { add, started, connectionAccepted } = busyQueue({ turnsPerStart: 4 })
  for (let made = 0; made < 20; made += 1) add('a')
  await turns(12, connectionAccepted)
  expect(started).toHaveLength(3)
  await turns(1)
  expect(started).toHaveLength(20)
})

test('only so many run at a time, and the end of one starts the next', async () => {
  const { add, started } = busyQueue({ running: 2 })
  const [over] = ['a', 'b', 'c', 'd'].map((name) => add(name))
  await turns(3)
  expect(started).toEqual(['a', 'b'])
  over!()
  await turns(3)
  expect(started).toEqual(['a', 'b', 'c'])
})

// The line

const waitingIn = (add: ReturnType<typeof queueOf>['add'], address: string, names: readonly string[]) =>
  names.map((name) => add(name, { address }))

test('one address may have the whole line, and no more', () => {
  const { add, refused, counts } = busyQueue({ waiting: 3 })
  waitingIn(add, 'a', ['one', 'two', 'three', 'four'])
  expect(refused).toEqual(['four line_full'])
  expect(counts().waiting).toBe(3)
})

test('where the line is full, the address that has most in it gives way, with its newest', async () => {
  const { add, started, refused } = busyQueue({ waiting: 6 })
  waitingIn(add, 'office', ['o1', 'o2'])
  waitingIn(add, 'flood', ['f1', 'f2', 'f3', 'f4'])
  waitingIn(add, 'new', ['n1'])
  expect(refused).toEqual(['f4 line_full'])
  waitingIn(add, 'other', ['x1'])
  expect(refused).toEqual(['f4 line_full', 'f3 line_full'])
  // Each has two at most now: whoever asks for a second or a third has as many as anybody.
  waitingIn(add, 'new', ['n2'])
  waitingIn(add, 'office', ['o3'])
  expect(refused.slice(2)).toEqual(['n2 line_full', 'o3 line_full'])
  await turns(2)
  expect(started).toEqual(['o1', 'f1', 'n1', 'x1', 'o2', 'f2'])
})

test('made-up credentials of one address push out nobody of another', () => {
  const { add, refused, counts } = busyQueue({ waiting: 20 })
  waitingIn(add, 'office', ['o1', 'o2'])
  for (let made = 0; made < 1_000; made += 1) add(`made-up-${made}`, { address: 'flood' })
  waitingIn(add, 'office', ['o3', 'o4'])
  expect(refused.filter((line) => line.startsWith('o'))).toEqual([])
  expect(counts().waiting).toBe(20)
})

/** As where a proxy is not in TRUSTED_PROXIES, and everybody has its address. */
test('of the credentials at one address the one that has most in the line gives way', async () => {
  const { add, started, refused } = busyQueue({ waiting: 4 })
  for (let made = 0; made < 4; made += 1) add('flood')
  add('one')
  add('other')
  expect(refused).toEqual(['flood line_full', 'flood line_full'])
  add('one')
  expect(refused.slice(2)).toEqual(['one line_full'])
  await turns(2)
  expect(started).toEqual(['flood', 'one', 'other', 'flood'])
})

test('where everybody in the line has one, they keep it, and whoever comes later is refused', async () => {
  const { add, started, refused } = busyQueue({ waiting: 3 })
  for (const name of ['one', 'two', 'three', 'new']) add(name, { address: name })
  expect(refused).toEqual(['new line_full'])
  await turns(2)
  expect(started).toEqual(['one', 'two', 'three'])
  const sharing = busyQueue({ waiting: 3 })
  for (const name of ['one', 'two', 'three', 'new']) sharing.add(name)
  expect(sharing.refused).toEqual(['new line_full'])
})

const FILES = ['request-queue.ts', 'waiting-groups.ts', 'linked-list.ts'].map((name) => `src/boot/${name}`)
const LINES: readonly [string, (at: number) => [string, string], [string, string]][] = [
  ['made-up credentials of one address', (at) => [`made-up-${at}`, 'flood'], ['new', 'flood']],
  ['one of each of many addresses', (at) => [`made-up-${at}`, `flood-${at}`], ['new', 'new']],
  ['one flooder, with whom a newcomer changes places', () => ['flood', 'flood'], ['new', 'new']],
  ['made-up credentials of a flooder, and a newcomer', (at) => [`made-up-${at}`, 'flood'], ['new', 'new']],
]

test.each(LINES)(
  'to refuse is as little work with thousands in the line as with a few: %s',
  async (_, nth, [credential, address]) => {
    const stepsWith = async (waiting: number) => {
      const { add, refused, counts } = busyQueue({ waiting, running: 0 })
      for (let at = 0; at < waiting; at += 1) {
        const [own, from] = nth(at)
        add(own, { address: from })
      }
      const steps = await countSteps(FILES, () => add(credential, { address }))
      expect({ refused: refused.length, waiting: counts().waiting }).toEqual({ refused: 1, waiting })
      return steps
    }
    const few = await stepsWith(64)
    expect(few).toBeGreaterThan(0)
    // The engine's own counts differ by a few.
    expect(await stepsWith(4_096)).toBeLessThan(few + 16)
  },
)

test('whoever leaves makes room, at once, and does not start', async () => {
  const { add, started, refused, counts } = busyQueue({ waiting: 2 })
  const [leave] = [add('gone'), add('stays')]
  leave()
  leave()
  expect(counts()).toEqual({ open: 1, waiting: 1 })
  add('new')
  await turns(2)
  expect({ started, refused }).toEqual({ started: ['stays', 'new'], refused: [] })
})

test('whoever was refused and then goes away frees nothing twice', async () => {
  const { add, refused, counts } = busyQueue({ waiting: 1 })
  const kept = add('kept')
  const over = add('over')
  over()
  expect(refused).toEqual(['over line_full'])
  expect(counts()).toEqual({ open: 1, waiting: 1 })
  await turns(2)
  kept()
  kept()
  expect(counts()).toEqual({ open: 1, waiting: 0 })
})

test('an end that is told twice frees one place', async () => {
  const { add, started } = busyQueue({ running: 1 })
  const [over] = ['a', 'b', 'c'].map((name) => add(name))
  await turns(2)
  over!()
  over!()
  await turns(3)
  expect(started).toEqual(['a', 'b'])
})

test('a stream, a long wait, or a request that waits for another one does not keep the others from starting', async () => {
  const { add, started } = busyQueue({ running: 1, slowMs: 20 })
  add('stream')
  add('next')
  await turns(3)
  expect(started).toEqual(['stream'])
  await sleep(60)
  expect(started).toEqual(['stream', 'next'])
})

test('what has a limit of its own does not count as running', async () => {
  const { add, started } = busyQueue({ running: 1 })
  for (let made = 0; made < 3; made += 1) add('agent', { counts: false })
  await turns(2)
  add('person')
  await turns(2)
  expect(started).toEqual(['agent', 'agent', 'agent', 'person'])
})

test('whoever waited for too long is refused, and whoever has gone does not start', async () => {
  const { add, started, refused } = busyQueue({ running: 1, waitMs: 20 })
  const over = add('runs')
  await turns(1)
  add('late')
  const leave = add('gone')
  leave()
  await sleep(60)
  add('new')
  over()
  await turns(2)
  expect({ started, refused }).toEqual({ started: ['runs', 'new'], refused: ['late waited_too_long'] })
})
