/**
 * A real Postgres cluster under two processes of the product: killed, frozen, switched over, restarted, hung and lagging, with
 * a synchronous standby and without one, where endings go into a journal that the processes share.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { startCluster, type Cluster } from '../support/cluster.ts'
import {
  signIn,
  startClusterLoad,
  untilAnswersQuestions,
  type ClusterLoad,
  type Told,
} from '../support/cluster-load.ts'
import { freePort } from '../support/free-port.ts'
import { openFront, type Front } from '../support/front.ts'
import { PASSWORD } from '../support/make.ts'
import { processes, type Env, type ServerProcess } from '../support/process.ts'
import { freshSecrets } from '../support/system.ts'

const OWNER = 'owner@people.test'
const SCENARIO_MS = 6 * 60_000
/** How long what is to be lost is written: some seconds of every kind. */
const LAG_MS = 4_000

type Stage = { readonly cluster: Cluster; readonly load: ClusterLoad; readonly isSynchronous: boolean }

/** What happens to the cluster. Returns once it is over, the cluster not yet whole. */
const SCENARIOS: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  async switchover({ cluster }) {
    const primary = await cluster.primary()
    await cluster.switchover()
    await cluster.untilPrimaryIsNot(primary)
  },
  async 'rolling restart'({ cluster }) {
    const primary = await cluster.primary()
    for (const node of [...(await cluster.standbys()), primary]) {
      await cluster.restart(node)
      await cluster.untilWhole()
    }
  },
  async 'kill -9 of the primary'({ cluster, load }) {
    const primary = await cluster.primary()
    await cluster.kill(primary)
    await cluster.untilPrimaryIsNot(primary)
    await untilWell(load)
    await cluster.start(primary)
  },
  async 'freeze of the primary'({ cluster, load }) {
    const primary = await cluster.primary()
    cluster.freeze(primary)
    await cluster.untilPrimaryIsNot(primary)
    await untilWell(load)
    cluster.thaw(primary)
  },
  async 'a standby that hangs'({ cluster, load }) {
    const [standby] = await cluster.standbys()
    cluster.freeze(standby!)
    // Until the cluster has taken another one, commits that wait for it do.
    await sleep(LAG_MS)
    await untilWell(load)
    cluster.thaw(standby!)
  },
  async 'a lagging standby, then kill -9 of the primary'({ cluster, load, isSynchronous }) {
    const primary = await cluster.primary()
    const standbys = await cluster.standbys()
    // With a synchronous standby, the other one.
    await cluster.holdReplication(primary, isSynchronous ? standbys[1] : undefined)
    await sleep(LAG_MS)
    await cluster.kill(primary)
    await cluster.untilPrimaryIsNot(primary)
    await untilWell(load)
    await cluster.start(primary)
  },
}

const MODES = [
  { mode: 'synchronous', isSynchronous: true },
  { mode: 'asynchronous, shared journal', isSynchronous: false },
] as const

/** As many as it takes to be about something. */
const MANY = 12

/** What is not well is in the answers, and told from there. */
async function untilWell(load: ClusterLoad): Promise<void> {
  await load.untilWell(2).catch(() => {})
  for (let looks = 0; looks < 300 && isFew(load); looks++) await sleep(100)
}

const isFew = ({ seen }: ClusterLoad): boolean => seen.tickets.length < MANY || seen.revoked.length < MANY

const own = processes()
const rows: string[] = []
const secrets = freshSecrets()
let cluster: Cluster
let ports: number[]

beforeAll(async () => {
  cluster = await startCluster(inject('clusterFolder'))
  ports = [await freePort(), await freePort()]
}, 5 * 60_000)
afterAll(async () => {
  console.log([...HEAD, ...rows].join('\n'))
  await own.cleanUp()
  await cluster?.stop()
}, 60_000)

