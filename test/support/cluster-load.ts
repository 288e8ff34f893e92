/**
 * What people, assistants and programs do while the database of an installation fails over, and what they were told: calls,
 * questions, tickets, log lines, refreshes and revocations, at each process in turn.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { SAMPLE_QUESTION, SAMPLE_SOURCE } from '../../src/contracts/sample.ts'
import { newAddress, newAssistant, register, type ListeningSystem, type Tokens } from './assistant.ts'
import type { Answer, Front, Request } from './front.ts'
import { PASSWORD, unique } from './make.ts'
import { startLoad, type Lane, type Load } from './steady-load.ts'

const REDIRECT = 'http://127.0.0.1:8472/callback'

export type Told = Answer & {
  readonly lane: string
  /** By `performance.now()`. */
  readonly began: number
  readonly ended: number
}

/** Through which somebody is let in, and how it is ended. */
const KINDS = ['session', 'API token', 'app token', 'grant'] as const
type Kind = (typeof KINDS)[number]
type Credential = { readonly kind: Kind; readonly token: string; readonly ending: Request }

type Chain = { readonly clientId: string; refresh: string; isEnded: boolean }

export type Seen = {
  readonly answers: readonly Told[]
  /** By their titles. */
  readonly tickets: readonly string[]
  readonly lines: readonly string[]
  readonly revoked: readonly Credential[]
  readonly chains: readonly Chain[]
  /** Let in after the answer that it is ended. */
  readonly cameBack: ReadonlySet<Credential>
}

export type ClusterLoad = Load & {
  readonly seen: Seen
  /** What of it the database still has; and whoever is ended is tried once more at each process. */
  readonly settle: () => Promise<{
    ticketsLost: number
    ticketsTwice: number
    linesLost: number
  }>
}

/** How many of each kind there are to be ended. */
const PREPARED: Record<Kind, number> = { session: 10, 'API token': 10, 'app token': 10, grant: 6 }

