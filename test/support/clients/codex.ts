/** Codex: connected by its own command, used through the server that its editors and its desktop program use, with a model of ours. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { FakeModel } from '../fake-model.ts'
import { INSTALLED, makeOlder, type Client, type Place } from './client.ts'
import { expectSuccess, runProgram, startProgram } from './program.ts'

export const CODEX = join(INSTALLED, '@openai/codex/bin/codex.js')

export const CODEX_DOCUMENT = {
  client_id: 'https://chatgpt.com/oauth/codex/client.json',
  client_name: 'Codex',
  redirect_uris: ['http://127.0.0.1/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

type Reply = {
  readonly id?: number
  readonly method?: string
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

export function codex({ home, system, person }: Place, model: FakeModel): Client {
  const folder = join(home, '.codex')
  const program = (...args: string[]) => ({ home, person, command: [process.execPath, CODEX, ...args] })

  let session: Promise<Awaited<ReturnType<typeof newSession>>> | undefined
  async function newSession() {
    const child = startProgram(program('app-server'))
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    let number = 0
    async function until(isIt: (reply: Reply) => boolean): Promise<{ reply: Reply; seen: string[] }> {
      const seen: string[] = []
      for (;;) {
        const { value, done } = await lines.next()
        if (done) throw new Error(`The session ended: ${seen.join('\n')}`)
        seen.push(value)
        const reply = JSON.parse(value) as Reply
        if (reply.error) throw new Error(reply.error.message)
        if (isIt(reply)) return { reply, seen }
      }
    }
    const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`)
    async function request(method: string, params: object): Promise<unknown> {
      const id = ++number
      send({ id, method, params })
      return (await until((reply) => reply.id === id)).reply.result
    }
    await request('initialize', { clientInfo: { name: 'test', version: '0' } })
    send({ method: 'initialized' })
    const { thread } = (await request('thread/start', { approvalPolicy: 'never' })) as {
      thread: { id: string }
    }
    return {
      async turn(text: string): Promise<string[]> {
        await request('turn/start', { threadId: thread.id, input: [{ type: 'text', text }] })
        return (await until(({ method }) => method === 'turn/completed')).seen
      },
      close: () =>
        new Promise<void>((closed) => {
          child.once('close', () => closed())
          child.stdin.end()
        }),
    }
  }

  async function close(): Promise<void> {
    await (await session)?.close()
    session = undefined
  }
  async function ask(tool: string, input: Record<string, unknown>): Promise<string[]> {
    model.plan(tool, input)
    session ??= newSession()
    return (await session).turn(`Use ${tool}.`)
  }

  return {
    async connect() {
      await mkdir(folder, { recursive: true })
      await writeFile(join(folder, 'config.toml'), configuration(model.origin, system.platform))
      expectSuccess(await runProgram(program('mcp', 'login', 'svc')), 'codex mcp login')
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

/** Tokens in a file, because a machine for tests has no keyring. */
const configuration = (modelOrigin: string, url: string): string => `
model = "fake"
model_provider = "loopback"
mcp_oauth_credentials_store = "file"
approval_policy = "never"

[model_providers.loopback]
name = "A model of the tests"
base_url = "${modelOrigin}/v1"
wire_api = "responses"

[mcp_servers.svc]
url = "${url}"
`
