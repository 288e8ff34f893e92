/** What agents call all day, against a bare SDK server that does the same in one place, and against its echo. */
import { randomBytes } from 'node:crypto'
import { connect } from '../db/connect.ts'
import { ACCESS_TOKEN_TYPE } from '../src/trust/access-token.ts'
import { hs256 } from '../src/trust/hs256.ts'
import { startPostgres } from '../test/support/postgres.ts'
import type { Settings } from './bare-mcp.ts'
import { newDatabase, startOurs, tokenFor } from './connector.ts'
import { inLanes, measured, middle, sender, type Load } from './load.ts'
import { file, freePort, inTemporaryFolder, run, untilAnswers, type Program } from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf, sized } from './sizes.ts'

const CALLS = sized(250, 20)
/** Until V8 has compiled what is called: svc's own code takes 3,000 to 4,500 calls, the bare server's fewer. */
const WARM = sized(4_500, 10)
const ROUNDS = roundsOf(15)
const WHOAMI_TARGET = 1
const LIST_TARGET = 1.5
/** One person has two turns at a time; the connections are those of several. */
const PEOPLE = 4

export const mcp = () =>
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
      const tokens = await tokensOfPeople(database, jwtSecret, first)
      const port = await freePort()
      const settings: Settings = { port, database, jwtSecret, issuer: ours.origin }
      const bare = run([file('bare-mcp.ts'), JSON.stringify(settings)])
      programs.push(bare)
      const origin = `http://127.0.0.1:${port}`
      await untilAnswers(`${origin}/readyz`, bare)
      return report(
        await race([
          { program: ours.program, url: ours.resource, tokens, ...WHOAMI },
          { program: bare, url: `${origin}/platform`, tokens, ...WHOAMI },
          { program: ours.program, url: ours.resource, tokens, ...LIST },
          { program: bare, url: `${origin}/platform`, tokens, ...LIST },
          { program: bare, url: `${origin}/echo`, tokens, ...ECHO },
        ]),
      )
    } finally {
      await Promise.all(programs.map((program) => program.stop()))
      await postgres.stop()
    }
  })

export type Message = {
  readonly method: string
  readonly params: Record<string, unknown>
  readonly says: string
}

/** `says` stands in every good answer: a server that refuses quickly must not win. */
export const WHOAMI: Message = {
  method: 'tools/call',
  params: { name: 'whoami', arguments: {} },
  says: '\\"quota\\":',
}
const LIST: Message = { method: 'tools/list', params: {}, says: '"datasource_query"' }
const ECHO: Message = {
  method: 'tools/call',
  params: { name: 'echo', arguments: { text: 'hello' } },
  says: '"hello"',
}

const VERSION = '2026-07-28'
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Copies of the person who connected, with a membership and a grant each; one token for each of them. */
export async function tokensOfPeople(
  database: string,
  jwtSecret: string,
  first: string,
  people = PEOPLE,
): Promise<string[]> {
  const claims = JSON.parse(Buffer.from(first.split('.')[1]!, 'base64url').toString()) as Claims
  const key = new Uint8Array(Buffer.from(jwtSecret, 'hex'))
  const jwt = hs256(key, { typ: ACCESS_TOKEN_TYPE, issuer: claims.iss, audience: claims.aud })
  const { sql, close } = await connect({ url: database }, { poolSize: 1 })
  const copy = (table: string, changes: string, where: string) =>
    sql.query(
      `insert into ${table} select (jsonb_populate_record(t, ${changes})).* from ${table} t where ${where}`,
    )
  try {
    const tokens = [first]
    for (let at = 1; at < people; at += 1) {
      const end = `c${String(at).padStart(4, '0')}`
      const [user, grant] = [claims.sub, claims.grant_id].map((id) => `${id.slice(0, -5)}${end}`) as [
        string,
        string,
      ]
      await copy('users', `'{"id":"${user}","email":"bench-${at}@people.test"}'`, `id = '${claims.sub}'`)
      const membership = `jsonb_build_object('id', left(t.id, -5) || '${end}', 'user_id', '${user}')`
      await copy('memberships', membership, `user_id = '${claims.sub}'`)
      const copied = `'{"id":"${grant}","user_id":"${user}"}'`
      await copy('platform_access_grants', copied, `id = '${claims.grant_id}'`)
      const { iss: _iss, aud: _aud, iat, exp, ...own } = claims
      const [from, until] = [new Date(iat * 1000), new Date(exp * 1000)]
      tokens.push(await jwt.sign({ ...own, sub: user, grant_id: grant }, from, until))
    }
    return tokens
  } finally {
    await close()
  }
}

