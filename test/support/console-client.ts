/** A client of the console without a browser: keeps cookies, reads pages, submits forms. */
import { createConsole } from '../../src/console/app.ts'
import type { ConsoleDeps } from '../../src/console/context.ts'
import { createFakeGateway } from './fake-gateway.ts'

type FakeOptions = Partial<Parameters<typeof createFakeGateway>[0]>

export function openConsole(options: FakeOptions & { appUrl?: string; signInUrl?: string } = {}) {
  const {
    appUrl = 'http://localhost:4000',
    signInUrl = 'http://localhost:4000/auth/sign-in',
    ...fake
  } = options
  const time = { now: new Date('2026-11-15T12:00:00Z') }
  const clock = () => time.now
  const gateway = createFakeGateway({ clock, ...fake })
  const deps: ConsoleDeps = {
    gateway: gateway.service,
    appUrl: new URL(appUrl),
    mcpUrl: new URL('http://mcp.localhost:4000'),
    signInUrl: new URL(signInUrl),
    clock,
    version: '0.0.0',
  }
  const app = createConsole(deps)
  const cookies = new Map<string, string>()

  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    headers.set('cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '))
    const response = await app.request(new URL(path, appUrl).href, { ...init, headers })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (/max-age=0(;|$)/i.test(cookie)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }

  const get = (path: string) => send(path)
  const read = async (path: string): Promise<string> => (await get(path)).text()

  /** Submits fields with the hidden ones of every console form, unless they are given. */
  const post = async (
    path: string,
    fields: Record<string, string | string[]> = {},
    headers: Record<string, string> = {},
  ) => {
    const form_token = /name="form_token" value="([^"]*)"/.exec(await read('/console/profile'))?.[1] ?? ''
    const organization = gateway.data.chosen ?? ''
    const body = new URLSearchParams()
    for (const [name, value] of Object.entries({ form_token, organization, ...fields })) {
      for (const one of [value].flat()) body.append(name, one)
    }
    return send(path, { method: 'POST', body, headers: { origin: new URL(appUrl).origin, ...headers } })
  }

  /** The same with a file, as a browser sends it. */
  const upload = async (path: string, fields: Record<string, string>, file: File) => {
    const form_token = /name="form_token" value="([^"]*)"/.exec(await read('/console/profile'))?.[1] ?? ''
    const body = new FormData()
    const all = { form_token, organization: gateway.data.chosen ?? '', ...fields }
    for (const [name, value] of Object.entries(all)) body.append(name, value)
    body.append('file', file)
    // With its length, as a browser says it.
    const request = new Request('http://x', { method: 'POST', body })
    const bytes = await request.arrayBuffer()
    const headers = {
      origin: new URL(appUrl).origin,
      'content-type': request.headers.get('content-type')!,
      'content-length': String(bytes.byteLength),
    }
    return send(path, { method: 'POST', body: bytes, headers })
  }

  const signIn = async (path = '/console/sign-in') => {
    const begun = await get(path)
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
    return get(`/console/sign-in/done?${new URLSearchParams({ code: gateway.signIn(), state })}`)
  }

  return { gateway, deps, app, cookies, time, send, get, read, post, upload, signIn }
}

export async function signedIn(options: Parameters<typeof openConsole>[0] = {}) {
  const client = openConsole(options)
  await client.signIn()
  return client
}
