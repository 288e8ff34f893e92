/**
 * The loops of notifications. Any number of workers run them on one database, all equal: what they take they take by rows,
 * so none of them is a leader and any of them may die at any moment.
 */
import { randomUUID } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { CLAIM } from '../contracts/limits.ts'
import {
  createSender,
  expireLeases,
  queueRecoveries,
  shipAndFanOut,
  type FanOutDeps,
  type Sender,
  type SenderDeps,
  type SenderOptions,
} from '../cores/notifications/index.ts'
import { createSignal, turnLoop, type Signal } from './turn-loop.ts'

export type NotificationDeps = FanOutDeps & SenderDeps

export type Notifications = {
  /** Stops claiming, waits for what is in flight, gives back the rest. */
  stop(): Promise<void>
}

export type NotificationOptions = Partial<Omit<SenderOptions, 'worker'>> & {
  readonly expireLeasesMs?: number
}

/** How often a process polls; what is recorded in it wakes it at once. */
const POLL_MS = 1_000
/** After an event was recorded in this process: by then its transaction is usually committed. */
const COMMITTED_MS = [20, 200]
/** Something was due and could not go yet: a busy target, an older message of the same subject. */
const POSTPONED_POLL_MS = 200
const EXPIRE_LEASES_MS = 5_000
/** How long the first outcome waits for others, so that one commit serves many: less than a commit takes. */
const BATCH_WAIT_MS = 2

export function startNotifications(deps: NotificationDeps, options: NotificationOptions = {}): Notifications {
  const stopping = new AbortController()
  const signals = {
    recorded: createSignal(),
    // Something was queued, or there is room for more of what was.
    claim: createSignal(),
    ready: createSignal(),
    failed: createSignal(),
    recover: createSignal(),
    expire: createSignal(),
  }
  const sender = createSender(deps, { ...options, worker: randomUUID() })

  const loops = [
    turnLoop(deps.log, 'notifications: fan out', stopping.signal, async () => {
      if (!(await shipAndFanOut(deps))) return signals.recorded.wait(POLL_MS)
      signals.claim.notify()
    }),
    // Beside the sending: while some are in flight, the next ones are prepared.
    turnLoop(deps.log, 'notifications: claim', stopping.signal, async () => {
      if (!sender.hasCapacity()) return signals.claim.wait(POLL_MS)
      const { claimed, due } = await sender.claim()
      if (claimed.length > 0) signals.ready.notify()
      // A full claim: there are more, also where all of these had to be postponed.
      else if (due < CLAIM.rows) await signals.claim.wait(due > 0 ? POSTPONED_POLL_MS : POLL_MS)
    }),
    // Two, taking turns: while the outcomes of one half are written, the other half is in flight.
    ...[1, 2].map(() =>
      turnLoop(deps.log, 'notifications: send', stopping.signal, () => sendTurn(sender, signals)),
    ),
    // Beside the sending as well: dropping all that is queued for a stopped integration takes a while.
    turnLoop(deps.log, 'notifications: follow up', stopping.signal, async () => {
      if (!(await sender.followUp())) await signals.failed.wait(POLL_MS)
    }),
    turnLoop(deps.log, 'notifications: recover', stopping.signal, async () => {
      if (!(await queueRecoveries(deps))) return signals.recover.wait(POLL_MS)
      signals.claim.notify()
    }),
    turnLoop(deps.log, 'notifications: expire leases', stopping.signal, async () => {
      await expireLeases(deps)
      await signals.expire.wait(options.expireLeasesMs ?? EXPIRE_LEASES_MS)
    }),
  ]

  const timers = new Map<number, NodeJS.Timeout>()
  const onRecorded = () => {
    for (const ms of COMMITTED_MS) {
      if (timers.has(ms)) continue
      const notify = () => {
        timers.delete(ms)
        signals.recorded.notify()
      }
      timers.set(ms, setTimeout(notify, ms))
    }
  }
  subscribe('svc.event-recorded', onRecorded)

  return {
    async stop() {
      stopping.abort()
      unsubscribe('svc.event-recorded', onRecorded)
      for (const timer of timers.values()) clearTimeout(timer)
      sender.close()
      for (const signal of Object.values(signals)) signal.notify()
      await Promise.all(loops)
      await finish(deps, sender)
    },
  }
}

async function sendTurn(
  sender: Sender,
  signals: { ready: Signal; claim: Signal; failed: Signal },
): Promise<void> {
  if (sender.hasInFlight() && !sender.shouldFlush()) {
    await signals.ready.wait(POLL_MS, sender.nextOutcome())
    if (!sender.shouldFlush()) await sleep(BATCH_WAIT_MS)
  }
  if (!(await sender.flush())) return signals.ready.wait(POLL_MS, sender.nextOutcome())
  signals.claim.notify()
  signals.failed.notify()
}

/** Once through everything that can be done now: for tests, and for whoever wants to know that nothing is left. */
export async function drainNotifications(deps: NotificationDeps): Promise<void> {
  const sender = createSender(deps, { worker: randomUUID() })
  await expireLeases(deps)
  for (;;) {
    while (await shipAndFanOut(deps));
    while (await queueRecoveries(deps));
    const { due } = await sender.claim()
    while ((await sender.flush()) || sender.hasInFlight()) {
      await (sender.hasInFlight() && sender.nextOutcome())
    }
    await sender.followUp()
    if (due === 0) return
  }
}

/** What is in flight is waited for: its channels have deadlines of their own. */
async function finish(deps: NotificationDeps, sender: Sender): Promise<void> {
  try {
    while (sender.hasInFlight()) {
      await sender.nextOutcome()
      await sender.flush()
    }
    await sender.release()
    // Nobody else learns of these attempts: once more, where the database did not answer.
    await sender.followUp().catch(() => sender.followUp())
  } catch (error) {
    deps.log.warn('notifications stopped with outcomes that could not be written', { error })
  }
}
