import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { requestQueue, type QueueLimits } from './request-queue.ts'

/** A queue whose requests run until the test ends them; `started` has their clients in order. */
function queueOf(limits: Partial<QueueLimits> = {}) {
  const queue = requestQueue({
    startsPerTurn: 100,
    turnsPerStart: 4,
    running: 100,
    slowMs: 60_000,
    waiting: 100,
    waitingPerClient: 100,
    waitMs: 60_000,
    ...limits,
  })
  // Something is under way, as it is under load.
  queue.add({ client: 'first', counts: false, start() {}, refuse() {} })
  const started: string[] = []
  const refused: string[] = []
  const ends: (() => void)[] = []
  const add = (client: string, counts = true) =>
    queue.add({
      client,
      counts,
      start(end) {
        started.push(client)
        ends.push(end)
      },
      refuse: () => refused.push(client),
    })
  return { ...queue, add, started, refused, ends }
}

async function turns(count: number, each: () => void = () => {}): Promise<void> {
  for (let made = 0; made < count; made += 1) {
    each()
    await turn()
  }
}

test('where nothing is under way a request starts at once, and the next one in its turn', async () => {
  const queue = requestQueue()
  const [started, ends]: [string[], (() => void)[]] = [[], []]
  const request = (name: string) => ({
    client: 'a',
    counts: true,
    start(end: () => void) {
      started.push(name)
      ends.push(end)
    },
    refuse() {},
  })
  queue.add(request('one'))
  queue.add(request('two'))
  expect(started).toEqual(['one'])
  await turns(2)
  expect(started).toEqual(['one', 'two'])
  for (const end of ends) end()
  queue.add(request('three'))
  expect(started).toEqual(['one', 'two', 'three'])
})

test('of several clients one request of each starts in turn, whoever came first with many', async () => {
  const { add, started } = queueOf({ startsPerTurn: 1 })
  for (let made = 0; made < 5; made += 1) add('many')
  add('one')
  add('other')
  add('other')
  await turns(10)
  expect(started).toEqual(['many', 'one', 'other', 'many', 'other', 'many', 'many', 'many'])
})

test('a turn of the event loop starts few requests', async () => {
  const { add, started } = queueOf({ startsPerTurn: 2 })
  for (let made = 0; made < 5; made += 1) add('a')
  const after: number[] = []
  for (let made = 0; made < 3; made += 1) {
    await turn()
    after.push(started.length)
  }
  expect(after).toEqual([2, 4, 5])
})

test('as long as connections are accepted, one starts in so many turns, and afterwards the others', async () => {
  const { add, started, connectionAccepted } = queueOf({ turnsPerStart: 4 })
  for (let made = 0; made < 20; made += 1) add('a')
  await turns(12, connectionAccepted)
  expect(started).toHaveLength(3)
  await turns(1)
  expect(started).toHaveLength(20)
})

test('only so many run at a time, and the end of one starts the next', async () => {
  const { add, started, ends } = queueOf({ running: 2 })
  for (const client of ['a', 'b', 'c', 'd']) add(client)
  await turns(3)
  expect(started).toEqual(['a', 'b'])
  ends[0]!()
  await turns(3)
  expect(started).toEqual(['a', 'b', 'c'])
})

test('more than may wait, of one client or of all, are refused at once, and whoever leaves makes room', async () => {
  const { add, started, refused } = queueOf({ waiting: 3, waitingPerClient: 2 })
  const [leave] = [add('a'), add('a'), add('a')]
  add('b')
  add('c')
  expect(refused).toEqual(['a', 'c'])
  leave()
  add('d')
  await turns(2)
  expect(started).toEqual(['a', 'b', 'd'])
  add('c')
  await turns(2)
  expect(refused).toEqual(['a', 'c'])
})

test('an end that is told twice frees one place', async () => {
  const { add, started, ends } = queueOf({ running: 1 })
  for (const client of ['a', 'b', 'c']) add(client)
  await turns(2)
  ends[0]!()
  ends[0]!()
  await turns(3)
  expect(started).toEqual(['a', 'b'])
})

test('a stream, a long wait, or a request that waits for another one does not keep the others from starting', async () => {
  const { add, started } = queueOf({ running: 1, slowMs: 20 })
  add('stream')
  add('next')
  await turns(3)
  expect(started).toEqual(['stream'])
  await sleep(60)
  expect(started).toEqual(['stream', 'next'])
})

test('what has a limit of its own does not count as running', async () => {
  const { add, started } = queueOf({ running: 1 })
  for (let made = 0; made < 3; made += 1) add('agent', false)
  await turns(2)
  add('person')
  await turns(2)
  expect(started).toEqual(['agent', 'agent', 'agent', 'person'])
})

test('whoever waited for too long is refused, and whoever has gone does not start', async () => {
  const { add, started, refused, ends } = queueOf({ running: 1, waitMs: 20 })
  add('runs')
  await turns(1)
  add('late')
  const leave = add('gone')
  leave()
  await sleep(60)
  add('new')
  ends[0]!()
  await turns(2)
  expect({ started, refused }).toEqual({ started: ['runs', 'new'], refused: ['late'] })
})
