/** The event stream of an open page, passed on from the gateway: which lists have changed. The page then asks for itself. */
import { openStream } from '../client/http-client.ts'
import { watchChanges } from '../contracts/changes.ts'
import { ERRORS, ServiceError } from '../contracts/errors.ts'
import { idPattern } from '../contracts/ids.ts'
import { EVENT_STREAM } from '../contracts/media-types.ts'
import type { PageContext } from './context.ts'
import { readSessionToken } from './cookies.ts'
import { freshToken, optionsFor, secondsUntilRotation } from './session.ts'

/** Refused in a line: nobody sees the page of an error here, and no sign-in begins by itself. */
export async function passChangesOn(c: PageContext): Promise<Response> {
  try {
    return await passOn(c)
  } catch (error) {
    // Whoever has left reads no answer.
    if (c.req.raw.signal.aborted) return c.body(null, 204)
    if (!(error instanceof ServiceError)) throw error
    const status = isWithoutRights(error) ? 403 : ERRORS[error.code].status
    const wait = error.retryAfterSeconds
    return c.body(null, status, wait === undefined ? {} : { 'retry-after': String(wait) })
  }
}

const isWithoutRights = ({ code }: ServiceError): boolean =>
  code === 'UNAUTHENTICATED' || code === 'FORBIDDEN' || code === 'NOT_FOUND'

async function passOn(c: PageContext): Promise<Response> {
  const presented = readSessionToken(c)
  const organization = c.req.query('organization') ?? ''
  if (presented === undefined || !idPattern('org').test(organization)) throw new ServiceError('FORBIDDEN')
  const token = await freshToken(c, presented)
  // A page that rotates the token makes this one old, and whoever went on showing it would end the session.
  const rotated = AbortSignal.timeout(Math.round(secondsUntilRotation(c, token) * 1000))
  const signal = AbortSignal.any([c.req.raw.signal, rotated])
  const options = optionsFor(c, token, { organization, signal })
  const body = await openStream(c.get('deps').gateway, options)(watchChanges, {}).catch((error: unknown) => {
    // It is over before it began: the browser opens another one, with the new token, as it does after any that ends.
    if (!rotated.aborted || error instanceof ServiceError) throw error
    return null
  })
  // By the context, which knows the cookie: the token may be a new one.
  const headers = { 'content-type': EVENT_STREAM, 'cache-control': 'no-store', 'x-accel-buffering': 'no' }
  if (c.req.method !== 'HEAD') return c.body(body ?? '', 200, headers)
  await body?.cancel()
  return c.body(null, 200, headers)
}
