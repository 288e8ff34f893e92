/** The console's cookies: their names and the attributes that keep them home. */
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { ConsoleEnv } from './visit.ts'

type C = Context<ConsoleEnv>

const isSecure = (c: C): boolean => c.var.needs.appUrl.protocol === 'https:'

/** `__Host-` keeps other hosts of the domain from planting a cookie; browsers accept it over https only. */
const nameFor = (c: C, name: string): string => (isSecure(c) ? `__Host-${name}` : name)

const attributes = (c: C) => ({ path: '/', httpOnly: true, sameSite: 'Lax', secure: isSecure(c) }) as const

export const readCookie = (c: C, name: string): string | undefined => getCookie(c, nameFor(c, name))

export const writeCookie = (c: C, name: string, value: string, seconds: number): void =>
  setCookie(c, nameFor(c, name), value, { ...attributes(c), maxAge: Math.max(0, Math.floor(seconds)) })

export function clearCookie(c: C, name: string): void {
  deleteCookie(c, nameFor(c, name), attributes(c))
}

/** Names without prefix of the cookies that begin so. */
export function cookiesNamed(c: C, beginning: string): string[] {
  const start = nameFor(c, beginning)
  return Object.keys(getCookie(c))
    .filter((name) => name.startsWith(start))
    .map((name) => beginning + name.slice(start.length))
}

const SESSION = 'svc_console'

export const readSession = (c: C): string | undefined => readCookie(c, SESSION) || undefined
export const clearSession = (c: C): void => clearCookie(c, SESSION)

export function keepSession(c: C, session: { token: string; expires_at: string }): void {
  const seconds = (Date.parse(session.expires_at) - c.var.needs.clock().getTime()) / 1000
  writeCookie(c, SESSION, session.token, seconds)
}
