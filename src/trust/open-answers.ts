/**
 * The answers that this process has open, and whose each is. When access ends, what is open for it is cut off: its connection is
 * reset, so that nothing is written for it any more. A request that began before this process knew of the ending may still find
 * out whose it is; then it is cut off, too. One that began later is refused by whoever validates it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Principal } from '../contracts/operation.ts'
import type { Cut, CutKind } from '../contracts/receipt-format.ts'

/** What an answer is written to. */
type Connected = {
  /** Ends the connection at once; what was not sent is not sent. */
  reset(): void
  /** Whether some of the answer is on its way. */
  hasBegun(): boolean
  /** Whether whoever asked has shown something that opens more than a public page. */
  readonly hasCredential: boolean
}

export type OpenAnswer = {
  /** Whether nothing may be written any more; what is asked before every write. */
  isOver(): boolean
  /** Whether it has no end of its own: whoever reads it comes back when it is ended. */
  goesOn(): boolean
  /** It is written, or nobody reads it. */
  close(): void
}

export type OpenAnswers = {
  /** All that `work` does, and what it begins, belongs to this answer. */
  open(to: Connected, work: (answer: OpenAnswer) => void): void
  /** For work without an answer that writes for somebody: a message that is sent. */
  during<T>(whose: readonly string[], work: () => Promise<T>): Promise<T>
  /** In milliseconds, of a clock that nobody sets. */
  now(): number
  /** Until when anybody is answered, by that clock. */
  extend(until: number): void
  /** How somebody who calls after that gets it extended. */
  extendBy(renew: () => Promise<void>): void
  count(whose: readonly string[]): Cut
  /** Resolves when nothing that began before is written for them any more, with what was cut off. */
  end(whose: readonly string[]): Promise<Cut>
  /** What is remembered: nothing once all is done. */
  size(): number
}

type Answer = {
  readonly to: Connected | undefined
  readonly startedAt: number
  /** Undefined: nobody knows yet. */
  whose: Set<string> | undefined
  kind: CutKind
  /** The answer to an ending says what it ended, whoever asked for it. */
  isSpared: boolean
  goesOn: boolean
  isCut: boolean
  /** The lease under which it was last asked whether this process may answer. */
  lease: number
  /** In a process without a database: until when it is written, by `now`. */
  until: number
  lapse: NodeJS.Timeout | undefined
  readonly extend: (askedAt?: number) => void
  readonly ended: PromiseWithResolvers<void>
  readonly known: PromiseWithResolvers<void>
  readonly belongs: (whose: readonly string[]) => void
  readonly held: () => Promise<void> | undefined
}

type Ending = {
  readonly whose: ReadonlySet<string>
  readonly at: number
  readonly cut: Record<CutKind, number>
}

const current = new AsyncLocalStorage<Answer>()

/** Longer than a request may take to arrive and to be answered. One whose owner nobody knows by then is cut off. */
const UNKNOWN_MS = 90_000

/** By whom an answer is known, in all that a principal stands on. */
export function whoseOf(
  principal: Pick<
    Principal,
    | 'orgId'
    | 'userId'
    | 'grantId'
    | 'tokenId'
    | 'sessionId'
    | 'cliSessionId'
    | 'supportSessionId'
    | 'machineAgent'
  >,
): string[] {
  const { orgId, userId, grantId, tokenId, sessionId, cliSessionId, supportSessionId } = principal
  const people = [userId, principal.machineAgent?.ownerId ?? null].filter((id) => id !== null)
  return [
    ...[grantId, tokenId, sessionId, cliSessionId, supportSessionId].filter((id) => id !== undefined),
    ...(orgId === null ? [] : [orgId]),
    // A machine agent ends with the member who answers for it.
    ...(orgId === null ? [] : people.map((id) => memberOf(orgId, id))),
  ]
}

export const memberOf = (orgId: string, userId: string): string => `${orgId} ${userId}`

/** Said by whoever validated who calls. Nobody in particular is an answer, too. */
export function answerBelongsTo(whose: readonly string[]): void {
  current.getStore()?.belongs(whose)
}

/** Undefined: this process may answer. */
export const untilMayAnswer = (): Promise<void> | undefined => current.getStore()?.held()

/** A long poll, or a question. */
export function answerIs(kind: CutKind): void {
  const answer = current.getStore()
  if (answer) answer.kind = kind
}

export function spareAnswer(): void {
  const answer = current.getStore()
  if (answer) answer.isSpared = true
}

/** Said by whoever makes an event stream of its own. One that carries the answer to a call has an end. */
export function answerGoesOn(): void {
  const answer = current.getStore()
  if (answer) answer.goesOn = true
}

/** In a process without a database: a service that has one has just answered what was asked at that time. */
export function extendAnswer(askedAt: number): void {
  current.getStore()?.extend(askedAt)
}

/** The same for an event stream that such a service answers with: it asks before each part whether the reader may have it. */
export function extendingAnswer(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const answer = current.getStore()
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(part, controller) {
        answer?.extend()
        controller.enqueue(part)
      },
    }),
  )
}

