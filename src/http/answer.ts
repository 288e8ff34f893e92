/** Writes answers: YAML or JSON, errors from the one table, and no internal detail. */
import { hasChanged } from '../../db/current-call.ts'
import { ERRORS, ServiceError, type ErrorBody } from '../contracts/errors.ts'
import { EVENT_STREAM } from '../contracts/media-types.ts'
import { writeYaml } from '../contracts/write-yaml.ts'
import { answerGoesOn } from '../trust/open-answers.ts'
import type { HttpContext } from './context.ts'
import type { HeldBody } from './held-bodies.ts'
import { PART_BYTES, sentInParts } from './send-bytes.ts'

export type Format = 'json' | 'yaml'

const YAML_TYPES = new Set(['application/yaml', 'text/yaml', 'application/x-yaml'])

/** The first format the client names; without one, the operation's own. */
export function formatFor(accept: string | undefined, fallback: Format): Format {
  for (const part of (accept ?? '').split(',')) {
    const type = part.split(';')[0]!.trim().toLowerCase()
    if (type === 'application/json') return 'json'
    if (YAML_TYPES.has(type)) return 'yaml'
  }
  return fallback
}

export async function answer(
  c: HttpContext,
  body: unknown,
  status: number,
  format: Format,
): Promise<Response> {
  const headers = { 'cache-control': 'no-store', 'x-request-id': c.get('requestId') }
  if (status === 204) return new Response(null, { status, headers })
  const type = format === 'json' ? 'application/json' : 'application/yaml; charset=utf-8'
  return new Response(serialize(body, format), { status, headers: { ...headers, 'content-type': type } })
}

/** Bytes are a download wherever they are opened: never a page of ours. */
export function answerBytes(
  c: HttpContext,
  {
    body,
    type,
    status,
    filename,
    ageSeconds,
    held,
  }: {
    body: Uint8Array
    type: string
    status: number
    filename: string | undefined
    ageSeconds: number | undefined
    held: () => HeldBody
  },
): Response {
  const inParts = () =>
    body.length > PART_BYTES ? sentInParts(body, held()) : (body as Uint8Array<ArrayBuffer>)
  // The answer to HEAD has no body, so nobody would read it, or cancel.
  return new Response(c.req.method === 'HEAD' ? null : inParts(), {
    status,
    headers: {
      'cache-control': 'no-store',
      'x-request-id': c.get('requestId'),
      'content-type': type,
      'content-length': String(body.length),
      ...(ageSeconds !== undefined && { age: String(ageSeconds) }),
      'content-disposition': filename === undefined ? 'attachment' : `attachment; filename="${filename}"`,
      'x-content-type-options': 'nosniff',
    },
  })
}

/** For as long as somebody reads it. Proxies that collect answers would hold each event back. */
export function answerStream(c: HttpContext, body: ReadableStream<Uint8Array>): Response {
  const isRead = c.req.method !== 'HEAD'
  if (isRead) answerGoesOn()
  else void body.cancel()
  return new Response(isRead ? body : null, {
    headers: {
      'cache-control': 'no-store',
      'x-request-id': c.get('requestId'),
      'content-type': EVENT_STREAM,
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    },
  })
}

const serialize = (body: unknown, format: Format): string =>
  format === 'json' ? JSON.stringify(body) : writeYaml(body)

export async function answerError(c: HttpContext, error: unknown, format: Format): Promise<Response> {
  const serviceError = asServiceError(error)
  c.set('failure', error)
  const { status } = ERRORS[serviceError.code]
  const response = await answer(c, errorBody(serviceError, c.get('requestId')), status, format)
  if (serviceError.retryAfterSeconds !== undefined)
    response.headers.set('retry-after', String(serviceError.retryAfterSeconds))
  // RFC 6750, 3: the answer to a refused bearer names the scheme.
  if (status === 401) response.headers.set('www-authenticate', 'Bearer realm="svc", error="invalid_token"')
  return response
}

export const errorBody = (error: ServiceError, requestId: string): ErrorBody => ({
  error: {
    code: error.code,
    message: error.message,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(error.problems === undefined ? {} : { problems: error.problems }),
    // Hidden and unknown answer alike, to the last byte, so there the id is in the header only.
    ...(error.code === 'NOT_FOUND' ? {} : { request_id: requestId }),
  },
})

/** Of a call that makes several changes, the first ones are done: "try again" would make them twice. */
export const asOfCall = (error: unknown): unknown =>
  isAway(error) && hasChanged() ? outcomeUnknown(error) : error

export function asServiceError(thrown: unknown): ServiceError {
  const error = asOfCall(thrown)
  if (error instanceof ServiceError) return error
  const code = databaseCode(error)
  // Class 22, data exception: a value passed the contract and still does not fit a column (the year 0, say).
  if (code.startsWith('22')) {
    return new ServiceError('INVALID_REQUEST', 'A value in the request is out of range', { cause: error })
  }
  if (code === 'DATABASE_AWAY') {
    return new ServiceError('UNAVAILABLE', undefined, { retryAfterSeconds: AWAY_SECONDS, cause: error })
  }
  if (code === 'OUTCOME_UNKNOWN') return outcomeUnknown(error)
  if (code === '57014') return new ServiceError('TIMEOUT', undefined, { cause: error })
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return new ServiceError('TIMEOUT', undefined, { cause: error })
  }
  return new ServiceError('UNEXPECTED', undefined, { cause: error })
}

/** Said of what is saved, or may be, in part or as a whole. */
export const outcomeUnknown = (cause?: unknown): ServiceError =>
  new ServiceError('TIMEOUT', 'The outcome is unknown: the database was lost while it was saving', {
    hint: 'Check whether it was done before you send it again. The same Idempotency-Key finds it.',
    cause,
  })

const isAway = (error: unknown): boolean =>
  error instanceof ServiceError ? error.code === 'UNAVAILABLE' : databaseCode(error) === 'DATABASE_AWAY'

/** A restart takes seconds, a failover some twenty. */
const AWAY_SECONDS = 2

function databaseCode(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return ''
}
