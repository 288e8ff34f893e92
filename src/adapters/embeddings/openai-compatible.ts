/** An embedding model behind OpenAI's `/embeddings` API, which nearly all providers offer. */
import { setTimeout as wait } from 'node:timers/promises'
import * as z from 'zod'
import type { RemoteModelSettings } from '../../contracts/embedding-settings.ts'
import { CIRCUIT } from '../../contracts/limits.ts'
import type { EmbedOptions } from '../../cores/search/embedding-models.ts'
import type { TextKind } from './waiting-texts.ts'
import { codeOf } from './code-of.ts'
import { unavailable } from './unavailable.ts'
import { checkedVector } from './vector.ts'

export type RemoteDeps = {
  readonly fetch?: typeof globalThis.fetch
  readonly sleep?: (ms: number) => Promise<unknown>
  readonly clock?: () => Date
  readonly random?: () => number
}

const TIMEOUT_MS = 8000
/** Of a question with all its attempts: a request has 30 s, and is to search in the rest. Nobody waits for a text in bulk. */
const PATIENCE_MS = { question: 20_000, bulk: 60_000 }
/** Before the second attempt; twice as long before each further one. */
const RETRY_MS = 250
/** The longest wait, also where a provider asks for more. */
const RETRY_MAX_MS = 5000
/** 16,000 dimensions with 20 digits each are 350 KB. */
const ANSWER_MAX_BYTES = 4 * 1024 * 1024

/** Providers add fields of their own; numbers are finite by zod's own rule. */
const Answer = z.object({ data: z.tuple([z.object({ embedding: z.array(z.number()) })]) })

/** Why an attempt gave no vector. */
class AttemptFailed extends Error {
  override readonly name = 'AttemptFailed'
  /** What would change it: time, the operator, or another text. */
  readonly blames: 'later' | 'operator' | 'text'
  /** What the provider asked for. */
  readonly retryAfterMs: number | undefined

  constructor(reason: string, blames: 'later' | 'operator' | 'text' = 'operator', retryAfterMs?: number) {
    super(reason)
    this.blames = blames
    this.retryAfterMs = retryAfterMs
  }
}

