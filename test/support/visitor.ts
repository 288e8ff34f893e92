/** Somebody at the sign-in pages without a browser: keeps cookies, fills the form that stands on the page. */
import { ORIGIN, type TestSystem } from './system.ts'

export type Visitor = ReturnType<typeof visitor>

export function visitor(system: TestSystem) {
  const cookies = new Map<string, string>()

  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    headers.set('cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '))
    const response = await system.fetch(path, { ...init, headers })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    return response
  }

  /** Opens the page; what comes back sends its first form, with what stands hidden in it. */
  const open = async (path: string) => {
    const page = await (await send(path)).text()
    const form = /<form method="post"([^>]*)>(.*?)<\/form>/s.exec(page)
    const action = /action="([^"]*)"/.exec(form?.[1] ?? '')?.[1] ?? path
    const hidden = [
      ...(form?.[2] ?? '').matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g),
    ].map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')] as const)
    return (fields: Record<string, string> = {}): Promise<Response> => {
      const body = new URLSearchParams({ ...Object.fromEntries(hidden), ...fields })
      return send(action, { method: 'POST', body, headers: { origin: ORIGIN } })
    }
  }

  const submit = async (path: string, fields?: Record<string, string>): Promise<Response> =>
    (await open(path))(fields)

  const signIn = (email: string, password: string, query: Record<string, string> = {}) =>
    submit(`/auth/sign-in?${new URLSearchParams(query)}`, { email, password })

  return { cookies, send, open, submit, signIn }
}

/** The part of a link that the pages are asked for. */
export const pathOf = (link: string): string => new URL(link).pathname

export const linkIn = (text: string): string => /https?:\/\/\S+/.exec(text)?.[0] ?? ''
