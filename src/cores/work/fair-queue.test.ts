/** The transitions of the fair queue, for every queue that a process has, and with rules that none of them has yet. */
import * as fc from 'fast-check'
import { describe, expect, inject, test } from 'vitest'
import { FAIR_QUEUES, type CountedRules, type QueueRules } from '../../contracts/fair-queues.ts'
import { countSteps } from '../../../test/support/count-steps.ts'
import { createFairQueue, type Turn } from './fair-queue.ts'

/** Requests by network, person and organization, each with its own caps, and a bound on all that wait. */
const EVERYTHING: QueueRules = {
  keys: ['app', 'person', 'organization'],
  running: { all: 5, app: 3, person: 2, organization: 2 },
  waiting: { all: 12, app: 9, person: 5, organization: 4 },
}
const LENDING: CountedRules = { keys: ['organization', 'person'], running: { all: 8 } }
const BY_TIME: QueueRules = { keys: ['organization', 'person'], running: { all: 2 }, byTime: true }
/** Whoever finds no place is refused, at whichever level nobody may wait. */
const NOBODY_WAITS = (['all', 'organization', 'person'] as const).map((level): [string, QueueRules] => [
  `nobody waits, of ${level}`,
  {
    keys: ['organization', 'person'],
    running: { all: 4, organization: 2, person: 1 },
    waiting: { [level]: 0 },
  },
])
const USERS: readonly (readonly [string, QueueRules])[] = [
  ...Object.entries(FAIR_QUEUES),
  ['everything', EVERYTHING],
  ['lending', LENDING],
  ['by time', BY_TIME],
  ...NOBODY_WAITS,
]

const FILES = ['src/cores/work/fair-queue.ts', 'src/cores/work/linked-list.ts']

/** Where nothing is capped, whoever takes from the queue works on one at a time. */
const serversOf = ({ running }: QueueRules): number => (running ? Infinity : 1)
const capOf = ({ keys, running }: QueueRules, depth: number): number =>
  running?.[(['all', ...keys] as const)[depth]!] ?? Infinity
const waitingCapOf = ({ keys, waiting }: QueueRules, depth: number): number =>
  waiting?.[(['all', ...keys] as const)[depth]!] ?? Infinity
const waitingOf = (rules: QueueRules): number =>
  Math.min(...['all', ...rules.keys].map((_, depth) => waitingCapOf(rules, depth)))

type Asked = {
  readonly keys: readonly string[]
  state: 'new' | 'running' | 'waiting' | 'refused' | 'left' | 'ended'
  leave?: (() => void) | undefined
  turn?: Turn<Asked>
}

/** Starts what may start, and checks that nothing runs or waits which may not. */
function drive(rules: QueueRules, servers = serversOf(rules)) {
  let ms = 0
  const refuse = (one: Asked) => void (one.state = 'refused')
  const queue = createFairQueue<Asked>(rules, { refuse, now: () => ms++ })
  const all: Asked[] = []
  const running: Asked[] = []
  const started: Asked[] = []

  function run(turn: Turn<Asked>): void {
    const one = turn.value
    if (one.state !== 'new' && one.state !== 'waiting') throw new Error(`it is ${one.state} and starts`)
    one.state = 'running'
    one.turn = turn
    running.push(one)
    started.push(one)
    for (let depth = 0; depth <= rules.keys.length; depth++) {
      const group = running.filter((other) => isWithin(other.keys, one.keys.slice(0, depth)))
      if (group.length > capOf(rules, depth)) throw new Error(`${group.length} of ${String(one.keys)} run`)
    }
  }

  function startNext(): void {
    while (running.length < servers) {
      const turn = queue.take()
      if (!turn) break
      run(turn)
    }
  }

  /** Key by key, `a x`; the rest of the keys is the same for all. */
  function ask(name: string): Asked {
    const given = name.split(' ')
    const one: Asked = { keys: rules.keys.map((_, at) => given[at] ?? 'same'), state: 'new' }
    all.push(one)
    const turn = running.length < servers ? queue.start(one.keys, one) : undefined
    if (turn) {
      run(turn)
      return one
    }
    one.state = 'waiting'
    one.leave = queue.add(one.keys, one)
    if (!one.leave) one.state = 'refused'
    for (let depth = 0; depth <= rules.keys.length; depth++) {
      const waiting = queue.waiting(one.keys.slice(0, depth))
      if (waiting > waitingCapOf(rules, depth)) throw new Error(`${waiting} of ${String(one.keys)} wait`)
    }
    return one
  }

  function end(one: Asked): void {
    if (one.state !== 'running') throw new Error(`it is ${one.state} and ends`)
    one.state = 'ended'
    running.splice(running.indexOf(one), 1)
    one.turn!.end()
    startNext()
  }

  function leave(one: Asked): void {
    one.leave!()
    one.state = 'left'
  }

  function finish(): void {
    while (running.length > 0) end(running[0]!)
    expect(all.filter(({ state }) => state === 'waiting' || state === 'running')).toEqual([])
    expect([queue.waiting(), queue.startable(), queue.size()]).toEqual([0, 0, 0])
  }

  /** Until nothing more starts or waits, or so many were asked for. */
  function fill(name: string, most = 100): void {
    for (let count = 0; count < most && ask(name).state !== 'refused'; count++);
  }

  return { queue, all, running, started, ask, end, leave, finish, fill }
}

