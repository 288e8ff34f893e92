/** The limits on calls: a turn in this process, a count at the auth service, and 429 with an activity row beyond them. */
import { setTimeout } from 'node:timers/promises'
import { httpClient, type CallOptions } from '../src/client/http-client.ts'
import type { Service } from '../src/client/service.ts'
import { ServiceError } from '../src/contracts/errors.ts'
import type { Credential, McpPrincipal } from './authenticate.ts'
import { callQueue, QUEUE_LIMITS, type Turn } from './call-queue.ts'
import type { McpDeps } from './dependencies.ts'
import type { Message } from './message.ts'
import { refusedCredentials } from './refused-credentials.ts'
import type { RequestContext } from './request-context.ts'

export type AdmittedCall = {
  readonly principal: McpPrincipal
  /** The message of the request, read once. */
  readonly readMessage: () => Promise<Message>
  /** Counts one more call: a batch has several in one request. */
  readonly countCall: () => Promise<unknown>
}

/** Undefined when the token is not accepted. Throws RATE_LIMITED. */
export type LimitCall = (
  request: Request,
  credential: Credential,
  as: CallOptions,
  answer: (call: AdmittedCall) => Promise<Response>,
) => Promise<Response | undefined>

/** A token that takes longer to validate shows that this process or its database is busy. */
const PROMPT_MS = 100

/**
 * How long a refusal takes in a flood: hundreds of calls that are refused at once, and made again at once, would take
 * more of the process than those that run. By chance, so that they do not come back together.
 */
const floodDelayMs = () => 5_000 + Math.random() * 10_000

export function callLimiter(deps: McpDeps): LimitCall {
  const queue = callQueue()
  const refused = refusedCredentials(deps.clock)
  return async function limitCall(request, credential, as, answer) {
    const turns: Turn[] = []
    const endAll = () => {
      for (const turn of turns) turn.end()
    }
    let principal: McpPrincipal | undefined
    const countCall = async () => {
      const turn = refused.isPaused(credential.key)
        ? undefined
        : await queue.enter(credential.key, request.signal)
      if (!turn) throw new OverLimit(1, false)
      turns.push(turn)
      const startedAt = performance.now()
      principal = await credential.authenticate()
      if (performance.now() - startedAt < PROMPT_MS) turn.yieldWhenSlow()
      if (principal?.retryAfterSeconds !== undefined) throw new OverLimit(principal.retryAfterSeconds, true)
      return principal
    }
    const readMessage = once(async () => (await import('./message.ts')).readMessage(request))
    try {
      // Before a turn is taken: whoever holds the body back keeps nobody waiting.
      await readMessage()
      const admitted = await countCall()
      if (admitted) {
        return atEndOf(await answer({ principal: admitted, readMessage, countCall }), endAll)
      }
      endAll()
      return undefined
    } catch (error) {
      endAll()
      if (!(error instanceof OverLimit)) throw error
      const { waitSeconds, isFlood } = refused.refuse(credential.key, error.seconds, error.isPause)
      if (isFlood) await delay(floodDelayMs(), request.signal)
      else {
        principal ??= await credential.authenticate()
        if (!principal) return undefined
        await recordRefusal(deps, principal, as, readMessage)
      }
      throw new ServiceError('RATE_LIMITED', 'Too many calls; try again later', {
        retryAfterSeconds: waitSeconds,
      })
    }
  }
}

/** A call beyond a limit: of calls at once, or of calls per minute, which the credential is then told to wait for. */
class OverLimit extends Error {
  readonly seconds: number
  readonly isPause: boolean

  constructor(seconds: number, isPause: boolean) {
    super('over a limit')
    this.seconds = seconds
    this.isPause = isPause
  }
}

const delay = (ms: number, signal: AbortSignal) => setTimeout(ms, undefined, { signal }).catch(() => {})

/** Calls the gateway for a principal; the trace of the message, if it has one, replaces the request's. */
export const gatewayClient =
  ({ gateway }: McpDeps, { assertion }: McpPrincipal, as: CallOptions): RequestContext['call'] =>
  ({ traceparent = as.traceparent, signal }) =>
    httpClient(abortedBy(signal, gateway), { ...as, traceparent, token: assertion })

/** When the client disconnects, the calls made on its behalf are aborted too. */
const abortedBy = (signal: AbortSignal | undefined, service: Service): Service =>
  signal ? async (request) => service(new Request(request, { signal })) : service

async function recordRefusal(
  deps: McpDeps,
  principal: McpPrincipal,
  as: CallOptions,
  readMessage: () => Promise<Message>,
): Promise<void> {
  const startedAt = performance.now()
  const context = {
    log: deps.log,
    requestId: as.requestId ?? '',
    call: gatewayClient(deps, principal, as),
    reports: [] as Promise<void>[],
  }
  const [{ json }, { report, toolCallsIn }, { isTooDeep }] = await Promise.all([
    readMessage(),
    import('./call-tool.ts'),
    import('./message.ts'),
  ])
  const isDeep = isTooDeep(json)
  // A body holds thousands; no more are recorded than would have been answered.
  for (const toolCall of toolCallsIn(json).slice(0, QUEUE_LIMITS.openPerCredential)) {
    report(context, isDeep ? { ...toolCall, input: undefined } : toolCall, startedAt, {
      code: 'RATE_LIMITED',
    })
  }
  await Promise.all(context.reports)
}

/** A stream is open until its last event; any other response was complete when it was made. */
function atEndOf(response: Response, end: () => void): Response {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  if (!isStream || !response.body) {
    end()
    return response
  }
  const transformer: Transformer & { cancel: () => void } = { flush: end, cancel: end }
  return new Response(response.body.pipeThrough(new TransformStream(transformer)), response)
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => (result ??= work())
}
