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

/** The page of one assistant. */
const pick = (id: string) => `/console/connect?assistant=${id}`
const mainOf = (page: string) => page.slice(page.indexOf('<main'))

describe('connect an assistant', () => {
  test('one is picked, and only that one is told of this server, the platform first', async () => {
    const client = await open(PUBLIC)
    const all = await client.read('/console/connect')
    for (const { id, name } of ASSISTANTS) {
      expect(linksOf(all).some((href) => href.startsWith(`${pick(id)}&since=`))).toBe(true)
      const page = await client.read(pick(id))
      expect(page).toContain(`>${name}</h2>`)
      expect(page.match(/aria-current="page">/g)).toHaveLength(2)
    }
    const page = await client.read(pick('claude-code'))
    expect(page.indexOf('https://mcp.example.com/platform')).toBeLessThan(
      page.indexOf('https://mcp.example.com/notifications'),
    )
    expect(page).toContain('claude mcp add --transport http svc https://mcp.example.com/platform')
    expect(page).toContain(
      'claude mcp add --transport http svc-notifications https://mcp.example.com/notifications',
    )
    expect(page).not.toContain('codex mcp add')
    expect(page).not.toContain('only reachable from this computer')
    expect((await client.get(pick('nobody'))).status).toBe(200)
  })

  test.each([
    ['claude', 'https://claude.ai/'],
    ['chatgpt', 'https://chatgpt.com/'],
    ['cursor', 'cursor://'],
    ['vs-code', 'vscode:'],
  ])('%s is one link away', async (id, scheme) => {
    const page = await (await open(PUBLIC)).read(pick(id))
    expect(linksOf(page).some((href) => href.startsWith(scheme))).toBe(true)
  })

  test('every copy button has its own text to copy', async () => {
    for (const mcpUrl of [PUBLIC, new URL('http://localhost:4000')]) {
      const client = await open(mcpUrl)
      for (const { id } of [...ASSISTANTS, { id: 'token' }]) {
        const page = await client.read(pick(id))
        const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, one]) => one)
        expect(new Set(ids).size).toBe(ids.length)
        const copied = [...page.matchAll(/data-copy="([^"]+)"/g)].map(([, one]) => one)
        expect(copied.filter((one) => !ids.includes(one))).toEqual([])
      }
    }
  })

  test('on this computer only, assistants of the web are said to be out of reach', async () => {
    const client = await open(new URL('http://localhost:4000'))
    expect(textOf(await client.read('/console/connect'))).toContain(
      'This server is only reachable from this computer',
    )
    for (const id of ['claude', 'chatgpt']) {
      const page = await client.read(pick(id))
      expect(linksOf(page).filter((href) => /claude\.ai|chatgpt\.com/.test(href))).toEqual([])
      expect(page).toContain(id === 'claude' ? 'mcp-remote' : 'cannot reach this server')
    }
    expect(await client.read(pick('codex'))).toContain(
      'codex mcp add svc --url http://localhost:4000/platform',
    )
  })

  test('with hosted auth nobody is sent to sign in: a token, and those that take one', async () => {
    const client = await open(PUBLIC)
    client.deps.authMode = 'hosted'
    for (const address of ['/console/connect', pick('codex')]) {
      const main = mainOf(await client.read(address))
      expect(textOf(main)).toContain('Create a token')
      expect(textOf(main)).not.toContain('Sign in')
      expect(main).toContain('bearer_token_env_var')
      expect(linksOf(main).filter((href) => /claude\.ai|chatgpt\.com|cursor:|vscode:/.test(href))).toEqual([])
    }
  })

  test('leads on to agents, activity and a token for scripts', async () => {
    const client = await open(PUBLIC)
    const main = mainOf(await client.read('/console/connect'))
    for (const href of ['/console/agents', '/console/activity']) expect(linksOf(main)).toContain(href)
    const token = mainOf(await client.read(pick('token')))
    expect(linksOf(token)).toContain('/console/settings/tokens/new?audience=platform')
    expect(textOf(token)).toContain('Platform for assistants')
    expect(token).toContain('Authorization: Bearer $SVC_TOKEN')
  })

  test('says so when agents are switched off', async () => {
    const client = await open(PUBLIC)
    expect(await client.read('/console/connect')).not.toContain('Agents are turned off')
    client.gateway.org.agents_enabled = false
    expect(await client.read('/console/connect')).toContain('Agents are turned off')
  })

  test.each([
    ['none', undefined],
    ['on', 'If your assistant does not connect by itself, connect it below.'],
    ['required', 'Assistants cannot be approved one by one here.'],
  ] as const)('says who connects assistants: identity provider %s', async (use, sentence) => {
    const client = await open(PUBLIC)
    client.gateway.org.identity_provider = use
    const text = textOf(await client.read('/console/connect'))
    expect(text.includes('Your organization connects assistants for you.')).toBe(use !== 'none')
    if (sentence) expect(text).toContain(sentence)
  })

  test('programs without a person are told of machine agents, where there are some', async () => {
    const client = await open(PUBLIC)
    expect(textOf(await client.read(pick('token')))).toContain('an admin can create a machine agent')
    client.deps.authMode = 'hosted'
    expect(textOf(await client.read(pick('token')))).not.toContain('machine agent')
  })

  test('is in the side bar, and its assistants among the first steps', async () => {
    const page = await (await open(PUBLIC, 'owner')).read('/console')
    expect(linksOf(page).filter((href) => href === '/console/connect').length).toBeGreaterThan(1)
    expect(linksOf(page).filter((href) => href.startsWith(pick('codex')))).toHaveLength(1)
  })
})

