/** Pages of the console against the slowest operation that each of them calls, how large they are on the way, and open ones. */
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds, file, freePort, median, residentMiB, run, untilSays } from './programs.ts'
import { roundsOf, sized } from './sizes.ts'

export type PageCost = {
  readonly path: string
  readonly cpuMs: number
  readonly slowest: { readonly name: string; readonly cpuMs: number }
  readonly compressedKiB: number
}

const ROUNDS = roundsOf(3)
/** As many as an organization may ask in a week, with the limits as they come. */
const CALLS = sized(35_000, 1_000)

/** In a process of its own, whose CPU time is counted. */
export async function consolePages(): Promise<string[]> {
  const rounds: PageCost[][] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const program = run([file('console-pages.ts'), String(CALLS)])
    await untilSays('done', program)
    rounds.push(JSON.parse(/^\[.*\]$/m.exec(program.output())![0]) as PageCost[])
    await program.stop()
  }
  const [first] = rounds
  const pages = first!.map(({ path, slowest, compressedKiB }, at) => {
    const page = median(rounds.map((pages) => pages[at]!.cpuMs))
    const operation = median(rounds.map((pages) => pages[at]!.slowest.cpuMs))
    const ratio = (page / operation).toFixed(2)
    return `${path.padEnd(34)} ${page.toFixed(1)} ms CPU, ${slowest.name} ${operation.toFixed(1)} ms, ${ratio}x; ${compressedKiB.toFixed(1)} KiB compressed`
  })
  return [...pages, await openStreams()]
}

const STREAMS = sized(200, 16)
/** As many as a browser has, for one person. */
const STREAMS_EACH = 8
/** Long enough for each to be asked once whether its rights hold. */
const REST_MS = sized(90_000, 1_000)

/** Pages that are open and nothing changes: what they cost the process, beside what it costs without them. */
async function openStreams(): Promise<string> {
  const port = await freePort()
  const program = run([
    '--expose-gc',
    file('console-streams.ts'),
    String(port),
    String(STREAMS / STREAMS_EACH),
  ])
  try {
    await untilSays('ready', program)
    const { organization, tokens } = JSON.parse(/^\{.*\}$/m.exec(program.output())![0]) as {
      organization: string
      tokens: readonly string[]
    }
    const openAll = () =>
      Promise.all(
        tokens.flatMap((token) =>
          Array.from({ length: STREAMS_EACH }, () => openStream(port, organization, token)),
        ),
      )
    // Once before: what the process loads and compiles for the first of them is no cost of an open one.
    for (const one of await openAll()) one.destroy()
    await sleep(sized(10_000, 500))
    const atRest = await costOf(REST_MS)
    const opened = await openAll()
    const open = await costOf(REST_MS)
    for (const one of opened) one.destroy()
    const percent = ((open.cpuSeconds - atRest.cpuSeconds) / (REST_MS / 1000)) * 100
    return (
      `${STREAMS} open streams`.padEnd(35) +
      `${(open.mib - atRest.mib).toFixed(1)} MiB, ${percent.toFixed(2)} % of a core at rest`
    )
  } finally {
    await program.stop()
  }

  async function costOf(ms: number) {
    const before = cpuSeconds(program)
    await sleep(ms)
    const spent = cpuSeconds(program) - before
    // What is held, and not what nobody has collected yet.
    program.child.kill('SIGUSR2')
    await sleep(sized(2_000, 200))
    return { cpuSeconds: spent, mib: residentMiB(program) }
  }
}

function openStream(port: number, organization: string, token: string): Promise<IncomingMessage> {
  const path = `/console/changes?organization=${organization}`
  const headers = { cookie: `svc_console=${token}`, host: `localhost:${port}` }
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, headers, agent: false }, (answer) => {
      if (answer.statusCode === 200) resolve(answer.resume())
      else reject(new Error(`a stream was answered with ${answer.statusCode}`))
    }).on('error', reject)
  })
}