export async function startClusterLoad(
  front: Front,
  { email, token: owner }: { email: string; token: string },
): Promise<ClusterLoad> {
  const must = async (asked: Request): Promise<Record<string, string>> => {
    const { status, text } = await front.send(asked)
    if (status === 0 || status >= 300)
      throw new Error(`${asked.method ?? 'GET'} ${asked.path}: ${status} ${text}`)
    return text === '' ? {} : (JSON.parse(text) as Record<string, string>)
  }
  const alias = unique('app')
  const ofApp = `/api/deploy/apps/${alias}`
  await must({ method: 'POST', path: '/api/deploy/apps', token: owner, body: { alias, name: 'Cluster' } })
  const appToken = async () =>
    must({
      method: 'POST',
      path: `${ofApp}/tokens`,
      token: owner,
      body: { name: unique('t'), scope: 'apps:report' },
    })
  const config = Object.fromEntries(
    ['APP_URL', 'AUTH_URL', 'API_URL', 'MCP_URL', 'SITE_URL'].map((name) => [name, new URL(front.origin)]),
  )
  const clock = { now: () => new Date() }
  const system = { origin: front.origin, system: { config }, clock } as unknown as ListeningSystem
  const { body: registered } = await register(system, {
    redirect_uris: [REDIRECT],
    client_name: 'An assistant',
  })
  const clientId = String(registered['client_id'])
  const connected = (): Promise<Tokens> =>
    newAssistant(system, { clientId, redirectUri: REDIRECT }).connect({
      email,
      userId: '',
      name: '',
      token: owner,
      call: undefined as never,
    })
  const makers: Record<Kind, () => Promise<Credential>> = {
    async session() {
      const { token } = await signIn(front, email)
      return { kind: 'session', token, ending: { method: 'DELETE', path: '/api/v1/sessions/current', token } }
    },
    async 'API token'() {
      const made = await must({
        method: 'POST',
        path: '/api/v1/tokens',
        token: owner,
        body: { name: unique('t') },
      })
      const path = `/api/v1/tokens/${made['id']}`
      return { kind: 'API token', token: made['token']!, ending: { method: 'DELETE', path, token: owner } }
    },
    async 'app token'() {
      const made = await appToken()
      const path = `${ofApp}/tokens/${made['id']}`
      return { kind: 'app token', token: made['token']!, ending: { method: 'DELETE', path, token: owner } }
    },
    async grant() {
      const { access, grantId } = await connected()
      const path = `/api/v1/grants/${grantId}`
      return { kind: 'grant', token: access, ending: { method: 'DELETE', path, token: owner } }
    },
  }
  const waiting: Credential[] = []
  for (let n = 0; n < Math.max(...Object.values(PREPARED)); n++) {
    for (const kind of KINDS) if (n < PREPARED[kind]) waiting.push(await makers[kind]())
  }
  const { access } = await connected()
  const chains: Chain[] = []
  for (let n = 0; n < 3; n++) chains.push({ clientId, refresh: (await connected()).refresh, isEnded: false })
  const { token: reporting } = await appToken()

  const answers: Told[] = []
  const tickets: string[] = []
  const lines: string[] = []
  const revoked: Credential[] = []
  const cameBack = new Set<Credential>()

  async function ask(lane: string, asked: Request): Promise<Told> {
    const began = performance.now()
    const answer = { lane, began, ...(await front.send(asked)), ended: performance.now() }
    answers.push(answer)
    return answer
  }
  const well = async (lane: string, asked: Request) => {
    const { status, text } = await ask(lane, asked)
    if (status === 0 || status >= 300) throw new Error(`${status} ${text}`)
  }
  /** How a call is made with it, by whoever holds it. */
  const use = ({ kind, token }: Credential): Request => {
    if (kind === 'grant') return whoamiOf(token)
    if (kind === 'app token')
      return { method: 'POST', path: `${ofApp}/logs`, token, body: '{"message":"again"}\n' }
    return { path: '/api/v1/me', token }
  }

  let key = randomUUID()
  let probed = 0
  let isUnsure = false
  const lanes: Record<string, Lane> = {
    whoami: { everyMs: 250, call: () => well('whoami', whoamiOf(access)) },
    me: { everyMs: 100, call: () => well('me', { path: '/api/v1/me', token: owner }) },
    questions: { everyMs: 1_000, call: () => well('questions', questionOf(owner)) },
    tickets: {
      everyMs: 250,
      async call() {
        await well('tickets', {
          method: 'POST',
          path: `${ofApp}/tickets`,
          token: owner,
          headers: { 'idempotency-key': key },
          body: { title: key, body: 'It does not work' },
        })
        tickets.push(key)
        key = randomUUID()
      },
    },
    'log lines': {
      everyMs: 250,
      async call() {
        const line = `line ${randomUUID()} of the load`
        const body = `${JSON.stringify({ message: line })}\n`
        await well('log lines', { method: 'POST', path: `${ofApp}/logs`, token: reporting!, body })
        lines.push(line)
      },
    },
    revocations: {
      everyMs: 300,
      async call() {
        const next = waiting[0]
        if (!next) return
        const { status, text } = await ask('revocations', next.ending)
        const isOver = (status === 404 || status === 401) && isUnsure
        if (status < 200 || (status >= 300 && !isOver)) {
          isUnsure = true
          throw new Error(`${status} ${text}`)
        }
        if (!isOver) revoked.push(next)
        isUnsure = false
        waiting.shift()
      },
    },
    revoked: {
      everyMs: 150,
      async call() {
        const one = revoked[probed++ % Math.max(1, revoked.length)]
        if (!one) return
        const { status, text } = await ask('revoked', use(one))
        if (status >= 200 && status < 300) cameBack.add(one)
        else if (status !== 401) throw new Error(`${status} ${text}`)
      },
    },
  }
  for (const [n, chain] of chains.entries()) {
    lanes[`refresh ${n + 1}`] = {
      everyMs: 700,
      async call() {
        if (chain.isEnded) return
        const { status, text } = await ask('refresh', refreshOf(chain))
        if (status === 400 && text.includes('invalid_grant')) chain.isEnded = true
        if (status !== 200) throw new Error(`${status} ${text}`)
        chain.refresh = (JSON.parse(text) as { refresh_token: string }).refresh_token
      },
    }
  }
  const load = startLoad(lanes)

  async function all(path: string, list: string): Promise<Record<string, string>[]> {
    const found: Record<string, string>[] = []
    for (let cursor = ''; ;) {
      const page = (await must({ path: `${path}?limit=200${cursor}`, token: owner })) as unknown as Record<
        string,
        Record<string, string>[]
      > & { next_cursor?: string }
      found.push(...page[list]!)
      if (page.next_cursor === undefined) return found
      cursor = `&cursor=${page.next_cursor}`
    }
  }
  return {
    ...load,
    seen: { answers, tickets, lines, revoked, chains, cameBack },
    async settle() {
      const titles = (await all(`${ofApp}/tickets`, 'tickets')).map(({ title }) => title!)
      const texts = new Set((await all(`${ofApp}/logs`, 'lines')).map(({ text }) => text!))
      for (const port of front.ports) {
        for (const one of revoked) {
          const { status, text } = await front.send(use(one), port)
          if (status >= 200 && status < 300) cameBack.add(one)
          else if (status !== 401) throw new Error(`${one.kind} that is ended: ${status} ${text}`)
        }
      }
      return {
        ticketsLost: tickets.filter((title) => !titles.includes(title)).length,
        ticketsTwice: titles.length - new Set(titles).size,
        linesLost: lines.filter((line) => !texts.has(line)).length,
      }
    },
  }
}

const whoamiOf = (token: string): Request => ({
  method: 'POST',
  path: '/platform',
  token,
  body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } },
})

const questionOf = (token: string): Request => ({
  method: 'POST',
  path: `/api/wf/slim/data-sources/${SAMPLE_SOURCE}/query`,
  token,
  body: { query: SAMPLE_QUESTION, top_k: 3 },
})

const refreshOf = ({ clientId, refresh }: Chain): Request => ({
  method: 'POST',
  path: '/oauth/token',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams({
    client_id: clientId,
    grant_type: 'refresh_token',
    refresh_token: refresh,
  }).toString(),
})

/** Once the installation is ready for everything that the load asks. */
export async function signIn(front: Front, email: string): Promise<{ token: string }> {
  const { status, text } = await front.send({
    method: 'POST',
    path: '/api/v1/sessions',
    headers: { 'x-forwarded-for': newAddress() },
    body: { email, password: PASSWORD },
  })
  if (status !== 201) throw new Error(`No session: ${status} ${text}`)
  return JSON.parse(text) as { token: string }
}

/** The sample is loaded, and the model that reads questions. */
export async function untilAnswersQuestions(front: Front, token: string, ms = 120_000): Promise<void> {
  for (const until = performance.now() + ms; ; await sleep(200)) {
    const answers = await Promise.all(front.ports.map((port) => front.send(questionOf(token), port)))
    if (answers.every(({ status }) => status === 200)) return
    if (performance.now() > until) throw new Error(`No answer: ${answers.map(({ text }) => text).join('\n')}`)
  }
}
