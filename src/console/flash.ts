/** A sentence carried over a redirect and shown once. */
import type { Context } from 'hono'
import { ServiceError } from '../contracts/errors.ts'
import { clearCookie, readCookie, writeCookie } from './cookies.ts'
import { sign, unsign } from './sign.ts'
import type { ConsoleEnv } from './visit.ts'

export type Flash = { kind: 'done' | 'problem'; text: string }

const COOKIE = 'svc_console_flash'
/** Longer than any redirect takes; a sentence nobody came for should not appear tomorrow. */
const KEPT_SECONDS = 60
/** Cookies are cut at 4096 bytes by browsers; base64 and a signature have to fit as well. */
const TEXT_MAX = 600

export function leaveFlash(c: Context<ConsoleEnv>, kind: Flash['kind'], text: string): void {
  const flash: Flash = { kind, text: text.slice(0, TEXT_MAX) }
  writeCookie(c, COOKIE, sign(c.var.needs.cookieKey, 'flash', JSON.stringify(flash)), KEPT_SECONDS)
}

export function takeFlash(c: Context<ConsoleEnv>): Flash | undefined {
  const cookie = readCookie(c, COOKIE)
  if (cookie === undefined) return undefined
  clearCookie(c, COOKIE)
  const text = unsign(c.var.needs.cookieKey, 'flash', cookie)
  return text === undefined ? undefined : (JSON.parse(text) as Flash)
}

/** For a button in a row: do it, say how it went, and go back to the list. */
export async function actAndReturn(
  c: Context<ConsoleEnv>,
  back: string,
  done: string,
  act: () => Promise<unknown>,
): Promise<Response> {
  try {
    await act()
    leaveFlash(c, 'done', done)
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'UNAUTHENTICATED') throw error
    leaveFlash(
      c,
      'problem',
      [error.message, ...(error.problems ?? []), error.hint].filter(Boolean).join('. '),
    )
  }
  return c.redirect(back, 303)
}
