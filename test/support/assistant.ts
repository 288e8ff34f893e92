/** An assistant as people run them: registers, sends its person to the pages, keeps tokens, refreshes, calls tools. */
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { platformOauthClients } from '../../db/schema.ts'
import type { Resource } from '../../src/contracts/scopes.ts'
import { listen } from '../../src/boot/listener.ts'
import type { Overrides } from '../../src/boot/system.ts'
import { newDatabase } from './database.ts'
import { PASSWORD, unique, type Person } from './make.ts'
import { freePort } from './free-port.ts'
import { startSystem, type TestSystem } from './system.ts'
import { formOn, newWalker, type Page, type Walker } from './walker.ts'

/** A system behind a real socket: the authorization server is reached no other way. */
export type ListeningSystem = TestSystem & { readonly origin: string }

export async function startListeningSystem(
  env: Record<string, string> = {},
  overrides: Overrides & { withMail?: boolean; ownDatabase?: boolean } = {},
): Promise<ListeningSystem> {
  const { ownDatabase, ...rest } = overrides
  const own = ownDatabase ? await newDatabase() : undefined
  const port = env.PORT ?? String(await freePort())
  const settings = {
    PORT: port,
    SVC_SERVICES: 'api-gateway,auth-service,mcp-server',
    // Every assistant and every browser comes from an address of its own, as behind a real proxy.
    TRUSTED_PROXIES: '127.0.0.1',
    STOP_SECONDS: '0',
    ...env,
  }
  const system = await startSystem(settings, {
    ...rest,
    ...(own && { connection: { ...own, close: async () => {} } }),
  })
  const listening = await listen(system.system)
  return {
    ...system,
    ...(own && { db: own.db }),
    origin: `http://localhost:${port}`,
    async stop() {
      await listening.stop()
      await system.stop()
      await own?.close()
    },
  }
}

/** An HTTP response as received. */
export type HttpAnswer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Record<string, unknown>
}

export async function readAnswer(response: Response): Promise<HttpAnswer> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
  }
}

let networks = randomInt(2 ** 32)

/**
 * In a /48 of its own: limits count an IPv6 /64 as one address, and the fullest network by its /48. Counted up, because of
 * a hundred and twenty by chance two are in the same one every fourteenth time.
 */
export const newAddress = (): string => {
  networks = (networks + 1) % 2 ** 32
  return `2001:db8:${(networks % 2 ** 16).toString(16)}:${Math.floor(networks / 2 ** 16).toString(16)}::1`
}

export async function register(
  system: Pick<ListeningSystem, 'origin'>,
  metadata: Record<string, unknown>,
  address = newAddress(),
): Promise<HttpAnswer> {
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': address }
  return readAnswer(
    await fetch(`${system.origin}/oauth/register`, {
      method: 'POST',
      headers,
      body: JSON.stringify(metadata),
    }),
  )
}

export type Client = { readonly clientId: string; readonly redirectUri: string }

export const LOOPBACK = 'http://127.0.0.1:8472/callback'

/** A row as an operator writes it: no limits apply, so that tests do not meet in them. */
export async function preRegistered(
  system: Pick<TestSystem, 'db' | 'clock'>,
  metadata: Record<string, unknown> = {},
): Promise<Client> {
  const clientId = unique('client')
  const whole = { redirect_uris: [LOOPBACK], client_name: 'An assistant', ...metadata }
  await system.db.insert(platformOauthClients).values({
    clientId,
    kind: 'pre_registered',
    metadata: whole,
    createdAt: system.clock.now(),
  })
  return { clientId, redirectUri: whole.redirect_uris[0]! }
}

/** Parameters over or instead of the usual ones; undefined leaves one out. */
type Params = Record<string, string | undefined>

export type AuthorizationRequest = {
  readonly url: URL
  readonly verifier: string
  readonly redirectUri: string
}

export type Tokens = {
  readonly access: string
  readonly refresh: string
  readonly scope: string
  readonly grantId: string
  readonly claims: Record<string, unknown>
}

export type Choices = {
  organization?: string
  scopes?: readonly string[]
  /** Ids of data sources, of whichever organization is chosen; left out: what the page proposes. */
  sources?: readonly string[]
  decision?: 'approve' | 'deny'
}

export type Assistant = ReturnType<typeof newAssistant>

/** `authenticate` says what a token request carries so that the server knows its client. */
export type Authenticate = () =>
  | Promise<{ fields?: Record<string, string>; headers?: Record<string, string> }>
  | { fields?: Record<string, string>; headers?: Record<string, string> }

