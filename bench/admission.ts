/** How much slower an assistant's call is while somebody floods the server, and what it costs that it is not slower still. */
import { setImmediate as turn } from 'node:timers/promises'
import { createAdmission } from '../src/boot/admission.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { newDatabase, startOurs, tokenFor } from './connector.ts'
import type { Flood } from './flood.ts'
import { bodyOf, messageSender, WHOAMI } from './mcp.ts'
import { cpuSeconds, file, inTemporaryFolder, median, run, untilSays, type Program } from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf, sized } from './sizes.ts'
import { p50, timed } from './timing.ts'

const ROUNDS = roundsOf(3)
const WARM = sized(3_000, 10)
const CALLS = sized(100, 5)
const CONNECTIONS = sized(200, 20)
const TARGETS = { another: 3, 'the same': 5 }
/** Of the CPU time of a call. */
const SHARE_TARGET = 0.03
const ADMITTED = sized(20_000, 100)

/** RFC 5737: nobody's. The server takes the bench for a proxy. */
const ASSISTANT = '198.51.100.7'
const ADDRESSES = { another: '203.0.113.9', 'the same': ASSISTANT }

const PATHS = {
  '/platform': {
    method: 'POST',
    body: bodyOf(WHOAMI),
    headers: { 'content-type': 'application/json', accept: 'application/json' },
  },
  '/api/v1/me': { method: 'GET', body: '', headers: { accept: 'application/json' } },
}
const TOKENS = { none: 'no token', one: 'one made-up token', new: 'a new one each call' }

export const admission = () =>
  inTemporaryFolder(async (folder) => {
    const postgres = await startPostgres()
    const programs: Program[] = []
    try {
      const ours = await startOurs(folder, await newDatabase(postgres.url, 'ours'))
      programs.push(ours.program)
      const [code] = await ours.codes(1)
      const { access_token: token } = await tokenFor(ours, code!)
      const { call, close } = messageSender(ours.resource, token, WHOAMI, { 'x-forwarded-for': ASSISTANT })
      const lines = await measure(ours.origin, ours.program, call)
      close()
      return lines
    } finally {
      await Promise.all(programs.map((program) => program.stop()))
      await postgres.stop()
    }
  })

async function measure(origin: string, program: Program, call: () => Promise<void>): Promise<string[]> {
  for (let made = 0; made < WARM; made++) await call()
  const cpu = cpuSeconds(program)
  for (let made = 0; made < WARM; made++) await call()
  const callMs = ((cpuSeconds(program) - cpu) * 1000) / WARM
  const share = (await admissionMs()) / callMs
  const floods = Object.entries(PATHS).flatMap(([path, asked]) =>
    Object.keys(TOKENS).flatMap((token) =>
      Object.keys(ADDRESSES).map((address) => ({ path, asked, token, address, ratios: [] as number[] })),
    ),
  ) as Measured[]
  const quiet: number[] = []
  // Each against the quiet calls just before it: a change in the machine's load meets both.
  for (let round = 0; round < ROUNDS; round++) {
    for (const flood of floods) {
      const before = await medianOf(call)
      quiet.push(before)
      flood.ratios.push((await during(origin, flood, () => medianOf(call))) / before)
    }
  }
  return [
    `whoami     quiet: p50 ${p50(quiet).toFixed(2)} ms, ${callMs.toFixed(2)} ms CPU, of which admission is ` +
      `${(share * 100).toFixed(2)} % (target ${SHARE_TARGET * 100} %: ${metOrMissed(share <= SHARE_TARGET)})`,
    ...floods.map(({ path, token, address, ratios }) => {
      const [ratio, target] = [p50(ratios), TARGETS[address]]
      return (
        `${path.padEnd(10)} ${TOKENS[token]}, from ${address} address`.padEnd(58) +
        `${ratio.toFixed(2)}x (target ${target}x: ${metOrMissed(ratio <= target)})`
      )
    }),
  ]
}

/** CPU time of admitting one request of somebody who is known, without what the turn of the event loop itself takes. */
async function admissionMs(): Promise<number> {
  const { add, validated } = createAdmission()
  const credential = `Bearer ${'x'.repeat(600)}`
  const request = {
    address: ASSISTANT,
    credential,
    hasOwnTurns: true,
    isUrgent: false,
    start() {},
    refuse() {
      throw new Error('it was refused')
    },
  }
  const admitOne = () => {
    const over = add(request)
    validated(credential, 'usr')
    over()
  }
  const times = [admitOne, () => {}, admitOne, () => {}]
  const measured: number[][] = [[], []]
  for (let round = 0; round < 5; round++) {
    for (const [at, work] of times.entries()) measured[at % 2]!.push(await cpuMsOf(work))
  }
  return median(measured[0]!) - median(measured[1]!)
}

async function cpuMsOf(work: () => void): Promise<number> {
  const before = process.cpuUsage()
  for (let made = 0; made < ADMITTED; made++) {
    work()
    await turn()
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / ADMITTED
}

type Measured = {
  readonly path: keyof typeof PATHS
  readonly asked: (typeof PATHS)[keyof typeof PATHS]
  readonly token: keyof typeof TOKENS
  readonly address: keyof typeof ADDRESSES
  readonly ratios: number[]
}

async function medianOf(call: () => Promise<void>): Promise<number> {
  const times: number[] = []
  while (times.length < CALLS) times.push((await timed(call)).ms)
  return p50(times)
}

async function during<T>(
  origin: string,
  { path, asked, token, address }: Measured,
  work: () => Promise<T>,
): Promise<T> {
  const flood: Flood = {
    ...asked,
    url: origin + path,
    headers: { ...asked.headers, 'x-forwarded-for': ADDRESSES[address] },
    connections: CONNECTIONS,
    token,
  }
  const program = run([file('flood.ts'), JSON.stringify(flood)])
  try {
    await untilSays('flooding', program)
    return await work()
  } finally {
    await program.stop()
  }
}
