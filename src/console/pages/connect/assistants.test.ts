import { describe, expect, test } from 'vitest'
import { ASSISTANTS, isLoopback, type SetupStep } from './assistants.ts'

const ENDPOINT = { name: 'svc', url: 'https://mcp.example.com/platform' }
const setupSteps = (id: string): SetupStep[] => ASSISTANTS.find((one) => one.id === id)?.setup(ENDPOINT) ?? []
const commandsOf = (id: string): string[] =>
  setupSteps(id).flatMap((step) => (step.kind === 'command' ? [step.text] : []))
const linkOf = (id: string): URL => {
  const link = setupSteps(id).find((step) => step.kind === 'link')
  return new URL(link?.kind === 'link' ? link.href : '')
}

describe('commands are those of the programs', () => {
  test.each([
    [
      'claude-code',
      ['claude mcp add --transport http svc https://mcp.example.com/platform', 'claude mcp login svc'],
    ],
    ['codex', ['codex mcp add svc --url https://mcp.example.com/platform']],
    ['gemini-cli', ['gemini mcp add --transport http svc https://mcp.example.com/platform', '/mcp auth svc']],
    ['vs-code', [`code --add-mcp '{"name":"svc","type":"http","url":"https://mcp.example.com/platform"}'`]],
  ])('%s', (id, commands) => {
    expect(commandsOf(id)).toEqual(commands)
  })
})

describe('links carry the address unharmed', () => {
  test('to Claude', () => {
    expect(Object.fromEntries(linkOf('claude').searchParams)).toEqual({
      modal: 'add-custom-connector',
      connectorName: 'svc',
      connectorUrl: ENDPOINT.url,
    })
  })

  test('to Cursor', () => {
    const link = linkOf('cursor')
    expect(link.href).toMatch(/^cursor:\/\/anysphere\.cursor-deeplink\/mcp\/install\?/)
    expect(link.searchParams.get('name')).toBe('svc')
    expect(JSON.parse(atob(link.searchParams.get('config') ?? ''))).toEqual({ url: ENDPOINT.url })
  })

  test('to VS Code', () => {
    const link = linkOf('vs-code')
    expect(link.href).toMatch(/^vscode:mcp\/install\?/)
    expect(JSON.parse(decodeURIComponent(link.search.slice(1)))).toEqual({ type: 'http', ...ENDPOINT })
  })
})

test('files are JSON that names the server', () => {
  const files = ASSISTANTS.flatMap(({ setup, localSetup }) => [
    ...setup(ENDPOINT),
    ...(localSetup?.(ENDPOINT) ?? []),
  ])
    .filter((step) => step.kind === 'file')
    .map(({ path, text }) => [path, JSON.parse(text) as unknown])
  expect(files).toEqual([
    [
      'claude_desktop_config.json',
      { mcpServers: { svc: { command: 'npx', args: ['-y', 'mcp-remote', ENDPOINT.url] } } },
    ],
    ['.cursor/mcp.json', { mcpServers: { svc: { url: ENDPOINT.url } } }],
  ])
})

test.each([
  ['http://localhost:4000', true],
  ['http://mcp.localhost:4000', true],
  ['http://127.0.0.1:4000', true],
  ['http://127.9.9.9', true],
  ['http://[::1]:4000', true],
  ['https://mcp.example.com', false],
  ['https://localhost.example.com', false],
  ['https://notlocalhost', false],
  ['https://127.0.0.1.example.com', false],
])('%s is reached from this computer only: %s', (address, isHereOnly) => {
  expect(isLoopback(new URL(address))).toBe(isHereOnly)
})
