/** What agents meet: tokens for codes, refresh tokens and assertions, against another server on the same Postgres; and each call. */
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { existsSync } from 'node:fs'
import { connect } from '../db/connect.ts'
import {
  identityLinks,
  identityProviderClients,
  memberships,
  organizationIdentityProviders,
  platformOauthClients,
} from '../db/schema.ts'
import { sha256 } from '../src/trust/keyed-hash.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { CONNECTIONS, inLanes, measured, middle, sender, type Load } from './load.ts'
import { approvals, newChallenge, OWNER, REDIRECT, register, SCOPES, type Code } from './person.ts'
import {
  file,
  freePort,
  inTemporaryFolder,
  run,
  serverEnv,
  startServer,
  untilAnswers,
  untilSays,
  type Program,
} from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf, sized } from './sizes.ts'

const ROUNDS = roundsOf(3)
const CODES = sized(96, 8)
const REFRESHES = sized(400, 16)
const TARGETS = { 'code exchange': 2.5, refresh: 2 }
const ASSERTIONS = sized(400, 16)
const ASSERTION_CPU_TARGET = 1.5

type Contestant = {
  readonly program: Program
  readonly tokenUrl: string
  readonly clientId: string
  readonly resource: string
  readonly codes: (count: number) => Promise<Code[]>
}

/** Codes and refresh tokens a second. */
export const connector = () =>
  inTemporaryFolder(async (folder) => {
    const assertions = await compareAssertions(folder)
    if (!existsSync(file('node_modules/better-auth'))) {
      return [
        ...assertions,
        'left out: what it is compared with is not installed (npm ci --prefix bench --legacy-peer-deps)',
      ]
    }
    const postgres = await startPostgres()
    const programs: Program[] = []
    try {
      const ours = await startOurs(folder, await newDatabase(postgres.url, 'ours'))
      programs.push(ours.program)
      const theirs = await startBetterAuth(await newDatabase(postgres.url, 'theirs'))
      programs.push(theirs.program)
      const seen = { ours: await warm(ours), theirs: await warm(theirs) }
      for (let round = 0; round < ROUNDS; round++) {
        for (const [who, racer] of [[ours, seen.ours] as const, [theirs, seen.theirs] as const]) {
          racer.exchanges.push(await exchangeCodes(who, CODES))
          racer.refreshes.push(await refresh(who, racer.chains, REFRESHES))
        }
      }
      return [
        ...compare('code exchange', middle(seen.ours.exchanges), middle(seen.theirs.exchanges)),
        ...compare('refresh', middle(seen.ours.refreshes), middle(seen.theirs.refreshes)),
        ...assertions,
      ]
    } finally {
      await Promise.all(programs.map((program) => program.stop()))
      await postgres.stop()
    }
  })

/** An assertion of an identity provider whose keys are known, beside a code, on the same server. */
async function compareAssertions(folder: string): Promise<string[]> {
  const postgres = await startPostgres()
  const provider = newProvider()
  const database = await newDatabase(postgres.url, 'assertions')
  const ours = await startOurs(folder, database, {}, (port, env) =>
    run([
      file('connector-server.ts'),
      JSON.stringify({ env: serverEnv(folder, port, env), keys: { keys: [provider.jwk] } }),
    ]),
  )
  try {
    const client = await trustProvider(database, provider.issuer)
    const codes: Load[] = []
    const exchanges: Load[] = []
    for (let round = 0; round <= ROUNDS; round++) {
      codes.push(await exchangeCodes(ours, CODES))
      const signed = Array.from({ length: ASSERTIONS }, () => provider.assertion(ours.origin, client.id))
      exchanges.push(await exchangeSigned(ours, client, signed))
    }
    // The first round is to warm up.
    const [code, assertion] = [middle(codes.slice(1)), middle(exchanges.slice(1))]
    const ratio = assertion.cpuMs / code.cpuMs
    return [
      `code           svc          ${code.perSecond.toFixed(0)}/s, ${code.cpuMs.toFixed(2)} ms CPU each`,
      `assertion      svc          ${assertion.perSecond.toFixed(0)}/s, ${assertion.cpuMs.toFixed(2)} ms CPU each`,
      `assertion      to a code    ${ratio.toFixed(2)}x CPU (target ${ASSERTION_CPU_TARGET}x: ${metOrMissed(ratio <= ASSERTION_CPU_TARGET)})`,
    ]
  } finally {
    await ours.program.stop()
    await postgres.stop()
  }
}

