import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../test/support/console-visitor.ts'
import { furnish } from '../../../test/support/fake-gateway.ts'

const settled = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const visitor = await signedIn(options)
  furnish(visitor.gateway)
  return visitor
}

const formsOf = (page: string): string[] =>
  [...page.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, action]) => action ?? '')
const agentForms = (page: string) => formsOf(page).filter((action) => action.includes('/agents/'))
const wordsOf = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

describe('connected agents', () => {
  test('everyone finds their own, and nobody else’s', async () => {
    const visitor = await settled({ role: 'viewer' })
    for (const address of ['/console/agents', '/console/agents?all=true']) {
      const page = await visitor.read(address)
      expect(page).toContain('assistant.example')
      expect(page).not.toContain('House assistant')
      expect(page).not.toContain('Everybody’s')
      expect(page).not.toContain('/console/agents/clients')
    }
    expect(visitor.gateway.data.seen).not.toContain('oauthClients.list')
  })

  test.each(['admin', 'owner'] as const)(
    'an %s switches to everybody’s and filters by client',
    async (role) => {
      const visitor = await settled({ role })
      expect(await visitor.read('/console/agents')).not.toContain('Manage “House assistant”')
      const all = await visitor.read('/console/agents?all=true')
      expect(all).toContain('Manage “House assistant” (desk.northwind.example) of Grace Hopper')
      expect(all).toContain('grace@northwind.example')
      const one = await visitor.read('/console/agents?all=true&client_id=house-assistant')
      expect(agentForms(one).filter((action) => action.endsWith('/disconnect'))).toHaveLength(1)
    },
  )

  test('a proven host stands first; a name is the client’s own word', async () => {
    const words = wordsOf(await (await settled()).read('/console/agents'))
    expect(words).toContain('assistant.example verified host calls itself “Assistant” , unverified')
    expect(words).toContain('“Editor on the laptop” its own word, unverified; answers to 127.0.0.1')
    expect(words).toContain('Approve or deny proposed changes')
    expect(words).toContain('What it may do in Northwind Traders')
  })

  test('a name that is markup is shown as the text it is', async () => {
    const visitor = await settled()
    visitor.gateway.data.grants[0]!.client_name = '</strong><script>alert(1)</script>"\'>'
    for (const address of ['/console/agents', '/console/agents/clients']) {
      const page = await visitor.read(address)
      expect(page).not.toContain('<script>alert')
      expect(page).toContain('&lt;script&gt;alert(1)')
    }
  })

  test('narrowing leaves what stays ticked', async () => {
    const visitor = await settled()
    const [grant] = visitor.gateway.data.grants
    await visitor.post(`/console/agents/${grant?.id}/narrow`, { scopes: ['data:read', 'made:up'] })
    expect(grant?.scopes).toEqual(['data:read'])
    const page = await visitor.read('/console/agents')
    expect(page).toContain('What it may do was saved.')
    // With one thing left there is nothing to narrow, only to disconnect.
    expect(agentForms(page).filter((action) => action.endsWith('/narrow'))).toEqual([])
  })

  test('nothing ticked changes nothing, and says what to do instead', async () => {
    const visitor = await settled()
    const [grant] = visitor.gateway.data.grants
    await visitor.post(`/console/agents/${grant?.id}/narrow`)
    expect(grant?.scopes).toHaveLength(3)
    expect(visitor.gateway.data.seen).not.toContain('grants.narrow')
    expect(await visitor.read('/console/agents')).toContain('or disconnect it')
  })

  test('a disconnected agent is gone, and the list is the one that was left', async () => {
    const visitor = await settled()
    const [grant] = visitor.gateway.data.grants
    const response = await visitor.post(`/console/agents/${grant?.id}/disconnect`, {
      back: '/console/agents?all=true',
    })
    expect(response.headers.get('location')).toBe('/console/agents?all=true')
    expect(visitor.gateway.data.grants).not.toContain(grant)
    const elsewhere = await visitor.post(`/console/agents/${grant?.id}/disconnect`, {
      back: '/console/profile',
    })
    expect(elsewhere.headers.get('location')).toBe('/console/agents')
  })

  test('the next page keeps the filters', async () => {
    const visitor = await settled()
    const [grant] = visitor.gateway.data.grants
    for (let number = 0; number < 60; number += 1)
      visitor.gateway.data.grants.push({ ...grant!, id: visitor.gateway.id('grt') })
    const page = await visitor.read(
      `/console/agents?all=true&client_id=${encodeURIComponent(grant!.client_id)}`,
    )
    const next = /href="([^"]+)"[^>]*>Next page/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(next).toContain(`all=true&client_id=${encodeURIComponent(grant!.client_id)}&cursor=`)
    expect(agentForms(await visitor.read(next)).filter((action) => action.endsWith('/narrow'))).toHaveLength(
      11,
    )
  })

  test('whoever has none is told the address an assistant connects to', async () => {
    const visitor = await signedIn({ role: 'viewer' })
    const page = await visitor.read('/console/agents')
    expect(page).toContain('You have connected no assistant yet')
    expect(page).toContain('http://mcp.localhost:4000/platform')
    expect(await visitor.read('/console')).toContain('Connect an assistant')
  })

  test('a client nobody has, and one that cannot be, are empty lists', async () => {
    const visitor = await settled()
    expect(await visitor.read('/console/agents?client_id=nobody')).toContain('No agent of this client')
    expect((await visitor.get(`/console/agents?client_id=${encodeURIComponent('ä b')}`)).status).toBe(200)
  })

  test('while agents are off the page says so and leads to the switch', async () => {
    const visitor = await settled()
    expect(await visitor.read('/console/agents')).not.toContain('Agents are switched off')
    visitor.gateway.org.agents_enabled = false
    const page = await visitor.read('/console/agents')
    expect(page).toContain('Agents are switched off')
    expect(page).toContain('<a href="/console/settings/security">switched on</a>')
  })
})

