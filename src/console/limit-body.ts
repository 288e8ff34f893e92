/**
 * How much of a form is read. One form takes a file: it is read only for somebody who is signed in, and a few at a time,
 * because it is held in memory as a whole.
 */
import type { Next } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { byteSize } from '../contracts/byte-size.ts'
import { ServiceError } from '../contracts/errors.ts'
import { BODY_MAX_BYTES, LOAD_FORM_BYTES } from '../contracts/limits.ts'
import { whoAmI } from '../contracts/people.ts'
import type { PageContext } from './context.ts'
import { readSessionToken } from './cookies.ts'
import { clientFor } from './session.ts'

const UPLOADS_AT_ONCE = 4

export function limitBody(uploadPath: string) {
  const limitForm = bodyLimit({
    maxSize: BODY_MAX_BYTES,
    onError: () => {
      throw new ServiceError('TOO_LARGE')
    },
  })
  const limitUpload = bodyLimit({
    maxSize: LOAD_FORM_BYTES + BODY_MAX_BYTES,
    onError: () => {
      throw new ServiceError('TOO_LARGE', `A file can be uploaded here up to ${byteSize(LOAD_FORM_BYTES)}`, {
        hint: 'Load a larger one with the client: svc db load.',
      })
    },
  })
  let uploads = 0
  return async function limitBodies(c: PageContext, next: Next): Promise<Response | void> {
    if (c.req.path !== uploadPath || c.req.method !== 'POST') return limitForm(c, next)
    const token = readSessionToken(c)
    if (token === undefined) throw new ServiceError('UNAUTHENTICATED')
    await clientFor(c, token)(whoAmI, {})
    if (uploads >= UPLOADS_AT_ONCE) {
      throw new ServiceError('RATE_LIMITED', 'Too many files are being uploaded', { retryAfterSeconds: 5 })
    }
    uploads += 1
    try {
      return await limitUpload(c, next)
    } finally {
      uploads -= 1
    }
  }
}
