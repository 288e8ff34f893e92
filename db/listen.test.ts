import { expect, test } from 'vitest'
import { createListener, type ListenSession, type Topic } from './listen.ts'

const TIMING = {
  heardMs: 20,
  repeatMs: 5,
  lost: { first: 1, most: 5 },
  unheard: { first: 60_000, most: 60_000 },
}

/** A database to which a session listens; `loses`: which delivers nothing, as a pooler in transaction mode. */
function fakeDatabase({ loses = false } = {}) {
  let onNotify: ((channel: string, payload: string) => void) | undefined
  let lose = () => {}
  const states: string[] = []
  const heard: (string | undefined)[] = []
  const opened = { sessions: 0, isAway: false, loses }
  const send = (payload: string) => opened.loses || onNotify?.('svc_work', payload)
  const listener = createListener({
    timing: TIMING,
    async query(text) {
      if (opened.isAway) throw new Error('planted')
      send(/'svc_work', '(.*)'/.exec(text)![1]!)
    },
    open(told): ListenSession {
      opened.sessions++
      const { promise: lost, resolve } = Promise.withResolvers<void>()
      lose = resolve
      return {
        lost,
        async query() {
          if (opened.isAway) throw new Error('planted')
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
  const { listener, states, opened } = fakeDatabase({ loses: true })
  await expect.poll(() => listener.state()).toBe('polling')
  await listener.stop()
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

test('a connection that went silent is noticed, because it is tried again and again', async () => {
  const { listener, opened } = fakeDatabase()
  await expect.poll(() => listener.state()).toBe('listening')
  opened.loses = true
  await expect.poll(() => listener.state()).toBe('polling')
  await listener.stop()
})