describe('data sources of an agent', () => {
  const granted = (name: string) => ({ id: `ds_${name}`, source_id: `db_${name.toLowerCase()}`, name })
  const withSources = async (options: Parameters<typeof signedIn>[0] = {}) => {
    const visitor = await settled(options)
    const { sources, org } = visitor.gateway
    sources.data.sources.splice(0)
    for (const name of ['Handbook', 'Catalogue']) {
      sources.add(org.id, name.toLowerCase(), { name, enabled: true, exposed: true })
    }
    const [grant, , graces] = visitor.gateway.data.grants
    return { visitor, grant: grant!, graces: graces! }
  }

  test('one that may ask all is limited to what is ticked', async () => {
    const { visitor, grant } = await withSources()
    const before = await visitor.read('/console/agents')
    expect(wordsOf(before)).toContain('Ask the data sources you may ask all of them, also later ones')
    expect(before).toMatch(/name="which" value="all" checked/)
    expect(before).not.toMatch(/name="sources" value="[^"]*" checked/)
    await visitor.post(`/console/agents/${grant.id}/sources`, { which: 'chosen', sources: ['db_handbook'] })
    expect(grant.sources).toMatchObject([{ source_id: 'db_handbook', name: 'Handbook' }])
    const after = await visitor.read('/console/agents')
    expect(after).toContain('Which data sources it may ask was saved.')
    expect(wordsOf(after)).toContain('Ask the data sources you may ask only Handbook')
    // One is left: there is nothing to take away but the agent itself.
    expect(agentForms(after)).not.toContain(`/console/agents/${grant.id}/sources`)
  })

  test('one that is limited loses what is not ticked any more, and is offered nothing else', async () => {
    const { visitor, grant } = await withSources()
    grant.sources = [granted('Prices'), granted('Recipes')]
    const page = await visitor.read('/console/agents')
    expect(wordsOf(page)).toContain('only Prices, Recipes')
    expect(page).toMatch(/name="sources" value="db_prices" checked/)
    expect(page).not.toContain('db_handbook')
    await visitor.post(`/console/agents/${grant.id}/sources`, { sources: ['db_recipes'] })
    expect(grant.sources).toEqual([granted('Recipes')])
    await visitor.post(`/console/agents/${grant.id}/sources`, { sources: ['db_recipes', 'db_handbook'] })
    expect(grant.sources).toEqual([granted('Recipes')])
    expect(await visitor.read('/console/agents')).toContain('A grant can only be narrowed')
  })

  test('“all” changes nothing; none at all changes nothing, and says what to do instead', async () => {
    const { visitor, grant } = await withSources()
    await visitor.post(`/console/agents/${grant.id}/sources`, { which: 'all', sources: ['db_handbook'] })
    expect(await visitor.read('/console/agents')).not.toContain('was saved')
    await visitor.post(`/console/agents/${grant.id}/sources`, { which: 'chosen' })
    expect(await visitor.read('/console/agents')).toContain('Leave it at least one data source')
    expect(visitor.gateway.data.seen).not.toContain('grants.narrow')
    expect(grant.sources).toBeNull()
  })

  test('an admin sees and limits everybody’s', async () => {
    const { visitor, graces } = await withSources({ role: 'admin' })
    const page = await visitor.read('/console/agents?all=true')
    expect(page).toContain('All that Grace Hopper may ask, also later ones')
    await visitor.post(`/console/agents/${graces.id}/sources`, {
      which: 'chosen',
      sources: 'db_catalogue',
      back: '/console/agents?all=true',
    })
    expect(wordsOf(await visitor.read('/console/agents?all=true'))).toContain('only Catalogue')
  })

  test('one without the scope has no data sources to speak of, and nothing is asked for in vain', async () => {
    const { visitor, grant } = await withSources()
    for (const one of visitor.gateway.data.grants) one.scopes = ['maintenance:read']
    const page = await visitor.read('/console/agents')
    expect(page).not.toContain('also later ones')
    expect(agentForms(page)).not.toContain(`/console/agents/${grant.id}/sources`)
    expect(visitor.gateway.data.seen).not.toContain('dataSources.listAskable')
  })

  test('many are named in the window, a few on the line', async () => {
    const { visitor, grant } = await withSources()
    grant.sources = Array.from({ length: 12 }, (_, at) => granted(`Part${at}`))
    const page = await visitor.read('/console/agents')
    expect(wordsOf(page)).toContain('only Part0, Part1, Part2, Part3 and 8 more')
    expect(page.match(/name="sources"/g)).toHaveLength(12)
  })

  test('a name that is markup is shown as the text it is', async () => {
    const { visitor, grant } = await withSources()
    grant.sources = [granted('A'), { ...granted('B'), name: '</label><script>alert(1)</script>' }]
    const page = await visitor.read('/console/agents')
    expect(page).not.toContain('<script>alert')
    expect(page).toContain('&lt;script&gt;alert(1)')
  })
})

