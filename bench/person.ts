/** Somebody with a browser who lets an assistant in, as often as a bench needs codes or tokens. */
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { inLanes } from './load.ts'

export const OWNER = { email: 'bench@people.test', password: 'a few words for the benches' }
export const REDIRECT = 'http://127.0.0.1:41997/callback'
export const SCOPES = 'data:read maintenance:read'

export type Code = { readonly code: string; readonly verifier: string }

export function newChallenge() {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

export async function register(origin: string): Promise<string> {
  const response = await fetch(`${origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Bench', redirect_uris: [REDIRECT] }),
  })
  return ((await response.json()) as { client_id: string }).client_id
}

/** Codes that nobody has used yet, each from a whole approval. */
export async function approvals(origin: string, clientId: string, count: number): Promise<Code[]> {
  const codes: Code[] = []
  await inLanes(count, async () => void codes.push(await approveOnce(origin, clientId)))
  return codes
}

async function approveOnce(origin: string, clientId: string): Promise<Code> {
  const { verifier, challenge } = newChallenge()
  const browser = newBrowser(origin)
  const asked = new URLSearchParams({
    client_id: clientId,
    redirect_uri: REDIRECT,
    response_type: 'code',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    scope: SCOPES,
    resource: `${origin}/platform`,
  })
  const signIn = await browser.open(`${origin}/oauth/authorize?${asked}`)
  const consent = await browser.submit(signIn, [
    ['email', OWNER.email],
    ['password', OWNER.password],
  ])
  const { url } = await browser.submit(consent, [['decision', 'approve']])
  const code = new URL(url).searchParams.get('code')
  if (code === null) throw new Error(`no code at ${url}`)
  return { code, verifier }
}

type Page = { readonly url: string; readonly text: string }

function newBrowser(origin: string) {
  const cookies = new Map<string, { path: string; value: string }>()
  // Its own address, believed because the bench is a trusted proxy: one address may not authorize that often.
  const address = `2001:db8:${randomInt(0xffff).toString(16)}:${randomInt(0xffff).toString(16)}::1`

  /** Follows redirects as far as they stay at this installation. */
  async function go(first: string, init: RequestInit = {}): Promise<Page> {
    let [url, how] = [first, init]
    for (;;) {
      if (!url.startsWith(`${origin}/`)) return { url, text: '' }
      const response = await fetch(url, {
        ...how,
        redirect: 'manual',
        headers: { origin, cookie: cookiesFor(url), 'x-forwarded-for': address },
      })
      response.headers.getSetCookie().forEach(keep)
      const text = await response.text()
      const next = response.headers.get('location')
      if (next === null) return { url, text }
      ;[url, how] = [new URL(next, url).href, {}]
    }
  }

  const cookiesFor = (url: string): string =>
    [...cookies]
      .filter(([, { path }]) => new URL(url).pathname.startsWith(path))
      .map(([key, { value }]) => `${key.split(' ', 1)[0]}=${value}`)
      .join('; ')

  function keep(header: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? []
    const path = /; path=([^;]+)/i.exec(header)?.[1] ?? '/'
    cookies.set(`${name} ${path}`, { path, value })
  }

  return {
    open: (url: string) => go(url),
    submit: ({ url, text }: Page, more: [string, string][]) =>
      go(url, { method: 'POST', body: new URLSearchParams([...chosenIn(text), ...more]) }),
  }
}

/** What a form sends untouched. */
const chosenIn = (html: string): [string, string][] =>
  [...html.matchAll(/<input\b[^>]*>/g)]
    .map(([input]) => input)
    .filter((input) => /type="hidden"|\schecked\b/.test(input))
    .map((input) => [/name="([^"]*)"/.exec(input)?.[1] ?? '', /value="([^"]*)"/.exec(input)?.[1] ?? ''])
