import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  return client
}

const formsOf = (page: string): string[] =>
  [...page.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, action]) => action ?? '')
const agentForms = (page: string) => formsOf(page).filter((action) => action.includes('/agents/'))
const textOf = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

describe('connected agents', () => {
  test('everyone finds their own, and nobody else’s', async () => {
    const client = await seeded({ role: 'viewer' })
    for (const address of ['/console/agents', '/console/agents?all=true']) {
      const page = await client.read(address)
      expect(page).toContain('assistant.example')
      expect(page).not.toContain('Desk assistant')
      expect(page).not.toContain('All agents')
      expect(page).not.toContain('/console/agents/clients')
    }
    expect(client.gateway.data.seen).not.toContain('listOauthClients')
  })

  test.each(['admin', 'owner'] as const)(
    'an %s switches to everybody’s and filters by client',
    async (role) => {
      const client = await seeded({ role })
      expect(await client.read('/console/agents')).not.toContain(
        'Desk assistant” (desk.northwind.example) of',
      )
      const all = await client.read('/console/agents?all=true')
      expect(all).toContain('Disconnect “Desk assistant” (desk.northwind.example) of Grace Hopper')
      expect(all).toContain('grace@northwind.example')
      const one = await client.read('/console/agents?all=true&client_id=desk-assistant')
      expect(agentForms(one).filter((action) => action.endsWith('/disconnect'))).toHaveLength(1)
    },
  )

  test('each leads to its page', async () => {
    const client = await seeded()
    const page = await client.read('/console/agents')
    expect(page).toContain(`<a href="/console/agents/${client.gateway.data.grants[0]!.id}">`)
    expect(textOf(page)).toContain('assistant.example (“Assistant”) verified host data:read +2')
  })

  test('a name that is markup is shown as the text it is', async () => {
    const client = await seeded()
    const [grant] = client.gateway.data.grants
    grant!.client_name = '</strong><script>alert(1)</script>"\'>'
    for (const address of ['/console/agents', '/console/agents/clients', `/console/agents/${grant!.id}`]) {
      const page = await client.read(address)
      expect(page).not.toContain('<script>alert')
      expect(page).toContain('&lt;script&gt;alert(1)')
    }
  })

  test('a disconnected agent is gone, and the list is the one that was left', async () => {
    const client = await seeded()
    const [grant] = client.gateway.data.grants
    const response = await client.post(`/console/agents/${grant?.id}/disconnect`, {
      back: '/console/agents?all=true',
    })
    expect(response.headers.get('location')).toBe('/console/agents?all=true')
    expect(client.gateway.data.grants).not.toContain(grant)
    const elsewhere = await client.post(`/console/agents/${grant?.id}/disconnect`, {
      back: '/console/profile',
    })
    expect(elsewhere.headers.get('location')).toBe('/console/agents')
  })

  test('the next page keeps the filters', async () => {
    const client = await seeded()
    const [grant] = client.gateway.data.grants
    for (let number = 0; number < 60; number += 1)
      client.gateway.data.grants.push({ ...grant!, id: client.gateway.id('grt') })
    const page = await client.read(
      `/console/agents?all=true&client_id=${encodeURIComponent(grant!.client_id)}`,
    )
    const next = /href="([^"]+)"[^>]*>Next page/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(next).toContain(`all=true&client_id=${encodeURIComponent(grant!.client_id)}&cursor=`)
    expect(agentForms(await client.read(next))).toHaveLength(11)
  })

  test('whoever has none is led to connecting one', async () => {
    const client = await signedIn({ role: 'viewer' })
    const page = await client.read('/console/agents')
    expect(page).toContain('You have not connected an assistant yet')
    expect(page).toContain('href="/console/connect"')
    expect(await client.read('/console')).toContain('Connect an assistant')
  })

  test('a client nobody has, and one that cannot be, are empty lists', async () => {
    const client = await seeded()
    expect(await client.read('/console/agents?client_id=nobody')).toContain('No agents of this client')
    expect((await client.get(`/console/agents?client_id=${encodeURIComponent('ä b')}`)).status).toBe(200)
  })

  test('while agents are off the page says so and leads to the switch', async () => {
    const client = await seeded()
    const [grant] = client.gateway.data.grants
    expect(await client.read('/console/agents')).not.toContain('Agents are turned off')
    client.gateway.org.agents_enabled = false
    for (const address of ['/console/agents', `/console/agents/${grant!.id}`]) {
      const page = await client.read(address)
      expect(page).toContain('Agents are turned off')
      expect(page).toContain('<a href="/console/settings/security">turned on</a>')
    }
    const viewer = await seeded({ role: 'viewer' })
    viewer.gateway.org.agents_enabled = false
    const page = await viewer.read('/console/agents')
    expect(page).toContain('until an admin turns them on again')
    expect(page).not.toContain('>turned on</a>')
  })
})

