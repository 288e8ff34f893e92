/** Claude Code: connected at a terminal, used without one, with a model of ours. */
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import type { FakeModel } from '../fake-model.ts'
import { INSTALLED, makeOlder, type Client, type Place } from './client.ts'
import { expectSuccess, runAtTerminal, runProgram, startProgram } from './program.ts'

/** What its own launcher would start; that one is put into place by a script, and scripts are not run. */
export const CLAUDE_CODE = join(
  INSTALLED,
  `@anthropic-ai/claude-code-${process.platform}-${process.arch}`,
  'claude',
)

export const CLAUDE_CODE_DOCUMENT = {
  client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
  client_name: 'Claude Code',
  client_uri: 'https://claude.ai',
  redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

const SESSION = '-p --input-format stream-json --output-format stream-json --verbose --allowedTools mcp__svc'

export function claudeCode({ home, system, person }: Place, model: FakeModel): Client {
  const program = (...args: string[]) => ({
    home,
    person,
    command: [CLAUDE_CODE, ...args],
    env: {
      ANTHROPIC_BASE_URL: model.origin,
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // Every tool is offered at once; otherwise the model would have to search for it first.
      ENABLE_TOOL_SEARCH: 'false',
      // The first turn waits for the server.
      MCP_CONNECTION_NONBLOCKING: '0',
    },
  })

  let session: ReturnType<typeof newSession> | undefined
  function newSession() {
    const child = startProgram(program(...SESSION.split(' ')))
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    return {
      /** What it did until the end of the turn. */
      async turn(text: string): Promise<string[]> {
        const message = { type: 'user', message: { role: 'user', content: text } }
        child.stdin.write(`${JSON.stringify(message)}\n`)
        const seen: string[] = []
        for (;;) {
          const { value, done } = await lines.next()
          if (done) throw new Error(`The session ended: ${seen.join('\n')}`)
          seen.push(value)
          if ((JSON.parse(value) as { type: string }).type === 'result') return seen
        }
      },
      close: () =>
        new Promise<void>((closed) => {
          child.once('close', () => closed())
          child.stdin.end()
        }),
    }
  }

  async function close(): Promise<void> {
    await session?.close()
    session = undefined
  }
  async function ask(tool: string, input: Record<string, unknown>): Promise<string[]> {
    model.plan(tool, input)
    session ??= newSession()
    return session.turn(`Use ${tool}.`)
  }

  return {
    async connect() {
      const added = await runProgram(program('mcp', 'add', '--transport', 'http', 'svc', system.platform))
      expectSuccess(added, 'claude mcp add')
      expectSuccess(await runAtTerminal(program('mcp', 'login', 'svc')), 'claude mcp login')
    },
    async listTools() {
      await ask('none', {})
      return model.offered()
    },
    async callTool(tool, input = {}) {
      const seen = await ask(tool, input)
      const answer = model.answer()
      if (answer === undefined) throw new Error(`No answer: ${seen.join('\n')}`)
      return answer
    },
    async pause(seconds) {
      await close()
      await makeOlder(home, seconds)
    },
    close,
  }
}
