/**
 * Four processes against one, on the same cores and the same Postgres server: what a second process costs where it gains
 * nothing. And what each kind of work costs the program and the database, and how many bytes its rows take.
 */
import { randomBytes } from 'node:crypto'
import { connect } from '../db/connect.ts'
import { SAMPLE_SOURCE } from '../src/sample/load-sample.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { LINES, makeApp, requestOf } from './apps-logs.ts'
import { newDatabase, startOurs, tokenFor } from './connector.ts'
import { CONNECTIONS, inLanes, measured, sender } from './load.ts'
import { messageSender, tokensOfPeople, WHOAMI } from './mcp.ts'
import { databaseSeconds, postmasterOf, withReceiver } from './notifications.ts'
import { OWNER } from './person.ts'
import { freePort, inTemporaryFolder, startServer, untilAnswers, type Program } from './programs.ts'
import { deliveries } from './replicas-deliveries.ts'
import { report, SIDES, type Seen, type SideName } from './replicas-report.ts'
import { sizesOf } from './row-sizes.ts'
import { roundsOf, sized } from './sizes.ts'

const ROUNDS = roundsOf(3)

export const replicas = () =>
  inTemporaryFolder(async (folder) => {
    const postgres = await startPostgres()
    const stops: (() => Promise<void>)[] = []
    try {
      const server = await connect({ url: postgres.url }, { poolSize: 1 })
      stops.push(() => server.close())
      const sides = {
        one: await startSide(postgres.url, `${folder}/one`, 'one', stops),
        four: await startSide(postgres.url, `${folder}/four`, 'four', stops),
      }
      const lines = await race(sides, await postmasterOf(server))
      const sizes = await sizesOf(sides.four.database)
      for (const stop of stops.splice(1).toReversed()) await stop()
      const sent = await withReceiver(postgres.url, (stage) => deliveries(stage, ROUNDS))
      return [...lines, ...sent.lines, '', 'bytes a row takes with its indexes', ...sizes, ...sent.sizes]
    } finally {
      for (const stop of stops.toReversed()) await stop()
      await postgres.stop()
    }
  })

type Side = {
  readonly database: string
  readonly programs: readonly Program[]
  readonly work: Readonly<Record<Kind, (lane: number) => Promise<void>>>
}

/** `size`: how many of the unit one request is. */
const KINDS = {
  'requests (GET /api/v1/me)': { count: sized(1_000, 20), size: 1 },
  'tool calls (whoami over MCP)': { count: sized(500, 20), size: 1 },
  'refreshes of access tokens': { count: sized(400, 20), size: 1 },
  'questions to a data source': { count: sized(200, 10), size: 1 },
  'log lines (512 a request)': { count: sized(60, 8), size: LINES },
} as const
type Kind = keyof typeof KINDS

/** Every process of a side serves everything, at the public address of the first; requests go to each in turn. */
async function startSide(
  server: string,
  folder: string,
  name: SideName,
  stops: (() => Promise<void>)[],
): Promise<Side> {
  const database = await newDatabase(server, name)
  const secret = () => randomBytes(32).toString('hex')
  const settings = {
    JWT_SECRET: secret(),
    JWT_SIGNING_KEY: secret(),
    ACTOR_ASSERTION_SECRET: secret(),
    DATA_KEY: secret(),
    MANAGED_DATABASE_URL: process.env['TEST_PGVECTOR_URL'] ?? 'embedded',
    MANAGED_CONNECTIONS: '60',
    ...Object.fromEntries(LIMITS.map((limit) => [limit, '1000000'])),
  }
  const first = await startOurs(folder, database, settings)
  stops.push(() => first.program.stop())
  const { origin } = first
  const token = await signIn(origin)
  stops.push(() => removeSample(origin, token))
  const programs = [first.program]
  const origins = [origin]
  while (programs.length < SIDES[name]) {
    const port = await freePort()
    const program = startServer(folder, port, {
      ...settings,
      ...Object.fromEntries(PUBLIC_URLS.map((url) => [url, origin])),
      DATABASE_URL: database,
      TRUSTED_PROXIES: '127.0.0.1,::1',
    })
    programs.push(program)
    stops.push(() => program.stop())
    origins.push(`http://localhost:${port}`)
    await untilAnswers(`http://127.0.0.1:${port}/readyz`, program)
  }
  const codes = await first.codes(CONNECTIONS)
  const tokens = await Promise.all(codes.map((code) => tokenFor(first, code)))
  return {
    database,
    programs,
    work: {
      'requests (GET /api/v1/me)': requests(origins, '/api/v1/me', { headers: bearer(token) }),
      'tool calls (whoami over MCP)': toolCalls(
        origins,
        await tokensOfPeople(database, settings.JWT_SECRET, tokens[0]!.access_token),
      ),
      'refreshes of access tokens': refreshes(
        origins,
        first,
        tokens.map(({ refresh_token }) => refresh_token),
      ),
      'questions to a data source': requests(
        origins,
        `/api/wf/slim/data-sources/${SAMPLE_SOURCE}/query`,
        { method: 'POST', headers: { ...bearer(token), ...JSON_BODY } },
        (n) => JSON.stringify({ query: `May I work from office ${n} for a month?`, top_k: 5 }),
      ),
      'log lines (512 a request)': requests(
        origins,
        '/v1/logs',
        { method: 'POST', headers: { ...bearer(await makeApp(origin, token)), ...JSON_BODY } },
        requestOf,
      ),
    },
  }
}

