/** When requests start and whose is next, without sockets; listener-overload.test.ts has those. */
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { countSteps } from '../../test/support/count-steps.ts'
import { playedTimers } from '../../test/support/played-timers.ts'
import { ADMISSION_LIMITS, createAdmission, type AdmissionLimits, type Refusal } from './admission.ts'

type From = { readonly address?: string; readonly isAgent?: boolean; readonly isUrgent?: boolean }
type Changes = Partial<Omit<AdmissionLimits, 'lanes' | 'slowMs'>> & {
  readonly running?: number
  readonly unvalidatedRunning?: number
  readonly waiting?: number
  readonly waitMs?: number
  readonly slowMs?: number
}

/** Requests that run until the test ends them; `started` has their credentials in order. . */
function admissionOf(changes: Changes = {}) {
  const timers = playedTimers()
  const {
    running = 100,
    unvalidatedRunning = running,
    waiting = 100,
    waitMs = 60_000,
    slowMs = 60_000,
  } = changes
  const caps = { waiting: { all: waiting }, waitMs }
  const { lanes } = ADMISSION_LIMITS
  const admission = createAdmission(
    {
      ...ADMISSION_LIMITS,
      startsPerTurn: 100,
      unvalidatedPerTurn: 100,
      unvalidatedGapMs: 0,
      turnsPerStart: 4,
      urgentPerTurn: 100,
      ...changes,
      slowMs: { validated: slowMs, unvalidated: slowMs },
      lanes: {
        validated: { ...lanes.validated, ...caps, running: { all: running } },
        unvalidated: { ...lanes.unvalidated, ...caps, running: { all: unvalidatedRunning } },
      },
    },
    timers.now,
    timers.start,
  )
  const started: string[] = []
  const refused: string[] = []
  const refusals: Refusal[] = []
  /** Returns how to say that it is over. */
  const add = (credential: string, { address = 'a', isAgent = false, isUrgent = false }: From = {}) =>
    admission.add({
      address,
      credential,
      hasOwnTurns: isAgent,
      isUrgent,
      start: () => started.push(credential),
      refuse(refusal) {
        refused.push(`${credential} ${refusal.because}`)
        refusals.push(refusal)
      },
    })
  const know = (...names: string[]) => names.forEach((name) => admission.validated(name, `usr ${name}`))
  return { ...admission, forget: admission.refused, pass: timers.pass, add, know, started, refused, refusals }
}

/** One in which something is under way, as it is under load. */
function busy(changes: Changes = {}) {
  const admission = admissionOf(changes)
  admission.add('first', { address: 'elsewhere', isUrgent: true })
  admission.started.length = 0
  return admission
}

async function turns(count: number, each: () => void = () => {}): Promise<void> {
  for (let made = 0; made < count; made += 1) {
    each()
    await turn()
  }
}

describe('who was validated', () => {
  test('those who were start first, and of the others one in a turn', async () => {
    const { add, know, started } = busy({ unvalidatedPerTurn: 1 })
    know('ada', 'bob')
    const overs = ['made-up-1', 'made-up-2', 'ada', '', 'bob', 'ada'].map((name) => add(name))
    await turns(1)
    expect(started).toEqual(['ada', 'bob', 'ada', 'made-up-1'])
    for (const over of overs.slice(2)) over()
    await turns(1)
    expect(started.slice(4)).toEqual(['made-up-2'])
  })

  test('while somebody validated is worked for, the others start one after the other with a pause', async () => {
    const { add, know, started, pass } = busy({ unvalidatedGapMs: 50 })
    know('ada')
    const over = add('ada', { isAgent: true })
    const overs = Array.from({ length: 5 }, () => add(''))
    await turns(10)
    expect(started).toEqual(['ada', ''])
    pass(60)
    await turns(10)
    expect(started).toEqual(['ada', ''])
    overs[0]!()
    await turns(10)
    expect(started).toEqual(['ada', ''])
    pass(49)
    await turns(10)
    expect(started).toEqual(['ada', ''])
    pass(1)
    await turns(10)
    expect(started).toEqual(['ada', '', ''])
    over()
    await turns(2)
    expect(started).toEqual(['ada', '', '', '', '', ''])
  })

  test('one that has become slow is not worked for', async () => {
    const { add, know, started, pass } = busy({ unvalidatedPerTurn: 1, unvalidatedGapMs: 60_000, slowMs: 5 })
    know('ada')
    add('ada', { isAgent: true })
    for (let made = 0; made < 3; made += 1) add('')
    await turns(5)
    expect(started).toEqual(['ada', ''])
    pass(5)
    await turns(5)
    expect(started).toEqual(['ada', '', '', ''])
  })

  test('a credential, once it was validated, until it is refused', async () => {
    const { add, know, forget, started } = busy({ unvalidatedRunning: 0 })
    add('ada')
    await turns(2)
    expect(started).toEqual([])
    know('ada')
    await turns(2)
    expect(started).toEqual(['ada'])
    forget('ada')
    add('ada')
    await turns(2)
    expect(started).toEqual(['ada'])
  })

  test('those too who came with the same credential before that, and whoever of them has gone does not start', async () => {
    const { add, know, counts, started, refused } = busy({ unvalidatedRunning: 1, waiting: 5 })
    const overs = ['ada', 'ada', 'ada', 'bob'].map((name) => add(name))
    await turns(2)
    overs[1]!()
    know('ada')
    await turns(2)
    expect(started).toEqual(['ada', 'ada'])
    expect(counts()).toEqual({ open: 3, waiting: 1 })
    for (const over of overs) over()
    expect(counts()).toEqual({ open: 1, waiting: 0 })
    know('bob')
    await turns(2)
    expect([started, refused]).toEqual([['ada', 'ada'], []])
  })

  test('nobody whose credential was not seen for long, or before too many others', async () => {
    const { add, know, pass, started } = busy({
      unvalidatedRunning: 0,
      remembered: 2,
      rememberedMs: 1_000,
    })
    know('ada', 'bob')
    pass(900)
    know('ada', 'cleo')
    for (const name of ['ada', 'bob', 'cleo']) add(name)
    await turns(2)
    expect(started).toEqual(['ada', 'cleo'])
    pass(999)
    add('ada')
    await turns(2)
    pass(1)
    add('ada')
    await turns(2)
    expect(started).toEqual(['ada', 'cleo', 'ada'])
  })
})

