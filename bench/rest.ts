/**
 * What a process takes that has nothing to do, in milliseconds of CPU a second: the whole product, embedded, on Postgres where
 * it is told of work, and where it is not; beside an empty Node process.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../db/connect.ts'
import { migrate } from '../db/migrate.ts'
import { readMigrations } from '../db/read-migrations.ts'
import { buildServer } from '../scripts/build-server.ts'
import { startPostgres } from '../test/support/postgres.ts'
import {
  cpuSeconds,
  file,
  freePort,
  inTemporaryFolder,
  run,
  startServer,
  untilAnswers,
  type Program,
} from './programs.ts'
import { metOrMissed } from './results.ts'
import { sized } from './sizes.ts'

const WARM_UP_MS = sized(40_000, 100)
const REST_MS = sized(60_000, 100)
/** Generated where the database is embedded. */
const SECRETS = Object.fromEntries(
  ['JWT_SECRET', 'JWT_SIGNING_KEY', 'ACTOR_ASSERTION_SECRET', 'DATA_KEY'].map((name) => [
    name,
    randomBytes(32).toString('hex'),
  ]),
)
const TARGETS = { embedded: 5, listening: 5, polling: 15 }

export const rest = () =>
  inTemporaryFolder(async (folder) => {
    await buildServer()
    const postgres = await startPostgres()
    try {
      const told = await databaseOn(postgres.url, 'told')
      const untold = await databaseOn(postgres.url, 'untold')
      // Notifications stay within a database: whoever listens in another one hears as little as behind a pooler.
      const polling = { ...SECRETS, DATABASE_URL: untold, DATABASE_LISTEN_URL: told }
      const empty = await msASecond(run(['--eval', 'setInterval(() => {}, 1_000_000)']))
      const seen = {
        embedded: await restOf(join(folder, 'embedded'), {}),
        listening: await restOf(join(folder, 'listening'), { ...SECRETS, DATABASE_URL: told }),
        polling: await restOf(join(folder, 'polling'), polling),
      }
      return [
        `empty Node           ${empty.toFixed(2)} ms a second`,
        ...Object.entries(TARGETS).map(([how, target]) => {
          const ms = seen[how as keyof typeof seen]
          return `svc, ${how.padEnd(15)} ${ms.toFixed(2)} ms a second (target ${target}: ${metOrMissed(ms <= target)})`
        }),
      ]
    } finally {
      await postgres.stop()
    }
  })

async function databaseOn(server: string, name: string): Promise<string> {
  const { sql, close } = await connect({ url: server }, { poolSize: 1 })
  await sql.query(`create database ${name}`)
  await close()
  const url = new URL(`/${name}`, server).href
  const made = await connect({ url }, { poolSize: 1 })
  await migrate(made.sql, await readMigrations(file('../db/migrations')))
  await made.close()
  return url
}

/** The second start: the first one also makes the sample. */
async function restOf(folder: string, env: Record<string, string>): Promise<number> {
  const port = await freePort()
  const start = async () => {
    const more = { MANAGED_DATABASE_URL: 'embedded', ...env }
    const program = startServer(folder, port, more)
    await untilAnswers(`http://localhost:${port}/readyz`, program)
    return program
  }
  await (await start()).stop()
  return msASecond(await start())
}

async function msASecond(program: Program): Promise<number> {
  await sleep(WARM_UP_MS)
  const before = cpuSeconds(program)
  await sleep(REST_MS)
  const used = cpuSeconds(program) - before
  await program.stop()
  return (used * 1000) / (REST_MS / 1000)
}