describe('the first call', () => {
  const NOW = Date.parse('2026-11-15T12:00:00Z') / 1_000
  const waiting = (id: string, since: number | string = NOW) => `${pick(id)}&since=${since}`
  const connect = (client: Awaited<ReturnType<typeof open>>, facts: object = {}) => {
    const { data, id } = client.gateway
    data.grants.unshift({
      id: id('grt'),
      client_id: 'dyn_3fVtq0ZyK1mWb8',
      client_kind: 'dynamic',
      client_name: 'Codex',
      host: '127.0.0.1',
      user: data.me,
      via: 'consent',
      machine_agent_id: null,
      resource: 'platform',
      scopes: ['data:read'],
      sources: null,
      created_at: new Date(NOW * 1_000 + 5_000).toISOString(),
      last_used_at: null,
      expires_at: new Date((NOW + 10_000) * 1_000).toISOString(),
      ...facts,
    })
    return data.grants[0]!
  }

  test('is waited for, then approved, then there; a reload shows it', async () => {
    const client = await open(PUBLIC)
    const path = waiting('codex')
    expect(textOf(await client.read(path))).toContain('Waiting for your approval Waiting for its first call')
    const grant = connect(client)
    expect(textOf(await client.read(path))).toContain(
      'You approved “Codex” (127.0.0.1) Waiting for its first call',
    )
    grant.last_used_at = grant.created_at
    const page = await client.read(path)
    expect(textOf(page)).toContain('“Codex” (127.0.0.1) is connected.')
    expect(linksOf(page)).toContain(`/console/agents/${grant.id}`)
    expect(page).toContain('data-final')
  })

  test('the part that the script asks for says the same, and nothing else', async () => {
    const client = await open(PUBLIC)
    const asked = /data-refresh="([^"]+)"/.exec(await client.read(waiting('codex')))?.[1] ?? ''
    const part = () => client.read(asked.replaceAll('&amp;', '&'))
    expect(textOf(await part())).toContain('Waiting for your approval')
    expect(await part()).not.toContain('data-final')
    connect(client, { last_used_at: new Date(NOW * 1_000).toISOString() })
    expect(await part()).toContain('data-final')
    expect(await part()).not.toContain('<html')
  })

  test('of an agent that was there before, or a colleague’s, it is not', async () => {
    const client = await open(PUBLIC)
    connect(client, {
      created_at: new Date((NOW - 3_600) * 1_000).toISOString(),
      last_used_at: new Date(NOW * 1_000).toISOString(),
    })
    connect(client, {
      user: { id: 'usr_other', email: 'x@y.example', name: 'Other' },
      last_used_at: new Date(NOW * 1_000).toISOString(),
    })
    expect(await client.read(waiting('codex'))).not.toContain('data-final')
  })

  test.each(['', 'x', '-1', '99999999999', '1', '9'.repeat(40)])(
    'since “%s” is since ten minutes ago',
    async (since) => {
      const client = await open(PUBLIC)
      connect(client, { created_at: new Date((NOW - 500) * 1_000).toISOString() })
      expect(textOf(await client.read(waiting('codex', since)))).toContain('You approved')
    },
  )

  test('with a token it is a call at the MCP endpoints that belongs to no agent', async () => {
    const client = await open(PUBLIC)
    const { sources, org } = client.gateway
    const path = waiting('token', NOW - 100)
    expect(textOf(await client.read(path))).not.toContain('approval')
    sources.addActivity(org.id, 0, { source: 'cli' })
    sources.addActivity(org.id, 0, { source: 'mcp', grant_id: 'grt_of_an_agent' })
    expect(await client.read(path)).not.toContain('data-final')
    sources.addActivity(org.id, 0.0001, { source: 'mcp', type: 'function', name: 'whoami' })
    // However much an agent of theirs calls at the same time.
    for (let n = 0; n < 10; n++)
      sources.addActivity(org.id, 0, { source: 'mcp', grant_id: 'grt_of_an_agent' })
    const page = await client.read(path)
    expect(page).toContain('data-final')
    expect(linksOf(page)).toContain('/console/activity?type=function&via=mcp')
  })
})
