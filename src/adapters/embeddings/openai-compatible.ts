/** An embedding model behind OpenAI's `/embeddings` API, which nearly all providers offer. */
import { setTimeout as wait } from 'node:timers/promises'
import * as z from 'zod'
import type { RemoteModelSettings } from '../../contracts/embedding-settings.ts'
import type { EmbedOptions } from '../../cores/search/embedding-models.ts'
import type { TextKind } from './waiting-texts.ts'
import { codeOf, unavailable } from './unavailable.ts'
import { checkedVector } from './vector.ts'

export type RemoteDeps = {
  readonly fetch?: typeof globalThis.fetch
  readonly sleep?: (ms: number) => Promise<unknown>
  readonly clock?: () => Date
  readonly random?: () => number
}

const TIMEOUT_MS = 8000
const RETRY_MS = 250
/** A user is waiting: a provider that asks for more time still gets its one retry after this. */
const RETRY_AFTER_MAX_MS = 5000
/** 16,000 dimensions with 20 digits each are 350 KB. */
const ANSWER_MAX_BYTES = 4 * 1024 * 1024

/** Providers add fields of their own; numbers are finite by zod's own rule. */
const Answer = z.object({ data: z.tuple([z.object({ embedding: z.array(z.number()) })]) })

/** Why an attempt gave no vector. */
class AttemptFailed extends Error {
  override readonly name = 'AttemptFailed'
  /** How long to wait before another attempt; undefined where another would end the same. */
  readonly retryMs: number | undefined

  constructor(reason: string, retryMs?: number) {
    super(reason)
    this.retryMs = retryMs
  }
}

export function openAiCompatibleModel(name: string, settings: RemoteModelSettings, deps: RemoteDeps = {}) {
  const { fetch = globalThis.fetch, sleep = wait, clock = () => new Date(), random = Math.random } = deps
  const url = new URL(settings.url)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/embeddings`
  const headers = headersOf(settings)

  async function attempt(body: string, givenUp: AbortSignal | undefined): Promise<Float32Array> {
    // For everything from the connection to the last byte.
    const late = AbortSignal.timeout(settings.timeout_ms ?? TIMEOUT_MS)
    const signal = givenUp ? AbortSignal.any([givenUp, late]) : late
    try {
      // A redirect would send question and key to a host that is not configured.
      const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' })
      if (!response.ok) {
        await response.body?.cancel()
        throw new AttemptFailed(`it answered ${response.status}`, retryMsAfter(response))
      }
      return vectorIn(await readAnswer(response), settings.dimensions)
    } catch (error) {
      if (error instanceof AttemptFailed) throw error
      if (givenUp?.aborted) throw new AttemptFailed('nobody waits for it any more')
      if (signal.aborted) throw new AttemptFailed('it took too long', retryDelay())
      if (isRefusedRedirect(error)) throw new AttemptFailed('it answered with a redirect')
      throw new AttemptFailed(`the connection failed: ${codeOf(error)}`, retryDelay())
    }
  }

  /** Undefined for a status that a retry would not change. */
  function retryMsAfter({ status, headers }: Response): number | undefined {
    if (status !== 408 && status !== 429 && status < 500) return undefined
    const requested = retryAfterMs(headers.get('retry-after'), clock())
    return requested === undefined ? retryDelay() : Math.min(requested, RETRY_AFTER_MAX_MS)
  }

  /** With jitter: requests that failed together must not retry together. */
  const retryDelay = () => RETRY_MS * (0.5 + random())

  const embed = async (
    text: string,
    { kind = 'question', signal }: EmbedOptions = {},
  ): Promise<Float32Array> => {
    const body = bodyOf(name, settings, text, kind)
    try {
      return await attempt(body, signal).catch(async (error: unknown) => {
        if (!(error instanceof AttemptFailed) || error.retryMs === undefined) throw error
        await sleep(error.retryMs)
        return attempt(body, signal)
      })
    } catch (error) {
      const failed = error instanceof AttemptFailed ? error : new AttemptFailed('the client failed')
      throw unavailable(
        `embedding model ${name} at ${url.origin}: ${failed.message}`,
        failed.retryMs === undefined ? 'operator' : 'later',
      )
    }
  }

  return { dimensions: settings.dimensions, embed }
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
