/**
 * A sync of documents, or its undoing, that is killed at any moment: its client, the server, or both, in every phase. Whoever
 * looks meanwhile finds one version or the other, whole; in the end it is the one that was asked for.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { removeDatabase } from '../../src/contracts/databases.ts'
import { createDocuments, showDocuments, undoDocuments } from '../../src/contracts/documents.ts'
import { listLoads, type LoadPhase, type LoadState } from '../../src/contracts/loads.ts'
import { kill, startClient, until } from '../support/client-process.ts'
import { startKilledServer, type KilledServer } from '../support/killed-server.ts'
import { processes } from '../support/process.ts'

/** Most of it waits until leases are over. */
const AT_ONCE = { concurrent: true, timeout: 25 * 60_000 }

const own = processes()
let model: Server
let setting: string

/** Answers slowly enough that a kill comes in between. */
beforeAll(async () => {
  model = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => void (body += part))
    request.once('end', () => {
      const { input } = JSON.parse(body) as { input: string | string[] }
      const data = [input].flat().map((_, index) => ({ index, embedding: [1, 0, 0] }))
      const answer = JSON.stringify({ data })
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

type Moment = LoadState | LoadPhase
type Kill = { readonly at: Moment; readonly who: 'client' | 'server' | 'both' }
const ORDER: readonly Moment[] = ['uploading', 'reading', 'embedding', 'finishing', 'succeeded']
/** A killed server is waited for until its lease is over: each costs half a minute. */
const KILLS: readonly Kill[] = [
  { at: 'uploading', who: 'client' },
  { at: 'uploading', who: 'both' },
  { at: 'reading', who: 'server' },
  { at: 'embedding', who: 'both' },
  { at: 'embedding', who: 'server' },
  { at: 'finishing', who: 'server' },
]

const SERVER = process.env['TEST_PGVECTOR_URL']
const PLACES = ['embedded', ...(SERVER ? [SERVER] : [])]

/** Different numbers of both, so that a mixture would have others. */
const VERSIONS = {
  first: { documents: 300, passages: 300 },
  second: { documents: 400, passages: 800 },
} as const
type Version = keyof typeof VERSIONS

async function writeFolder(folder: string, version: Version): Promise<string> {
  const { documents, passages } = VERSIONS[version]
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  for (let at = 0; at < documents; at++) {
    const sections = Array.from(
      { length: passages / documents },
      (_, section) => `## Section ${section}\n\n${`Edition ${version} of ${at}. `.repeat(30)}\n`,
    )
    await writeFile(join(folder, `page-${at}.md`), `# Page ${at}\n\n${sections.join('\n')}`)
  }
  return folder
}

async function begin(managed: string): Promise<KilledServer> {
  const system = await startKilledServer(own, { managed, models: setting })
  await system.call(createDocuments, { name: 'pages', model: 'slow' })
  return system
}

/** A server of somebody else's is left as it was found. */
const leave = async ({ call, end }: KilledServer) => {
  await call(removeDatabase, { name: 'pages', confirm: 'pages' })
  await end()
}

/** Looks until it is told to stop, and remembers everything that it has seen. */
function watch({ call }: KilledServer) {
  const seen = new Set<string>()
  const over = new AbortController()
  const look = async () => {
    const held = await call(showDocuments, { name: 'pages' }).catch(() => undefined)
    if (held) seen.add(told(held))
  }
  const looking = (async () => {
    while (!over.signal.aborted) {
      await look()
      await sleep(100)
    }
    // What is there when it is told to stop may be younger than its last look.
    await look()
  })()
  return async () => {
    over.abort()
    await looking
    return [...seen]
  }
}
const told = ({ documents, passages }: { documents: number; passages: number }): string =>
  `${documents} documents, ${passages} passages`

/** Syncs the folder while both are killed. */
async function syncKilled(system: KilledServer, folder: string, kills: readonly Kill[]): Promise<void> {
  const known = (await system.call(listLoads, { name: 'pages' })).loads.length
  const place = async () => {
    const { loads } = await system.call(listLoads, { name: 'pages' })
    const [load] = loads.length > known ? loads : []
    return load ? ORDER.indexOf(load.phase ?? load.state) : -1
  }
  const start = () => startClient(system.server(), system.token, ['docs', 'sync', 'pages', folder])
  let client = start()
  for (const { at, who } of kills) {
    await until(client, async () => (await place()) >= ORDER.indexOf(at))
    await sleep(Math.random() * 100)
    if (who !== 'server') await kill(client)
    if (who !== 'client') await system.kill()
    await kill(client)
    if ((await place()) === ORDER.indexOf('succeeded')) break
    client = start()
  }
  // After some undoings it may be what the folder has already.
  await until(
    client,
    async () =>
      client.words.includes('Nothing has changed') || (await place()) === ORDER.indexOf('succeeded'),
  )
  await kill(client)
}

test.for(PLACES)(
  'killed again and again, client and server, one version or the other is there (%#)',
  AT_ONCE,
  async (place, { onTestFinished }) => {
    const system = await begin(place)
    onTestFinished(() => leave(system))
    const folder = join(await own.newFolder(), 'pages')
    await syncKilled(system, await writeFolder(folder, 'first'), [])
    const stop = watch(system)
    await syncKilled(system, await writeFolder(folder, 'second'), KILLS)
    const after = await system.call(showDocuments, { name: 'pages' })
    expect(after).toMatchObject({ ...VERSIONS.second, version: 2 })
    expect((await stop()).toSorted()).toEqual([told(VERSIONS.first), told(VERSIONS.second)])

    // Undone while the server is killed: done or not done, and once more it is the other one.
    const stopUndoing = watch(system)
    for (let at = 0; at < UNDOINGS; at++) {
      const { version } = await system.call(showDocuments, { name: 'pages' })
      const undoing = system.call(undoDocuments, { name: 'pages', version }).catch(() => undefined)
      await sleep(Math.random() * 250)
      await system.kill()
      await undoing
      const held = await system.call(showDocuments, { name: 'pages' })
      expect([version, version + 1]).toContain(held.version)
      const shown: Version = held.version % 2 === 0 ? 'second' : 'first'
      expect(told(held)).toBe(told(VERSIONS[shown]))
    }
    const seen = await stopUndoing()
    expect(seen.filter((one) => !Object.values(VERSIONS).map(told).includes(one))).toEqual([])
    // And the next sync finds all as it should be.
    await syncKilled(system, await writeFolder(folder, 'first'), [])
    expect(await system.call(showDocuments, { name: 'pages' })).toMatchObject(VERSIONS.first)
  },
)

const UNDOINGS = 4