describe.each(MODES)('$mode', ({ mode, isSynchronous }) => {
  let front: Front
  let running: ServerProcess[]
  let token: string
  const ended = new Set<ServerProcess>()

  beforeAll(async () => {
    await cluster.setSynchronous(isSynchronous)
    const database = await newDatabase(cluster.url, isSynchronous ? 'svc_synchronous' : 'svc_asynchronous')
    const origin = `http://localhost:${ports[0]}`
    const env: Env = {
      ...secrets,
      ...Object.fromEntries(PUBLIC_URLS.map((name) => [name, origin])),
      DATABASE_URL: database,
      DATABASE_POOL: '8',
      SVC_ADMIN_EMAIL: OWNER,
      SVC_ADMIN_PASSWORD: PASSWORD,
      ARGON2_MEMORY_KIB: '64',
      TRUSTED_PROXIES: '127.0.0.1',
      MCP_CALLS_PER_MINUTE: '1000000',
      QUESTIONS_PER_MINUTE: '1000000',
      QUESTIONS_PER_DAY: '1000000',
      LOG_LEVEL: 'info',
      ...(!isSynchronous && { ENDINGS_JOURNAL: join(await own.newFolder(), 'journal') }),
    }
    running = []
    // The first one migrates.
    for (const port of ports) running.push(await own.start({ env: { ...env, PORT: String(port) } }))
    for (const one of running) void one.exited.then(() => ended.add(one))
    front = openFront(origin, ports)
    token = (await signIn(front, OWNER)).token
    await untilAnswersQuestions(front, token)
  }, 5 * 60_000)
  afterAll(async () => {
    front?.close()
    await Promise.all((running ?? []).map((one) => one.stop('SIGKILL')))
  })

  test.each(Object.keys(SCENARIOS))('%s', { timeout: SCENARIO_MS }, async (name) => {
    await cluster.untilWhole()
    const load = await startClusterLoad(front, { email: OWNER, token })
    await load.untilWell(3)
    const from = performance.now()
    try {
      await SCENARIOS[name]!({ cluster, load, isSynchronous })
      await untilWell(load)
    } finally {
      await load.stop()
    }
    await cluster.untilWhole()
    const { seen } = load
    const settled = await load.settle()
    const answers = seen.answers.filter((answer) => answer.ended >= from)
    const seenOf = (test: (answer: Told) => boolean) => answers.filter(test).length
    const result = {
      of500: seenOf(({ status }) => status === 500),
      dishonest: tally(answers.filter((answer) => !isHonest(answer)).map(wordsOf)),
      cameBack: tally([...seen.cameBack].map(({ kind }) => kind)),
      chainsEnded: seen.chains.filter(({ isEnded }) => isEnded).length,
      ticketsLost: settled.ticketsLost,
      ticketsTwice: settled.ticketsTwice,
      processesEnded: ended.size,
    }
    rows.push(
      line(
        name,
        mode,
        answers.length,
        `${seenOf(({ status }) => status === 503)}, ${seenOf(isRefusedTool)}`,
        seenOf(({ status }) => status === 504),
        result.of500,
        inSeconds(Math.max(...answers.map(({ began, ended: at }) => at - began))),
        ['me', 'tickets'].map((lane) => inSeconds(lengthOf(gapOf(answers, lane, from)))).join(' / '),
        `${seen.tickets.length}, ${settled.ticketsLost}`,
        `${seen.lines.length}, ${settled.linesLost}`,
        `${seen.revoked.length}, ${seen.cameBack.size}`,
        `${seen.chains.length}, ${result.chainsEnded}`,
      ),
    )
    console.log(`${rows.at(-1)}\n${JSON.stringify(result, null, 2)}`)
    // An answer says nothing of why.
    const failures = running.flatMap((one) => one.logLines()).filter(({ level }) => level === 'error')
    if (result.of500 > 0) console.log(JSON.stringify(failures, null, 2))
    // Otherwise it was about nothing.
    expect(isFew(load)).toBe(false)
    if (name.startsWith('a lagging') && !isSynchronous) expect(settled.ticketsLost).toBeGreaterThan(0)
    expect(result).toEqual({
      of500: 0,
      dishonest: [],
      cameBack: [],
      chainsEnded: 0,
      ticketsLost: isSynchronous ? 0 : expect.any(Number),
      ticketsTwice: 0,
      processesEnded: 0,
    })
    if (name === 'a standby that hangs' && isSynchronous) {
      // Nothing durable is done until it is replaced.
      const gap = gapOf(answers, 'tickets', from)
      const meanwhile = answers.filter((told) => told.began > gap.began && told.ended < gap.ended)
      const done = new Set(meanwhile.filter(({ status }) => status === 200).map(({ lane }) => lane))
      expect([...done]).toEqual(expect.arrayContaining(['whoami', 'me', 'questions', 'log lines']))
    }
  })
})

const PUBLIC_URLS = ['API_URL', 'AUTH_URL', 'APP_URL', 'MCP_URL', 'SITE_URL']

/** A tool that was called already answers in its result, which is what assistants read: that is 200, and says the same. */
const isRefusedTool = ({ lane, text }: Told): boolean =>
  lane === 'whoami' && /"text":"UNAVAILABLE: .* Retry after \d+ s\.".*"isError":true/.test(text)

/** Done; or not done, and when to come again; or nobody knows, and it says so. Endings that were done are over. */
const isHonest = (told: Told): boolean => isHonestStatus(told) && (!isToolError(told) || isRefusedTool(told))

const isToolError = ({ lane, text }: Told): boolean => lane === 'whoami' && text.includes('"isError":true')

const isHonestStatus = ({ lane, status, retryAfter, text }: Told): boolean =>
  (status >= 200 && status < 300) ||
  (status === 503 && retryAfter > 0) ||
  (status === 504 && /outcome is unknown/i.test(text)) ||
  (lane === 'revoked' && status === 401) ||
  (lane === 'revocations' && (status === 404 || status === 401))

const wordsOf = ({ lane, status, retryAfter, text }: Told): string =>
  `${lane}: ${status}${status === 503 ? ` (Retry-After ${retryAfter})` : ''} ${text.slice(0, 160)}`

/** Each once, with how often. */
function tally(words: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts].map(([word, count]) => `${count}x ${word}`)
}

/** The longest time in which none of a lane was done, from when it began. */
function gapOf(answers: readonly Told[], lane: string, from: number): Gap {
  const done = answers.filter(({ lane: of, status }) => of === lane && status >= 200 && status < 300)
  const ends = [from, ...done.map(({ ended }) => ended)]
  const gaps = ends.slice(1).map((ended, n) => ({ began: ends[n]!, ended }))
  return gaps.toSorted((one, other) => lengthOf(other) - lengthOf(one))[0] ?? { began: from, ended: from }
}

type Gap = { readonly began: number; readonly ended: number }
const lengthOf = ({ began, ended }: Gap): number => ended - began

const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
const line = (...cells: (string | number)[]): string => `| ${cells.join(' | ')} |`
const COLUMNS = [
  'What happened',
  'Replication',
  'Calls',
  '503, tools that say so',
  '504',
  '500',
  'Longest call',
  'Gap of reads / of writes',
  'Tickets acknowledged, lost',
  'Log lines acknowledged, lost',
  'Revoked, came back',
  'Refresh chains, ended',
]
const HEAD = [line(...COLUMNS), line(...COLUMNS.map(() => '---')).replaceAll(' ', '')]

async function newDatabase(server: string, name: string): Promise<string> {
  const sql = postgres(server, { max: 1, onnotice: () => {} })
  await sql.unsafe(`create database ${name}`)
  await sql.end()
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
