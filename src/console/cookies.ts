/** The console's cookies: their names and the attributes that keep them home. */
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { PageContext } from './context.ts'

const isSecure = (c: PageContext): boolean => c.get('deps').appUrl.protocol === 'https:'

/** `__Host-` keeps other hosts of the domain from planting a cookie; browsers accept it over https only. */
const nameFor = (c: PageContext, name: string): string => (isSecure(c) ? `__Host-${name}` : name)

const attributes = (c: PageContext) =>
  ({ path: '/', httpOnly: true, sameSite: 'Lax', secure: isSecure(c) }) as const

export const readCookie = (c: PageContext, name: string): string | undefined => getCookie(c, nameFor(c, name))

export const writeCookie = (c: PageContext, name: string, value: string, seconds: number): void =>
  setCookie(c, nameFor(c, name), value, { ...attributes(c), maxAge: Math.max(0, Math.floor(seconds)) })

export function clearCookie(c: PageContext, name: string): void {
  deleteCookie(c, nameFor(c, name), attributes(c))
}

/** Names without prefix of the cookies that begin so. */
export function cookiesNamed(c: PageContext, beginning: string): string[] {
  const start = nameFor(c, beginning)
  return Object.keys(getCookie(c))
    .filter((name) => name.startsWith(start))
    .map((name) => beginning + name.slice(start.length))
}

const SESSION = 'svc_console'

export const readSessionToken = (c: PageContext): string | undefined => readCookie(c, SESSION) || undefined
export const clearSessionToken = (c: PageContext): void => clearCookie(c, SESSION)

export function saveSessionToken(c: PageContext, session: { token: string; expires_at: string }): void {
  const seconds = (Date.parse(session.expires_at) - c.get('deps').clock().getTime()) / 1000
  writeCookie(c, SESSION, session.token, seconds)
}
