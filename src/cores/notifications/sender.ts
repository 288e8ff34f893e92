/**
 * Sends what is due. At any moment at most SEND_GROUP messages of a process are begun without a written outcome: that is
 * what a kill can leave unconfirmed. A place is free again when the outcome is written, not when it is known.
 */
import type { Channel } from '../../contracts/deliveries.ts'
import { CLAIM, SEND_GROUP, SENDING_SECONDS } from '../../contracts/limits.ts'
import { settleAndStart } from './attempts.ts'
import type { Outcome } from './channel.ts'
import { claimSends, releaseClaims, type Claim, type SendKey } from './claim-sends.ts'
import { settle, type Settled } from './outcomes.ts'
import { prepareSends, type ReadySend } from './prepare-sends.ts'
import { followUp, type AftermathNeeds } from './stop-endpoint.ts'

export type SenderNeeds = AftermathNeeds & {
  /** Counts sends by how they ended. */
  readonly observeSend?: ((channel: Channel, outcome: 'sent' | 'failed' | 'retrying') => void) | undefined
}

export type SenderOptions = {
  readonly worker: string
  readonly group?: number
  readonly claimSeconds?: number
  readonly sendingSeconds?: number
}

export type Sender = {
  hasRoom(): boolean
  /** Claims more and prepares it, so that it only has to be begun. */
  claim(): Promise<Claim>
  /** Writes what is answered and begins what there is room for; false: there was nothing to do. */
  step(): Promise<boolean>
  /** Resolves with the next answer. */
  answer(): Promise<void>
  isUnderWay(): boolean
  /** Half of the group is answered, or all of it: as good a moment for a commit as any. */
  isRipe(): boolean
  /** Begins nothing any more. */
  close(): void
  /** Gives back what was not begun. */
  release(): Promise<void>
}

type Ready = { readonly send: ReadySend; readonly lookedAt: number }

/** What was looked at so long ago is looked at again before it leaves: who may have it may have changed. */
const LOOK_AGAIN_MS = 1_000
/** What goes to a person is always: whether they still may is asked at every send, not a moment before it. */
const TO_PEOPLE: readonly Channel[] = ['email', 'direct_message']

export function createSender(
  needs: SenderNeeds,
  {
    worker,
    group = SEND_GROUP,
    claimSeconds = CLAIM.leaseSeconds,
    sendingSeconds = SENDING_SECONDS,
  }: SenderOptions,
): Sender {
  const claimer = { worker, leaseSeconds: claimSeconds, after: '' }
  const claimed: SendKey[] = []
  const ready: Ready[] = []
  const answered: { send: ReadySend; settled: Settled }[] = []
  let begun = 0
  let isClosed = false
  let bell = Promise.withResolvers<void>()

  async function attempt(send: ReadySend, number: number): Promise<void> {
    const startedAt = needs.clock()
    const outcome: Outcome = await send.deliver().catch((error: unknown) => {
      // How far it got nobody knows, so it counts as begun.
      needs.log.warn('a channel failed', { channel: send.channel, send: send.id, error })
      return { kind: 'unknown' }
    })
    const now = needs.clock()
    const durationMs = now.getTime() - startedAt.getTime()
    const settled = settle({ ...send, number }, outcome, { now, durationMs, luck: Math.random() })
    needs.observeSend?.(send.channel, settled.state === 'pending' ? 'retrying' : settled.state)
    answered.push({ send, settled })
    bell.resolve()
    bell = Promise.withResolvers<void>()
  }

  async function prepare(keys: readonly SendKey[]): Promise<void> {
    const lookedAt = needs.clock().getTime()
    const sends = await prepareSends(needs, keys)
    ready.push(...sends.map((send) => ({ send, lookedAt })))
  }

  async function lookAgain(taken: readonly Ready[]): Promise<ReadySend[]> {
    const since = needs.clock().getTime() - LOOK_AGAIN_MS
    const isFresh = ({ send, lookedAt }: Ready) => lookedAt >= since && !TO_PEOPLE.includes(send.channel)
    const fresh = taken.filter(isFresh).map(({ send }) => send)
    const stale = taken.filter((one) => !isFresh(one)).map(({ send }) => keyOf(send))
    return stale.length === 0 ? fresh : [...fresh, ...(await prepareSends(needs, stale))]
  }

  return {
    hasRoom: () => !isClosed && ready.length < CLAIM.rows,
    async claim() {
      const claim = await claimSends(needs, claimer)
      // Also those that could not be prepared the last time, because the database did not answer.
      const keys = [...claimed.splice(0), ...claim.claimed]
      try {
        if (keys.length > 0) await prepare(keys)
      } catch (error) {
        claimed.push(...keys)
        throw error
      }
      return claim
    },
    async step() {
      const done = answered.splice(0)
      const keys = isClosed ? [] : ready.splice(0, group - begun + done.length)
      if (done.length === 0 && keys.length === 0) return false
      // Their places are taken from here on: another step may run beside this one.
      begun += keys.length
      try {
        const next = await lookAgain(keys)
        const started = await settleAndStart(
          needs,
          { worker, leaseSeconds: sendingSeconds },
          done.map(({ settled }) => settled),
          next.map(keyOf),
        )
        begun -= done.length + keys.length - started.length
        const byKey = new Map(next.map((send) => [`${send.orgId} ${send.id}`, send]))
        for (const { orgId, id, number } of started) void attempt(byKey.get(`${orgId} ${id}`)!, number)
      } catch (error) {
        // Whether it was committed is not known, and need not be: outcomes count once, and only claims can be begun.
        begun -= keys.length
        answered.unshift(...done)
        claimed.push(...keys.map(({ send }) => keyOf(send)))
        throw error
      }
      await followUp(needs, done)
      return true
    },
    answer: () => (answered.length > 0 ? Promise.resolve() : bell.promise),
    isUnderWay: () => begun > 0,
    isRipe: () => answered.length >= Math.min(group / 2, begun),
    close: () => void (isClosed = true),
    async release() {
      ready.length = 0
      claimed.length = 0
      await releaseClaims(needs, worker)
    },
  }
}

const keyOf = ({ orgId, id }: SendKey): SendKey => ({ orgId, id })
