/**
 * One request to a language model and its answer. It is never repeated here: every attempt is paid for, so whoever asks
 * reserves the tokens of each.
 */
import type {
  ModelAnswer,
  ModelFailureReason,
  ModelRequest,
  ModelTurn,
  ModelWire,
} from '../../contracts/model-port.ts'
import { isUnreached } from '../../contracts/unreached.ts'
import { anthropic } from './anthropic.ts'
import { InvalidModelAnswer, type Wire, type WireSettings } from './model-wire.ts'
import { openAiChat } from './openai-chat.ts'
import { openAiResponses } from './openai-responses.ts'

const WIRES: Readonly<Record<ModelWire, Wire>> = {
  anthropic,
  'openai-responses': openAiResponses,
  'openai-chat': openAiChat,
}

export type ModelSettings = WireSettings & {
  readonly wire: ModelWire
  /** The base, to which the path of the wire is added. */
  readonly url: URL
  readonly timeoutMs: number
}

/**
 * Why there is no turn. `isSent`: the provider may have worked on it, and its tokens count. Never with the provider's own
 * words, which may quote logs and keys.
 */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure'
  readonly reason: ModelFailureReason
  readonly isSent: boolean
  readonly retryAfterSeconds: number | undefined

  constructor(
    reason: ModelFailure['reason'],
    { isSent, detail, retryAfterSeconds }: { isSent: boolean; detail: string; retryAfterSeconds?: number },
  ) {
    super(`the model gave no answer: ${detail}`)
    this.reason = reason
    this.isSent = isSent
    this.retryAfterSeconds = retryAfterSeconds
  }
}

const ANSWER_MAX_BYTES = 4 * 1024 * 1024
const RETRY_AFTER_MAX_SECONDS = 600

export async function askModel(
  settings: ModelSettings,
  request: ModelRequest,
  { fetch, signal }: { fetch: typeof globalThis.fetch; signal: AbortSignal },
): Promise<ModelTurn> {
  const wire = WIRES[settings.wire]
  const { path, headers, body } = wire.toRequest(settings, request)
  const url = new URL(settings.url)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path}`
  const deadline = AbortSignal.timeout(settings.timeoutMs)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, deadline]),
      // It would take the prompt and the key to a host that nobody named.
      redirect: 'manual',
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw failureOf(response)
    }
    return checkedTurn(wire.fromResponse(JSON.parse(await readText(response))))
  } catch (error) {
    signal.throwIfAborted()
    throw asFailure(error, deadline.aborted)
  }
}

/** The same, with a failure as a value: as a process that holds no key gets it from one that does. */
export async function answerOfModel(...asked: Parameters<typeof askModel>): Promise<ModelAnswer> {
  try {
    return { kind: 'turn', turn: await askModel(...asked) }
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error
    const { reason, isSent, retryAfterSeconds } = error
    return {
      kind: 'failed',
      reason,
      isSent,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    }
  }
}

/** Names and ids become part of the transcript: those of a hostile provider must be short. */
function checkedTurn(turn: ModelTurn): ModelTurn {
  for (const { id, name } of turn.calls) {
    if (id === '' || id.length > 200 || name === '' || name.length > 200)
      throw new InvalidModelAnswer('a call without a name or an id')
  }
  return turn
}

/** A refusal before any work: of the key, the model, the request, or for now. A 5xx may have cost tokens. */
function failureOf({ status, headers }: Response): ModelFailure {
  const detail = `it answered ${status}`
  if (status === 429 || status === 529) {
    const wait = Number(headers.get('retry-after'))
    const retryAfterSeconds = Number.isFinite(wait) && wait > 0 ? Math.min(wait, RETRY_AFTER_MAX_SECONDS) : 30
    return new ModelFailure('rate_limited', { isSent: false, detail, retryAfterSeconds })
  }
  // Somebody in front of the provider, and what is behind it has not been asked.
  if (status < 400) return new ModelFailure('unavailable', { isSent: false, detail })
  if (status < 500) return new ModelFailure('refused', { isSent: false, detail })
  return new ModelFailure('unavailable', { isSent: true, detail })
}

function asFailure(error: unknown, isLate: boolean): ModelFailure {
  if (error instanceof ModelFailure) return error
  if (isLate) return new ModelFailure('timeout', { isSent: true, detail: 'it took too long' })
  if (error instanceof InvalidModelAnswer || error instanceof SyntaxError)
    return new ModelFailure('invalid_answer', { isSent: true, detail: 'it cannot be read' })
  return new ModelFailure('unavailable', { isSent: !isUnreached(error), detail: 'the connection failed' })
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > ANSWER_MAX_BYTES) throw new InvalidModelAnswer('too large')
    chunks.push(chunk)
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
}
