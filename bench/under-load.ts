/**
 * A thousand calls at once, each over a connection of its own that opens then: how long the slowest take against the
 * middle one, and how long somebody else waits who connects meanwhile. Against a bare SDK server with the same statements.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Crowd, CrowdAnswer } from '../test/support/crowd.ts'
import { startPostgres } from '../test/support/postgres.ts'
import type { Settings } from './bare-mcp.ts'
import { newDatabase, startOurs, tokenFor } from './connector.ts'
import { bodyOf, headersOf, messageSender, tokensOfPeople, WHOAMI } from './mcp.ts'
import { inLanes, sender, type Asking } from './load.ts'
import { file, freePort, inTemporaryFolder, run, untilAnswers, untilSays, type Program } from './programs.ts'
import { p50, p99, timed } from './timing.ts'
import { roundsOf, sized } from './sizes.ts'

const ROUNDS = roundsOf(3)
const CONNECTIONS = sized(1_000, 50)
/** Of each connection, one after the other. */
const CALLS = 3
const WARM = sized(500, 10)
/** A grant may have 16 calls open: so many that none is refused for that. */
const PEOPLE = 63
/** Of somebody else who connects anew for each request, one after the other. */
const PAUSE_MS = 50

export const underLoad = () =>
  inTemporaryFolder(async (folder) => {
    const postgres = await startPostgres()
    const programs: Program[] = []
    try {
      const database = await newDatabase(postgres.url, 'ours')
      const jwtSecret = randomBytes(32).toString('hex')
      const ours = await startOurs(folder, database, { JWT_SECRET: jwtSecret })
      programs.push(ours.program)
      const [code] = await ours.codes(1)
      const { access_token: first } = await tokenFor(ours, code!)
      const [somebody, ...crowd] = await tokensOfPeople(database, jwtSecret, first, PEOPLE + 1)
      const port = await freePort()
      const settings: Settings = { port, database, jwtSecret, issuer: ours.origin }
      const bare = run([file('bare-mcp.ts'), JSON.stringify(settings)])
      programs.push(bare)
      const origin = `http://127.0.0.1:${port}`
      await untilAnswers(`${origin}/readyz`, bare)
      const sides: Side[] = [
        { name: 'bare SDK', url: `${origin}/platform`, health: `${origin}/readyz`, seen: nothingSeen() },
        { name: 'svc', url: ours.resource, health: `${ours.origin}/healthz`, seen: nothingSeen() },
      ]
      for (const { url } of sides) await warm(url, crowd)
      // Taking turns: a change in the machine's load meets both.
      for (let round = 0; round < ROUNDS; round++) {
        for (const side of sides) await callAtOnce(side, crowd, somebody!)
      }
      return report(sides)
    } finally {
      await Promise.all(programs.map((program) => program.stop()))
      await postgres.stop()
    }
  })

async function warm(url: string, tokens: readonly string[]): Promise<void> {
  const senders = tokens.map((token) => messageSender(url, token, WHOAMI))
  let at = 0
  await inLanes(WARM, () => senders[at++ % senders.length]!.call())
  for (const { close } of senders) close()
}

type Seen = {
  /** Of each call of the crowd that was answered. */
  readonly calls: number[]
  refused: number
  /** Of each new connection of somebody else: asked for the health of the process, and for `whoami`. */
  readonly health: number[]
  readonly whoami: number[]
}
const nothingSeen = (): Seen => ({ calls: [], refused: 0, health: [], whoami: [] })

type Side = {
  readonly name: string
  readonly url: string
  /** What costs nothing to answer. */
  readonly health: string
  readonly seen: Seen
}

async function callAtOnce(
  { url, health, seen }: Side,
  tokens: readonly string[],
  somebody: string,
): Promise<void> {
  const crowd: Crowd = {
    url,
    method: 'POST',
    headers: tokens.map((token) => headersOf(token, WHOAMI)),
    body: bodyOf(WHOAMI),
    says: WHOAMI.says,
    connections: CONNECTIONS,
    requests: CALLS,
  }
  const program = run([file('../test/support/crowd.ts'), JSON.stringify(crowd)])
  const over = new AbortController()
  const ended = untilSays(']\n', program).finally(() => over.abort())
  const lane = async (times: number[], ask: () => Promise<string>) => {
    while (!over.signal.aborted) {
      times.push((await timed(ask)).ms)
      await sleep(PAUSE_MS)
    }
  }
  const whoami = { method: 'POST', headers: headersOf(somebody, WHOAMI), body: bodyOf(WHOAMI) }
  await Promise.all([
    ended,
    lane(seen.health, () => connectAndAsk(health)),
    lane(seen.whoami, () => connectAndAsk(url, whoami)),
  ])
  await program.stop()
  for (const { began, ended, status, isGood } of JSON.parse(
    /saw (.*)\n/.exec(program.output())![1]!,
  ) as CrowdAnswer[]) {
    // A server that refuses quickly must not win.
    if (status === 200 && isGood) seen.calls.push(ended - began)
    else if (status === 429 || status === 503) seen.refused += 1
    else throw new Error(`${url} answered ${status} to one of the crowd`)
  }
}

/** Over a connection of its own. */
async function connectAndAsk(url: string, asked: Asking = {}): Promise<string> {
  const { send, close } = sender(url, asked)
  try {
    return await send()
  } finally {
    close()
  }
}

function report(sides: readonly Side[]): string[] {
  const [bare, ours] = sides.map(({ seen }) => seen)
  const times = (of: (values: readonly number[]) => number, what: 'calls' | 'health' | 'whoami') =>
    `${(of(ours![what]) / of(bare![what])).toFixed(2)}x`
  return [
    ...sides.flatMap(({ name, seen }) => [callsLine(name, seen), ...connectionLines(name, seen)]),
    `ratio     calls p50 ${times(p50, 'calls')}, p99 ${times(p99, 'calls')}; a new connection: health p50 ` +
      `${times(p50, 'health')}, longest ${times(longest, 'health')}, whoami p50 ${times(p50, 'whoami')}, ` +
      `longest ${times(longest, 'whoami')}`,
  ]
}

function callsLine(name: string, { calls, refused }: Seen): string {
  const [middle, slow] = [p50(calls), p99(calls)]
  return (
    `${name.padEnd(9)} ${CONNECTIONS} calls at once, p50 ${middle.toFixed(0)} ms, p99 ${slow.toFixed(0)} ms, ` +
    `p99/p50 ${(slow / middle).toFixed(2)}, ${refused} of ${calls.length + refused} refused`
  )
}

const connectionLines = (name: string, { health, whoami }: Seen): string[] =>
  Object.entries({ health, whoami }).map(
    ([what, times]) =>
      `${name.padEnd(9)} a new connection waits for ${what}: p50 ${p50(times).toFixed(0)} ms, ` +
      `longest ${longest(times).toFixed(0)} ms, ${times.length} asked`,
  )

const longest = (times: readonly number[]): number => Math.max(...times)
