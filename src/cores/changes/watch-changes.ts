/** An event stream of what changes in the organization. Before each event it is asked anew whether its reader may have it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { listenerOf, type Listener, type Topic } from '../../../db/listen.ts'
import { CHANGING_LISTS, type ChangingList } from '../../contracts/changes.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import type { Principal } from '../../contracts/operation.ts'
import { atLeast } from '../../contracts/roles.ts'
import { requireMember, type MemberPrincipal } from '../principal.ts'
import { read, type Verb } from '../verb.ts'
import { createSignal, createTurns } from '../work/index.ts'
import { readChange, type Change } from './notify-change.ts'

/** Between two events of a stream: what changes meanwhile is one. */
const LEAST_MS = 1_000
/**
 * Without an event. Proxies give up a silent connection after a minute, a console of its own after REMOTE_ANSWER_SECONDS, and
 * rights that ended close it by then. Nearly all that an open page costs is to ask for them: not more often than it must be.
 */
const REST_MS = 30_000
/** Until it is begun to be read. Nobody reads the one of a call that was answered without it, or of who has left. */
const FIRST_READ_MS = 3_000
/** A process that ends lets all of its streams go at once: they come back one after the other. */
const RETRY_MS = { least: 5_000, most: 20_000 }

const watching = createTurns(FAIR_QUEUES.changeWaits)
const encoder = new TextEncoder()

export const watchChanges: Verb<'watchChanges'> = read(async ({ db, member, principal, orgId, userId }) => {
  const opened = Promise.withResolvers<ReadableStream<Uint8Array>>()
  watching
    .take(
      [orgId, userId],
      async () => {
        const { body, ended } = openStream(listenerOf(db), member, principal)
        opened.resolve(body)
        await ended
      },
      { signal: principal.signal },
    )
    .catch(opened.reject)
  return { body: await opened.promise }
})

/** The organization stays that of its first moment: who is moved to another one reads nothing more here. */
function openStream(listener: Listener, member: MemberPrincipal, { again, signal }: Principal) {
  const { orgId, userId } = member
  const changed = new Map<ChangingList, Set<string | null>>()
  /** As they were validated last. */
  let reader = member
  const told = createSignal()
  const ended = Promise.withResolvers<void>()
  let isOver = false
  const unsubscribe = listener.subscribe((topic, key) => {
    // What is not for them does not even wake them: that something happens is as little theirs as what.
    const heard = heardOf(topic, key, { orgId, userId }).filter(
      (one) => one.orgId === orgId && isFor(reader, one.list, new Set([one.userId])),
    )
    for (const { list, userId: whose } of heard)
      changed.set(list, (changed.get(list) ?? new Set()).add(whose))
    if (heard.length > 0) told.notify()
  })
  const unread = setTimeout(end, FIRST_READ_MS).unref()
  function end(): void {
    isOver = true
    clearTimeout(unread)
    unsubscribe()
    told.notify()
    signal?.removeEventListener('abort', end)
    ended.resolve()
  }
  signal?.addEventListener('abort', end, { once: true })

  /** Null: they may not read it any more, or nobody can say. Whoever asks again is told which. */
  async function nextEvent(): Promise<string | null> {
    if (!isOver) await told.wait(REST_MS)
    if (!isOver && changed.size > 0) await sleep(LEAST_MS, undefined, { ref: false })
    if (isOver) return null
    const now = await again?.()
      .then(requireMember)
      .catch(() => undefined)
    if (!now || now.orgId !== orgId || now.userId !== userId) return null
    reader = now
    // Where notifications do not arrive, nobody knows.
    if (changed.size === 0 && listener.state() === 'polling')
      for (const list of LISTS) changed.set(list, new Set([userId]))
    const lists = [...changed].filter(([list, whose]) => isFor(now, list, whose)).map(([list]) => list)
    changed.clear()
    return lists.length === 0 ? ':\n\n' : `data: ${lists.join(' ')}\n\n`
  }
  const retryMs = Math.round(RETRY_MS.least + Math.random() * (RETRY_MS.most - RETRY_MS.least))
  let isFirst = true
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(unread)
        const event = isFirst && !isOver ? `retry: ${retryMs}\n\n` : await nextEvent()
        isFirst = false
        if (event !== null) return controller.enqueue(encoder.encode(event))
        end()
        controller.close()
      },
      cancel: end,
    },
    // Nothing is made for who does not read.
    { highWaterMark: 0 },
  )
  return { body, ended: ended.promise }
}

const LISTS = Object.keys(CHANGING_LISTS) as ChangingList[]

function heardOf(topic: Topic | undefined, key: string, self: { orgId: string; userId: string }): Change[] {
  // Nobody knows what was missed meanwhile.
  if (topic === undefined) return LISTS.map((list) => ({ ...self, list }))
  if (topic === 'attempts') return [{ orgId: key, list: 'deliveries', userId: null }]
  return topic === 'changes' ? [readChange(key)].filter((one) => one !== undefined) : []
}

/** `whose`: whom the changes concern, where that is known. */
function isFor({ role, userId }: MemberPrincipal, list: ChangingList, whose: ReadonlySet<string | null>) {
  const { for: least, own } = CHANGING_LISTS[list]
  return (least !== null && atLeast(role, least)) || (own && whose.has(userId))
}