describe('whose turn is next', () => {
  test('where nothing is under way a request starts at once, and the next one in its turn', async () => {
    const { add, started, counts } = admissionOf()
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
    const { add, started } = admissionOf()
    add('one')()
    add('two')
    expect(started).toEqual(['one'])
    await turns(1)
    expect(started).toEqual(['one', 'two'])
    const held = admissionOf({ turnsPerStart: 4 })
    await turns(8, () => {
      held.connectionAccepted()
      held.add('any')()
    })
    expect(held.started).toHaveLength(2)
  })

  test('by address, whatever credentials each shows', async () => {
    const { add, started } = busy({ unvalidatedPerTurn: 1 })
    for (let made = 0; made < 4; made += 1) add(`made-up-${made}`, { address: 'many' })
    add('one', { address: 'b' })
    add('other', { address: 'c' })
    add('other', { address: 'c' })
    await turns(10)
    expect(started).toEqual(['made-up-0', 'one', 'other', 'made-up-1', 'other', 'made-up-2', 'made-up-3'])
  })

  test('of the validated first by address, too, and then by who they are, with whichever credential', async () => {
    const { add, know, validated, started } = busy({ startsPerTurn: 1 })
    know('ada', 'bob', 'cleo')
    validated('second token of ada', 'usr ada')
    for (const name of ['ada', 'second token of ada', 'ada', 'bob']) add(name, { address: 'office' })
    add('cleo', { address: 'home' })
    add('cleo', { address: 'home' })
    await turns(10)
    expect(started).toEqual(['ada', 'cleo', 'bob', 'cleo', 'second token of ada', 'ada'])
  })

  test.each([
    ['a /64', '2001:db8:1:1::1', '2001:db8:1:1::2'],
    ['a /56', '2001:db8:1:1::1', '2001:db8:1:ff::1'],
    ['a /48', '2001:db8:1:1::1', '2001:db8:1:ff00::1'],
  ])('of unvalidated, the addresses of %s have one turn among them', async (_size, one, two) => {
    const { add, started } = busy({ unvalidatedPerTurn: 1 })
    for (const address of [one, two, one, two]) add('flood', { address })
    for (let made = 0; made < 3; made += 1) add('other', { address: '2001:db8:2::1' })
    await turns(10)
    expect(started).toEqual(['flood', 'other', 'flood', 'other', 'flood', 'other', 'flood'])
  })

  test('of one network a few run at a time, of those around it a few more', async () => {
    const rules = ADMISSION_LIMITS.lanes.unvalidated
    const runningFrom = async (addresses: readonly string[]) => {
      let running = 0
      const { add } = createAdmission({ ...ADMISSION_LIMITS, unvalidatedPerTurn: 100 })
      const from = (address: string, isUrgent = false) =>
        add({
          address,
          credential: '',
          hasOwnTurns: true,
          isUrgent,
          start: () => (running += 1),
          refuse() {},
        })
      from('elsewhere', true)
      running = 0
      for (let made = 0; made < 20; made += 1) from(addresses[made % addresses.length]!)
      await turns(2)
      return running
    }
    const caps = rules.running!
    expect(await runningFrom(['192.0.2.1'])).toBe(caps.network)
    expect(await runningFrom(['2001:db8:1:1::1', '2001:db8:1:2::1', '2001:db8:1:3::1'])).toBe(caps.block)
    expect(await runningFrom(['2001:db8:1:1::1', '2001:db8:1:100::1', '2001:db8:1:200::1'])).toBe(caps.site)
    const many = Array.from({ length: 20 }, (_, at) => `192.0.2.${at}`)
    expect(await runningFrom(many)).toBe(caps.all)
  })

  test('a turn of the event loop starts few requests', async () => {
    const { add, know, started } = busy({ startsPerTurn: 2 })
    know('a')
    for (let made = 0; made < 5; made += 1) add('a')
    const after: number[] = []
    for (let made = 0; made < 3; made += 1) {
      await turn()
      after.push(started.length)
    }
    expect(after).toEqual([2, 4, 5])
  })

  test('urgent ones start at once, so many in a turn, and more of them wait like all others', async () => {
    const { add, started } = busy({ urgentPerTurn: 3, running: 1 })
    add('running')
    await turns(1)
    add('waiting')
    for (const name of ['u1', 'u2', 'u3', 'u4']) add(name, { isUrgent: true })
    expect(started).toEqual(['running', 'u1', 'u2', 'u3'])
    await turns(2)
    expect(started).toEqual(['running', 'u1', 'u2', 'u3'])
    add('u5', { isUrgent: true })
    expect(started).toEqual(['running', 'u1', 'u2', 'u3', 'u5'])
  })

  test('urgent ones that had to wait give their place back', async () => {
    const { add, started, counts } = busy({ urgentPerTurn: 1, running: 1 })
    const overs = ['u1', 'u2', 'u3', 'after'].map((name) => add(name, { isUrgent: name !== 'after' }))
    expect(started).toEqual(['u1'])
    await turns(2)
    expect(started).toEqual(['u1', 'u2'])
    for (const at of [0, 1, 2]) {
      overs[at]!()
      await turns(2)
    }
    expect(started).toEqual(['u1', 'u2', 'u3', 'after'])
    expect(counts()).toEqual({ open: 2, waiting: 0 })
  })

  test('as long as connections are accepted, one starts in so many turns, and afterwards the others', async () => {
    const { add, started, connectionAccepted } = busy({ turnsPerStart: 4 })
    for (let made = 0; made < 20; made += 1) add('a')
    await turns(12, connectionAccepted)
    expect(started).toHaveLength(3)
    await turns(1)
    expect(started).toHaveLength(20)
  })

  test('only so many run at a time, and the end of one starts the next', async () => {
    const { add, started } = busy({ running: 2 })
    const [over] = ['a', 'b', 'c', 'd'].map((name) => add(name))
    await turns(3)
    expect(started).toEqual(['a', 'b'])
    over!()
    over!()
    await turns(3)
    expect(started).toEqual(['a', 'b', 'c'])
  })

  test('a stream, a long wait, or a request that waits for another one does not keep the others from starting', async () => {
    const { add, started, pass } = busy({ running: 1, slowMs: 20 })
    add('stream')
    add('next')
    await turns(3)
    expect(started).toEqual(['stream'])
    pass(19)
    await turns(3)
    expect(started).toEqual(['stream'])
    pass(1)
    await turns(3)
    expect(started).toEqual(['stream', 'next'])
  })

  test('calls of assistants that were validated have turns of their own, those of others do not', async () => {
    const { add, know, started } = busy({ running: 1 })
    know('agent', 'person')
    for (let made = 0; made < 3; made += 1) add('agent', { isAgent: true })
    for (let made = 0; made < 2; made += 1) add('unknown', { isAgent: true })
    await turns(2)
    add('person')
    await turns(2)
    expect(started).toEqual(['agent', 'agent', 'agent', 'unknown', 'person'])
  })
})

