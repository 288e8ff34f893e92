/** What sealing costs beside the calls that it seals, and what export and verification of a long trail cost. CPU of all processes. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type Connection } from '../db/connect.ts'
import { httpClient } from '../src/cli/call-operation.ts'
import type { CommandContext } from '../src/cli/command-context.ts'
import { exportTrail, verifyFile } from '../src/cli/commands/audit.ts'
import { sealTrail } from '../src/cores/trail/index.ts'
import { dataKeys } from '../src/trust/data-key.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { newDatabase, startOurs, tokenFor } from './connector.ts'
import { inLanes } from './load.ts'
import { messageSender, tokensOfPeople, WHOAMI } from './mcp.ts'
import { OWNER } from './person.ts'
import { cpuSeconds, inTemporaryFolder, type Program } from './programs.ts'
import { metOrMissed } from './results.ts'
import { sized } from './sizes.ts'

const WARM = sized(2_000, 10)
const CALLS = sized(3_000, 40)
const SEAL_TARGET = 0.05
const ROWS = sized(1_000_000, 3_000)
const FILLED_AT_ONCE = 10_000
const SECONDS_TARGET = 30
const TIMEOUT_MS = 300_000
/** Without the worker: this seals. */
const SERVICES = 'api-gateway,auth-service,deploy-api,console,site,mcp-server'

export const trail = () =>
  inTemporaryFolder(async (folder) => {
    const postgres = await startPostgres()
    const programs: Program[] = []
    const database = await newDatabase(postgres.url, 'trail')
    const jwtSecret = randomBytes(32).toString('hex')
    const connections: Connection[] = []
    try {
      const ours = await startOurs(folder, database, { JWT_SECRET: jwtSecret, SVC_SERVICES: SERVICES })
      programs.push(ours.program)
      const connection = await connect({ url: database })
      connections.push(connection)
      const deps = sealingIn(connection)
      const [code] = await ours.codes(1)
      const tokens = await tokensOfPeople(database, jwtSecret, (await tokenFor(ours, code!)).access_token)
      const senders = tokens.map((token) => messageSender(ours.resource, token, WHOAMI))
      const ask = (lane: number) => senders[lane % senders.length]!.call()
      const used = measuring(connection, () => cpuSeconds(ours.program))
      await inLanes(WARM, ask)
      await sealTrail(deps)
      const calls = await used(() => inLanes(CALLS, ask))
      const sealing = await used(() => sealTrail(deps))
      for (const one of senders) one.close()
      const share = sealing.seconds / sealing.result / (calls.seconds / CALLS)

      const perRow = (sealing.seconds / sealing.result) * 1e6
      return [
        `whoami  ${((calls.seconds / CALLS) * 1000).toFixed(2)} ms CPU each`,
        `sealing a call  ${perRow.toFixed(0)} µs CPU, ${share.toFixed(3)}x of it (target ${SEAL_TARGET}x: ${metOrMissed(share <= SEAL_TARGET)})`,
        ...(await measureLong(ours, connection, folder)),
      ]
    } finally {
      for (const connection of connections) await connection.close()
      await Promise.all(programs.map((program) => program.stop()))
      await postgres.stop()
    }
  })

const sealingIn = ({ db }: Connection) => ({
  db,
  clock: () => new Date(),
  dataKeys: dataKeys('5a'.repeat(32)),
  log: { warn: () => {} },
})

/** A long trail of one organization, which the client exports from the program. */
async function measureLong(ours: Ours, connection: Connection, folder: string): Promise<string[]> {
  const used = measuring(connection, () => cpuSeconds(ours.program))
  await fill(connection)
  const sealed = await used(() => sealTrail(sealingIn(connection)))
  const file = join(folder, 'trail.ndjson')
  const ctx = await asOwner(ours)
  const exported = await used(async () => exportTrail(ctx, { args: { file }, rest: [], options: {} }))
  const verified = await used(() => verifyFile(file))
  const { problem, rows } = verified.result
  if (problem || rows < ROWS) throw new Error(`${rows} rows, ${problem?.says}`)
  const line = (what: string, seconds: number) =>
    `${what}  ${seconds.toFixed(1)} s CPU (target ${SECONDS_TARGET} s: ${metOrMissed(seconds <= SECONDS_TARGET)})`
  return [
    `sealing ${ROWS} rows  ${sealed.seconds.toFixed(1)} s CPU`,
    line(`export of ${ROWS} rows`, exported.seconds),
    line(`verification of ${ROWS} rows`, verified.seconds),
  ]
}

type Ours = Awaited<ReturnType<typeof startOurs>>

/** All that the command asks of its context. */
async function asOwner({ origin }: Ours): Promise<CommandContext> {
  const apiUrl = new URL(origin)
  const signedIn = await fetch(new URL('/api/v1/sessions', apiUrl), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(OWNER),
  })
  const { token } = (await signedIn.json()) as { token: string }
  const callOperation = httpClient({ apiUrl, token, timeoutMs: TIMEOUT_MS, userAgent: 'bench' })
  return { callOperation, print: () => {} } as unknown as CommandContext
}

type Used<T> = { readonly seconds: number; readonly result: T }

const measuring = (connection: Connection, other: () => number = () => 0) => {
  const cpu = async () => other() + (await databaseSeconds(connection)) + ownSeconds()
  return async <T>(work: () => Promise<T>): Promise<Used<T>> => {
    const before = await cpu()
    const result = await work()
    return { seconds: (await cpu()) - before, result }
  }
}

const ownSeconds = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

const seenSeconds = new Map<number, number>()
/** Of all processes of the server that are or were there; the kernel counts in hundredths of a second. */
async function databaseSeconds({ sql }: Connection): Promise<number> {
  for (const { pid } of await sql.query<{ pid: number }>('select pid from pg_stat_activity')) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
      seenSeconds.set(pid, (Number(fields[11]) + Number(fields[12])) / 100)
    } catch {
      // It has ended meanwhile.
    }
  }
  return [...seenSeconds.values()].reduce((sum, one) => sum + one, 0)
}

/** As if they had been written one by one; in parts, because a statement has its time. */
async function fill({ sql }: Connection): Promise<void> {
  for (let from = 1; from <= ROWS; from += FILLED_AT_ONCE) {
    await sql.query(`
      with added as (
        insert into activity (org_id, id, at, type, name, user_id, user_name, entry_point, client_id, client_name, grant_id,
          outcome, duration_ms, question_bytes, answer_bytes, request_id, trail_order)
        select (select org_id from memberships limit 1), 'act_0mzzzzzzz' || lpad(n::text, 16, '0'), now(), 'function', 'whoami',
          'usr_' || lpad((n % 997)::text, 25, '0'), 'Somebody', 'mcp', 'https://assistant.example/client.json', 'Assistant',
          'grt_' || lpad((n % 997)::text, 25, '0'), 'answered', 40, 40, 4000, 'req_bench', nextval('trail_order')
        from generate_series(${from}, ${Math.min(from + FILLED_AT_ONCE - 1, ROWS)}) n returning trail_order, org_id, id)
      insert into trail_pending select * from added`)
  }
  await sql.query('analyze trail_pending')
}
