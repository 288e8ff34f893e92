/** One request to the server, and what became of it. */
import type { Credentials } from './credentials.ts'
import { follow } from './follow.ts'

export type Api = (path: string, body: object, options: RequestOptions) => Promise<unknown>
export type RequestOptions = { readonly timeoutMs: number; readonly signal: AbortSignal }

/** The server refused; `retryAfterMs` is how long it asks to wait. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly status: number
  readonly retryAfterMs: number | undefined

  constructor(status: number, message: string, retryAfterMs: number | undefined) {
    super(message)
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

export const createApi =
  (base: URL, credentials: Credentials): Api =>
  async (path, body, { timeoutMs, signal }) => {
    const hangUp = new AbortController()
    const late = setTimeout(() => hangUp.abort(new Error('the server did not answer in time')), timeoutMs)
    const unfollow = follow(hangUp, signal)
    try {
      const response = await fetch(new URL(path, base), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await credentials()}`,
          'content-type': 'application/json',
          accept: 'application/json',
          'user-agent': 'svc-worker',
        },
        body: JSON.stringify(body),
        // A redirect would carry the token elsewhere.
        redirect: 'error',
        signal: hangUp.signal,
      })
      return await readAnswer(response)
    } finally {
      clearTimeout(late)
      unfollow()
    }
  }

async function readAnswer(response: Response): Promise<unknown> {
  const answer: unknown = await response.json().catch(() => undefined)
  // A page of some proxy accepts nothing.
  if (response.ok && answer === undefined) throw new Error('the server answered something else than JSON')
  if (response.ok) return answer
  throw new RefusedError(
    response.status,
    messageIn(answer) ?? `the server answered ${response.status}`,
    retryAfterMs(response.headers.get('retry-after')),
  )
}

function messageIn(answer: unknown): string | undefined {
  const message = (answer as { error?: { message?: unknown } } | null | undefined)?.error?.message
  return typeof message === 'string' ? message : undefined
}

/** An hour at most: what says more is wrong. */
function retryAfterMs(header: string | null): number | undefined {
  const seconds = Number(header ?? Number.NaN)
  return seconds > 0 ? Math.min(seconds, 3600) * 1000 : undefined
}

/** The same request may succeed later: no answer, a server in trouble, too many requests, a token that is being renewed. */
export const isTemporary = (error: unknown): boolean =>
  !(error instanceof RefusedError) || error.status >= 500 || [401, 408, 425, 429].includes(error.status)

export const askedDelayMs = (error: unknown): number =>
  error instanceof RefusedError ? (error.retryAfterMs ?? 0) : 0
