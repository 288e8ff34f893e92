/**
 * The loops of notifications. Any number of workers run them on one database, all equal: what they take they take by rows,
 * so none of them is a leader and any of them may die at any moment.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { notify } from '../../db/listen.ts'
import {
  createSender,
  expireLeases,
  queueRecoveries,
  shipAndFanOut,
  type FanOutDeps,
  type Sender,
  type SenderDeps,
  type SenderOptions,
  type Unended,
} from '../cores/notifications/index.ts'
import { startLoops, type Loops } from '../cores/work/index.ts'
import { nextDue } from './next-due.ts'

export type NotificationDeps = FanOutDeps & SenderDeps

export type Notifications = {
  /** Stops claiming, waits for what is in flight, gives back the rest. */
  stop(): Promise<void>
}

export type NotificationOptions = Partial<Omit<SenderOptions, 'worker' | 'onOutcome'>> & {
  readonly expireLeasesMs?: number
}

/** How long the first outcome waits for others, so that one commit serves many: less than a commit takes. */
const BATCH_WAIT_MS = 2

export function startNotifications(
  deps: NotificationDeps,
  { expireLeasesMs, ...options }: NotificationOptions = {},
): Notifications {
  const unended: Unended = new Map()
  const onOutcome = () => loops.wake(SEND)
  const sender = createSender(deps, { ...options, worker: randomUUID(), onOutcome })
  const loops: Loops = startLoops(deps, [
    {
      name: 'notifications: fan out',
      topics: ['events'],
      due: () => nextDue(deps, 'event'),
      async turn() {
        if (!(await shipAndFanOut(deps))) return null
        loops.wake(CLAIMING)
        return 'again'
      },
    },
    // Beside the sending: while some are in flight, the next ones are prepared.
    {
      name: CLAIMING,
      topics: ['messages'],
      due: () => nextDue(deps, 'message'),
      async turn() {
        if (!sender.hasCapacity()) return null
        const { claimed, hasMore } = await sender.claim()
        if (claimed.length > 0) loops.wake(SEND)
        // Also where all of these had to be postponed.
        return claimed.length > 0 || hasMore ? 'again' : null
      },
    },
    // Two, taking turns: while the outcomes of one half are written, the other half is in flight.
    {
      name: SEND,
      beside: 2,
      async turn() {
        if (sender.hasInFlight() && !sender.shouldFlush()) await sleep(BATCH_WAIT_MS)
        if (!(await sender.flush())) return null
        // There is room again.
        loops.wake(CLAIMING)
        loops.wake(FOLLOW_UP)
        return 'again'
      },
    },
    // Beside the sending as well: dropping all that is queued for a stopped integration takes a while.
    { name: FOLLOW_UP, turn: async () => ((await sender.followUp()) ? 'again' : null) },
    {
      name: 'notifications: recover',
      topics: ['recoveries'],
      due: () => nextDue(deps, 'recovery'),
      async turn() {
        if (!(await queueRecoveries(deps))) return null
        loops.wake(CLAIMING)
        return 'again'
      },
    },
    {
      name: 'notifications: expire leases',
      ...(expireLeasesMs !== undefined && { netMs: expireLeasesMs }),
      due: () => nextDue(deps, 'messageLease'),
      async turn() {
        await expireLeases(deps, unended)
        // Claims may be free again.
        loops.wake(CLAIMING)
        return null
      },
    },
  ])
  return {
    async stop() {
      sender.close()
      await loops.stop()
      await finish(deps, sender)
    },
  }
}

const CLAIMING = 'notifications: claim'
const SEND = 'notifications: send'
const FOLLOW_UP = 'notifications: follow up'

/** What is in flight is waited for: its channels have deadlines of their own. */
async function finish(deps: NotificationDeps, sender: Sender): Promise<void> {
  try {
    while (sender.hasInFlight()) {
      await sender.nextOutcome()
      await sender.flush()
    }
    await sender.release()
    await notify(deps.db, 'messages')
    // Nobody else learns of these attempts: once more, where the database did not answer.
    await sender.followUp().catch(() => sender.followUp())
  } catch (error) {
    deps.log.warn('notifications stopped with outcomes that could not be written', { error })
  }
}
