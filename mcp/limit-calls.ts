/** The limits on calls: a turn in this process, a count at the auth service, and 429 with an activity row beyond them. */
import { setTimeout } from 'node:timers/promises'
import { httpClient, type CallOptions } from '../src/client/http-client.ts'
import { ServiceError } from '../src/contracts/errors.ts'
import { refusedCredentials } from '../src/trust/refused-credentials.ts'
import type { Credential, McpPrincipal } from './authenticate.ts'
import type { McpDeps } from './dependencies.ts'
import type { Message } from './message.ts'
import { once } from './once.ts'
import { createOpenCalls, OPEN_PER_CREDENTIAL, type OpenCalls } from './open-calls.ts'
import type { RequestContext } from './request-context.ts'

export type AdmittedCall = {
  readonly principal: McpPrincipal
  readonly message: Message
  readonly inTurn: RequestContext['inTurn']
}

/** Of a batch, which only clients of early 2025 send: as many as a credential may have open. */
export const BATCH_MAX = OPEN_PER_CREDENTIAL

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

const loadMessage = once(() => import('./message.ts'))

export function callLimiter(deps: McpDeps): LimitCall {
  const openCalls = createOpenCalls({ slowMs: deps.slowMs })
  const refused = refusedCredentials(() => deps.clock().getTime())
  const personOf = knownPersons()
  return async function limitCall(request, credential, as, answer) {
    // Before a turn is taken: whoever holds the body back keeps nobody waiting.
    const message = await (await loadMessage()).readMessage(request)
    const count = countCalls(message.json)
    let calls: OpenCalls | undefined
    let principal: McpPrincipal | undefined
    try {
      const paused = refused.pausedSeconds(credential.key)
      if (paused > 0) throw new OverLimit(paused, false)
      calls = openCalls({ credential: credential.key, person: personOf.get(credential) }, count)
      if (!calls) throw new OverLimit(1, false)
      const turn = await calls.turn(request.signal).catch(() => {
        throw new OverLimit(1, false)
      })
      const startedAt = performance.now()
      for (let counted = 0; counted < count; counted += 1) {
        principal = await credential.authenticate()
        if (principal?.retryAfterSeconds !== undefined) throw new OverLimit(principal.retryAfterSeconds, true)
        if (!principal) break
      }
      if (!principal) {
        calls.close()
        return undefined
      }
      personOf.remember(credential, principal)
      const isPrompt = performance.now() - startedAt < PROMPT_MS * count
      if (isPrompt) turn.yieldWhenSlow()
      const isBatch = count > 1
      // Each call of a batch waits for a turn of its own. With this one kept, it would wait for its own request.
      if (isBatch) turn.end()
      const inTurn = isBatch ? eachInTurn(calls, request.signal, isPrompt) : asOne
      // A call of a batch may begin long after all were counted: for each, the gateway asks anew.
      const admitted = isBatch ? { ...principal, validation: undefined } : principal
      return atEndOf(await answer({ principal: admitted, message, inTurn }), calls.close)
    } catch (error) {
      calls?.close()
      if (!(error instanceof OverLimit)) throw error
      const { waitSeconds, isFlood } = refused.refuse(credential.key, error.seconds, error.isPause)
      if (isFlood) await delay(floodDelayMs(), request.signal)
      else {
        principal ??= await credential.authenticate()
        if (!principal) return undefined
        await recordRefusal(deps, principal, as, message)
      }
      throw tooManyCalls(waitSeconds)
    }
  }
}

/** A batch that is too long is answered without being looked into. */
const countCalls = (json: unknown): number =>
  Array.isArray(json) && json.length <= BATCH_MAX ? Math.max(1, json.length) : 1

const asOne: RequestContext['inTurn'] = (work) => work()

const eachInTurn =
  (calls: OpenCalls, signal: AbortSignal, isPrompt: boolean): RequestContext['inTurn'] =>
  async (work) => {
    const turn = await calls.turn(signal)
    if (isPrompt) turn.yieldWhenSlow()
    try {
      return await work()
    } finally {
      turn.end()
    }
  }

const tooManyCalls = (retryAfterSeconds: number) =>
  new ServiceError('RATE_LIMITED', 'Too many calls; try again later', { retryAfterSeconds })

const PERSONS_MAX = 10_000

/**
 * Whose share of turns a credential has. A grant's token names its person; an API token names nobody, so before the auth
 * service has said once whose it is, it has a share of its own.
 */
function knownPersons() {
  const persons = new Map<string, string>()
  return {
    get: ({ key, userId }: Credential): string => userId ?? persons.get(key) ?? key,
    remember({ key, userId }: Credential, principal: McpPrincipal): void {
      if (userId !== undefined || persons.has(key)) return
      if (persons.size >= PERSONS_MAX) persons.clear()
      persons.set(key, principal.userId)
    },
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
  (
    { gateway }: McpDeps,
    { assertion, validation }: Pick<McpPrincipal, 'assertion' | 'validation'>,
    as: CallOptions,
  ): RequestContext['call'] =>
  ({ traceparent = as.traceparent, signal }) =>
    httpClient(gateway, { ...as, traceparent, signal, token: assertion, validation })

async function recordRefusal(
  deps: McpDeps,
  principal: McpPrincipal,
  as: CallOptions,
  { json }: Message,
): Promise<void> {
  const startedAt = performance.now()
  const context = {
    log: deps.log,
    requestId: as.requestId ?? '',
    call: gatewayClient(deps, principal, as),
    reports: [] as Promise<void>[],
  }
  const [{ report, toolCallsIn }, { isTooDeep }] = await Promise.all([
    import('./call-tool.ts'),
    import('./message.ts'),
  ])
  const isDeep = isTooDeep(json)
  // A body holds thousands; no more are recorded than would have been answered.
  for (const toolCall of toolCallsIn(json).slice(0, BATCH_MAX)) {
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
