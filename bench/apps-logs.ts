/** Log intake against a bare route that inserts the same rows, and a search against the same SQL by hand. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { startPostgres } from '../test/support/postgres.ts'
import { inLanes, measured, middle, sender, type Load } from './load.ts'
import {
  file,
  freePort,
  inTemporaryFolder,
  median,
  run,
  startServer,
  untilAnswers,
  type Program,
} from './programs.ts'
import { metOrMissed } from './results.ts'
import { timed } from './timing.ts'
import { roundsOf, sized } from './sizes.ts'

/** As many as exporters send at once by default. */
export const LINES = 512
const REQUESTS = sized(100, 8)
const ROUNDS = roundsOf(5)
const SEARCHED = sized(1_000_000, 10_000)
const SEARCHES = roundsOf(5)
const TARGETS = { intake: 2, search: 1.3 }
const ALIAS = 'bench'

export const appLogs = () =>
  inTemporaryFolder(async (folder) => {
    const database = await startPostgres()
    const [port, barePort] = [await freePort(), await freePort()]
    const secrets = Object.fromEntries(
      ['JWT_SECRET', 'JWT_SIGNING_KEY', 'ACTOR_ASSERTION_SECRET', 'DATA_KEY'].map((name) => [
        name,
        randomBytes(32).toString('hex'),
      ]),
    )
    const ours = startServer(folder, port, {
      ...secrets,
      DATABASE_URL: database.url,
      LOG_LINES_PER_MINUTE: '100000000',
      LOG_MIB_PER_APP: '1000000',
    })
    const bare = run([file('bare-logs.ts'), String(barePort), database.url])
    const sql = postgres(database.url, { max: 1, onnotice() {} })
    try {
      const at = `http://localhost:${port}`
      await untilAnswers(`${at}/readyz`, ours)
      await untilAnswers(`http://127.0.0.1:${barePort}/ready`, bare)
      const token = /svc_\w+/.exec(readFileSync(join(folder, 'first-run.txt'), 'utf8'))![0]
      const appToken = await makeApp(at, token)
      return [
        ...(await intake(
          { program: ours, url: `${at}/v1/logs`, token: appToken },
          { program: bare, url: `http://127.0.0.1:${barePort}/v1/logs`, token: 'none' },
        )),
        ...(await search(at, token, sql)),
      ]
    } finally {
      await Promise.all([ours.stop(), bare.stop(), sql.end()])
      await database.stop()
    }
  })