describe('one agent', () => {
  const one = async (options: Parameters<typeof signedIn>[0] = {}) => {
    const client = await seeded(options)
    const [grant, , colleagues] = client.gateway.data.grants
    const path = `/console/agents/${grant!.id}`
    return { client, grant: grant!, colleagues: colleagues!, path }
  }

  test('a proven host stands first; a name is the client’s own word', async () => {
    const { client, path } = await one()
    const words = textOf(await client.read(path))
    expect(words).toContain('assistant.example verified host calls itself “Assistant” , unverified')
    expect(words).toContain('Approve, deny or retry proposed changes')
    const editor = client.gateway.data.grants[1]!
    expect(textOf(await client.read(`/console/agents/${editor.id}`))).toContain(
      '“Editor on the laptop” self-declared name, unverified; redirects to 127.0.0.1',
    )
  })

  test('says what it called, per day and last, and leads to all of it', async () => {
    const { client, grant, path } = await one()
    const page = await client.read(path)
    expect(page).toContain('Calls per day, 17 Oct to 15 Nov')
    const calls = textOf(page.slice(page.indexOf('Last calls'), page.indexOf('split-side')))
    expect(calls).toMatch(/whoami answered 41 ms 38 B → 5.1 KiB/)
    expect(page).toContain(`/console/activity?agent=${grant.id}`)
    for (const type of ['', 'type=function&amp;']) {
      expect(page).toContain(`href="/console/activity?${type}agent=${grant.id}&amp;outcome=refused"`)
    }
    // A colleague's calls are not among them.
    expect(calls).not.toContain('db_salaries')
  })

  test('says until when, and how to take it away', async () => {
    const { client, grant, path } = await one()
    const page = await client.read(path)
    expect(textOf(page)).toContain('or after 30 days without a call')
    expect(agentForms(page)).toEqual([
      `/console/agents/${grant.id}/disconnect`,
      `/console/agents/${grant.id}/narrow`,
      `/console/agents/${grant.id}/sources`,
    ])
  })

  test('an admin opens a colleague’s; nobody else does', async () => {
    const { client, colleagues } = await one({ role: 'admin' })
    expect(textOf(await client.read(`/console/agents/${colleagues.id}`))).toContain(
      'Acts for Grace Hopper in Northwind Traders.',
    )
    const viewer = await one({ role: 'viewer' })
    expect((await viewer.client.get(`/console/agents/${viewer.colleagues.id}`)).status).toBe(404)
    expect((await viewer.client.get('/console/agents/grt_unknown')).status).toBe(404)
  })

  test('one that has ended says how, keeps its calls, and offers nothing to change', async () => {
    const { client, grant, path } = await one()
    Object.assign(grant, { ended: { at: '2026-11-15T08:00:00.000Z', reason: 'reuse_detected' } })
    const page = await client.read(path)
    expect(textOf(page)).toContain('This agent has no access any more. One of its tokens was used twice')
    expect(page).toContain('Last calls')
    expect(agentForms(page)).toEqual([])
  })

  test('a blocked client is said to be', async () => {
    const { client, grant, path } = await one()
    client.gateway.data.blockedClients.add(grant.client_id)
    expect(await client.read(path)).toContain('This client is blocked.')
  })

  test('one that never called is told to be asked', async () => {
    const { client } = await one()
    const editor = client.gateway.data.grants[1]!
    const page = await client.read(`/console/agents/${editor.id}`)
    expect(page).toContain('No calls yet')
    expect(page).not.toContain('Last calls')
    // Its endpoint has no data sources.
    expect(page).not.toContain('>Data sources</h2>')
  })

  test('narrowing leaves what stays ticked', async () => {
    const { client, grant, path } = await one()
    const response = await client.post(`${path}/narrow`, { scopes: ['data:read', 'made:up'] })
    expect(response.headers.get('location')).toBe(path)
    expect(grant.scopes).toEqual(['data:read'])
    const page = await client.read(path)
    expect(page).toContain('Permissions saved.')
    // With one thing left there is nothing to narrow, only to disconnect.
    expect(agentForms(page).filter((action) => action.endsWith('/narrow'))).toEqual([])
  })

  test('nothing ticked changes nothing, and says what to do instead', async () => {
    const { client, grant, path } = await one()
    await client.post(`${path}/narrow`)
    expect(grant.scopes).toHaveLength(3)
    expect(client.gateway.data.seen).not.toContain('narrowGrant')
    expect(await client.read(path)).toContain('or disconnect the agent')
  })
})