const SUBJECT = 'somebody'

function newProvider() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = 'https://identity.example'
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'ES256', kid: 'one', typ: 'oauth-id-jag+jwt' })
  return {
    issuer,
    jwk: { ...publicKey.export({ format: 'jwk' }), kid: 'one' },
    assertion(audience: string, client: string): string {
      const iat = Math.floor(Date.now() / 1000)
      const claims = { iss: issuer, sub: SUBJECT, aud: audience, client_id: client, scope: SCOPES }
      const body = encode({ ...claims, iat, exp: iat + 300, jti: randomBytes(16).toString('hex') })
      return `${header}.${body}.${signatureOf(privateKey, `${header}.${body}`)}`
    },
  }
}

const signatureOf = (key: KeyObject, text: string): string =>
  sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')

type Trusted = { readonly id: string; readonly secret: string }

/** As an organization has it after its provider was proven: the rows alone, because nobody could prove this one. */
async function trustProvider(database: string, issuer: string): Promise<Trusted> {
  const { db, close } = await connect({ url: database }, { poolSize: 1 })
  const [id, secret, now] = ['bench-assistant', randomBytes(16).toString('hex'), new Date()]
  const scopes = SCOPES.split(' ') as ('data:read' | 'maintenance:read')[]
  try {
    const [owner] = await db.select().from(memberships)
    await db.insert(organizationIdentityProviders).values({
      id: 'idp_bench',
      orgId: owner!.orgId,
      name: 'Bench',
      issuer,
      jwksUri: `${issuer}/keys`,
      state: 'on',
      provenAt: now,
      defaultScopes: scopes,
      assertionSeconds: 600,
      tokenMinutes: 15,
      createdAt: now,
    })
    await db.insert(identityProviderClients).values({
      providerId: 'idp_bench',
      clientId: id,
      kind: 'pre_registered',
      maxScopes: scopes,
      resources: ['platform'],
      createdAt: now,
    })
    await db.insert(identityLinks).values({
      id: 'idl_bench',
      providerId: 'idp_bench',
      subject: SUBJECT,
      userId: owner!.userId,
      linkedBy: 'admin',
      createdAt: now,
    })
    await db.insert(platformOauthClients).values({
      clientId: id,
      kind: 'pre_registered',
      metadata: { token_endpoint_auth_method: 'client_secret_basic', client_secret: sha256(secret) },
      createdAt: now,
    })
    return { id, secret }
  } finally {
    await close()
  }
}

async function exchangeSigned(
  { program, tokenUrl, resource }: Contestant,
  { id, secret }: Trusted,
  signed: string[],
): Promise<Load> {
  const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
  const headers = { 'content-type': 'application/x-www-form-urlencoded', authorization }
  const { send, close } = sender(tokenUrl, { method: 'POST', headers })
  try {
    return await measured(program, signed.length, async () => {
      const assertion = signed.pop()!
      const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
      await send(new URLSearchParams({ grant_type, assertion, resource }).toString())
    })
  } finally {
    close()
  }
}

async function warm(who: Contestant) {
  const chains: string[] = []
  for (const code of await who.codes(CONNECTIONS)) chains.push((await tokenFor(who, code)).refresh_token)
  await exchangeCodes(who, CODES)
  await refresh(who, chains, REFRESHES)
  return { chains, exchanges: [] as Load[], refreshes: [] as Load[] }
}

async function exchangeCodes(who: Contestant, count: number): Promise<Load> {
  const codes = await who.codes(count)
  return atTokenEndpoint(who, count, async (post) => {
    const { code, verifier } = codes.pop()!
    await post(exchangeOf(code, verifier))
  })
}

