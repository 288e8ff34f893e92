/** Where a signed-in person may go back to: below an allow-listed base, compared by origin and path segment. */
import * as z from 'zod'

/** What an application asks of a sign-in. */
export type Return = { url: URL; state: string | null; codeChallenge: string | null }

const Asked = z.object({
  return_to: z.string().max(2000),
  state: z.string().max(500).optional(),
  code_challenge: z
    .string()
    .regex(/^[\w-]{43}$/)
    .optional(),
})

/** Undefined when the address is not one of ours: an open redirect would hand the code to anybody. */
export function readReturn(asked: unknown, bases: readonly URL[]): Return | undefined {
  const parsed = Asked.safeParse(asked)
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
  // Not by origin: those of all unusual schemes are equal (`null`), and that of `blob:http://here` is `http://here`.
  if (url.protocol !== base.protocol || url.host !== base.host) return false
  const root = base.pathname.endsWith('/') ? base.pathname : `${base.pathname}/`
  return url.pathname === base.pathname || url.pathname.startsWith(root)
}

export function withCode({ url, state }: Return, code: string): string {
  const target = new URL(url)
  target.searchParams.set('code', code)
  if (state !== null) target.searchParams.set('state', state)
  return target.href
}

/** Carried through a form or an attempt as text, and read again with the same rules. */
export const writeReturn = ({ url, state, codeChallenge }: Return): Record<string, string> => ({
  return_to: url.href,
  ...(state === null ? {} : { state }),
  ...(codeChallenge === null ? {} : { code_challenge: codeChallenge }),
})