describe('data sources of an agent', () => {
  const granted = (name: string) => ({ id: `ds_${name}`, source_id: `db_${name.toLowerCase()}`, name })
  const withSources = async (options: Parameters<typeof signedIn>[0] = {}) => {
    const client = await seeded(options)
    const { sources, org } = client.gateway
    sources.data.sources.splice(0)
    for (const name of ['Handbook', 'Catalog']) {
      sources.add(org.id, name.toLowerCase(), { name, enabled: true, exposed: true })
    }
    const [grant, , graces] = client.gateway.data.grants
    return { client, grant: grant!, graces: graces!, path: `/console/agents/${grant!.id}` }
  }

  test('one that may ask all is limited to what is ticked', async () => {
    const { client, grant, path } = await withSources()
    const before = await client.read(path)
    expect(before).toMatch(/name="which" value="all" checked/)
    expect(before).not.toMatch(/name="sources" value="[^"]*" checked/)
    await client.post(`${path}/sources`, { which: 'chosen', sources: ['db_handbook'] })
    expect(grant.sources).toMatchObject([{ source_id: 'db_handbook', name: 'Handbook' }])
    const after = await client.read(path)
    expect(after).toContain('Data sources saved.')
    expect(textOf(after)).toContain('Data sources Handbook db_handbook')
    // One is left: there is nothing to take away but the agent itself.
    expect(agentForms(after)).not.toContain(`${path}/sources`)
  })

  test('one that is limited loses what is not ticked any more, and is offered nothing else', async () => {
    const { client, grant, path } = await withSources()
    grant.sources = [granted('Prices'), granted('Recipes')]
    const page = await client.read(path)
    expect(page).toMatch(/name="sources" value="db_prices" checked/)
    expect(page.slice(page.indexOf('>Data sources</h2>'))).not.toContain('db_handbook')
    await client.post(`${path}/sources`, { sources: ['db_recipes'] })
    expect(grant.sources).toEqual([granted('Recipes')])
    await client.post(`${path}/sources`, { sources: ['db_recipes', 'db_handbook'] })
    expect(grant.sources).toEqual([granted('Recipes')])
    expect(await client.read(path)).toContain('A grant can only be narrowed')
  })

  test('“all” changes nothing; none at all changes nothing, and says what to do instead', async () => {
    const { client, grant, path } = await withSources()
    await client.post(`${path}/sources`, { which: 'all', sources: ['db_handbook'] })
    expect(await client.read(path)).not.toContain('saved.')
    await client.post(`${path}/sources`, { which: 'chosen' })
    expect(await client.read(path)).toContain('Keep at least one data source')
    expect(client.gateway.data.seen).not.toContain('narrowGrant')
    expect(grant.sources).toBeNull()
  })

  test('an admin sees and limits everybody’s', async () => {
    const { client, graces } = await withSources({ role: 'admin' })
    const path = `/console/agents/${graces.id}`
    expect(await client.read(path)).toContain('All that Grace Hopper can query, including future ones')
    await client.post(`${path}/sources`, { which: 'chosen', sources: 'db_catalog' })
    expect(textOf(await client.read(path))).toContain('Data sources Catalog db_catalog')
  })

  test('one without the scope has no data sources to speak of, and nothing is asked for in vain', async () => {
    const { client, path } = await withSources()
    for (const one of client.gateway.data.grants) one.scopes = ['maintenance:read']
    const page = await client.read(path)
    expect(page).not.toContain('including future ones')
    expect(agentForms(page)).not.toContain(`${path}/sources`)
    expect(client.gateway.data.seen).not.toContain('listAskableDataSources')
  })

  test('a name that is markup is shown as the text it is', async () => {
    const { client, grant, path } = await withSources()
    grant.sources = [granted('A'), { ...granted('B'), name: '</label><script>alert(1)</script>' }]
    const page = await client.read(path)
    expect(page).not.toContain('<script>alert')
    expect(page).toContain('&lt;script&gt;alert(1)')
  })
})