type Claims = { sub: string; grant_id: string; iss: string; aud: string; iat: number; exp: number }

type Racer = Message & {
  readonly program: Program
  readonly url: string
  readonly tokens: readonly string[]
}

export const headersOf = (token: string, { method, params }: Message): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': VERSION,
  'mcp-method': method,
  ...(typeof params['name'] === 'string' && { 'mcp-name': params['name'] }),
})

export const bodyOf = ({ method, params }: Message): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: ENVELOPE } })

/** Sends one message again and again with one token; at another address than its own with that in `host`. */
export function messageSender(
  url: string,
  token: string,
  message: Message,
  host: Record<string, string> = {},
) {
  const headers = { ...host, ...headersOf(token, message) }
  const { send, close } = sender(url, { method: 'POST', headers, body: bodyOf(message) })
  async function call(): Promise<void> {
    const answer = await send()
    if (!answer.includes(message.says)) throw new Error(`${url} said: ${answer.slice(0, 300)}`)
  }
  return { call, close }
}

async function race(racers: readonly Racer[]): Promise<Load[][]> {
  const seen = racers.map(({ program, url, tokens, ...message }) => {
    const senders = tokens.map((token) => messageSender(url, token, message))
    const ask = (lane: number) => senders[lane % senders.length]!.call()
    const close = () => senders.forEach((one) => one.close())
    return { program, close, ask, loads: [] as Load[] }
  })
  try {
    for (const { ask } of seen) await inLanes(WARM, ask)
    // Short turns: a change in the machine's load meets all.
    for (let round = 0; round < ROUNDS; round++) {
      for (const { program, ask, loads } of seen) loads.push(await measured(program, CALLS, ask))
    }
    return seen.map(({ loads }) => loads)
  } finally {
    for (const { close } of seen) close()
  }
}

function report([whoami, bareWhoami, list, bareList, echo]: readonly (readonly Load[])[]): string[] {
  const line = (name: string, loads: readonly Load[]) => {
    const { perSecond, cpuMs } = middle(loads)
    return `${name.padEnd(46)} ${perSecond.toFixed(0)} requests/s, ${cpuMs.toFixed(2)} ms CPU each`
  }
  // Of each round against the same round of the other: what the machine gave differs more between rounds than within one.
  const ratio = (name: string, ours: readonly Load[], theirs: readonly Load[], target?: number) => {
    const { perSecond, cpuMs } = middle(
      ours.map((our, round) => {
        const their = theirs[round]!
        return { perSecond: our.perSecond / their.perSecond, cpuMs: our.cpuMs / their.cpuMs }
      }),
    )
    const verdict = target === undefined ? '' : ` (target ${target}x: ${metOrMissed(perSecond >= target)})`
    return `${name.padEnd(46)} ${perSecond.toFixed(2)}x requests/s${verdict}, ${cpuMs.toFixed(2)}x CPU`
  }
  return [
    line('echo       bare SDK, no token, no database', echo!),
    line('whoami     svc', whoami!),
    line('           bare SDK, the same statements', bareWhoami!),
    ratio('           ratio', whoami!, bareWhoami!, WHOAMI_TARGET),
    line('tools/list svc', list!),
    line('           bare SDK', bareList!),
    ratio('           ratio', list!, bareList!, LIST_TARGET),
    ratio('whoami of svc to the echo', whoami!, echo!),
  ]
}
