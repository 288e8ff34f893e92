/** What agents call all day, against a bare SDK server that does the same in one place, and against its echo. */
import { randomBytes } from 'node:crypto'
import { startPostgres } from '../test/support/postgres.ts'
import type { Settings } from './bare-mcp.ts'
import { newDatabase, startOurs, tokenFor } from './connector.ts'
import { inLanes, measured, middle, sender, type Load } from './load.ts'
import { file, freePort, inTemporaryFolder, run, untilAnswers, type Program } from './programs.ts'

const CALLS = 500
const WARM = 300
const ROUNDS = 5
const WHOAMI_TARGET = 1
const LIST_TARGET = 1.5
/** At the MCP server, and at the gateway for the quota and for the row about the call. */
const LOOKS_OF_OURS = 3

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
      const { access_token: token } = await tokenFor(ours, code!)
      const startBare = async (looks: number) => {
        const port = await freePort()
        const settings: Settings = { port, database, jwtSecret, issuer: ours.origin, looks }
        const program = run([file('bare-mcp.ts'), JSON.stringify(settings)])
        programs.push(program)
        await untilAnswers(`http://127.0.0.1:${port}/readyz`, program)
        return { program, origin: `http://127.0.0.1:${port}` }
      }
      const [bare, same] = [await startBare(1), await startBare(LOOKS_OF_OURS)]
      return report(
        await race([
          { program: ours.program, url: ours.resource, token, ...WHOAMI },
          { program: bare.program, url: `${bare.origin}/platform`, token, ...WHOAMI },
          { program: same.program, url: `${same.origin}/platform`, token, ...WHOAMI },
          { program: ours.program, url: ours.resource, token, ...LIST },
          { program: bare.program, url: `${bare.origin}/platform`, token, ...LIST },
          { program: bare.program, url: `${bare.origin}/echo`, token, ...ECHO },
        ]),
      )
    } finally {
      await Promise.all(programs.map((program) => program.stop()))
      await postgres.stop()
    }
  })

type Message = { readonly method: string; readonly params: Record<string, unknown>; readonly says: string }

/** `says` stands in every good answer: a server that refuses quickly must not win. */
const WHOAMI: Message = {
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

type Racer = Message & { readonly program: Program; readonly url: string; readonly token: string }

async function race(racers: readonly Racer[]): Promise<Load[]> {
  const seen = racers.map(({ program, url, token, method, params, says }) => {
    const name = typeof params['name'] === 'string' ? { 'mcp-name': params['name'] } : {}
    const { send, close } = sender(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': VERSION,
        'mcp-method': method,
        ...name,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: ENVELOPE } }),
    })
    const ask = async () => {
      const answer = await send()
      if (!answer.includes(says)) throw new Error(`${url} said: ${answer.slice(0, 300)}`)
    }
    return { program, close, ask, loads: [] as Load[] }
  })
  try {
    for (const { ask } of seen) await inLanes(WARM, ask)
    // Taking turns: a change in the machine's load meets all.
    for (let round = 0; round < ROUNDS; round++) {
      for (const { program, ask, loads } of seen) loads.push(await measured(program, CALLS, ask))
    }
    return seen.map(({ loads }) => middle(loads))
  } finally {
    for (const { close } of seen) close()
  }
}

function report([whoami, bareWhoami, sameWhoami, list, bareList, echo]: readonly Load[]): string[] {
  const line = (name: string, { perSecond, cpuMs }: Load) =>
    `${name.padEnd(46)} ${perSecond.toFixed(0)} requests/s, ${cpuMs.toFixed(2)} ms CPU each`
  const ratio = (name: string, our: Load, their: Load, target?: number) => {
    const times = our.perSecond / their.perSecond
    const verdict = target === undefined ? '' : ` (target ${target}x: ${times >= target ? 'met' : 'missed'})`
    return `${name.padEnd(46)} ${times.toFixed(2)}x requests/s${verdict}, ${(our.cpuMs / their.cpuMs).toFixed(2)}x CPU`
  }
  return [
    line('echo       bare SDK, no token, no database', echo!),
    line('whoami     svc', whoami!),
    line('           bare SDK, each statement once', bareWhoami!),
    line(`           bare SDK, liveness ${LOOKS_OF_OURS} times as svc`, sameWhoami!),
    ratio('           ratio, each statement once', whoami!, bareWhoami!, WHOAMI_TARGET),
    ratio('           ratio, the same statements', whoami!, sameWhoami!, WHOAMI_TARGET),
    line('tools/list svc', list!),
    line('           bare SDK', bareList!),
    ratio('           ratio', list!, bareList!, LIST_TARGET),
    ratio('whoami of svc to the echo', whoami!, echo!),
  ]
}