describe('agent clients', () => {
  test.each(['viewer', 'developer'] as const)('a %s does not find them', async (role) => {
    const client = await seeded({ role })
    expect(await client.read('/console')).not.toContain('/console/agents/clients')
    expect(await client.read('/console/settings/security')).not.toContain('/console/agents/clients')
    expect((await client.get('/console/agents/clients')).status).toBe(403)
    const before = client.gateway.data.blockedClients.size
    await client.post('/console/agents/clients/new', { client_id: 'https://x.example/c' })
    await client.post('/console/agents/clients/block', { client_id: 'desk-assistant' })
    expect(client.gateway.data.blockedClients.size).toBe(before)
  })

  test('clients with an agent and blocked ones are listed, each with its one way out', async () => {
    const client = await seeded({ role: 'admin' })
    const page = await client.read('/console/agents/clients')
    expect(page).toContain('Block “Desk assistant” (desk.northwind.example)')
    expect(page).toContain('Unblock nosy.example')
    // Nothing was ever read from the blocked one, so nothing about it is proven.
    expect(page.split('verified host')).toHaveLength(2)
    expect(page).toContain('/console/agents?all=true&amp;client_id=desk-assistant')
  })

  test('one is blocked and let in again', async () => {
    const client = await seeded()
    await client.post('/console/agents/clients/block', { client_id: 'desk-assistant' })
    expect(client.gateway.data.blockedClients).toContain('desk-assistant')
    expect(await client.read('/console/agents/clients')).toContain('Client blocked.')
    await client.post('/console/agents/clients/unblock', { client_id: 'desk-assistant' })
    expect(client.gateway.data.blockedClients).not.toContain('desk-assistant')
  })

  test('one that nobody has connected is blocked ahead', async () => {
    const client = await signedIn()
    expect(await client.read('/console/agents/clients')).toContain('No clients yet')
    const url = 'https://new.example/client.json'
    await client.post('/console/agents/clients/new', { client_id: ` ${url}\n` })
    expect([...client.gateway.data.blockedClients]).toEqual([url])
  })

  test('a refused one stands in the form again, with the reason', async () => {
    const client = await seeded()
    const response = await client.post('/console/agents/clients/new', { client_id: 'bad <id>' })
    expect(response.status).toBe(400)
    const page = await response.text()
    expect(page).toContain('value="bad &lt;id&gt;"')
    expect(page).toContain('must be visible ASCII')
  })
})
