/**
 * Sends what comes from stdin in batches of whole lines. While one is under way nothing more is read. The program behind the
 * pipe must not end because the server is away, or the token was revoked: lines that cannot be sent are counted, and
 * reading goes on.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../contracts/errors.ts'
import type { Output } from '../contracts/operations.ts'
import type { CommandContext } from './command-context.ts'
import { retryPause } from './retry-pause.ts'
import { mayRetry } from './runner/retry.ts'
import { usageError } from './usage-error.ts'
import { UnreachableError } from './unreachable-error.ts'

type Sent = Output<'pushLogs'>

const BATCH = { bytes: 512 * 1024, lines: 10_000, waitMs: 1_000 }
/** With the waits between them about five minutes: as long as a server takes to be replaced. */
const ATTEMPTS = 14

export async function pushLines(
  ctx: CommandContext,
  send: (body: Uint8Array<ArrayBuffer>) => Promise<Sent>,
): Promise<Sent> {
  const { stdin } = ctx.environment
  if (stdin.isTTY) {
    throw usageError('Nothing to read', 'Pipe a program into it: my-program 2>&1 | svc apps logs push <app>')
  }
  const sent = { accepted: 0, rejected: 0, dropped: 0 }
  let unsent = 0
  const take = ({ accepted, rejected, dropped }: Sent): void => {
    sent.accepted += accepted
    sent.rejected += rejected
    if (dropped > 0 && sent.dropped === 0)
      ctx.info('The logs of this app are full: further lines are not stored')
    sent.dropped += dropped
  }
  // A wrong name, token or address shows at once, not when the first line comes.
  let failure = await failureOf(send(new Uint8Array()).then(take))
  if (failure && !mayRetry(failure)) throw failure
  if (failure) ctx.info(`${failure.message}; lines are sent as soon as it works`)
  for await (const batch of batches(stdin)) {
    // Who has waited for minutes in vain does not wait again for every batch.
    const attempts = failure && unsent > 0 ? 1 : ATTEMPTS
    failure = await failureOf(sendAgain(ctx, () => send(batch), attempts).then(take))
    if (!failure) continue
    if (unsent === 0) ctx.info(`${failure.message}; lines are lost until it works again`)
    unsent += linesIn(batch)
  }
  if (unsent > 0) {
    const message = `${unsent} lines were not sent`
    if (failure instanceof UnreachableError) throw new UnreachableError(message, { cause: failure })
    throw new ServiceError(failure?.code ?? 'TIMEOUT', message, { cause: failure })
  }
  if (failure) throw failure
  return sent
}

/** Undefined: it succeeded. Throws what is our own mistake. */
const failureOf = (work: Promise<void>): Promise<ServiceError | undefined> =>
  work.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ServiceError) return error
      throw error
    },
  )

async function sendAgain<T>(ctx: CommandContext, send: () => Promise<T>, attempts: number): Promise<T> {
  const pause = retryPause(ctx, { attempts })
  for (;;) {
    try {
      return await send()
    } catch (error) {
      await pause.afterFailure(error)
    }
  }
}

/** The last one may have no end yet. */
function linesIn(batch: Buffer): number {
  let lines = batch.at(-1) === NEWLINE ? 0 : 1
  for (const byte of batch) if (byte === NEWLINE) lines += 1
  return lines
}

/** As large as it may be, or what came within a second: whole lines, but for one that is larger than a batch. */
async function* batches(input: AsyncIterable<Buffer | string>): AsyncGenerator<Buffer<ArrayBuffer>> {
  const chunks = input[Symbol.asyncIterator]()
  let next = nextOf(chunks)
  let rest = Buffer.alloc(0)
  let dueAt = 0
  for (;;) {
    const came = rest.length === 0 ? await next : await orLate(next, dueAt - Date.now())
    if (came !== LATE && came.done) break
    if (rest.length === 0 || came === LATE) dueAt = Date.now() + BATCH.waitMs
    if (came !== LATE) {
      rest = Buffer.concat([rest, Buffer.from(came.value)])
      next = nextOf(chunks)
    }
    for (let end = endOfBatch(rest, came === LATE); end > 0; end = endOfBatch(rest, came === LATE)) {
      yield rest.subarray(0, end)
      rest = rest.subarray(end)
    }
  }
  for (let end = endOfBatch(rest, true); end > 0; end = endOfBatch(rest, true)) {
    yield rest.subarray(0, end)
    rest = rest.subarray(end)
  }
  if (rest.length > 0) yield rest
}

/** An error while nobody waits for it is thrown to whoever does later. */
function nextOf<T>(chunks: AsyncIterator<T>): Promise<IteratorResult<T>> {
  const next = chunks.next()
  next.catch(() => {})
  return next
}

const LATE = 'late'

async function orLate<T>(work: Promise<T>, ms: number): Promise<Awaited<T> | typeof LATE> {
  const timer = new AbortController()
  try {
    return await Promise.race([work, sleep(Math.max(0, ms), LATE as typeof LATE, { signal: timer.signal })])
  } finally {
    timer.abort()
  }
}

const NEWLINE = 10

/** 0: nothing to send yet. */
function endOfBatch(rest: Buffer, isDue: boolean): number {
  let end = 0
  for (let lines = 0; lines < BATCH.lines; lines++) {
    const newline = rest.indexOf(NEWLINE, end)
    if (newline === -1 || newline >= BATCH.bytes) {
      const isFull = rest.length >= BATCH.bytes
      if (end === 0 && isFull) return BATCH.bytes
      return isFull || isDue ? end : 0
    }
    end = newline + 1
  }
  return end
}
