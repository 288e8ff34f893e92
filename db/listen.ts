/**
 * Who waits for work is told of it: NOTIFY in the transaction that makes it, so that nobody hears before the commit or after a
 * rollback, and LISTEN on one connection of a process. A pooler in transaction mode takes the LISTEN and delivers nothing, so
 * a message to itself tells whether it works. Where it does not, whoever waits looks again by itself.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SQL } from 'drizzle-orm'
import { CONFIRMED_LATER, setConfirmedBy } from './commit-locally.ts'
import { outsideCalls } from './current-call.ts'
import { is, PgTransaction, sql } from './drizzle.ts'

const CHANNEL = 'svc_work'

export const TOPICS = [
  'attempts',
  'changes',
  'checks',
  'deployments',
  'endings',
  'events',
  'loads',
  'logs',
  'maintenance',
  'messages',
  'pipelines',
  'pull-requests',
  'recoveries',
  'schedules',
] as const
export type Topic = (typeof TOPICS)[number]

/** A handle of `connect`. */
type Executes = { execute(query: SQL): PromiseLike<unknown> }

const toldIn = new WeakMap<object, Set<string>>()

/** `key`: what it concerns, for those that wait for nothing else. Equal ones of a transaction are one. */
export const notify = (handle: Executes, topic: Topic, key = ''): Promise<void> =>
  notifyEach(handle, topic, [key])

/** The same of many at once. */
export async function notifyEach(handle: Executes, topic: Topic, keys: Iterable<string>): Promise<void> {
  const isTransaction = is(handle, PgTransaction)
  const told = (isTransaction && toldIn.get(handle)) || new Set<string>()
  const payloads = [...new Set([...keys].map((key) => `${topic} ${key}`))].filter((one) => !told.has(one))
  if (payloads.length === 0) return
  if (isTransaction) toldIn.set(handle, new Set([...told, ...payloads]))
  // A commit that notifies holds a lock of the whole server until it is over: were it to wait for a standby, so would
  // everybody who notifies.
  const rows = (await handle.execute(sql`
    select pg_notify(${CHANNEL}, payload)::text, ${sql.raw(CONFIRMED_LATER)} as server
    from json_array_elements_text(${JSON.stringify(payloads)}::text::json) as payload`)) as {
    server: string | null
  }[]
  if (isTransaction && rows[0]?.server) setConfirmedBy(handle, rows[0].server)
}

const soon = new WeakMap<Executes, Map<Topic, Set<string>>>()

/**
 * For what changes many times a second, in statements that must not take longer: all of it is told in one statement after so
 * long. If the process ends before, whoever waits learns of it with the next change. In a transaction: with its commit.
 */
export async function notifySoon(
  handle: Executes,
  topic: Topic,
  key: string,
  afterMs: number,
): Promise<void> {
  if (is(handle, PgTransaction)) return notify(handle, topic, key)
  const topics = soon.get(handle) ?? new Map<Topic, Set<string>>()
  soon.set(handle, topics)
  const before = topics.get(topic)
  if (before) return void before.add(key)
  const keys = new Set([key])
  topics.set(topic, keys)
  const tell = () => {
    topics.delete(topic)
    // A database that is away says so to whoever asks it.
    void notifyEach(handle, topic, keys).catch(() => {})
  }
  outsideCalls(() => setTimeout(tell, afterMs).unref())
}

export type Listening = 'listening' | 'polling'

/** Without a topic: anything may have happened. */
type Heard = (topic: Topic | undefined, key: string) => void

export type Listener = {
  /** Whether work is heard of, once that is known. */
  state(): Listening | undefined
  /** The first one begins to listen. Returns how to end it. */
  subscribe(heard: Heard): () => void
}

/** What the two engines do differently. */
export type ListenSession = {
  query(text: string): Promise<unknown>
  /** Resolves when the connection is lost. */
  readonly lost: Promise<void>
  end(): Promise<void>
}
type ListenerOptions = {
  /** Opens the connection that listens. */
  readonly open: (onNotify: (channel: string, payload: string) => void) => ListenSession
  /** On another connection, if there is one. */
  readonly query: (text: string) => Promise<unknown>
  readonly onChange?: ((state: Listening, because: string) => void) | undefined
  readonly timing?: typeof TIMING
}

