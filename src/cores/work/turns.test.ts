import { expect, test } from 'vitest'
import { FAIR_QUEUES, type QueueRules } from '../../contracts/fair-queues.ts'
import { createFairQueue } from './fair-queue.ts'
import { createTurns, type TurnOptions } from './turns.ts'

const USERS: readonly (readonly [string, QueueRules])[] = Object.entries(FAIR_QUEUES)
/** Of one owner alone. */
const capOf = ({ keys }: QueueRules, caps: QueueRules['running']): number =>
  Math.min(caps?.all ?? Infinity, ...keys.map((key) => caps?.[key] ?? Infinity))
/** Those that start what waits by themselves: the others are asked for the next one. */
const STARTING = USERS.filter(([, { running }]) => running)
const [WAITING, NOT_WAITING] = [
  STARTING.filter(([, rules]) => capOf(rules, rules.waiting) !== 0),
  STARTING.filter(([, rules]) => capOf(rules, rules.waiting) === 0),
]

/** Work that runs until it is ended, of organization `a` in `a1`. */
function hold(rules: QueueRules) {
  const turns = createTurns(rules, () => 0)
  const started: string[] = []
  const ends = new Map<string, (result: Promise<void> | void) => void>()
  return {
    turns,
    started,
    take: (name: string, options?: TurnOptions) =>
      turns.take(
        rules.keys.map((_, at) => (at === 0 ? name[0]! : 'same')),
        () => {
          started.push(name)
          return new Promise<void>((end) => ends.set(name, end))
        },
        options,
      ),
    end: (name: string, result?: Promise<void>) => ends.get(name)!(result),
    most: capOf(rules, rules.running),
  }
}

const names = (owner: string, count: number) => Array.from({ length: count }, (_, at) => `${owner}${at + 1}`)

test.each(STARTING)(
  '%s: work that fails gives its turn back, and hanging up does not stop work',
  async (_, rules) => {
    const { turns, take, end, most } = hold(rules)
    const client = new AbortController()
    const all = names('a', most).map((name) => take(name, { signal: client.signal }))
    client.abort()
    end('a1', Promise.reject(new Error('broke')))
    await expect(all[0]).rejects.toThrow('broke')
    const next = take('a0')
    for (const name of ['a0', ...names('a', most).slice(1)]) end(name)
    await Promise.all([next, ...all.slice(1)])
    expect(turns.size()).toBe(0)
  },
)

test.each(WAITING)(
  '%s: whoever hangs up leaves the place to the next, and takes no turn',
  async (_, rules) => {
    const { turns, started, take, end, most } = hold(rules)
    const all = names('a', most).map((name) => take(name))
    const client = new AbortController()
    const left = take('a left', { signal: client.signal })
    const waits = take('a0', { signal: new AbortController().signal })
    client.abort()
    await expect(left).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    await expect(take('a gone before', { signal: client.signal })).rejects.toMatchObject({
      code: 'RATE_LIMITED',
    })
    end('a1')
    await all[0]
    expect(started).toEqual([...names('a', most), 'a0'])
    for (const name of ['a0', ...names('a', most).slice(1)]) end(name)
    await Promise.all([waits, ...all])
    expect(turns.size()).toBe(0)
  },
)

test.each(STARTING.filter(([, { waiting, refusal }]) => waiting && refusal))(
  '%s: more than may wait are refused with its words',
  async (_, rules) => {
    const { turns, take, end, most } = hold(rules)
    const all = names('a', most + capOf(rules, rules.waiting)).map((name) => take(name))
    const refusal = {
      code: 'RATE_LIMITED',
      message: rules.refusal!.full,
      retryAfterSeconds: rules.refusal!.retryAfterSeconds ?? 2,
    }
    await expect(take('a0')).rejects.toMatchObject(refusal)
    await expect(take('a0', { retryAfterSeconds: 7 })).rejects.toMatchObject({
      ...refusal,
      retryAfterSeconds: 7,
    })
    for (const [at, one] of all.entries()) {
      end(`a${at + 1}`)
      await one
    }
    expect(turns.size()).toBe(0)
  },
)