/** Every lane renews its own token again and again, as a client does. */
const refresh = (who: Contestant, chains: string[], count: number): Promise<Load> =>
  atTokenEndpoint(who, count, async (post, lane) => {
    chains[lane] = (await post({ grant_type: 'refresh_token', refresh_token: chains[lane]! })).refresh_token
  })

type Tokens = { access_token: string; refresh_token: string }
type Post = (fields: Record<string, string>) => Promise<Tokens>

async function atTokenEndpoint(
  { program, tokenUrl, clientId, resource }: Contestant,
  count: number,
  work: (post: Post, lane: number) => Promise<void>,
): Promise<Load> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const { send, close } = sender(tokenUrl, { method: 'POST', headers })
  const post: Post = async (fields) =>
    JSON.parse(
      await send(new URLSearchParams({ client_id: clientId, resource, ...fields }).toString()),
    ) as Tokens
  try {
    return await measured(program, count, (lane) => work(post, lane))
  } finally {
    close()
  }
}

const exchangeOf = (code: string, verifier: string) => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: REDIRECT,
  code_verifier: verifier,
})

export async function tokenFor(who: Contestant, { code, verifier }: Code): Promise<Tokens> {
  let tokens: Tokens | undefined
  await atTokenEndpoint(who, 1, async (post) => {
    tokens = await post(exchangeOf(code, verifier))
  })
  return tokens!
}

function compare(what: keyof typeof TARGETS, our: Load, their: Load): string[] {
  const ratio = our.perSecond / their.perSecond
  const target = TARGETS[what]
  const line = (who: string, { perSecond, cpuMs }: Load) =>
    `${what.padEnd(14)} ${who.padEnd(12)} ${perSecond.toFixed(0)}/s, ${cpuMs.toFixed(2)} ms CPU each`
  return [
    line('better-auth', their),
    line('svc', our),
    `${what.padEnd(14)} ratio        ${ratio.toFixed(2)}x (target ${target}x: ${metOrMissed(ratio >= target)}), ${(our.cpuMs / their.cpuMs).toFixed(2)}x CPU`,
  ]
}

/** On Postgres with an address, on the embedded database without. */
export async function startOurs(
  folder: string,
  database?: string,
  more: Record<string, string> = {},
  start: (port: number, env: Record<string, string>) => Program = (port, env) =>
    startServer(folder, port, env),
): Promise<Contestant & { origin: string }> {
  const port = await freePort()
  const secret = () => randomBytes(32).toString('hex')
  const onPostgres = database !== undefined && {
    DATABASE_URL: database,
    JWT_SECRET: secret(),
    JWT_SIGNING_KEY: secret(),
    ACTOR_ASSERTION_SECRET: secret(),
    DATA_KEY: secret(),
  }
  const program = start(port, {
    ...onPostgres,
    SVC_ADMIN_EMAIL: OWNER.email,
    SVC_ADMIN_PASSWORD: OWNER.password,
    TRUSTED_PROXIES: '127.0.0.1,::1',
    MCP_CALLS_PER_MINUTE: '1000000',
    ...more,
  })
  const origin = `http://localhost:${port}`
  await untilAnswers(`${origin}/readyz`, program)
  const clientId = await register(origin)
  return {
    program,
    origin,
    clientId,
    tokenUrl: `${origin}/oauth/token`,
    resource: `${origin}/platform`,
    codes: (count) => approvals(origin, clientId, count),
  }
}

/** Its sign-in and consent are skipped: they are not compared. */
async function startBetterAuth(database: string): Promise<Contestant> {
  const port = await freePort()
  const program = run([file('better-auth.mjs'), String(port), database])
  await untilSays('}\n', program)
  const { clientId, cookie } = JSON.parse(/ready (.*)\n/.exec(program.output())![1]!) as {
    clientId: string
    cookie: string
  }
  const origin = `http://localhost:${port}`
  const resource = `${origin}/platform`
  async function newCode(): Promise<Code> {
    const { verifier, challenge } = newChallenge()
    const asked = new URLSearchParams({
      client_id: clientId,
      redirect_uri: REDIRECT,
      response_type: 'code',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      scope: `${SCOPES} offline_access`,
      state: 'any',
      resource,
    })
    const response = await fetch(`${origin}/api/auth/oauth2/authorize?${asked}`, { headers: { cookie } })
    const { url } = (await response.json()) as { url: string }
    return { code: new URL(url).searchParams.get('code')!, verifier }
  }
  return {
    program,
    clientId,
    resource,
    tokenUrl: `${origin}/api/auth/oauth2/token`,
    async codes(count) {
      const codes: Code[] = []
      await inLanes(count, async () => void codes.push(await newCode()))
      return codes
    },
  }
}