const isWithin = (keys: readonly string[], start: readonly string[]): boolean =>
  start.every((key, at) => keys[at] === key)
const namesOf = (asked: readonly Asked[]): string => asked.map(({ keys }) => keys[0]).join('')

describe.each(USERS)('%s', (_, rules) => {
  const alone = Math.min(serversOf(rules), ...[0, 1, 2, 3].map((depth) => capOf(rules, depth)))
  const waits = waitingOf(rules)

  test('however much one organization asks for, another is next', () => {
    const { ask, end, fill, running, started, finish } = drive(rules)
    fill('a', 200)
    const own = ask('b')
    expect(own.state).not.toBe('refused')
    if (own.state === 'waiting') end(running[0]!)
    expect(started.at(-1)).toBe(own)
    finish()
  })

  // Of one key alone there is no other member, and nobody is next where nobody waits.
  test.runIf(rules.keys.length > 1 && waits > 1)('of one organization, another member is next', () => {
    const { ask, end, leave, fill, all, running, started, finish } = drive(rules)
    fill('a x', 200)
    const newest = all.findLast(({ state }) => state === 'waiting')
    if (newest) leave(newest)
    const own = ask('a y')
    expect(own.state).not.toBe('refused')
    while (own.state === 'waiting' && running.length > 0) {
      const before = started.length
      end(running[0]!)
      expect(started.slice(before)).toEqual([own])
    }
    finish()
  })

  test('one alone has what is free up to its cap, and gives back what another one wants', () => {
    const { ask, end, fill, running, finish } = drive(rules)
    fill('a', 50)
    expect(running).toHaveLength(Math.min(alone, 50))
    const lent = capOf(rules, 0) === running.length && waits > 0
    const others = [ask('b'), ask('b')]
    if (lent) expect(others.map(({ state }) => state)).toEqual(['waiting', 'waiting'])
    const half = Math.min(2, capOf(rules, 1), Math.floor(alone / 2))
    if (lent) for (let given = 0; given < half; given++) end(running.find(({ keys }) => keys[0] === 'a')!)
    const own = running.filter(({ keys }) => keys[0] === 'b').length
    expect(own).toBeGreaterThanOrEqual(lent ? half : Math.min(serversOf(rules) - running.length + own, 1))
    finish()
  })

  test('those of one key start in the order in which they came', () => {
    const { fill, all, started, finish } = drive(rules)
    fill('a', 50)
    fill('b', 50)
    finish()
    const startedOf = (key: string) => started.filter(({ keys }) => keys[0] === key)
    for (const key of ['a', 'b'])
      expect(startedOf(key)).toEqual(all.filter((one) => startedOf(key).includes(one)))
  })

  test('whoever leaves while it waits does not start, and ending twice gives one turn', () => {
    const { ask, end, leave, fill, all, running, started, finish } = drive(rules)
    fill('a', 50)
    const waiting = all.filter(({ state }) => state === 'waiting')
    for (const one of waiting.slice(0, -1)) leave(one)
    waiting[0]?.leave?.()
    const [first] = running
    if (waiting.length > 0) {
      end(first!)
      expect(started.at(-1)).toBe(waiting.at(-1))
    }
    const before = running.length
    ask('a')
    first!.turn!.end()
    ask('b')
    expect(running.length).toBeLessThanOrEqual(before + 2)
    finish()
    expect(waiting.slice(0, -1).every(({ state }) => state === 'left')).toBe(true)
  })

  // Any number may wait in the others.
  test.runIf(Number.isFinite(waits))('so many wait and no more, and nobody else is refused for it', () => {
    const { ask, leave, all, fill, finish } = drive(rules)
    fill('a', 10_000)
    const waiting = all.filter(({ state }) => state === 'waiting')
    expect(waiting).toHaveLength(waits)
    expect(ask('a').state).toBe('refused')
    expect(ask('b').state).not.toBe('refused')
    if (waits > 0) {
      leave(waiting[0]!)
      expect(ask('a').state).toBe('waiting')
    }
    finish()
  })

  // In the others they wait.
  test.runIf(waits === 0)('whoever finds others in all places is refused', () => {
    const places = Math.min(capOf(rules, 0), 8)
    const { ask, end, running, finish } = drive({ ...rules, running: { ...rules.running, all: places } })
    for (let other = 0; other < places; other++) ask(`other${other}`)
    expect(running).toHaveLength(places)
    expect([ask('new').state, ask('other0 y').state]).toEqual(['refused', 'refused'])
    end(running[0]!)
    expect(ask('new').state).toBe('running')
    finish()
  })
})

