/** mcporter and Inspector: programs for a terminal that start anew for each call. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { INSTALLED, makeOlder, type Client, type Place } from './client.ts'
import { expectSuccess, runProgram, type Ended } from './program.ts'

export const MCPORTER = join(INSTALLED, 'mcporter/dist/cli.js')
export const INSPECTOR = join(INSTALLED, '@modelcontextprotocol/inspector/clients/launcher/build/index.js')

/** At its defaults: a new port for each login, and no setting but the address. */
export function mcporter({ home, system, person }: Place): Client {
  const config = join(home, 'mcporter.json')
  const end = new AbortController()
  const run = (...args: string[]): Promise<Ended> =>
    runProgram({
      home,
      person,
      signal: end.signal,
      command: [process.execPath, MCPORTER, '--config', config, ...args],
    })
  return {
    async connect() {
      await writeFile(config, JSON.stringify({ mcpServers: { svc: { url: system.platform } } }))
      expectSuccess(await run('auth', 'svc', '--no-browser'), 'mcporter auth')
    },
    async listTools() {
      const listed = await run('list', 'svc', '--json')
      expectSuccess(listed, 'mcporter list')
      return namesIn(JSON.parse(listed.stdout) as ToolList)
    },
    async callTool(tool, input = {}) {
      const called = await run('call', `svc.${tool}`, '--args', JSON.stringify(input), '--output', 'json')
      expectSuccess(called, 'mcporter call')
      return called.stdout
    },
    pause: (seconds) => makeOlder(home, seconds),
    close: async () => end.abort(),
  }
}

export function inspector({ home, system, person }: Place): Client {
  const end = new AbortController()
  // Its own is the same for every Inspector on this machine.
  const port = freePort()
  async function run(...args: string[]): Promise<Ended> {
    const callback = `--callback-url=http://127.0.0.1:${await port}/oauth/callback`
    const options = ['--transport=http', '--format=json', callback, ...args]
    return runProgram({
      home,
      person,
      signal: end.signal,
      command: [process.execPath, INSPECTOR, '--cli', system.platform, ...options],
      env: { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file', MCP_STORAGE_DIR: home },
    })
  }
  async function listTools() {
    const listed = await run('--method', 'tools/list')
    expectSuccess(listed, 'Inspector')
    return namesIn((JSON.parse(listed.stdout) as { result: ToolList }).result)
  }
  return {
    // It has no command for it: the first call asks.
    connect: async () => void (await listTools()),
    listTools,
    async callTool(tool, input = {}) {
      const args = Object.entries(input).flatMap(([name, value]) => [
        '--tool-arg',
        `${name}=${String(value)}`,
      ])
      const called = await run('--method', 'tools/call', '--tool-name', tool, ...args)
      expectSuccess(called, 'Inspector')
      return called.stdout
    },
    pause: (seconds) => makeOlder(home, seconds),
    close: async () => end.abort(),
  }
}

type ToolList = { readonly tools: readonly { readonly name: string }[] }
const namesIn = ({ tools }: ToolList): string[] => tools.map(({ name }) => name)