describe('agent clients', () => {
  test.each(['viewer', 'developer'] as const)('a %s does not find them', async (role) => {
    const visitor = await settled({ role })
    expect(await visitor.read('/console')).not.toContain('/console/agents/clients')
    expect(await visitor.read('/console/settings/security')).not.toContain('/console/agents/clients')
    expect((await visitor.get('/console/agents/clients')).status).toBe(403)
    const before = visitor.gateway.data.blockedClients.size
    await visitor.post('/console/agents/clients/new', { client_id: 'https://x.example/c' })
    await visitor.post('/console/agents/clients/block', { client_id: 'house-assistant' })
    expect(visitor.gateway.data.blockedClients.size).toBe(before)
  })

  test('clients with an agent and blocked ones are listed, each with its one way out', async () => {
    const visitor = await settled({ role: 'admin' })
    const page = await visitor.read('/console/agents/clients')
    expect(page).toContain('Block “House assistant” (desk.northwind.example)')
    expect(page).toContain('Let in again: nosy.example')
    // Nothing was ever read from the blocked one, so nothing about it is proven.
    expect(page.split('verified host')).toHaveLength(2)
    expect(page).toContain('/console/agents?all=true&amp;client_id=house-assistant')
  })

  test('one is blocked and let in again', async () => {
    const visitor = await settled()
    await visitor.post('/console/agents/clients/block', { client_id: 'house-assistant' })
    expect(visitor.gateway.data.blockedClients).toContain('house-assistant')
    expect(await visitor.read('/console/agents/clients')).toContain('The client is blocked.')
    await visitor.post('/console/agents/clients/unblock', { client_id: 'house-assistant' })
    expect(visitor.gateway.data.blockedClients).not.toContain('house-assistant')
  })

  test('one that nobody has connected is blocked ahead', async () => {
    const visitor = await signedIn()
    expect(await visitor.read('/console/agents/clients')).toContain('No client has been here yet')
    const url = 'https://new.example/client.json'
    await visitor.post('/console/agents/clients/new', { client_id: ` ${url}\n` })
    expect([...visitor.gateway.data.blockedClients]).toEqual([url])
  })

  test('a refused one stands in the form again, with the reason', async () => {
    const visitor = await settled()
    const response = await visitor.post('/console/agents/clients/new', { client_id: 'bad <id>' })
    expect(response.status).toBe(400)
    const page = await response.text()
    expect(page).toContain('value="bad &lt;id&gt;"')
    expect(page).toContain('must be visible ASCII')
  })
})