export async function makeApp(at: string, token: string): Promise<string> {
  const post = async (path: string, body: object) => {
    const response = await fetch(`${at}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as { token?: string }
  }
  await post('/api/deploy/apps', { alias: ALIAS, name: 'Bench' })
  const made = await post(`/api/deploy/apps/${ALIAS}/tokens`, { name: 'bench', scope: 'apps:report' })
  return made.token!
}

type Contestant = { readonly program: Program; readonly url: string; readonly token: string }

async function intake(ours: Contestant, bare: Contestant): Promise<string[]> {
  const contestants = { ours: contest(ours), bare: contest(bare) }
  await inLanes(50, contestants.ours.send)
  await inLanes(50, contestants.bare.send)
  const seen = { ours: [] as Load[], bare: [] as Load[] }
  for (let round = 0; round < ROUNDS; round++) {
    seen.bare.push(await measured(bare.program, REQUESTS, contestants.bare.send))
    seen.ours.push(await measured(ours.program, REQUESTS, contestants.ours.send))
  }
  contestants.ours.close()
  contestants.bare.close()
  const [our, their] = [middle(seen.ours), middle(seen.bare)]
  const line = ({ perSecond, cpuMs }: Load) =>
    `${Math.round(perSecond * LINES).toLocaleString('en')} lines/s, ${((cpuMs * 1000) / LINES).toFixed(1)} µs CPU a line`
  return [
    `one insert a request, bare   ${line(their)}`,
    `POST /v1/logs                ${line(our)}`,
    `ratio                        ${(our.cpuMs / their.cpuMs).toFixed(2)}x CPU, ${(their.perSecond / our.perSecond).toFixed(2)}x time (target ${TARGETS.intake}x: ${metOrMissed(our.cpuMs / their.cpuMs <= TARGETS.intake)})`,
  ]
}

function contest({ url, token }: Contestant) {
  const { send, close } = sender(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  })
  let sent = 0
  return { send: async () => void (await send(requestOf(sent++))), close }
}

/** As exporters write them; lines as servers log them, some with what has to be hidden. */
export function requestOf(n: number): string {
  const now = BigInt(Date.now()) * 1_000_000n
  const logRecords = Array.from({ length: LINES }, (_, line) => ({
    timeUnixNano: String(now + BigInt(line)),
    observedTimeUnixNano: String(now),
    severityNumber: line % 10 === 0 ? 17 : 9,
    severityText: line % 10 === 0 ? 'ERROR' : 'INFO',
    body: { stringValue: textOf(n * LINES + line) },
    attributes: [],
  }))
  return JSON.stringify({
    resourceLogs: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'checkout' } }] },
        scopeLogs: [{ scope: { name: 'app' }, logRecords }],
      },
    ],
  })
}

const KINDS: readonly ((n: number) => string)[] = [
  (n) => `GET /orders/${n} 200 in ${n % 97} ms`,
  (n) => `Payment ${n} of customer c-${n * 7} failed after ${n % 50} ms: card declined`,
  (n) => `worker-3 job "sync-${n}" finished, ${n % 1000} rows written to warehouse.orders_daily`,
  (n) => `cannot reach 10.0.0.${n % 250}:5432, trying again in ${n % 9} s`,
  () => 'user logged in from https://shop.example/login, session started',
  (n) => `cache miss for product:${n}, loading from database`,
  (n) => `POST /api/cart/${n}/items 201 in ${n % 31} ms user-agent=Mozilla/5.0`,
  (n) => `mail to customer${n}@example.com queued`,
]
const textOf = (n: number): string => KINDS[n % KINDS.length]!(n)

async function search(at: string, token: string, sql: postgres.Sql): Promise<string[]> {
  await sql`delete from log_lines where app_id <> (select id from apps where alias = ${ALIAS})`
  await sql`
    insert into log_lines select org_id, id, 10000000 + n, now() - n * interval '50 milliseconds', 2, n % 1000,
      'Payment ' || n || ' of customer c-' || n * 7 || ' failed after ' || n % 50 || ' ms: card declined', 'checkout', null
    from apps, generate_series(1, ${SEARCHED}::int) as n where alias = ${ALIAS}`
  await sql`update log_usage set last_number = 100000000`
  await sql.unsafe('vacuum analyze log_lines')
  const [app] = await sql<{ org_id: string; id: string }[]>`
    select org_id, id from apps where alias = ${ALIAS}`
  const byHand = () => sql`
    select * from log_lines where org_id = ${app!.org_id} and app_id = ${app!.id} and text ilike '%zebra crossing%'
    order by at desc, number desc limit 51`
  const { send, close } = sender(`${at}/api/deploy/apps/${ALIAS}/logs?text=zebra%20crossing`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const seen = { ours: [] as number[], byHand: [] as number[] }
  await byHand()
  await send()
  for (let round = 0; round < SEARCHES; round++) {
    seen.byHand.push((await timed(async () => byHand())).ms)
    seen.ours.push((await timed(() => send())).ms)
  }
  close()
  const [our, their] = [median(seen.ours), median(seen.byHand)]
  return [
    `search of ${SEARCHED.toLocaleString('en')} lines, by hand   ${their.toFixed(0)} ms`,
    `the same through the API           ${our.toFixed(0)} ms, ${(our / their).toFixed(2)}x (target ${TARGETS.search}x: ${metOrMissed(our / their <= TARGETS.search)})`,
  ]
}