test.each(NOT_WAITING)('%s: whoever finds others in all places is refused at once', async (_, rules) => {
  // Whoever had to wait would hang here.
  const few = { ...rules, running: { ...rules.running, all: 2 } }
  const { turns, take, end } = hold(few)
  const others = [take('a1'), take('b1')]
  const refusal = {
    code: 'RATE_LIMITED',
    ...(rules.refusal && { message: rules.refusal.full }),
    retryAfterSeconds: rules.refusal?.retryAfterSeconds ?? 2,
  }
  await expect(take('c1')).rejects.toMatchObject(refusal)
  await expect(take('c1', { signal: new AbortController().signal })).rejects.toMatchObject(refusal)
  end('a1')
  await others[0]
  const next = take('c1')
  for (const name of ['b1', 'c1']) end(name)
  await Promise.all([next, others[1]])
  expect(turns.size()).toBe(0)
})

test.each(WAITING.filter(([, { waitMs }]) => waitMs))(
  '%s: nobody waits for longer than its time',
  async (_, rules) => {
    const { turns, started, take, end, most } = hold({ ...rules, waitMs: 20 })
    const all = names('a', most).map((name) => take(name))
    await expect(take('a0')).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      ...(rules.refusal && { message: rules.refusal.late ?? rules.refusal.full }),
    })
    for (const name of names('a', most)) end(name)
    await Promise.all(all)
    expect(started).toEqual(names('a', most))
    expect(turns.size()).toBe(0)
  },
)

test('turns by time need a clock', () => {
  // @ts-expect-error without one they would go by number
  createTurns(FAIR_QUEUES.documents)
  // @ts-expect-error nor does the queue have one of its own
  createFairQueue(FAIR_QUEUES.tablePreviews)
  expect(createTurns(FAIR_QUEUES.evals).size()).toBe(0)
})

/** Work that takes so long by the clock of the turns, and what had its turn in which order. */
function timedTurns() {
  let ms = 0
  const rules: QueueRules = { keys: ['organization'], running: { all: 1 }, byTime: true }
  const turns = createTurns(rules, () => ms)
  const order: string[] = []
  const work = (name: string, takes: number) =>
    turns.take([name[0]!], async () => {
      order.push(name)
      await Promise.resolve()
      ms += takes
    })
  return { order, work }
}

test('whoever asks for what takes long waits for as long as others with what is short', async () => {
  const { order, work } = timedTurns()
  const long = ['a', 'b'].flatMap((name) => Array.from({ length: 5 }, (_, i) => work(`${name}${i}`, 3_000)))
  const short = Array.from({ length: 20 }, (_, i) => work(`c${i}`, 100))
  await Promise.all([...long, ...short])
  // Of the long ones two may be before it, and then all of its own are the time of one.
  expect(order.slice(2, 22).every((name) => name.startsWith('c'))).toBe(true)
})

test('neither coming back each time nor having been away helps anybody', async () => {
  const { order, work } = timedTurns()
  const again = async (name: string, times: number, takes: number) => {
    for (let i = 0; i < times; i++) await work(`${name}${i}`, takes)
  }
  await Promise.all([again('a', 3, 3_000), ...Array.from({ length: 20 }, (_, i) => work(`c${i}`, 100))])
  // Whoever asks for its next when it has had one has used what it has used.
  expect(order.join(' ')).toMatch(/^a0 (?:c\d+ ){20}a1 a2$/)
  order.length = 0
  // One that was away for long has no claim to all the time that others had.
  const busy = Array.from({ length: 10 }, (_, i) => work(`a${i}`, 1_000))
  await busy[3]
  await Promise.all([...busy, ...Array.from({ length: 6 }, (_, i) => work(`d${i}`, 1_000))])
  expect(order.slice(4).join(' ')).toMatch(/a\d+ .*d0 .*a\d+ .*d1 .*a\d+ .*d2/)
})

test('ever new organizations that ask once do not keep one waiting that has used some time', async () => {
  const { order, work } = timedTurns()
  const newOne = (n: number) => work(String.fromCharCode(0x100 + n), 100)
  const asked = [work('a0', 3_000), work('a1', 0)]
  // Of the others there is always one waiting.
  let next = newOne(0)
  for (let n = 1; n < 300 && !order.includes('a1'); n++) {
    const before = next
    next = newOne(n)
    await before
  }
  await Promise.all([...asked, next])
  expect(order.indexOf('a1')).toBeLessThan(100)
})