/** Asks, ends and leaves at random, of few keys and many. */
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.tuple(fc.constant('ask' as const), fc.stringMatching(/^[a-d] [xy] [mn]$/)) },
    { weight: 4, arbitrary: fc.tuple(fc.constant('end' as const), fc.nat()) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('leave' as const), fc.nat()) },
  ),
  { maxLength: 120 },
)

test.each(USERS)('%s: whatever is asked for runs within its caps, and ends once', (_, rules) => {
  fc.assert(
    fc.property(steps, (taken) => {
      const { queue, all, running, ask, end, leave, finish } = drive(rules, Math.min(serversOf(rules), 3))
      for (const [step, given] of taken) {
        const waiting = all.filter(({ state }) => state === 'waiting')
        if (step === 'ask') ask(given)
        else if (step === 'end' && running.length > 0) end(running[given % running.length]!)
        else if (step === 'leave' && waiting.length > 0) leave(waiting[given % waiting.length]!)
      }
      expect(queue.waiting()).toBe(all.filter(({ state }) => state === 'waiting').length)
      finish()
    }),
    { numRuns: 30 },
  )
})

test.each(USERS)('%s: ever new organizations keep nobody waiting', (_, rules) => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-d] [xy]$/), { minLength: 1, maxLength: 40 }), (names) => {
      const { running, ask, end, finish } = drive(rules, Math.min(serversOf(rules), 3))
      const known = names.map((name) => ask(name))
      const isOpen = () => known.some(({ state }) => state === 'running' || state === 'waiting')
      // As many turns as each has asked for, and before each of them those that a round lets in.
      const most = (known.length + 1) * (33 + known.length)
      let ended = 0
      for (; isOpen() && ended < most; ended++) {
        ask(`new${ended}`)
        end(running[0]!)
      }
      expect(isOpen()).toBe(false)
      finish()
    }),
    { numRuns: 30 },
  )
})

/** `a1` is the first of organization a. */
function takeOrder(rules: CountedRules = { keys: ['organization'] }) {
  const refused: string[] = []
  const queue = createFairQueue<string>(rules, { refuse: (name) => refused.push(name) })
  const add = (...names: readonly string[]) =>
    names.forEach((name) => queue.add([name[0]!], name) ?? refused.push(name))
  const take = (count = Infinity) => {
    const taken: string[] = []
    for (let turn; taken.length < count && (turn = queue.take()); turn.end()) taken.push(turn.value)
    return taken.join(' ')
  }
  return { queue, add, take, refused }
}

const many = (owner: string, count: number) => Array.from({ length: count }, (_, at) => `${owner}${at + 1}`)

test('organizations take turns, each in the order of its own', () => {
  const { add, take } = takeOrder()
  add('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1')
  expect(take()).toBe('a1 b1 c1 a2 b2 a3 a4')
})

test('whoever comes late waits for those who have not had their turn of this round, and for nobody twice', () => {
  const { add, take } = takeOrder()
  add(...many('a', 60), ...many('b', 60))
  expect(take(3)).toBe('a1 b1 a2')
  add('c1', 'c2')
  expect(take(5)).toBe('b2 c1 a3 b3 c2')
})