describe('those who wait', () => {
  type Add = ReturnType<typeof admissionOf>['add']
  const waitingIn = (add: Add, address: string, names: readonly string[]) =>
    names.map((name) => add(name, { address }))

  test('may be of one address alone, so many and no more', () => {
    const { add, refused, counts } = busy({ waiting: 3 })
    waitingIn(add, 'a', ['one', 'two', 'three', 'four'])
    expect(refused).toEqual(['four line_full'])
    expect(counts().waiting).toBe(3)
  })

  test('of the address that has most of them the newest gives way', async () => {
    const { add, started, refused } = busy({ waiting: 6 })
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

  test('unvalidated ones push out nobody who was validated, of whichever address', () => {
    const { add, know, refused, counts } = busy({ waiting: 20, running: 0 })
    know('o1', 'o2')
    waitingIn(add, 'flood', ['o1', 'o2'])
    for (let made = 0; made < 1_000; made += 1) add(`made-up-${made}`, { address: 'flood' })
    waitingIn(add, 'office', ['unknown'])
    expect(refused.filter((line) => !line.startsWith('made-up'))).toEqual([])
    expect(counts().waiting).toBe(22)
  })

  test('keep their place where everybody has one, and whoever comes later is refused', async () => {
    const { add, started, refused } = busy({ waiting: 3 })
    for (const name of ['one', 'two', 'three', 'new']) add(name, { address: name })
    expect(refused).toEqual(['new line_full'])
    await turns(2)
    expect(started).toEqual(['one', 'two', 'three'])
  })

  test('leave at once, and do not start', async () => {
    const { add, started, refused, counts } = busy({ waiting: 2 })
    const [leave] = [add('gone'), add('stays')]
    leave()
    leave()
    expect(counts()).toEqual({ open: 1, waiting: 1 })
    add('new')
    await turns(2)
    expect({ started, refused }).toEqual({ started: ['stays', 'new'], refused: [] })
  })

  test('free nothing twice when they were refused and then go away', async () => {
    const { add, refused, counts } = busy({ waiting: 1 })
    const kept = add('kept')
    add('over')()
    expect(refused).toEqual(['over line_full'])
    expect(counts()).toEqual({ open: 1, waiting: 1 })
    await turns(2)
    kept()
    kept()
    expect(counts()).toEqual({ open: 1, waiting: 0 })
  })

  test('for too long are refused', async () => {
    const { add, started, refused, pass } = busy({ running: 1, waitMs: 20 })
    const over = add('runs')
    await turns(1)
    add('late')
    add('gone')()
    pass(21)
    add('new')
    over()
    await turns(2)
    expect({ started, refused }).toEqual({ started: ['runs', 'new'], refused: ['late waited_too_long'] })
  })
})

describe('whoever is refused', () => {
  test('is told whether others of its own network wait', () => {
    const { add, refusals } = busy({ waiting: 1, running: 0 })
    add('one', { address: '2001:db8::1' })
    add('same network', { address: '2001:db8::2' })
    add('another', { address: '192.0.2.1' })
    expect(refusals.map(({ isOwnDoing }) => isOwnDoing)).toEqual([true, false])
  })

  test('is told how long the others take, as fast as turns were given, and never longer than they wait at most', async () => {
    const { add, pass, refusals } = busy({
      waiting: 30,
      unvalidatedRunning: 10,
      waitMs: 15_000,
    })
    const overs = Array.from({ length: 10 }, () => add('quick'))
    await turns(1)
    for (const over of overs) over()
    const hold = Array.from({ length: 10 }, () => add('holds'))
    await turns(1)
    expect(hold).toHaveLength(10)
    // Twenty turns in this second: thirty who wait are gone in two.
    for (let made = 0; made < 31; made += 1) add('waits')
    expect(refusals.at(-1)).toMatchObject({ because: 'line_full', retryAfterSeconds: 2 })
    pass(5_000)
    add('waits')
    expect(refusals.at(-1)).toMatchObject({ retryAfterSeconds: 15 })
  })
})

const FILES = ['src/boot/admission.ts', 'src/cores/work/fair-queue.ts', 'src/cores/work/linked-list.ts']
const LINES: readonly [string, (at: number) => string, string][] = [
  ['all of one address', () => 'flood', 'flood'],
  ['one of each of many addresses', (at) => `flood-${at}`, 'new'],
  ['one flooder, with whom a newcomer changes places', () => 'flood', 'new'],
]

test.each(LINES)(
  'to refuse is as little work with thousands in the line as with a few: %s',
  async (_, nth, address) => {
    const stepsWith = async (waiting: number) => {
      const { add, refused, counts } = busy({ waiting, running: 0 })
      for (let at = 0; at < waiting; at += 1) add('any', { address: nth(at) })
      const steps = await countSteps(FILES, () => add('any', { address }))
      expect({ refused: refused.length, waiting: counts().waiting }).toEqual({ refused: 1, waiting })
      return steps
    }
    const few = await stepsWith(64)
    expect(few).toBeGreaterThan(0)
    // A heap of thousands is a few levels higher.
    expect(await stepsWith(4_096)).toBeLessThan(few + 64)
  },
)

test('a forgotten proxy is noticed once', () => {
  const { noticeProxy, warnings } = createAdmission()
  expect(warnings()).toEqual([])
  expect([noticeProxy(), noticeProxy()]).toEqual([true, false])
  expect(warnings()).toEqual([expect.stringContaining('TRUSTED_PROXIES')])
})
