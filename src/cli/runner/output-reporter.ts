/** Sends the output of a command in pieces, and with them the sign of life that keeps the claim. */
import type { Input } from '../../contracts/operations.ts'
import { DEPLOYMENT_OUTPUT } from '../../contracts/limits.ts'
import type { CallOperation } from '../call-operation.ts'
import { mayRetry, pause, retryDelayMs } from './retry.ts'

export type Reporter = {
  write(text: string): void
  /** The command is to be stopped: cancelled, or not this runner's any more. */
  readonly stopped: AbortSignal
  /** Sends what is left; with a server that does not answer, not for ever. */
  finish(): Promise<void>
  stop(): void
}

/** Characters in one request: longer than any line that the server waits for the end of. */
const PIECE = 32 * 1024
/** While there is output, and while there is none. */
const OUTPUT_MS = 500
const HEARTBEATS_PER_LEASE = 6
/** Between two attempts, so that several fit into a lease. */
const RETRY_MAX_MS = 5_000
/** Of the last piece: how the command ended matters more. */
const LAST_ATTEMPTS = 20
/** What the server would not keep is not kept here, while it does not answer. */
const WAITING_MAX_BYTES = DEPLOYMENT_OUTPUT.headBytes + DEPLOYMENT_OUTPUT.tailBytes

type Path = Pick<Input<'reportDeploymentOutput'>, 'alias' | 'deployment_id' | 'fence'>

export function startReporter(call: CallOperation, path: Path, leaseMs: number, wait = pause): Reporter {
  const buffer = outputBuffer()
  const ending = new AbortController()
  const stopped = new AbortController()

  async function send(last: boolean): Promise<{ isLast: boolean; wasTaken: boolean }> {
    const { text, position, isLast } = buffer.piece()
    const answer = await call('reportDeploymentOutput', { ...path, text, position, last: last && isLast })
    buffer.taken(answer.position)
    if (answer.cancelled) stopped.abort()
    return { isLast, wasTaken: answer.position > position }
  }

  async function loop(): Promise<void> {
    let [failures, idleMs] = [0, Infinity]
    // An unfinished line, which the server did not take: alone it is not sent again.
    let held = 0
    while (!ending.signal.aborted) {
      try {
        if (buffer.length() > held || idleMs >= leaseMs / HEARTBEATS_PER_LEASE) {
          const { isLast, wasTaken } = await send(false)
          ;[failures, idleMs, held] = [0, 0, buffer.length()]
          // More than one piece was waiting.
          if (!isLast && wasTaken) {
            held = 0
            continue
          }
        }
      } catch (error) {
        if (!mayRetry(error)) return stopped.abort()
        await wait(retryDelayMs(error, failures++, RETRY_MAX_MS), ending.signal)
        continue
      }
      await wait(OUTPUT_MS, ending.signal)
      idleMs += OUTPUT_MS
    }
  }
  const looping = loop()

  return {
    write: (text) => buffer.write(text),
    stopped: stopped.signal,
    async finish() {
      ending.abort()
      await looping
      for (let failures = 0; failures < LAST_ATTEMPTS;) {
        try {
          const { isLast, wasTaken } = await send(true)
          if (isLast) return
          if (!wasTaken) failures++
        } catch (error) {
          if (!mayRetry(error)) return
          await wait(retryDelayMs(error, failures++, RETRY_MAX_MS))
        }
      }
    },
    stop: () => ending.abort(),
  }
}

/** What the server has not taken yet. Positions are bytes of everything that was ever written. */
function outputBuffer() {
  let text = ''
  let position = 0
  return {
    length: () => text.length,
    write(added: string) {
      text += sendable(added)
      const excess = Buffer.byteLength(text) - WAITING_MAX_BYTES
      // The server counts the gap as dropped.
      if (excess > 0) skip(excess)
    },
    piece() {
      const end = text.length <= PIECE ? text.length : wholeCharacters(text, PIECE)
      return { text: text.slice(0, end), position, isLast: end === text.length }
    },
    taken(until: number) {
      if (until > position) skip(until - position)
    },
  }

  function skip(bytes: number): void {
    const rest = Buffer.from(text).subarray(bytes)
    // Not in the middle of a character.
    let start = 0
    while (start < rest.length && (rest[start]! & 0xc0) === 0x80) start++
    text = rest.toString('utf8', start)
    position += bytes + start
  }
}

const wholeCharacters = (text: string, length: number): number => {
  const code = text.charCodeAt(length - 1)
  return code >= 0xd800 && code <= 0xdbff ? length - 1 : length
}

/** JSON would write each of these in six characters, and NUL is refused. Escape sequences are the server's to remove. */
const sendable = (text: string): string => text.toWellFormed().replaceAll(UNSENDABLE, '')
// oxlint-disable-next-line no-control-regex
const UNSENDABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f]/g
