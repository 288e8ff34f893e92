import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { ASSISTANTS } from './assistants.ts'

const PUBLIC = new URL('https://mcp.example.com')
const open = async (mcpUrl: URL, role: 'viewer' | 'owner' = 'viewer') => {
  const client = await signedIn({ role })
  client.deps.mcpUrl = mcpUrl
  return client
}
const textOf = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
const linksOf = (page: string): string[] =>
  [...page.matchAll(/href="([^"]+)"/g)].map(([, href]) => (href ?? '').replaceAll('&amp;', '&'))

describe('connect an assistant', () => {
  test('every assistant is told of this server, the platform first', async () => {
    const page = await (await open(PUBLIC)).read('/console/connect')
    for (const { name } of ASSISTANTS) expect(page).toContain(`>${name}</h2>`)
    expect(page).toContain('claude mcp add --transport http svc https://mcp.example.com/platform')
    expect(page).toContain(
      'claude mcp add --transport http svc-notifications https://mcp.example.com/notifications',
    )
    expect(page.indexOf('https://mcp.example.com/platform')).toBeLessThan(
      page.indexOf('https://mcp.example.com/notifications'),
    )
    for (const scheme of ['https://claude.ai/', 'https://chatgpt.com/', 'cursor://', 'vscode:']) {
      expect(linksOf(page).some((href) => href.startsWith(scheme))).toBe(true)
    }
    expect(page).not.toContain('only reachable from this computer')
  })

  test('every copy button has its own text to copy', async () => {
    for (const mcpUrl of [PUBLIC, new URL('http://localhost:4000')]) {
      const page = await (await open(mcpUrl)).read('/console/connect')
      const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
      expect(new Set(ids).size).toBe(ids.length)
      const copied = [...page.matchAll(/data-copy="([^"]+)"/g)].map(([, id]) => id)
      expect(copied.length).toBeGreaterThan(10)
      expect(copied.filter((id) => !ids.includes(id))).toEqual([])
    }
  })

  test('on this computer only, assistants of the web are said to be out of reach', async () => {
    const page = await (await open(new URL('http://localhost:4000'))).read('/console/connect')
    expect(textOf(page)).toContain('This server is only reachable from this computer')
    expect(linksOf(page).filter((href) => /claude\.ai|chatgpt\.com/.test(href))).toEqual([])
    expect(page).toContain('mcp-remote')
    expect(page).toContain('codex mcp add svc --url http://localhost:4000/platform')
  })

  test('with hosted auth nobody is sent to sign in: a token, and those that take one', async () => {
    const client = await open(PUBLIC)
    client.deps.authMode = 'hosted'
    const page = await client.read('/console/connect')
    const main = page.slice(page.indexOf('<main'))
    expect(textOf(main)).toContain('Create an API token')
    expect(textOf(main)).not.toContain('Sign in')
    expect(main).toContain('bearer_token_env_var')
    expect(linksOf(main).filter((href) => /claude\.ai|chatgpt\.com|cursor:|vscode:/.test(href))).toEqual([])
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect([...page.matchAll(/data-copy="([^"]+)"/g)].filter(([, id]) => !ids.includes(id))).toEqual([])
  })

  test('leads on to agents, activity and a token for scripts', async () => {
    const page = await (await open(PUBLIC)).read('/console/connect')
    const main = page.slice(page.indexOf('<main'))
    for (const href of ['/console/agents', '/console/activity', '/console/settings/tokens/new']) {
      expect(linksOf(main)).toContain(href)
    }
    expect(textOf(main)).toContain('Platform for assistants')
    expect(page).toContain('Authorization: Bearer $SVC_TOKEN')
  })

  test('says so when agents are switched off', async () => {
    const client = await open(PUBLIC)
    expect(await client.read('/console/connect')).not.toContain('Agents are turned off')
    client.gateway.org.agents_enabled = false
    expect(await client.read('/console/connect')).toContain('Agents are turned off')
  })

  test('is found in the side bar and among the first steps', async () => {
    const page = await (await open(PUBLIC, 'owner')).read('/console')
    expect(linksOf(page).filter((href) => href === '/console/connect')).toHaveLength(2)
  })
})
