/** A sentence carried over a redirect and shown once. */
import type { Context } from 'hono'
import * as z from 'zod'
import { ServiceError } from '../contracts/errors.ts'
import { clearCookie, readCookie, writeCookie } from './cookies.ts'
import { pack, unpack } from './carried.ts'
import type { ConsoleEnv } from './visit.ts'

const FlashShape = z.object({ kind: z.enum(['done', 'problem']), text: z.string() })
export type Flash = z.output<typeof FlashShape>

const COOKIE = 'svc_console_flash'
/** Longer than any redirect takes; a sentence nobody came for should not appear tomorrow. */
const KEPT_SECONDS = 60
/** Cookies are cut at 4096 bytes by browsers; base64 makes a third more of it. */
const TEXT_MAX = 600

export function leaveFlash(c: Context<ConsoleEnv>, kind: Flash['kind'], text: string): void {
  const flash: Flash = { kind, text: text.slice(0, TEXT_MAX) }
  writeCookie(c, COOKIE, pack(flash), KEPT_SECONDS)
}

export function takeFlash(c: Context<ConsoleEnv>): Flash | undefined {
  const cookie = readCookie(c, COOKIE)
  if (cookie === undefined) return undefined
  clearCookie(c, COOKIE)
  return unpack(FlashShape, cookie)
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
