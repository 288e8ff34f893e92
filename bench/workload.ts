/** What the auth-service spends on a worker that shows its service-account token: known already, and for the first time. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { AUDIENCE, startFakeApiServer } from '../test/support/fake-api-server.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { newDatabase } from './connector.ts'
import { measured, middle, sender, type Load } from './load.ts'
import {
  file,
  freePort,
  inTemporaryFolder,
  median,
  run,
  startServer,
  untilAnswers,
  untilSays,
  type Program,
} from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf, sized } from './sizes.ts'

const ROUNDS = roundsOf(3)
/** Below what a binding may call a minute, with the others that are bound. */
const CACHED = sized(1_000, 40)
const FRESH = sized(200, 20)
const TARGET_MS = 1
const ACCOUNTS = 20
const NAMESPACE = 'workers'
const ALIAS = 'bench'

export const workload = () =>
  inTemporaryFolder(async (folder) => {
    const postgres = await startPostgres()
    const cluster = await startFakeApiServer(() => new Date())
    const programs: Program[] = []
    try {
      const secret = () => randomBytes(32).toString('hex')
      const settings = {
        DATABASE_URL: await newDatabase(postgres.url, 'ours'),
        MANAGED_DATABASE_URL: 'embedded',
        JWT_SECRET: secret(),
        JWT_SIGNING_KEY: secret(),
        ACTOR_ASSERTION_SECRET: secret(),
        DATA_KEY: secret(),
        ...cluster.settings,
      }
      const port = await freePort()
      const origin = `http://localhost:${port}`
      const start = async (more: Record<string, string>) => {
        const program = startServer(folder, port, { ...settings, ...more })
        await untilAnswers(`${origin}/readyz`, program)
        return program
      }
      // The organization has its namespace from the second start on: before the first it has no id.
      await (await start({})).stop()
      const token = /svc_\w+/.exec(readFileSync(join(folder, 'first-run.txt'), 'utf8'))![0]
      const barePort = await freePort()
      const first = await start({})
      const { organization } = await asked<{ organization: { id: string } }>(
        origin,
        token,
        'GET',
        '/api/v1/me',
      )
      await first.stop()
      const namespaces = { WORKLOAD_NAMESPACES: `${organization.id}=${NAMESPACE}` }
      const ours = await start(namespaces)
      const bare = run([file('bare-hono.ts'), String(barePort)])
      programs.push(ours, bare)
      await untilAnswers(`http://127.0.0.1:${barePort}/api/v1/me`, bare)

      await asked(origin, token, 'POST', '/api/deploy/apps', { alias: ALIAS, name: 'Bench' })
      const accounts = Array.from({ length: ACCOUNTS }, (_, n) => `worker-${n}`)
      for (const account of accounts) {
        cluster.addAccount(NAMESPACE, account, { 'svc.dev/org': organization.id })
        const body = { namespace: NAMESPACE, service_account: account }
        await asked(origin, token, 'POST', `/api/deploy/apps/${ALIAS}/service-accounts`, body)
      }
      const stage = { origin, ours, bare, barePort, token, accounts, cluster }
      return [
        ...(await measure(stage)),
        ...(await withoutHttp(stage, {
          ...settings,
          ...namespaces,
          METRICS_PORT: 'off',
          SVC_DATA_DIR: folder,
        })),
      ]
    } finally {
      await Promise.all(programs.map((program) => program.stop()))
      await cluster.close()
      await postgres.stop()
    }
  })

async function asked<T>(
  origin: string,
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
  return JSON.parse(text) as T
}

type Stage = {
  readonly origin: string
  readonly ours: Program
  readonly bare: Program
  readonly barePort: number
  readonly token: string
  readonly accounts: readonly string[]
  readonly cluster: Awaited<ReturnType<typeof startFakeApiServer>>
}