export function newAssistant(
  system: ListeningSystem,
  { clientId, redirectUri }: Client,
  authenticate: Authenticate = () => ({ fields: { client_id: clientId } }),
) {
  const address = newAddress()

  function request(params: Params = {}): AuthorizationRequest {
    const verifier = randomBytes(32).toString('base64url')
    const asked: Params = {
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      state: 'a state',
      ...params,
    }
    const url = new URL('/oauth/authorize', system.origin)
    for (const [name, value] of Object.entries(asked)) {
      if (value !== undefined) url.searchParams.set(name, value)
    }
    return { url, verifier, redirectUri: asked.redirect_uri ?? redirectUri }
  }

  async function post(path: string, fields: Params): Promise<HttpAnswer> {
    const known = await authenticate()
    const body = new URLSearchParams()
    for (const [name, value] of Object.entries({ ...known.fields, ...fields })) {
      if (value !== undefined) body.set(name, value)
    }
    const headers = { 'x-forwarded-for': address, ...known.headers }
    return readAnswer(await fetch(new URL(path, system.origin), { method: 'POST', headers, body }))
  }

  const exchange = (
    code: string,
    { verifier, redirectUri: at }: AuthorizationRequest,
    changes: Params = {},
  ) =>
    post('/oauth/token', {
      grant_type: 'authorization_code',
      code,
      redirect_uri: at,
      code_verifier: verifier,
      ...changes,
    })

  /** The answer that arrives at the redirect, after the person decided; the page itself where nothing is sent. */
  async function ask(
    person: Person,
    params: Params = {},
    choices: Choices = {},
    walker: Walker = newWalker(system, { overSockets: true }),
  ): Promise<{ asked: AuthorizationRequest; back: URL; page: Page }> {
    const asked = request(params)
    let page = await arrive(system, walker, person, asked.url)
    if (!page.location) page = await decide(system, walker, page, choices)
    if (!page.location) throw new Error(`No answer (${page.status}): ${page.words}`)
    return { asked, back: page.location, page }
  }

  return {
    clientId,
    request,
    ask,
    exchange,
    /** From nothing to tokens. */
    async connect(
      person: Person,
      params: Params = {},
      choices: Choices = {},
      walker?: Walker,
    ): Promise<Tokens> {
      const { asked, back } = await ask(person, params, choices, walker)
      const code = back.searchParams.get('code')
      if (code === null) throw new Error(`No code: ${back.href}`)
      return tokensIn(await exchange(code, asked))
    },
    refresh: (token: string, changes: Params = {}) =>
      post('/oauth/token', { grant_type: 'refresh_token', refresh_token: token, ...changes }),
    revoke: (token: string) => post('/oauth/revoke', { token }),
  }
}

export function tokensIn({ status, text, body }: HttpAnswer): Tokens {
  if (status !== 200) throw new Error(`No tokens (${status}): ${text}`)
  const { access_token, refresh_token, scope } = body as Record<string, string>
  const claims = JSON.parse(Buffer.from(access_token!.split('.')[1]!, 'base64url').toString()) as Record<
    string,
    unknown
  >
  return {
    access: access_token!,
    refresh: refresh_token!,
    scope: scope!,
    grantId: String(claims.grant_id),
    claims,
  }
}

const isOurs = (system: ListeningSystem) => (url: URL) => url.origin === system.origin

/** Opens the authorization page and signs in if asked to; stops at the consent page or at the redirect away. */
export async function arrive(
  system: ListeningSystem,
  walker: Walker,
  person: Person,
  url: URL,
): Promise<Page> {
  const leaves = (to: URL) => !isOurs(system)(to)
  const page = await walker.follow(await walker.open(url), leaves)
  if (!page.forms.some(({ button }) => button === 'Sign in')) return page
  const filled = { email: person.email, password: PASSWORD }
  return walker.follow(await walker.submit(page, 'Sign in', filled), leaves)
}

export const isConsent = (page: Page): boolean => page.forms.some(({ button }) => button === 'Allow')

/** Values of the boxes with this name, and those that are ticked. */
export function boxes(page: Page, name: string): { all: string[]; ticked: string[] } {
  const found = [...page.text.matchAll(/<input type="(?:radio|checkbox)"[^>]*>/g)].filter(([tag]) =>
    tag.includes(`name="${name}"`),
  )
  const valueOf = (tag: string) => /value="([^"]*)"/.exec(tag)![1]!
  return {
    all: found.map(([tag]) => valueOf(tag)),
    ticked: found.filter(([tag]) => /\schecked\b/.test(tag)).map(([tag]) => valueOf(tag)),
  }
}

/** Decides as the page proposes unless told otherwise, and goes where that leads, up to the redirect away. */
export async function decide(
  system: ListeningSystem,
  walker: Walker,
  page: Page,
  { organization, scopes, sources, decision = 'approve' }: Choices = {},
): Promise<Page> {
  const where = organization ?? boxes(page, 'organization').ticked[0] ?? ''
  const named = (name: string, values: readonly string[]) =>
    values.map((value): [string, string] => [name, value])
  const fields: [string, string][] = [
    ['form', formOn(page, 'Allow').fields.form ?? ''],
    ['organization', where],
    ...named('scope', scopes ?? boxes(page, 'scope').ticked),
    ...named(`sources:${where}`, sources ? ['chosen'] : boxes(page, `sources:${where}`).ticked),
    ...named(`source:${where}`, sources ?? boxes(page, `source:${where}`).ticked),
    ['decision', decision],
  ]
  return walker.follow(await walker.send(page, 'Allow', fields), (to) => !isOurs(system)(to))
}

export type WhoAmI = {
  user: { id: string }
  organization: { id: string }
  role: string
  scopes: string[]
  client: string | null
  hidden: { tool: string; why: string }[]
}

/** Calls the tool whoami; `who` is there when it was let in. */
export async function whoami(
  system: Pick<ListeningSystem, 'origin'>,
  token: string | undefined,
  resource: Resource = 'platform',
): Promise<{ status: number; challenge: string | null; who: WhoAmI | undefined }> {
  const response = await fetch(`${system.origin}/${resource}`, {
    method: 'POST',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      'content-type': 'application/json',
      accept: 'application/json',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'whoami', arguments: {} },
    }),
  })
  const { status, headers, body } = await readAnswer(response)
  const result = body.result as { content: { text: string }[]; isError?: boolean } | undefined
  const who = result && !result.isError ? (JSON.parse(result.content[0]!.text) as WhoAmI) : undefined
  return { status, challenge: headers.get('www-authenticate'), who }
}
