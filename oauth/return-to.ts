/** Where sign-in may redirect to: below an allow-listed base, compared by host and path segment. */
import * as z from 'zod'

/** What an application requested with a sign-in. */
export type ReturnTarget = { url: URL; state: string | null; codeChallenge: string | null }

const Parameters = z.object({
  return_to: z.string().max(2000),
  state: z.string().max(500).optional(),
  code_challenge: z
    .string()
    .regex(/^[\w-]{43}$/)
    .optional(),
})

/** Undefined when the URL is not allowed: an open redirect would give the code to anybody. */
export function readReturnTo(params: unknown, bases: readonly URL[]): ReturnTarget | undefined {
  const parsed = Parameters.safeParse(params)
  if (!parsed.success) return undefined
  const { return_to, state, code_challenge } = parsed.data
  // Browsers read a backslash as a slash and drop tabs and line breaks; URL does likewise, but be strict.
  if (/[\\\p{Cc}\s]/u.test(return_to)) return undefined
  const url = URL.parse(return_to)
  if (!url || url.username || url.password || url.hash) return undefined
  if (!bases.some((base) => isBelow(url, base))) return undefined
  return { url, state: state ?? null, codeChallenge: code_challenge ?? null }
}

function isBelow(url: URL, base: URL): boolean {
  // Not by origin: that of every unusual scheme is `null`, and that of `blob:http://here` is `http://here`.
  if (url.protocol !== base.protocol || url.host !== base.host) return false
  const root = base.pathname.endsWith('/') ? base.pathname : `${base.pathname}/`
  return url.pathname === base.pathname || url.pathname.startsWith(root)
}

export function withCode({ url, state }: ReturnTarget, code: string): string {
  const target = new URL(url)
  target.searchParams.set('code', code)
  if (state !== null) target.searchParams.set('state', state)
  return target.href
}

/** As text in a form or an attempt; `readReturnTo` checks it again. */
export const writeReturnTo = ({ url, state, codeChallenge }: ReturnTarget): Record<string, string> => ({
  return_to: url.href,
  ...(state === null ? {} : { state }),
  ...(codeChallenge === null ? {} : { code_challenge: codeChallenge }),
})