const TIMING = {
  /** Of a statement, which may wait for one of the connections that others use. */
  answeredMs: 30_000,
  /** Of the message to itself: longer than a busy database takes. */
  heardMs: 5_000,
  /** How often it is repeated: firewalls forget a silent connection, and neither side learns of it. */
  repeatMs: 60_000,
  /** Before it tries again, doubling. */
  lost: { first: 100, most: 10_000 },
  /** Behind a pooler there is little hope; but a busy process may have taken too long. */
  unheard: { first: 10_000, most: 5 * 60_000 },
}

export function createListener({ open, query, onChange, timing = TIMING }: ListenerOptions) {
  const { heardMs, repeatMs } = timing
  const subscribers = new Set<Heard>()
  const stopping = new AbortController()
  const pause = (ms: number, signal = stopping.signal) =>
    sleep(ms, undefined, { signal, ref: false }).catch(() => {})
  let state: Listening | undefined
  let running: Promise<void> | undefined
  let session: ListenSession | undefined
  let onTest = () => {}

  const tell: Heard = (topic, key) => {
    for (const heard of subscribers) heard(topic, key)
  }

  function onNotify(channel: string, payload: string): void {
    if (channel !== CHANNEL) return
    const [topic, key] = payload.split(' ', 2)
    if (topic === test) onTest()
    else if (isTopic(topic)) tell(topic, key ?? '')
  }

  function enter(next: Listening, because = ''): void {
    if (state === next) return
    onChange?.(next, because)
    state = next
    // Looked at once: meanwhile nobody told of anything, or nobody will.
    tell(undefined, '')
  }

  /** A database that has gone may never answer, nor end the connection. */
  async function inTime<T>(answer: Promise<T>, over: AbortSignal, ms = timing.answeredMs): Promise<T> {
    const answered = new AbortController()
    const late = pause(ms, AbortSignal.any([answered.signal, over])).then(() => {
      throw new Error('no answer')
    })
    try {
      return await Promise.race([answer, late])
    } finally {
      answered.abort()
    }
  }

  const test = `test-${crypto.randomUUID()}`
  async function isHeard(over: AbortSignal): Promise<boolean> {
    const heard = new Promise<boolean>((resolve) => (onTest = () => resolve(true)))
    await inTime(query(`select pg_notify('${CHANNEL}', '${test}')`), over)
    return inTime(heard, over, heardMs).catch(() => over.aborted)
  }

  /** Until the connection is lost. False: it heard nothing of what was sent to it. */
  async function listen(session: ListenSession): Promise<boolean> {
    const lost = new AbortController()
    void session.lost.then(() => lost.abort())
    const over = AbortSignal.any([lost.signal, stopping.signal])
    await inTime(session.query(`listen ${CHANNEL}`), over)
    while (!over.aborted) {
      if (!(await isHeard(over))) {
        // A pooler keeps the connection, and would send others what nobody reads.
        await inTime(session.query('unlisten *'), over, heardMs).catch(() => {})
        return false
      }
      if (!over.aborted) enter('listening')
      await pause(repeatMs, over)
    }
    return true
  }

  async function keepListening(): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted; failures++) {
      let [retry, because] = [timing.lost, 'the connection was lost']
      try {
        session = open(onNotify)
        if (!(await listen(session))) [retry, because] = [timing.unheard, 'notifications do not arrive']
      } catch {
        // The database is away, which whoever asks it says.
      }
      await session?.end().catch(() => {})
      if (stopping.signal.aborted) return
      if (state === 'listening') failures = 0
      enter('polling', because)
      // By chance, so that not all processes come back in the same moment.
      await pause((0.5 + Math.random() / 2) * Math.min(retry.first * 2 ** failures, retry.most))
    }
  }

  return {
    state: () => state,
    subscribe(heard: Heard) {
      subscribers.add(heard)
      running ??= keepListening()
      return () => void subscribers.delete(heard)
    },
    async stop(): Promise<void> {
      stopping.abort()
      // What it waits for may never come.
      await session?.end().catch(() => {})
      await running
    },
  }
}

const isTopic = (name: string | undefined): name is Topic => (TOPICS as readonly unknown[]).includes(name)

const listeners = new WeakMap<object, Listener>()

export const setListener = (db: object, listener: Listener): void => void listeners.set(db, listener)

/** One that never hears anything where the handle was not made by `connect`. */
export const listenerOf = (db: object): Listener => listeners.get(db) ?? DEAF

const DEAF: Listener = { state: () => undefined, subscribe: () => () => {} }
