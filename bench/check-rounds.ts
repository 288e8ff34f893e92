/** Our contestant of checks: the shipped runner with its claims, the guarded request, conditions and what is written of each. */
import { fileURLToPath } from 'node:url'
import { connect } from '../db/connect.ts'
import { sql } from '../db/drizzle.ts'
import { migrate } from '../db/migrate.ts'
import { readMigrations } from '../db/read-migrations.ts'
import { checks } from '../db/schema.ts'
import { createLineMatcher } from '../src/adapters/log-matching/index.ts'
import { httpProbes } from '../src/adapters/outbound/http-probe.ts'
import { CheckDefinition } from '../src/contracts/checks.ts'
import { makeId } from '../src/contracts/ids.ts'
import { dataKeys } from '../src/trust/data-key.ts'
import { rounds } from './rounds.ts'
import { drainChecks } from '../test/support/drain.ts'

const {
  count,
  rounds: n,
  url,
  database,
  dataKey,
} = JSON.parse(process.argv[2]!) as {
  count: number
  rounds: number
  url: string
  database: string
  dataKey: string
}
/** As many as fill their shares of what may be in flight. */
const ORGANIZATIONS = 10

const { db, sql: text, close } = await connect({ url: database })
await migrate(text, await readMigrations(fileURLToPath(new URL('../db/migrations', import.meta.url))))
const organizations = Array.from({ length: ORGANIZATIONS }, () => makeId('org', Date.now()))
const definition = CheckDefinition.parse({ kind: 'http', url })
await db.insert(checks).values(
  Array.from({ length: count }, (_, at) => ({
    orgId: organizations[at % ORGANIZATIONS]!,
    id: makeId('chk', Date.now()),
    appId: 'app',
    name: `check ${at}`,
    definition,
    intervalSeconds: 60,
    failureThreshold: 3,
    successThreshold: 1,
    enabled: true,
    maintenanceWindows: [],
    nextRunAt: new Date(),
    createdAt: new Date(),
  })),
)
const probes = httpProbes({
  allowNets: new Map(organizations.map((id) => [id, ['127.0.0.0/8']])),
  userAgent: 'svc/bench',
})
const lineMatcher = createLineMatcher()
const deps = {
  db,
  clock: () => new Date(),
  log: { warn: (event: string, fields?: Record<string, unknown>) => console.error(event, fields) },
  dataKeys: dataKeys(dataKey),
  judge: null,
  probeHttp: probes.probe,
  matchLines: lineMatcher.matchLines,
}

const measured = await rounds(
  n,
  async () => {
    const done = await drainChecks(deps)
    if (done !== count) throw new Error(`${done} of ${count} were run`)
  },
  async () => void (await db.execute(sql`update checks set next_run_at = now() - interval '1 second'`)),
)
const [failed] = await db.execute<{ n: number }>(
  sql`select count(*)::int as n from checks where state <> 'pass'`,
)
if (failed!.n > 0) throw new Error(`${failed!.n} did not pass`)
console.log(JSON.stringify(measured))
probes.close()
await lineMatcher.close()
await close()
process.exit(0)