test('coming again and again gives nobody more than a turn in each round', () => {
  const { add, take } = takeOrder()
  add(...many('a', 9))
  const taken = [take(1)]
  for (let round = 1; round < 4; round += 1) {
    for (const owner of ['b', 'c']) {
      add(`${owner}${round}`)
      taken.push(take(1))
    }
  }
  add('b4')
  taken.push(take(2))
  expect(taken.join(' ')).toBe('a1 b1 c1 a2 b2 c2 a3 b3 c3')
})

test('a full queue takes the room from whoever has most, the newest first', () => {
  const { queue, add, take, refused } = takeOrder({
    keys: ['organization'],
    waiting: { all: 5, organization: 3 },
  })
  add('a1', 'b1', 'b2', 'b3', 'c1')
  add('d1')
  // Two are no more than the two it would have then.
  add('c2')
  add('e1', 'f1')
  expect(refused).toEqual(['b3', 'c2', 'b2', 'f1'])
  expect(queue.waiting()).toBe(5)
  expect(take()).toBe('a1 b1 c1 d1 e1')
})

test('of one network, whoever has most gives way to its other people, too', () => {
  const refused: string[] = []
  const rules: CountedRules = { keys: ['app', 'person'], waiting: { all: 4 } }
  const queue = createFairQueue<string>(rules, { refuse: (name) => refused.push(name) })
  for (const name of ['n x 1', 'n x 2', 'n x 3', 'm z 1']) queue.add(name.split(' ').slice(0, 2), name)
  expect(queue.add(['n', 'y'], 'n y 1')).toBeDefined()
  expect(refused).toEqual(['n x 3'])
  expect(queue.add(['n', 'x'], 'n x 4')).toBeUndefined()
  expect(queue.add(['l', 'w'], 'l w 1')).toBeDefined()
  expect(refused).toEqual(['n x 3', 'n x 2'])
})

test('nobody keeps the others of an organization from waiting', () => {
  const refused: string[] = []
  const rules: CountedRules = { keys: ['organization', 'person'], waiting: { organization: 3 } }
  const queue = createFairQueue<string>(rules, { refuse: (name) => refused.push(name) })
  const add = (name: string) => queue.add(name.split(' ').slice(0, 2), name) !== undefined
  expect(['a x 1', 'a x 2', 'a x 3', 'a x 4', 'b z 1'].map(add)).toEqual([true, true, true, false, true])
  expect(add('a y 1')).toBe(true)
  expect(refused).toEqual(['a x 3'])
  // Two are no more than the two they would have then.
  expect([add('a y 2'), add('a x 3')]).toEqual([false, false])
  expect(add('a w 1')).toBe(true)
  expect(refused).toEqual(['a x 3', 'a x 2'])
  expect([queue.waiting(['a']), queue.waiting(['b'])]).toEqual([3, 1])
})

test('whoever has the fewest running is next, however many of another one wait', () => {
  const { ask, end, running, finish, started } = drive({
    keys: ['organization'],
    running: { all: 3, organization: 2 },
  })
  for (const name of ['a', 'a', 'b', 'a', 'a', 'b', 'b', 'c']) ask(name)
  end(running[0]!)
  expect(namesOf(started)).toBe('aabc')
  finish()
})

test('one that does not fit stays the next one', () => {
  const { queue, add, take } = takeOrder()
  add('a1', 'b1')
  expect(queue.take((name) => name !== 'a1')).toBeUndefined()
  expect(take()).toBe('a1 b1')
})

test.runIf(inject('everyCase'))('many who wait cost no more for each than a few do', async () => {
  const stepsOfEach = async (organizations: number) => {
    const queue = createFairQueue<number>({ ...LENDING, waiting: { all: 100_000 } })
    const count = organizations * 4
    const steps = await countSteps(FILES, () => {
      for (let at = 0; at < count; at++) queue.add([`org ${at % organizations}`, `person ${at % 3}`], at)
      for (let turn = queue.take(); turn; turn = queue.take()) turn.end()
    })
    expect(queue.size()).toBe(0)
    return steps / count
  }
  const few = await stepsOfEach(500)
  expect(few).toBeGreaterThan(0)
  // Walking over all for each start, it would be sixteen times as much; a heap is a few levels higher.
  expect(await stepsOfEach(8_000)).toBeLessThan(few * 2)
})
