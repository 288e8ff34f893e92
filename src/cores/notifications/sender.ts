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
  /** Claims more if there is room for it; undefined where there is none. */
  claim(): Promise<Claim | undefined>
  /** Writes what is answered and begins what there is room for; false: there was nothing to do. */
  step(): Promise<boolean>
  /** Resolves with the next answer. */
  answer(): Promise<void>
  isUnderWay(): boolean
  /** Begins nothing any more. */
  close(): void
  /** Gives back what was not begun. */
  release(): Promise<void>
}

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
  const ready: SendKey[] = []
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

  return {
    async claim() {
      if (isClosed || ready.length >= group) return undefined
      const claim = await claimSends(needs, claimer)
      ready.push(...claim.claimed)
      return claim
    },
    async step() {
      const done = answered.splice(0)
      const keys = isClosed ? [] : ready.splice(0, group - begun + done.length)
      if (done.length === 0 && keys.length === 0) return false
      try {
        const prepared = keys.length === 0 ? [] : await prepareSends(needs, keys)
        const started = await settleAndStart(
          needs,
          { worker, leaseSeconds: sendingSeconds },
          done.map(({ settled }) => settled),
          prepared.map(({ orgId, id }) => ({ orgId, id })),
        )
        begun += started.length - done.length
        const byKey = new Map(prepared.map((send) => [`${send.orgId} ${send.id}`, send]))
        for (const { orgId, id, number } of started) void attempt(byKey.get(`${orgId} ${id}`)!, number)
      } catch (error) {
        // Whether it was committed is not known, and need not be: outcomes count once, and only claims can be begun.
        answered.unshift(...done)
        ready.unshift(...keys)
        throw error
      }
      await followUp(needs, done)
      return true
    },
    answer: () => (answered.length > 0 ? Promise.resolve() : bell.promise),
    isUnderWay: () => begun > 0,
    close: () => void (isClosed = true),
    async release() {
      ready.length = 0
      await releaseClaims(needs, worker)
    },
  }
}
