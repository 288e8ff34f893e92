/** A sync of documents, the client and the server together: nothing changed, one file changed, and what memory it takes. */
import { readFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { installClient } from '../test/support/installed-client.ts'
import {
  cpuSeconds,
  freePort,
  inTemporaryFolder,
  run,
  startServer,
  untilAnswers,
  untilSays,
  type Program,
} from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf, sized } from './sizes.ts'

const FILES = sized(5_000, 50)
const ROUNDS = roundsOf(3)
/** In seconds of CPU of both sides. */
const TARGETS = { unchanged: 1.5, changed: 3 }
/** Of the highest memory with all of the files to that with a tenth of them. */
const MEMORY_TARGET = 1.25

type Cost = { readonly client: number; readonly server: number }
type Svc = (...args: string[]) => Promise<Cost & { readonly clientMiB: number }>

export const documents = () =>
  inTemporaryFolder(async (folder) => {
    const model = await startModel()
    const client = await installClient(join(folder, 'installed'))
    const port = await freePort()
    const server = startServer(join(folder, 'data'), port, { EMBEDDING_MODELS: model.setting })
    try {
      await untilAnswers(`http://localhost:${port}/readyz`, server)
      await untilSays('first-run.txt', server)
      const token =
        /Bearer (svc_\w+)/.exec(readFileSync(join(folder, 'data/first-run.txt'), 'utf8'))?.[1] ?? ''
      const env = {
        HOME: folder,
        SVC_API_URL: `http://localhost:${port}`,
        SVC_API_KEY: token,
      }
      const svc: Svc = (...args) => measure(server, [client, ...args], env)
      return await compare(svc, server, folder)
    } finally {
      await server.stop()
      model.close()
    }
  })

async function compare(svc: Svc, server: Program, folder: string): Promise<string[]> {
  const [few, all] = [join(folder, 'few'), join(folder, 'all')]
  writeFiles(few, FILES / 10)
  writeFiles(all, FILES)
  await svc('docs', 'create', 'few', '--model', 'stub')
  await svc('docs', 'create', 'all', '--model', 'stub')
  const fewFiles = await svc('docs', 'sync', 'few', few)
  const fewServerMiB = highestMiB(server)
  const allFiles = await svc('docs', 'sync', 'all', all)
  const allServerMiB = highestMiB(server)
  const unchanged: Cost[] = []
  const changed: Cost[] = []
  for (let round = 0; round < ROUNDS; round++) {
    unchanged.push(await svc('docs', 'sync', 'all', all))
    writeFileSync(join(all, 'page-7.md'), pageOf(7, `edited ${round}`))
    changed.push(await svc('docs', 'sync', 'all', all))
  }
  const count = FILES.toLocaleString('en')
  const memory = (few: number, all: number) =>
    `${few.toFixed(0)} MiB with ${(FILES / 10).toLocaleString('en')} files, ${all.toFixed(0)} MiB with ${count}: ${(all / few).toFixed(2)}x (target ${MEMORY_TARGET}x: ${metOrMissed(all / few <= MEMORY_TARGET)})`
  return [
    `${count} files, CPU of the best of ${ROUNDS}; embedded, a model that answers at once`,
    `${count} files, first  ${cpu(allFiles)}`,
    `${count} files, nothing changed  ${verdict(unchanged, TARGETS.unchanged)}`,
    `${count} files, one changed  ${verdict(changed, TARGETS.changed)}`,
    `highest memory, client   ${memory(fewFiles.clientMiB, allFiles.clientMiB)}`,
    `highest memory, server   ${memory(fewServerMiB, allServerMiB)}`,
  ]
}

const sum = ({ client, server }: Cost): number => client + server
const cpu = (cost: Cost): string =>
  `${sum(cost).toFixed(2)} s of CPU (client ${cost.client.toFixed(2)}, server ${cost.server.toFixed(2)})`

function verdict(costs: readonly Cost[], target: number): string {
  const best = costs.toSorted((a, b) => sum(a) - sum(b))[0]!
  return `${cpu(best)} (target ${target} s: ${metOrMissed(sum(best) <= target)})`
}

const pageOf = (at: number, edit = ''): string =>
  `# Page ${at}\n\n${edit} ${`What page ${at} is about, in a sentence or two. `.repeat(15)}\n`

function writeFiles(folder: string, count: number): void {
  mkdirSync(folder)
  for (let at = 0; at < count; at++) writeFileSync(join(folder, `page-${at}.md`), pageOf(at))
}

/** The client until it has ended, and what the server did meanwhile. */
async function measure(server: Program, command: readonly string[], env: Record<string, string>) {
  const [before, ofChildren] = [cpuSeconds(server), cpuOfChildren()]
  const client = run(command, env)
  let clientMiB = 0
  const looking = setInterval(() => void (clientMiB = Math.max(clientMiB, highestMiB(client))), 20)
  const code = await new Promise<number | null>((resolve) => client.child.once('exit', resolve))
  clearInterval(looking)
  if (code !== 0) throw new Error(`${command.slice(1).join(' ')}: ${client.output()}`)
  return { client: cpuOfChildren() - ofChildren, server: cpuSeconds(server) - before, clientMiB }
}

/** proc(5), cutime and cstime: the server still runs. */
function cpuOfChildren(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

/** Of a program that has just ended, nothing. */
function highestMiB({ child }: Program): number {
  try {
    const line = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))
    return Number(line?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

/** In this process, which is measured by nobody. */
async function startModel() {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => void (body += part))
    request.once('end', () => {
      const { input } = JSON.parse(body) as { input: string | string[] }
      const data = [input].flat().map((text, index) => ({ index, embedding: [1, text.length, 0] }))
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }))
    })
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    setting: JSON.stringify({ stub: { url: `http://127.0.0.1:${port}/v1`, dimensions: 3, bulk: true } }),
    close: () => server.close().closeAllConnections(),
  }
}
