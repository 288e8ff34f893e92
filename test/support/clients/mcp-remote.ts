/** mcp-remote: the bridge for clients that only know standard input and output. */
import { fileURLToPath } from 'node:url'
import { Client as StdioClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { makeOlder, textIn, type Client, type Place } from './client.ts'

export const MCP_REMOTE = fileURLToPath(import.meta.resolve('mcp-remote/dist/proxy.js'))

export function mcpRemote({ home, system, person }: Place): Client {
  let bridge: Promise<StdioClient> | undefined

  async function open(): Promise<StdioClient> {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [MCP_REMOTE, system.platform],
      // No browser can be found there.
      env: { PATH: home, HOME: home, MCP_REMOTE_CONFIG_DIR: home },
      stderr: 'pipe',
    })
    transport.stderr?.on('data', (chunk: Buffer) => person.hear(chunk.toString()))
    const client = new StdioClient({ name: 'bridged', version: '0' })
    await client.connect(transport)
    return client
  }
  const opened = () => (bridge ??= open())
  async function close(): Promise<void> {
    await (await bridge)?.close()
    bridge = undefined
  }

  return {
    connect: async () => void (await opened()),
    listTools: async () => (await (await opened()).listTools()).tools.map(({ name }) => name),
    callTool: async (name, input = {}) => textIn(await (await opened()).callTool({ name, arguments: input })),
    async pause(seconds) {
      await close()
      await makeOlder(home, seconds)
    },
    close,
  }
}
