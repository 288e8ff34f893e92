/**
 * A load that is killed at any moment goes on: its client, or the server, in every phase. Until all of it is there nothing
 * can be searched; in the end every row is there, once.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import { listLoads, type LoadPhase, type LoadState } from '../../src/contracts/loads.ts'
import { atAddress } from '../support/data-sources.ts'
import { freePort } from '../support/free-port.ts'
import { firstWordsIn, migratedFolder, processes, type ServerProcess } from '../support/process.ts'

const PATIENCE_MS = 15 * 60_000
const CLIENT = fileURLToPath(new URL('../../bin/svc', import.meta.url))
const ROWS = 3_000

const own = processes()
let model: Server
let setting: string

/** Answers slowly enough that a kill comes in between. */
beforeAll(async () => {
  const answer = JSON.stringify({ data: [{ index: 0, embedding: [1, 0, 0] }] })
  model = createServer((request, response) => {
    request.resume().once('end', () => {
      setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(answer), 40)
    })
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => model.once('listening', resolve))
  const { port } = model.address() as AddressInfo
  setting = JSON.stringify({ slow: { url: `http://127.0.0.1:${port}/v1`, dimensions: 3, bulk: true } })
})
afterAll(async () => {
  await own.cleanUp()
  model?.closeAllConnections()
  model?.close()
})

const MOMENTS: readonly (LoadState | LoadPhase)[] = [
  'uploading',
  'reading',
  'embedding',
  'embedding',
  'finishing',
]

test(
  'killed again and again, client and server, the file is loaded whole and once',
  async () => {
    const SVC_DATA_DIR = await migratedFolder(own)
    const env = { SVC_DATA_DIR, PORT: String(await freePort()), SVC_ORG: 'Kill', EMBEDDING_MODELS: setting }
    let server = await own.start({ env })
    const { token } = await firstWordsIn(server)
    const call = () => server.as({ token })
    await call()(createDatabase, { name: 'notes' })

    const file = join(await own.newFolder(), 'notes.csv')
    // Several parts of an upload, and several of reading.
    const rows = Array.from(
      { length: ROWS },
      (_, at) => `n${at},"Note ${at}\nof many","${'words '.repeat(200)}${at}"`,
    )
    await writeFile(file, `id,title,text\n${rows.join('\n')}\n`)

    const loadOf = async () => (await call()(listLoads, { name: 'notes' })).loads
    const killed: string[] = []
    let client = startClient(server, token, file)
    for (const [round, moment] of MOMENTS.entries()) {
      await until(client, async () => {
        const [load] = await loadOf()
        const at = load?.phase ?? load?.state
        return at === moment || load?.state === 'succeeded'
      })
      await sleep(Math.random() * 300)
      // Never both at once in the same round: each is killed while the other lives, and in the last round both.
      if (round % 2 === 0) await kill(client)
      expect(await tablesIn(server, token)).not.toContain((await isDone(loadOf)) ? 'none' : 'public.notes')
      if (round % 2 === 1 || round === MOMENTS.length - 1) {
        await server.stop('SIGKILL')
        server = await own.start({ env })
      }
      killed.push(`${round % 2 === 0 ? 'client' : 'server'} at ${moment}`)
      await kill(client)
      client = startClient(server, token, file)
    }
    const exit = await client.exited
    const loads = await loadOf()
    console.log(`Killed: ${killed.join(', ')}; the last client ended with ${exit}`)
    await until(client, async () => await isDone(loadOf), 120_000)
    // All of them were one load.
    expect(loads).toHaveLength(1)
    const { url } = await call()(showConnectionString, { name: 'notes' })
    const [found] = await atAddress(url, (sql) =>
      sql.unsafe(`select count(*)::int as rows, count(distinct id)::int as ids, count(embedding)::int as vectors,
        min(length(text))::int as shortest from notes`),
    )
    expect(found).toEqual({ rows: ROWS, ids: ROWS, vectors: ROWS, shortest: 'words '.repeat(200).length + 1 })
    await expect.poll(() => tablesIn(server, token), { timeout: 60_000 }).toEqual(['public.notes'])
  },
  PATIENCE_MS,
)

const isDone = async (loads: () => Promise<readonly { state: LoadState }[]>): Promise<boolean> =>
  (await loads())[0]?.state === 'succeeded'

/** What is staged, and what is in its place. */
async function tablesIn(server: ServerProcess, token: string): Promise<string[]> {
  const { url } = await server.as({ token })(showConnectionString, { name: 'notes' })
  const rows = await atAddress(url, (sql) =>
    sql.unsafe(`select schemaname || '.' || tablename as name from pg_tables
      where schemaname in ('public', 'svc_loads') and tablename not in ('content', 'finished') order by 1`),
  )
  return rows.map(({ name }) => String(name))
}

type RunningClient = {
  readonly process: ChildProcess
  readonly exited: Promise<number | null>
  words: string
}

function startClient(server: ServerProcess, token: string, file: string): RunningClient {
  const args = [
    'db',
    'load',
    'notes',
    file,
    '--id',
    'id',
    '--title',
    'title',
    '--embed',
    'text',
    '--model',
    'slow',
  ]
  const child = spawn(process.execPath, [CLIENT, ...args], {
    env: { PATH: process.env['PATH'] ?? '', SVC_API_URL: server.origin, SVC_API_KEY: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const running: RunningClient = {
    process: child,
    words: '',
    exited: new Promise((resolve) => child.once('exit', (code) => resolve(code))),
  }
  const hear = (text: string) => void (running.words += text)
  child.stdout.setEncoding('utf8').on('data', hear)
  child.stderr.setEncoding('utf8').on('data', hear)
  return running
}

async function kill({ process: child, exited }: RunningClient): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  await exited
}

async function until(
  client: RunningClient,
  isSo: () => Promise<boolean>,
  patienceMs = 180_000,
): Promise<void> {
  const end = performance.now() + patienceMs
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > end) throw new Error(`it did not come to that: ${client.words}`)
    await sleep(20)
  }
}
