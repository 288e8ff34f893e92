/** A message carried over a redirect and shown once. */
import * as z from 'zod'
import { ServiceError } from '../contracts/errors.ts'
import type { Flash, PageContext } from './context.ts'
import { decodeCookieValue, encodeCookieValue } from './cookie-value.ts'
import { clearCookie, readCookie, writeCookie } from './cookies.ts'

const FlashShape = z.object({ kind: z.enum(['done', 'problem']), text: z.string() })

const COOKIE = 'svc_console_flash'
/** Longer than any redirect takes; a message that was never fetched should not appear tomorrow. */
const MAX_AGE_SECONDS = 60
/** Browsers drop cookies above 4096 bytes; base64 makes a third more of it. */
const TEXT_MAX = 600

export function setFlash(c: PageContext, kind: Flash['kind'], text: string): void {
  const flash: Flash = { kind, text: text.slice(0, TEXT_MAX) }
  writeCookie(c, COOKIE, encodeCookieValue(flash), MAX_AGE_SECONDS)
}

export function readFlash(c: PageContext): Flash | undefined {
  const cookie = readCookie(c, COOKIE)
  if (cookie === undefined) return undefined
  clearCookie(c, COOKIE)
  return decodeCookieValue(FlashShape, cookie)
}

export function redirectWithMessage(c: PageContext, path: string, text: string): Response {
  setFlash(c, 'done', text)
  return c.redirect(path, 303)
}

/** For a button in a row: act, report the result, and go back to the list. */
export async function actAndReturn<Result>(
  c: PageContext,
  back: string,
  done: string | ((result: Result) => string),
  act: () => Promise<Result>,
): Promise<Response> {
  try {
    const result = await act()
    setFlash(c, 'done', typeof done === 'string' ? done : done(result))
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'UNAUTHENTICATED') throw error
    setFlash(c, 'problem', [error.message, ...(error.problems ?? []), error.hint].filter(Boolean).join('. '))
  }
  return c.redirect(back, 303)
}
