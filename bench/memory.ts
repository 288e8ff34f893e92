/** Memory of the whole product: at rest, against an empty Node process with the same database open, and with what it has in use. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { buildServer } from '../scripts/build-server.ts'
import { httpClient } from '../src/client/http-client.ts'
import { overNetwork } from '../src/client/service.ts'
import { queryDataSource } from '../src/contracts/data-sources.ts'
import { createDatabase, showConnectionString } from '../src/contracts/databases.ts'
import { SAMPLE_QUESTION, SAMPLE_SOURCE } from '../src/sample/load-sample.ts'
import {
  file,
  freePort,
  inTemporaryFolder,
  residentMiB,
  run,
  startServer,
  untilAnswers,
  untilSays,
} from './programs.ts'
import { metOrMissed } from './results.ts'
import { sized } from './sizes.ts'

const REST_MS = sized(5_000, 100)
const REST_TARGET = 260
const USED_TARGET = 600

export const memory = () =>
  inTemporaryFolder(async (folder) => {
    await buildServer()
    const port = await freePort()
    const start = async () => {
      const program = startServer(folder, port)
      await untilAnswers(`http://localhost:${port}/readyz`, program)
      return program
    }
    await (await start()).stop()
    const ours = await start()
    await rest()
    const resting = residentMiB(ours)
    await useDatabasesAndModel(folder, port)
    await rest()
    const used = residentMiB(ours)
    await ours.stop()
    const bare = run([file('bare-pglite.ts'), join(folder, 'db')])
    await untilSays('ready', bare)
    await rest()
    const their = residentMiB(bare)
    await bare.stop()
    return [
      `Node + bare PGlite            ${their.toFixed(0)} MiB`,
      `svc at rest                   ${resting.toFixed(0)} MiB (target ${REST_TARGET}: ${metOrMissed(resting <= REST_TARGET)})`,
      `ratio                         ${(resting / their).toFixed(2)}x`,
      `two databases and the model   ${used.toFixed(0)} MiB (target ${USED_TARGET}: ${metOrMissed(used <= USED_TARGET)})`,
    ]
  })

/** The sample's database and another one, both open, and a question to the built-in model. */
async function useDatabasesAndModel(folder: string, port: number): Promise<void> {
  const [, token] = /Bearer (svc_\w+)/.exec(await readFile(join(folder, 'first-run.txt'), 'utf8'))!
  const call = httpClient(overNetwork(new URL(`http://localhost:${port}`)), { token: token! })
  await call(queryDataSource, { source_id: SAMPLE_SOURCE, query: SAMPLE_QUESTION, top_k: 3 })
  await call(createDatabase, { name: 'second' })
  const { url } = await call(showConnectionString, { name: 'second' })
  const sql = postgres(url, { max: 1, fetch_types: false })
  await sql.unsafe(
    `create table notes as select id, md5(id::text) as text from generate_series(1, 1000) as id`,
  )
  await sql.unsafe('select count(*) from notes')
  await sql.end()
}

const rest = () => new Promise((resolve) => setTimeout(resolve, REST_MS))