/** None of ours decides the race. */
const LIMITS = ['QUESTIONS_PER_MINUTE', 'QUESTIONS_PER_DAY', 'LOG_MIB_PER_APP', 'LOG_LINES_PER_MINUTE']
const PUBLIC_URLS = ['API_URL', 'AUTH_URL', 'APP_URL', 'MCP_URL', 'SITE_URL']
const JSON_BODY = { 'content-type': 'application/json', accept: 'application/json' }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

async function signIn(origin: string): Promise<string> {
  const response = await fetch(`${origin}/api/v1/sessions`, {
    method: 'POST',
    headers: JSON_BODY,
    body: JSON.stringify(OWNER),
  })
  return ((await response.json()) as { token: string }).token
}

/** The server of TEST_PGVECTOR_URL stays when this bench is over, and nothing of ours on it. */
async function removeSample(origin: string, token: string): Promise<void> {
  const name = SAMPLE_SOURCE.replace(/^db_/, '')
  const response = await fetch(`${origin}/api/wf/databases/${name}?confirm=${name}`, {
    method: 'DELETE',
    headers: bearer(token),
  })
  if (!response.ok) throw new Error(`the sample stays: ${await response.text()}`)
}

type Asked = { method?: string; headers: Record<string, string> }

/** The next request goes to the next process, whoever sends it. */
function inTurn<T>(origins: readonly string[], open: (origin: string, host: { host: string }) => T): () => T {
  const { host } = new URL(origins[0]!)
  const all = origins.map((origin) => open(origin, { host }))
  let turn = 0
  return () => all[turn++ % all.length]!
}

function requests(origins: readonly string[], path: string, asked: Asked, bodyOf?: (n: number) => string) {
  const next = inTurn(origins, (origin, host) =>
    sender(`${origin}${path}`, { ...asked, headers: { ...asked.headers, ...host } }),
  )
  let n = 0
  return async () => void (await next().send(bodyOf?.(n++)))
}

function toolCalls(origins: readonly string[], tokens: readonly string[]) {
  const next = inTurn(origins, (origin, host) =>
    tokens.map((token) => messageSender(`${origin}/platform`, token, WHOAMI, host)),
  )
  return (lane: number) => next()[lane % tokens.length]!.call()
}

/** Every lane renews its own token again and again, as a client does. */
function refreshes(
  origins: readonly string[],
  { clientId, resource }: { clientId: string; resource: string },
  chains: string[],
) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const next = inTurn(origins, (origin, host) =>
    sender(`${origin}/oauth/token`, { method: 'POST', headers: { ...headers, ...host } }),
  )
  return async (lane: number) => {
    const fields = {
      client_id: clientId,
      resource,
      grant_type: 'refresh_token',
      refresh_token: chains[lane]!,
    }
    const answer = await next().send(new URLSearchParams(fields).toString())
    chains[lane] = (JSON.parse(answer) as { refresh_token: string }).refresh_token
  }
}

async function race(sides: Record<SideName, Side>, postmaster: number): Promise<string[]> {
  const names = Object.keys(SIDES) as SideName[]
  const lines: string[] = []
  for (const [kind, { count, size }] of Object.entries(KINDS) as [Kind, (typeof KINDS)[Kind]][]) {
    const seen: Record<SideName, Seen[]> = { one: [], four: [] }
    // The first thousand requests are compiled, not served: of every process.
    for (const name of names) await inLanes(count * Math.min(2, SIDES[name]), sides[name].work[kind])
    // Taking turns: a change in the machine's load meets both, and so does who is first.
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of round % 2 === 0 ? names : names.toReversed()) {
        const { programs, work } = sides[name]
        const before = databaseSeconds(postmaster)
        const load = await measured(programs, count, work[kind])
        const databaseMs = ((databaseSeconds(postmaster) - before) * 1000) / count
        seen[name].push({ ...load, databaseMs })
      }
    }
    lines.push(...report(kind, size, seen))
  }
  return lines
}
