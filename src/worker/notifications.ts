/**
 * The quick loops of notifications. Any number of workers run them over one database, all equal: whatever they take they
 * take by rows, so none of them is a leader and any of them may die at any moment.
 */
import { randomUUID } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { CLAIM } from '../contracts/limits.ts'
import {
  createSender,
  reap,
  takeIn,
  type FanOutNeeds,
  type Sender,
  type SenderNeeds,
  type SenderOptions,
} from '../cores/notifications/index.ts'

export type NotificationNeeds = FanOutNeeds & SenderNeeds

export type Notifications = {
  /** Stops taking, waits for what is under way, gives back the rest. */
  stop(): Promise<void>
}

export type Pace = Partial<Omit<SenderOptions, 'worker'>> & { readonly reapMs?: number }

/** How often a process looks by itself; what is made in it wakes it at once. */
const LOOK_MS = 1_000
/** An event was recorded in this process: by then its transaction is usually committed. */
const COMMITTED_MS = [20, 200]
/** Something was due and could not go yet: a busy target, an older one of the same subject. */
const SOON_MS = 200
const REAP_MS = 5_000
/** How long the first answer waits for others, so that one commit does for many: less than a commit takes. */
const FLOCK_MS = 2
/** After trouble with the database, doubling. */
const TROUBLE_MS = 250
const TROUBLE_MAX_MS = 30_000

export function startNotifications(needs: NotificationNeeds, pace: Pace = {}): Notifications {
  const stopping = new AbortController()
  const bells = { intake: newBell(), claim: newBell(), room: newBell(), send: newBell(), reap: newBell() }
  const sender = createSender(needs, { ...pace, worker: randomUUID() })

  const loops = [
    loop(needs, 'take in', stopping.signal, async () => {
      if (!(await takeIn(needs))) return bells.intake.wait(LOOK_MS)
      bells.claim.ring()
    }),
    // Beside the sending: while some are on their way the next ones are made ready.
    loop(needs, 'claim', stopping.signal, async () => {
      if (!sender.hasRoom()) return bells.room.wait(LOOK_MS)
      const { claimed, looked } = await sender.claim()
      if (claimed.length > 0) bells.send.ring()
      // As many as fit were looked at: there are more, also where all of these had to be put off.
      else if (looked < CLAIM.rows) await bells.claim.wait(looked > 0 ? SOON_MS : LOOK_MS)
    }),
    // Two, taking turns: while the outcomes of one half are written, the other half is on the wire.
    ...[1, 2].map(() => loop(needs, 'send', stopping.signal, () => sendTurn(sender, bells))),
    loop(needs, 'reap', stopping.signal, async () => {
      await reap(needs)
      await bells.reap.wait(pace.reapMs ?? REAP_MS)
    }),
  ]

  const timers = new Map<number, NodeJS.Timeout>()
  const hear = () => {
    for (const ms of COMMITTED_MS) {
      if (timers.has(ms)) continue
      const ring = () => {
        timers.delete(ms)
        bells.intake.ring()
      }
      timers.set(ms, setTimeout(ring, ms))
    }
  }
  subscribe('svc.event-recorded', hear)

  return {
    async stop() {
      stopping.abort()
      unsubscribe('svc.event-recorded', hear)
      for (const timer of timers.values()) clearTimeout(timer)
      sender.close()
      for (const bell of Object.values(bells)) bell.ring()
      await Promise.all(loops)
      await finish(needs, sender)
    },
  }
}

async function sendTurn(sender: Sender, bells: { send: Bell; room: Bell }): Promise<void> {
  if (sender.isUnderWay() && !sender.isRipe()) {
    await bells.send.wait(LOOK_MS, sender.answer())
    if (!sender.isRipe()) await sleep(FLOCK_MS)
  }
  if (await sender.step()) bells.room.ring()
  else await bells.send.wait(LOOK_MS, sender.answer())
}

/** Once through everything that can be done now: for tests, and for whoever wants to know that nothing is left. */
export async function drainNotifications(needs: NotificationNeeds): Promise<void> {
  const sender = createSender(needs, { worker: randomUUID() })
  await reap(needs)
  for (;;) {
    while (await takeIn(needs));
    const claim = await sender.claim()
    while ((await sender.step()) || sender.isUnderWay()) await (sender.isUnderWay() && sender.answer())
    if (claim.looked === 0) return
  }
}

/** What is under way is waited for: its channels have deadlines of their own. */
async function finish(needs: NotificationNeeds, sender: Sender): Promise<void> {
  try {
    while (sender.isUnderWay()) {
      await sender.answer()
      await sender.step()
    }
    await sender.release()
  } catch (error) {
    needs.log.warn('notifications stopped with answers that could not be written', { error })
  }
}

async function loop(
  { log }: NotificationNeeds,
  name: string,
  stopping: AbortSignal,
  turn: () => Promise<void>,
): Promise<void> {
  let trouble = 0
  const bell = newBell()
  stopping.addEventListener('abort', () => bell.ring(), { once: true })
  while (!stopping.aborted) {
    try {
      await turn()
      trouble = 0
    } catch (error) {
      log.warn('notifications: a turn failed', { loop: name, error })
      await bell.wait(Math.min(TROUBLE_MS * 2 ** trouble++, TROUBLE_MAX_MS))
    }
  }
}

type Bell = {
  ring(): void
  /** Until it rings, the time is over, or the other thing has happened. */
  wait(ms: number, other?: Promise<void>): Promise<void>
}

/** Rung while nobody waits, it is heard by whoever waits next. */
function newBell(): Bell {
  let isRung = false
  const waiting = new Set<() => void>()
  return {
    ring() {
      isRung = waiting.size === 0
      for (const wakeUp of waiting) wakeUp()
    },
    async wait(ms, other) {
      if (isRung) {
        isRung = false
        return
      }
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer)
          waiting.delete(done)
          resolve()
        }
        const timer = setTimeout(done, ms)
        waiting.add(done)
        void other?.then(done)
      })
    },
  }
}