/** `answerMs`: in a process without a database, how long after it last asked one that has one an answer may be written. */
export function createOpenAnswers(now = () => performance.now(), answerMs = Infinity): OpenAnswers {
  const answers = new Set<Answer>()
  const endings = new Set<Ending>()
  let until = Infinity
  let lapse: NodeJS.Timeout | undefined
  /** Whoever renews it in time may be kept from it by a database that hangs elsewhere. */
  let halfway: NodeJS.Timeout | undefined
  /** How many there were. */
  let leases = 0
  let renew = async () => {}

  const isOf = ({ whose, isSpared }: Answer, ended: Pick<Ending, 'whose'>): boolean =>
    !isSpared && whose !== undefined && [...whose].some((one) => ended.whose.has(one))

  const kindOf = ({ kind, to }: Answer): CutKind => (to?.hasBegun() ? 'streams' : kind)

  function cutOff(answer: Answer, ending?: Ending): void {
    if (answer.isCut || !answer.to) return
    if (ending) ending.cut[kindOf(answer)]++
    answer.isCut = true
    answer.to.reset()
    close(answer)
  }

  function close(answer: Answer): void {
    clearTimeout(answer.lapse)
    answers.delete(answer)
    answer.ended.resolve()
    forget()
  }

  /** What began before it is over: nothing can belong to it any more. */
  function forget(): void {
    if (endings.size === 0) return
    // They stand in the order in which they began.
    const [first] = answers
    const oldest = first?.startedAt ?? Infinity
    for (const ending of endings) if (oldest > ending.at) endings.delete(ending)
  }

  function add(to: Connected | undefined, whose?: readonly string[]): Answer {
    const answer: Answer = {
      to,
      startedAt: now(),
      whose: whose && new Set(whose),
      kind: 'calls',
      isSpared: false,
      goesOn: false,
      isCut: false,
      lease: leases,
      until: Infinity,
      lapse: undefined,
      extend(askedAt = now()) {
        if (answerMs === Infinity || to?.hasCredential !== true || answer.isCut) return
        // What was too late stays so: it may have waited here while access ended.
        if (now() >= answer.until) return cutOff(answer)
        answer.until = Math.max(answer.until === Infinity ? 0 : answer.until, askedAt + answerMs)
        clearTimeout(answer.lapse)
        answer.lapse = setTimeout(() => cutOff(answer), answer.until - now())
        answer.lapse.unref()
      },
      ended: Promise.withResolvers(),
      known: Promise.withResolvers(),
      belongs(found) {
        answer.whose ??= new Set()
        for (const one of found) answer.whose.add(one)
        for (const ending of endings)
          if (answer.startedAt <= ending.at && isOf(answer, ending)) cutOff(answer, ending)
        // They were validated when others still took this process for alive: what ended since is not known here.
        if (found.length > 0 && answer.lease !== leases && !answer.isSpared) cutOff(answer)
        answer.known.resolve()
      },
      held() {
        answer.lease = leases
        return hasLapsed() ? renew().then(() => void (answer.lease = leases)) : undefined
      },
    }
    answers.add(answer)
    answer.extend(answer.startedAt)
    return answer
  }

  const hasLapsed = () => now() >= until

  /** Others take this process for gone: what is open is not written any more. */
  function cutAll(): void {
    for (const answer of answers) if (answer.whose && !answer.isSpared) cutOff(answer)
  }

  return {
    now,
    open(to, work) {
      const answer = add(to)
      const isOver = () =>
        answer.isCut ||
        now() >= answer.until ||
        (answer.whose !== undefined && !answer.isSpared && hasLapsed())
      current.run(answer, () => work({ isOver, goesOn: () => answer.goesOn, close: () => close(answer) }))
    },
    async during(whose, work) {
      const answer = add(undefined, whose)
      try {
        return await work()
      } finally {
        close(answer)
      }
    },
    extend(to) {
      if (hasLapsed()) {
        leases++
        cutAll()
      }
      until = to
      clearTimeout(lapse)
      lapse = setTimeout(cutAll, to - now())
      lapse.unref()
      clearTimeout(halfway)
      halfway = setTimeout(() => void renew().catch(() => {}), (to - now()) / 2)
      halfway.unref()
    },
    extendBy: (by) => void (renew = by),
    count(whose) {
      const cut = nothing()
      for (const answer of answers)
        if (answer.to && isOf(answer, { whose: new Set(whose) })) cut[kindOf(answer)]++
      return cut
    },
    async end(whose) {
      const ending: Ending = { whose: new Set(whose), at: now(), cut: nothing() }
      endings.add(ending)
      const before = [...answers].filter(({ isSpared }) => !isSpared)
      for (const answer of before) if (isOf(answer, ending)) cutOff(answer, ending)
      // Of others it is not known whose they are, and messages on their way cannot be called back.
      const left = before.filter((one) => answers.has(one) && (!one.whose || isOf(one, ending)))
      const late = setTimeout(() => {
        for (const answer of left) if (!answer.whose) cutOff(answer)
      }, UNKNOWN_MS)
      late.unref()
      // Whoever is known by then is somebody else, or was cut off.
      await Promise.all(
        left.map(({ whose: known, ended, known: found }) =>
          known ? ended.promise : Promise.race([ended.promise, found.promise]),
        ),
      )
      clearTimeout(late)
      forget()
      return ending.cut
    },
    size: () => answers.size + endings.size,
  }
}

const nothing = (): Record<CutKind, number> => ({ calls: 0, long_polls: 0, streams: 0, questions: 0 })