export async function newDatabase(url: string, name: string): Promise<string> {
  const { sql, close } = await connect({ url }, { poolSize: 1 })
  await sql.query(`create database ${name}`)
  await close()
  const own = new URL(url)
  own.pathname = `/${name}`
  return own.href
}

const CALLS = sized(500, 20)
const WARM = sized(300, 10)
const ON_TOP_TARGET_MS = 1

/** What a call costs on top of a bare route: the token and its grant alone, and a whole answer of the MCP server. */
export const mcpCall = async () => {
  const postgres = await startPostgres()
  try {
    const onPostgres = await inTemporaryFolder(async (folder) =>
      measureCalls(await startOurs(folder, await newDatabase(postgres.url, 'ours'))),
    )
    const embedded = await inTemporaryFolder(async (folder) => measureCalls(await startOurs(folder)))
    return [...onPostgres.map((line) => `Postgres  ${line}`), ...embedded.map((line) => `embedded  ${line}`)]
  } finally {
    await postgres.stop()
  }
}

async function measureCalls(ours: Contestant & { origin: string }): Promise<string[]> {
  const port = await freePort()
  const bare = run([file('bare-hono.ts'), String(port)])
  const closers: (() => void)[] = []
  try {
    await untilAnswers(`http://127.0.0.1:${port}/api/v1/me`, bare)
    const [code] = await ours.codes(1)
    const { access_token } = await tokenFor(ours, code!)
    const kinds = callsTo(ours.resource, `http://127.0.0.1:${port}/platform`, access_token)
    const seen = kinds.map(({ name, url, ...usual }) => {
      const { send, close } = sender(url, usual)
      closers.push(close)
      const program = url.startsWith(ours.origin) ? ours.program : bare
      return { name, program, loads: [] as Load[], ask: async () => void (await send()) }
    })
    for (const { ask } of seen) await inLanes(WARM, ask)
    for (let round = 0; round < ROUNDS; round++) {
      for (const { program, loads, ask } of seen) loads.push(await measured(program, CALLS, ask))
    }
    return reportCalls(seen.map(({ name, loads }) => ({ name, ...middle(loads) })))
  } finally {
    for (const close of closers) close()
    await Promise.all([ours.program.stop(), bare.stop()])
  }
}

function callsTo(platform: string, bare: string, token: string) {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json',
  }
  const message = (method: string, params = {}) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const post = { method: 'POST', headers }
  return [
    { name: 'bare Hono route', url: bare, ...post, body: message('tools/list') },
    // Refused for its method only after the token and its grant were looked at, before anything else is done.
    { name: 'verify + liveness', url: platform, headers, status: 405 },
    { name: 'tools/list', url: platform, ...post, body: message('tools/list') },
    {
      name: 'whoami',
      url: platform,
      ...post,
      body: message('tools/call', { name: 'whoami', arguments: {} }),
    },
  ]
}

function reportCalls([bare, ...calls]: (Load & { name: string })[]): string[] {
  const line = ({ name, perSecond, cpuMs }: Load & { name: string }) =>
    `${name.padEnd(18)} ${perSecond.toFixed(0)} requests/s, ${cpuMs.toFixed(3)} ms CPU each`
  return [
    line(bare!),
    ...calls.map((call, at) => {
      const onTop = call.cpuMs - bare!.cpuMs
      const target =
        at === 0 ? ` (target ${ON_TOP_TARGET_MS} ms: ${metOrMissed(onTop <= ON_TOP_TARGET_MS)})` : ''
      return `${line(call)}, ${onTop.toFixed(3)} on top${target}`
    }),
  ]
}