async function measure({ origin, ours, bare, barePort, token, accounts, cluster }: Stage): Promise<string[]> {
  const headers = { 'content-type': 'application/json' }
  // As the gateway and the deploy-api ask it.
  const at = sender(`${origin}/api/v1/tokens/validate`, { method: 'POST', headers })
  const route = sender(`http://127.0.0.1:${barePort}/platform`, { method: 'POST', headers, body: '{}' })
  const validate = async (shown: string, kind: string) => {
    const answer = await at.send(JSON.stringify({ token: shown }))
    if (!answer.includes(`"kind":"${kind}"`)) throw new Error(`it answered: ${answer.slice(0, 300)}`)
  }
  const mint = (n: number) =>
    cluster.mint(NAMESPACE, accounts[n % accounts.length]!, {
      audiences: [AUDIENCE],
      pod: { name: `pod-${n}`, uid: `uid-${n}` },
    })
  const reviews = () => cluster.requests.filter((request) => request.startsWith('POST')).length
  const seen = { route: [] as Load[], apiToken: [] as Load[], cached: [] as Load[], fresh: [] as Load[] }
  const calls = { cached: 0, fresh: 0 }
  let minted = 0
  for (let round = 0; round <= ROUNDS; round++) {
    const known = await Promise.all(accounts.map((_, n) => mint(n)))
    const news = await Promise.all(Array.from({ length: FRESH }, () => mint(minted++)))
    // The cluster is asked about each of them once; what it said counts for half a minute.
    for (const shown of known) await validate(shown, 'workload')
    let n = 0
    const next = () => known[n++ % known.length]!
    const before = reviews()
    const cached = await measured(ours, CACHED, () => validate(next(), 'workload'))
    const between = reviews()
    const fresh = await measured(ours, FRESH, () => validate(news.pop()!, 'workload'))
    const after = reviews()
    const apiToken = await measured(ours, CACHED, () => validate(token, 'api_token'))
    const nothing = await measured(bare, CACHED, async () => void (await route.send()))
    // The first warms up and does not count.
    if (round === 0) continue
    seen.cached.push(cached)
    seen.fresh.push(fresh)
    seen.apiToken.push(apiToken)
    seen.route.push(nothing)
    calls.cached += between - before
    calls.fresh += after - between
  }
  at.close()
  route.close()
  return report(seen, calls)
}

/** As the deploy-api asks the auth-service in its own process. */
async function withoutHttp(
  { accounts, cluster }: Stage,
  settings: Record<string, string>,
): Promise<string[]> {
  const tokens = await Promise.all(accounts.map((account) => cluster.mint(NAMESPACE, account)))
  const program = run(
    [file('workload-validations.ts'), JSON.stringify({ tokens, count: CACHED, rounds: ROUNDS })],
    settings,
  )
  await untilSays(']\n', program)
  const seen = JSON.parse(/seen (.*)\n/.exec(program.output())![1]!) as number[]
  const cpuMs = median(seen)
  return [
    `a service account, cached, in one process   ${cpuMs.toFixed(3)} ms CPU each (target below ${TARGET_MS} ms: ${metOrMissed(cpuMs < TARGET_MS)})`,
  ]
}

function report(
  seen: { route: Load[]; apiToken: Load[]; cached: Load[]; fresh: Load[] },
  calls: { cached: number; fresh: number },
): string[] {
  const line = (name: string, loads: readonly Load[]) => {
    const { perSecond, cpuMs } = middle(loads)
    return `${name.padEnd(34)} ${perSecond.toFixed(0)}/s, ${cpuMs.toFixed(3)} ms CPU each`
  }
  const onTop = middle(seen.cached).cpuMs - middle(seen.route).cpuMs
  const each = calls.fresh / (FRESH * ROUNDS)
  return [
    line('bare Hono route', seen.route),
    line('an API token', seen.apiToken),
    `${line('a service account, cached', seen.cached)}, ${onTop.toFixed(3)} on top of a bare route`,
    `calls of the API server            ${calls.cached} for ${CACHED * ROUNDS} (target 0: ${metOrMissed(calls.cached === 0)})`,
    line('a service account, new', seen.fresh),
    `calls of the API server            ${each.toFixed(2)} each (target 1: ${metOrMissed(each === 1)})`,
  ]
}
