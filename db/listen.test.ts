import { expect, test } from 'vitest'
import { createListener, type ListenSession, type Topic } from './listen.ts'

const TIMING = {
  answeredMs: 60_000,
  heardMs: 20,
  repeatMs: 5,
  lost: { first: 1, most: 5 },
  unheard: { first: 60_000, most: 60_000 },
}

/** A database to which a session listens; `loses`: which delivers nothing, as a pooler in transaction mode. */
function fakeDatabase({
  loses = false,
  isFrozen = false,
  answeredMs = TIMING.answeredMs,
  lost = TIMING.lost,
} = {}) {
  let onNotify: ((channel: string, payload: string) => void) | undefined
  let lose = () => {}
  const states: string[] = []
  const statements: string[] = []
  const heard: (string | undefined)[] = []
  const opened = { sessions: 0, unanswered: 0, isAway: false, isFrozen, loses }
  async function answered(): Promise<void> {
    if (!opened.isFrozen) return
    opened.unanswered++
    await new Promise(() => {})
  }
  const send = (payload: string) => opened.loses || onNotify?.('svc_work', payload)
  const listener = createListener({
    timing: { ...TIMING, answeredMs, lost },
    async query(text) {
      if (opened.isAway) throw new Error('planted')
      await answered()
      send(/'svc_work', '(.*)'/.exec(text)![1]!)
    },
    open(told): ListenSession {
      opened.sessions++
      const { promise: lost, resolve } = Promise.withResolvers<void>()
      lose = resolve
      return {
        lost,
        async query(text) {
          if (opened.isAway) throw new Error('planted')
          await answered()
          statements.push(text)
          onNotify = told
        },
        end: async () => void (onNotify = undefined),
      }
    },
    onChange: (state, because) => void states.push(because ? `${state}: ${because}` : state),
  })
  listener.subscribe((topic, key) => void heard.push(topic && `${topic} ${key}`))
  return {
    listener,
    states,
    statements,
    heard,
    opened,
    lose: () => lose(),
    tell: (topic: Topic) => send(`${topic} org_1`),
  }
}

test('it hears what it is told, and nothing of what it sends to itself', async () => {
  const { listener, heard, states, tell } = fakeDatabase()
  await expect.poll(() => listener.state()).toBe('listening')
  tell('checks')
  expect(heard).toEqual([undefined, 'checks org_1'])
  await listener.stop()
  expect(states).toEqual(['listening'])
})

test('where nothing arrives it polls, says so once, and does not try again soon', async () => {
  const { listener, states, statements, opened } = fakeDatabase({ loses: true })
  await expect.poll(() => listener.state()).toBe('polling')
  await listener.stop()
  expect(statements, 'nothing is left at a pooler').toEqual(['listen svc_work', 'unlisten *'])
  expect(states).toEqual(['polling: notifications do not arrive'])
  expect(opened.sessions).toBe(1)
})

test('after a lost connection it listens again, and everything is looked at', async () => {
  const { listener, states, heard, opened, lose } = fakeDatabase()
  await expect.poll(() => listener.state()).toBe('listening')
  opened.isAway = true
  lose()
  await expect.poll(() => opened.sessions).toBeGreaterThan(3)
  expect(listener.state()).toBe('polling')
  heard.length = 0
  opened.isAway = false
  await expect.poll(() => listener.state()).toBe('listening')
  expect(heard.at(-1)).toBeUndefined()
  expect(heard.length).toBeGreaterThan(0)
  await listener.stop()
  expect(states).toEqual(['listening', 'polling: the connection was lost', 'listening'])
})

test('a connection that is lost again and again is opened anew each time as soon as after the first', async () => {
  const { listener, opened, lose } = fakeDatabase({ lost: { first: 20, most: 60_000 } })
  for (let sessions = 1; sessions <= 12; sessions++) {
    await expect.poll(() => [opened.sessions, listener.state()]).toEqual([sessions, 'listening'])
    lose()
  }
  await listener.stop()
})

test('a connection that went silent is noticed, because it is tried again and again', async () => {
  const { listener, opened } = fakeDatabase()
  await expect.poll(() => listener.state()).toBe('listening')
  opened.loses = true
  await expect.poll(() => listener.state()).toBe('polling')
  await listener.stop()
})

test('while the database is away nobody is told to look again', async () => {
  const { listener, heard, opened, lose } = fakeDatabase()
  await expect.poll(() => listener.state()).toBe('listening')
  opened.isAway = true
  lose()
  await expect.poll(() => listener.state()).toBe('polling')
  heard.length = 0
  const tried = opened.sessions
  await expect.poll(() => opened.sessions).toBeGreaterThan(tried + 3)
  expect(heard).toEqual([])
  await listener.stop()
})

test.each(['at first', 'after a while'])(
  'it stops although a database that froze %s never answers',
  async (when) => {
    const { listener, opened } = fakeDatabase({ isFrozen: when === 'at first' })
    if (when === 'after a while') {
      await expect.poll(() => listener.state()).toBe('listening')
      opened.isFrozen = true
      await expect.poll(() => opened.unanswered).toBeGreaterThan(0)
    }
    await listener.stop()
  },
)

test('a statement without an answer is given up, and another connection tried', async () => {
  const { listener, opened } = fakeDatabase({ isFrozen: true, answeredMs: 5 })
  await expect.poll(() => opened.sessions).toBeGreaterThan(2)
  opened.isFrozen = false
  await expect.poll(() => listener.state()).toBe('listening')
  await listener.stop()
})

test('a connection that cannot even be opened is tried again', async () => {
  let opens = 0
  const listener = createListener({
    timing: TIMING,
    query: async () => {},
    open() {
      opens++
      throw new Error('planted')
    },
  })
  listener.subscribe(() => {})
  await expect.poll(() => opens).toBeGreaterThan(2)
  await listener.stop()
})
