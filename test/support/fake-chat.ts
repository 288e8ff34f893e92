/**
 * A chat service as ours sees Slack: incoming webhooks, messages by an installed app, installing it, and signing in with
 * it, with its words for everything that can be wrong. What it got can be read, what it does next can be steered.
 */
import { createHash, createHmac, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type PersonAtChat = { readonly team: string; readonly id: string; readonly name: string }

export type FakeChat = {
  /** For CHAT_URL. */
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  /** Lines that arrived in channels, and messages that arrived at people. */
  readonly lines: { readonly channel: string; readonly text: string }[]
  readonly messages: { readonly to: string; readonly text: string; readonly body: Record<string, unknown> }[]
  /** User tokens that still live; an honest client leaves none. */
  readonly liveTokens: Set<string>
  /** Every path that was asked for, without its query. */
  readonly paths: string[]
  /** Makes an incoming webhook and answers its address. */
  makeWebhook(channel: string): string
  /** From now on this webhook answers like this, e.g. 404 `no_service`; undefined: as ever. */
  breakWebhook(url: string, how: { readonly status: number; readonly says: string } | undefined): void
  /** The next calls of one kind fail with this word, or by hanging up before or after the work was done. */
  failNext(what: 'postMessage' | 'webhook', how: Failure, times?: number): void
  revokeApiToken(botToken: string): void
  deactivate(userId: string): void
  /** Who sits at the browser, and which channel they pick when they install. */
  present(person: PersonAtChat, channel?: string): void
  /** Walks an address of ours through the service as a browser would, and answers where it leads back to. */
  walk(url: string): Promise<URL>
  /** What it puts into id tokens instead of the truth, or how it signs them. */
  misbehave(how: Misbehavior): void
  close(): Promise<void>
}

type Failure =
  | { readonly error: string }
  | { readonly status: number; readonly retryAfter?: number }
  | 'hang up'
  | 'hang up after'
type Misbehavior = {
  readonly claims?: Record<string, unknown>
  readonly signature?: 'none' | 'foreign-key' | 'client-secret'
  readonly outage?: boolean
  readonly enterprise?: boolean
}

export async function startFakeChat(): Promise<FakeChat> {
  const clientId = `client.${randomBytes(6).toString('hex')}`
  const clientSecret = randomBytes(16).toString('hex')
  const lines: FakeChat['lines'] = []
  const messages: FakeChat['messages'] = []
  const paths: string[] = []
  const liveTokens = new Set<string>()
  const hooks = new Map<string, { channel: string; broken?: { status: number; says: string } | undefined }>()
  const botTokens = new Map<string, { team: string; revoked: boolean }>()
  const inactive = new Set<string>()
  const codes = new Map<string, Code>()
  const failures: { what: string; how: Failure }[] = []
  // Made when somebody first signs in: it takes a while.
  let keyPair: { publicKey: KeyObject; privateKey: KeyObject } | undefined
  const keys = () => (keyPair ??= generateKeyPairSync('rsa', { modulusLength: 1024 }))
  let signedIn: PersonAtChat = { team: 'T0001', id: 'U0001', name: 'Ada' }
  let picked = '#general'
  let misbehavior: Misbehavior = {}

  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', origin)
    paths.push(url.pathname)
    if (misbehavior.outage) return void response.writeHead(503).end('<h1>Back soon</h1>')
    const body = await text(request)
    const say = (said: Record<string, unknown>) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said))
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    switch (url.pathname) {
      case '/api/chat.postMessage':
        return postMessage(request, response, say, bearer, body)
      case '/oauth/v2/authorize':
        return approve(url, response, 'install')
      case '/openid/connect/authorize':
        return approve(url, response, 'link')
      case '/api/oauth.v2.access':
        return say(install(new URLSearchParams(body)))
      case '/api/openid.connect.token':
        return say(identify(new URLSearchParams(body)))
      case '/openid/connect/keys':
        return say({
          keys: [{ ...keys().publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' }],
        })
      case '/api/auth.revoke':
        return say(
          liveTokens.delete(bearer ?? '')
            ? { ok: true, revoked: true }
            : { ok: false, error: 'invalid_auth' },
        )
      default:
        return takeLine(url.pathname, request, response, body)
    }
  }

  /** True where this call ends otherwise than it should. */
  function failed(what: string, response: ServerResponse, work: () => void): boolean {
    const at = failures.findIndex((failure) => failure.what === what)
    if (at < 0) return false
    const { how } = failures.splice(at, 1)[0]!
    if (how === 'hang up after') work()
    if (how === 'hang up' || how === 'hang up after') response.destroy()
    else if ('error' in how) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ok: false, error: how.error }))
    } else {
      const headers = how.retryAfter === undefined ? {} : { 'retry-after': String(how.retryAfter) }
      response.writeHead(how.status, headers).end()
    }
    return true
  }

  function takeLine(path: string, { method }: IncomingMessage, response: ServerResponse, body: string) {
    const hook = hooks.get(path)
    const end = (status: number, says: string) =>
      void response.writeHead(status, { 'content-type': 'text/html' }).end(says)
    if (!path.startsWith('/services/')) return end(404, 'not found')
    if (!hook) return end(404, 'no_service')
    if (hook.broken) return end(hook.broken.status, hook.broken.says)
    const said = parsed(body)
    if (method !== 'POST' || said === undefined) return end(400, 'invalid_payload')
    if (typeof said['text'] !== 'string' || said['text'] === '') return end(400, 'no_text')
    const work = () => void lines.push({ channel: hook.channel, text: String(said['text']) })
    if (failed('webhook', response, work)) return
    work()
    end(200, 'ok')
  }

  function postMessage(
    request: IncomingMessage,
    response: ServerResponse,
    say: (said: Record<string, unknown>) => void,
    bearer: string | undefined,
    body: string,
  ) {
    const bot = botTokens.get(bearer ?? '')
    if (bearer === undefined) return say({ ok: false, error: 'not_authed' })
    if (!bot) return say({ ok: false, error: 'invalid_auth' })
    if (bot.revoked) return say({ ok: false, error: 'token_revoked' })
    const said = parsed(body)
    if (!request.headers['content-type']?.startsWith('application/json') || !said)
      return say({ ok: false, error: 'invalid_json' })
    const to = typeof said['channel'] === 'string' ? said['channel'] : ''
    if (inactive.has(to)) return say({ ok: false, error: 'user_disabled' })
    if (!/^[UW]/.test(to)) return say({ ok: false, error: 'channel_not_found' })
    if (typeof said['text'] !== 'string' || said['text'] === '') return say({ ok: false, error: 'no_text' })
    const work = () => void messages.push({ to, text: String(said['text']), body: said })
    if (failed('postMessage', response, work)) return
    work()
    say({ ok: true, channel: `D${to}`, ts: '1.1' })
  }

  type Code = {
    kind: 'install' | 'link'
    person: PersonAtChat
    redirect: string
    nonce: string
    channel: string
  }

  function approve({ searchParams }: URL, response: ServerResponse, kind: Code['kind']) {
    const redirect = searchParams.get('redirect_uri') ?? ''
    if (searchParams.get('client_id') !== clientId || !redirect)
      return void response.writeHead(400).end('bad_client_id')
    const code = randomBytes(9).toString('hex')
    // The workspace that is asked for is a hint: people sign in with the one they have.
    codes.set(code, {
      kind,
      person: signedIn,
      redirect,
      nonce: searchParams.get('nonce') ?? '',
      channel: picked,
    })
    const back = new URL(redirect)
    back.searchParams.set('code', code)
    back.searchParams.set('state', searchParams.get('state') ?? '')
    response.writeHead(302, { location: back.href }).end()
  }

  function take(form: URLSearchParams, kind: Code['kind']): Code | string {
    if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret)
      return 'bad_client_secret'
    const code = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    if (!code || code.kind !== kind) return 'invalid_code'
    return code.redirect === form.get('redirect_uri') ? code : 'bad_redirect_uri'
  }

  function install(form: URLSearchParams) {
    const code = take(form, 'install')
    if (typeof code === 'string') return { ok: false, error: code }
    const { team } = code.person
    const botToken = `xoxb-${randomBytes(12).toString('hex')}`
    botTokens.set(botToken, { team, revoked: false })
    return {
      ok: true,
      access_token: botToken,
      token_type: 'bot',
      scope: 'incoming-webhook,chat:write',
      bot_user_id: 'UBOT',
      app_id: 'A1',
      team: misbehavior.enterprise ? null : { id: team, name: `Workspace ${team}` },
      enterprise: misbehavior.enterprise ? { id: 'E1', name: 'Enterprise' } : null,
      is_enterprise_install: misbehavior.enterprise ?? false,
      authed_user: { id: code.person.id },
      incoming_webhook: {
        channel: code.channel,
        channel_id: 'C1',
        configuration_url: `${origin}/configure`,
        url: makeWebhook(code.channel),
      },
    }
  }

  function identify(form: URLSearchParams) {
    const code = take(form, 'link')
    if (typeof code === 'string') return { ok: false, error: code }
    const token = `xoxp-${randomBytes(12).toString('hex')}`
    liveTokens.add(token)
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: origin,
      sub: code.person.id,
      aud: clientId,
      exp: now + 300,
      iat: now,
      auth_time: now,
      nonce: code.nonce,
      at_hash: createHash('sha256').update(token).digest('base64url').slice(0, 22),
      'https://slack.com/team_id': code.person.team,
      'https://slack.com/user_id': code.person.id,
      // Both scopes say it; whoever asked for no email gets none.
      name: code.person.name,
      picture: 'https://avatars.test/canary.png',
      ...misbehavior.claims,
    }
    return { ok: true, access_token: token, token_type: 'Bearer', id_token: signed(claims) }
  }

  function signed(claims: Record<string, unknown>): string {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const how = misbehavior.signature
    const alg = how === 'none' ? 'none' : how === 'client-secret' ? 'HS256' : 'RS256'
    const input = `${part({ alg, typ: 'JWT', kid: 'k1' })}.${part(claims)}`
    if (how === 'none') return `${input}.`
    if (how === 'client-secret') {
      return `${input}.${createHmac('sha256', clientSecret).update(input).digest('base64url')}`
    }
    const key =
      how === 'foreign-key'
        ? generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
        : keys().privateKey
    return `${input}.${sign('RSA-SHA256', Buffer.from(input), key).toString('base64url')}`
  }

  function makeWebhook(channel: string): string {
    const path = `/services/T1/B${hooks.size}/${randomBytes(12).toString('hex')}`
    hooks.set(path, { channel })
    return `${origin}${path}`
  }

  return {
    url: origin,
    clientId,
    clientSecret,
    lines,
    messages,
    liveTokens,
    paths,
    makeWebhook,
    breakWebhook(url, how) {
      hooks.get(new URL(url).pathname)!.broken = how
    },
    failNext(what, how, times = 1) {
      for (let n = 0; n < times; n++) failures.push({ what, how })
    },
    revokeApiToken(botToken) {
      botTokens.get(botToken)!.revoked = true
    },
    deactivate: (userId) => void inactive.add(userId),
    present(person, channel = picked) {
      signedIn = person
      picked = channel
    },
    async walk(url) {
      const response = await fetch(url, { redirect: 'manual' })
      const location = response.headers.get('location')
      if (location === null)
        throw new Error(`The walk ended with ${response.status} ${await response.text()}`)
      return new URL(location)
    },
    misbehave: (how) => void (misbehavior = how),
    async close() {
      server.closeAllConnections()
      if (server.listening) await new Promise((closed) => server.close(closed))
    },
  }
}

function parsed(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