export function openAiCompatibleModel(name: string, settings: RemoteModelSettings, deps: RemoteDeps = {}) {
  const { fetch = globalThis.fetch, sleep = wait, clock = () => new Date(), random = Math.random } = deps
  const url = new URL(settings.url)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/embeddings`
  const headers = headersOf(settings)
  const circuit = createCircuit(clock)
  let problem: string | undefined

  async function attempt(body: string, givenUp: AbortSignal | undefined, ms: number): Promise<Float32Array> {
    // For everything from the connection to the last byte.
    const late = AbortSignal.timeout(Math.ceil(Math.min(ms, settings.timeout_ms ?? TIMEOUT_MS)))
    const signal = givenUp ? AbortSignal.any([givenUp, late]) : late
    try {
      // A redirect would send question and key to a host that is not configured.
      const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' })
      if (!response.ok) {
        await response.body?.cancel()
        throw refusal(response)
      }
      return vectorIn(await readAnswer(response), settings.dimensions)
    } catch (error) {
      if (error instanceof AttemptFailed) throw error
      if (givenUp?.aborted) throw new AttemptFailed('nobody waits for it any more')
      if (signal.aborted) throw new AttemptFailed('it took too long', 'later')
      if (isRefusedRedirect(error)) throw new AttemptFailed('it answered with a redirect')
      throw new AttemptFailed(`the connection failed: ${codeOf(error)}`, 'later')
    }
  }

  function refusal({ status, headers }: Response): AttemptFailed {
    const reason = `it answered ${status}`
    if (OF_THE_TEXT.includes(status)) return new AttemptFailed(reason, 'text')
    if (status !== 408 && status !== 429 && status < 500) return new AttemptFailed(reason)
    return new AttemptFailed(reason, 'later', retryAfterMs(headers.get('retry-after'), clock()))
  }

  /** As often as there is time for. What a wait and an attempt take counts alike. */
  async function attempts(
    body: string,
    kind: TextKind,
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    let leftMs = PATIENCE_MS[kind]
    for (let retryMs = RETRY_MS; ; retryMs *= 2) {
      const startedAt = performance.now()
      try {
        return await attempt(body, signal, leftMs)
      } catch (error) {
        if (!(error instanceof AttemptFailed) || error.blames !== 'later') throw error
        // With jitter: requests that failed together must not retry together.
        const waitMs = Math.min(RETRY_MAX_MS, error.retryAfterMs ?? retryMs * (0.5 + random()))
        leftMs -= performance.now() - startedAt + waitMs
        if (leftMs <= 0) throw error
        await sleep(waitMs)
        if (signal?.aborted) throw new AttemptFailed('nobody waits for it any more')
      }
    }
  }

  const embed = async (
    text: string,
    { kind = 'question', signal }: EmbedOptions = {},
  ): Promise<Float32Array> => {
    try {
      const end = circuit.begin()
      if (!end) throw new AttemptFailed(`it is not asked for a while: ${problem}`, 'later')
      const vector = await attempts(bodyOf(name, settings, text, kind), kind, signal).catch(
        (error: unknown) => {
          const failed = error instanceof AttemptFailed ? error : new AttemptFailed('the client failed')
          if (!signal?.aborted && failed.blames !== 'text') problem = failed.message
          end(signal?.aborted ? 'unknown' : failed.blames === 'later' ? 'failed' : 'answered')
          throw failed
        },
      )
      end('answered')
      problem = undefined
      return vector
    } catch (error) {
      const { message, blames } = error as AttemptFailed
      throw unavailable(
        `embedding model ${name} at ${url.origin}: ${message}`,
        blames === 'later' ? 'later' : 'operator',
      )
    }
  }

  return { name, dimensions: settings.dimensions, embed, problem: () => problem }
}

/** Bad request, too large, unprocessable: of this text, usually. */
const OF_THE_TEXT = [400, 413, 422]

/**
 * After three questions in a row whose time was over, one at a time is sent, and after each that fails none for a while, which
 * doubles: a provider that is down is not asked by everybody, and nobody waits for it.
 */
function createCircuit(clock: () => Date) {
  let failures = 0
  let isProbing = false
  let closedUntil = 0
  const { unanswered, probeSeconds, probeMaxSeconds } = CIRCUIT

  return {
    /** How to tell what came of it; undefined where it is not to be sent. */
    begin(): ((outcome: 'answered' | 'failed' | 'unknown') => void) | undefined {
      const isProbe = failures >= unanswered
      if (isProbe && (isProbing || clock().getTime() < closedUntil)) return undefined
      if (isProbe) isProbing = true
      return (outcome) => {
        if (isProbe) isProbing = false
        if (outcome === 'answered') failures = 0
        if (outcome !== 'failed') return
        failures += 1
        const doubled = probeSeconds * 2 ** Math.max(0, failures - unanswered)
        closedUntil = clock().getTime() + Math.min(probeMaxSeconds, doubled) * 1000
      }
    },
  }
}

function headersOf({ key, header = 'authorization', headers = {} }: RemoteModelSettings): Headers {
  const all = new Headers(headers)
  all.set('accept', 'application/json')
  all.set('content-type', 'application/json')
  if (key !== undefined) all.set(header, header.toLowerCase() === 'authorization' ? `Bearer ${key}` : key)
  return all
}

function bodyOf(name: string, settings: RemoteModelSettings, text: string, kind: TextKind): string {
  const { remote_model: model = name } = settings
  const { prefix = '', extra = {} } = kind === 'bulk' ? passageForm(settings) : questionForm(settings)
  const { encoding_format: format = 'float', ...further } = extra
  return JSON.stringify({
    model,
    input: prefix + text,
    ...(format === null ? {} : { encoding_format: format }),
    ...(settings.send_dimensions ? { dimensions: settings.dimensions } : {}),
    ...further,
  })
}

const questionForm = ({ query_prefix: prefix, extra }: RemoteModelSettings) => ({ prefix, extra })
/** Without fields of its own it is sent with those of questions. */
const passageForm = ({ passage_prefix: prefix, passage_extra, extra }: RemoteModelSettings) => ({
  prefix,
  extra: passage_extra ?? extra,
})

async function readAnswer({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop cancels the rest. The bytes are counted after decompression.
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > ANSWER_MAX_BYTES) throw new AttemptFailed('its answer is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function vectorIn(text: string, dimensions: number): Float32Array {
  const answer = Answer.safeParse(parsed(text))
  if (!answer.success) throw new AttemptFailed('its answer does not hold one vector of numbers')
  const vector = checkedVector(answer.data.data[0].embedding, dimensions)
  if (typeof vector === 'string') throw new AttemptFailed(vector)
  return vector
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own words quote the text.
    throw new AttemptFailed('its answer is not JSON')
  }
}

/** RFC 9110, 10.2.3: seconds or a date. */
function retryAfterMs(header: string | null, now: Date): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime())
}

/** Node gives it no code, only these words; unrecognized it would count as a failed connection. */
const isRefusedRedirect = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof Error && error.cause.message === 'unexpected redirect'
