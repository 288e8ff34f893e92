import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'
import { SEEDED_MACHINE_AGENT } from '../../../../test/support/fake-machine-agents.ts'

const PATH = '/console/agents/machine'
const ONE = `${PATH}/${SEEDED_MACHINE_AGENT}`
const OTHER = `${PATH}/mch_${'1'.repeat(25)}`

const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  const { data } = client.gateway.machineAgents
  return { ...client, data, agent: data.agents[0]!, other: data.agents[1]! }
}

const textOf = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
const formsOf = (page: string): string[] =>
  [...page.matchAll(/<form method="post" action="([^"]+)"/g)]
    .map(([, action]) => action ?? '')
    .filter((action) => action.startsWith('/console/agents/'))

describe('the list', () => {
  test('shows who answers for each, until when, and leads to its page', async () => {
    const page = await (await seeded()).read(PATH)
    expect(textOf(page)).toMatch(/Nightly report Ada Lovelace Viewer .* 1 Feb 2027 Active/)
    expect(page).toContain(`<a href="${ONE}">`)
    expect(page).toContain(`href="${PATH}/new"`)
  })

  test('is searched and paged', async () => {
    const { read, data, agent } = await seeded()
    const found = await read(`${PATH}?search=deploy`)
    expect(found).toContain('Deploy watcher')
    expect(found).not.toContain('Nightly report')
    expect(await read(`${PATH}?search=nothing`)).toContain('No machine agents found')
    for (let number = 0; number < 60; number += 1)
      data.agents.push({ ...agent, id: `mch_${String(number).padStart(25, '2')}`, name: `Clone ${number}` })
    const page = await read(`${PATH}?search=clone`)
    const next = /href="([^"]+)"[^>]*>Next page/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(next).toContain('search=clone&cursor=')
    expect(await read(next)).toContain('Clone 59')
  })

  test('whoever has none is led to making one', async () => {
    const { read } = await signedIn()
    const page = await read(PATH)
    expect(page).toContain('No machine agents yet')
    expect(page).toContain(`href="${PATH}/new"`)
  })

  /** A member answers for one, whatever their role; those of others do not exist for them. */
  test.each(['viewer', 'developer'] as const)(
    'a %s finds the one they answer for, and creates none',
    async (role) => {
      const { read, get, post, data } = await seeded({ role })
      const page = await read(PATH)
      expect(page).toContain('Nightly report')
      expect(page).not.toContain('Deploy watcher')
      expect(page).not.toContain(`${PATH}/new`)
      expect((await get(`${PATH}/new`)).status).toBe(403)
      expect((await post(`${PATH}/new`, { name: 'X', scopes: 'data:read' })).status).toBe(403)
      expect(data.agents).toHaveLength(2)
      const [hidden, unknown] = await Promise.all(
        [OTHER, `${PATH}/mch_${'9'.repeat(25)}`].map((path) => get(path)),
      )
      expect([hidden!.status, unknown!.status]).toEqual([404, 404])
      const words = async (response: Response) => textOf(await response.text()).replace(/req_\w+/, '')
      expect(await words(hidden!)).toBe(await words(unknown!))
    },
  )
})

describe('creating one', () => {
  const least = {
    name: 'Backup',
    role: 'viewer',
    owner: 'ada@northwind.example',
    ends: '30',
    scopes: 'data:read',
    which: 'all',
    credential: 'secret',
  }

  test('whoever changes nothing gets the least', async () => {
    const page = await (await seeded()).read(`${PATH}/new`)
    const ticked = [...page.matchAll(/name="scopes" value="([^"]+)" checked/g)].map(([, scope]) => scope)
    expect(ticked).toEqual(['data:read', 'maintenance:read'])
    expect(page).toContain('value="ada@northwind.example"')
    expect(page).toMatch(/<option value="viewer" selected/)
    expect(page).toMatch(/<option value="90" selected/)
    expect(page).not.toContain('value="proposals:decide"')
  })

  test('the secret stands in the answer to the form and nowhere else, with commands that work', async () => {
    const { post, read, cookies, data } = await seeded()
    const response = await post(`${PATH}/new`, least)
    expect(response.status).toBe(201)
    expect(response.headers.get('cache-control')).toBe('no-store')
    const page = await response.text()
    const secret = /svcm_[0-9A-Za-z]{30,}/.exec(page)?.[0] ?? 'none'
    expect(secret).not.toBe('none')
    const made = data.agents[0]!
    expect(textOf(page)).toContain(
      `http://localhost:4000/oauth/token -u &quot;${made.client_id}:$SVC_CLIENT_SECRET&quot;`,
    )
    expect(textOf(page)).toContain('resource=http://mcp.localhost:4000/platform')
    for (const path of [PATH, `${PATH}/${made.id}`]) expect(await read(path)).not.toContain(secret)
    expect([...cookies.values()].join()).not.toContain(secret)
  })

  test('everything arrives as chosen', async () => {
    const { post, data } = await seeded()
    await post(`${PATH}/new`, {
      ...least,
      role: 'developer',
      owner: 'Grace@northwind.example',
      scopes: ['data:read', 'maintenance:run'],
      which: 'chosen',
      sources: ['db_handbook'],
    })
    expect(data.given.at(-1)).toMatchObject({
      name: 'Backup',
      role: 'developer',
      scopes: ['data:read', 'maintenance:run'],
      sources: ['db_handbook'],
      expires_at: '2026-12-15T11:59:00.000Z',
    })
    expect(data.agents[0]!.owner.name).toBe('Grace Hopper')
  })

  test('a public key is taken instead, and no secret is shown', async () => {
    const { post, data } = await seeded()
    const key = { kty: 'EC', crv: 'P-256', x: 'abc', y: 'def' }
    const page = await (
      await post(`${PATH}/new`, { ...least, credential: 'key', public_key: JSON.stringify(key) })
    ).text()
    expect(data.given.at(-1)?.public_key).toEqual(key)
    expect(page).not.toContain('Copy the secret now')
    expect(page).toContain('PrivateKeyJwtProvider')
  })

  test.each([
    ['no permission', { scopes: [] as string[] }, 'Select at least one permission'],
    ['no data source', { which: 'chosen' }, 'Select at least one data source'],
    [
      'an owner who is no member',
      { owner: 'nobody@x.example' },
      '<p class="field-problem">No member has this email address</p>',
    ],
    [
      'a key that is none',
      { credential: 'key', public_key: 'ssh-ed25519 AAAA' },
      '<p class="field-problem">must be a JWK',
    ],
    ['a key of another kind', { credential: 'key', public_key: '{"kty":"oct"}' }, 'field-problem'],
    ['no name', { name: ' ' }, 'field-problem'],
  ])('%s is refused, with what was typed', async (_what, change, reason) => {
    const { post, data } = await seeded()
    const refused = await post(`${PATH}/new`, { ...least, ends: '180', ...change })
    expect(refused.status).toBe(400)
    const page = await refused.text()
    expect(page).toContain(reason)
    expect(page).toMatch(/<option value="180" selected/)
    expect(data.agents).toHaveLength(2)
  })

  test('what only owners may give is offered to owners', async () => {
    expect(await (await seeded()).read(`${PATH}/new`)).toContain('value="maintenance:admin"')
    const page = await (await seeded({ role: 'admin' })).read(`${PATH}/new`)
    expect(page).not.toContain('value="maintenance:admin"')
    expect(page).not.toContain('<option value="owner"')
  })
})

describe('one machine agent', () => {
  test('says what it is, what it may do, and leads to its activity', async () => {
    const { read, agent } = await seeded()
    const page = await read(ONE)
    expect(textOf(page)).toMatch(/State Active Role Viewer Owner Ada Lovelace/)
    expect(page).toContain(`/console/activity?person=${agent.user_id}`)
    expect(page).toContain('value="maintenance:read" checked')
  })

  test('a second secret is added, and shown once; the first is revoked', async () => {
    const { post, read, agent } = await seeded()
    const response = await post(`${ONE}/credentials`, { credential: 'secret' })
    expect(response.status).toBe(201)
    expect(await response.text()).toContain('Copy the secret now.')
    expect(agent.credentials).toHaveLength(2)
    expect(await read(ONE)).toContain('To add another secret, revoke one first.')
    await post(`${ONE}/credentials/${agent.credentials[0]!.id}/revoke`)
    expect(agent.credentials).toHaveLength(1)
    expect(await read(ONE)).toContain('Credential revoked.')
  })

  test('a private key is refused at its field', async () => {
    const { post, agent } = await seeded()
    const refused = await post(`${ONE}/credentials`, {
      credential: 'key',
      public_key: '{"kty":"EC","d":"x"}',
    })
    expect(refused.status).toBe(400)
    const page = await refused.text()
    expect(page).toContain('<p class="field-problem">is a private key</p>')
    expect(page).toContain('<details class="more" open>')
    expect(agent.credentials).toHaveLength(1)
  })

  test('its permissions are narrowed here, and the page comes back', async () => {
    const { post, agent, gateway } = await seeded()
    const response = await post(`/console/agents/${agent.grant_id}/narrow`, {
      scopes: 'data:read',
      back: ONE,
    })
    expect(response.headers.get('location')).toBe(ONE)
    expect(gateway.data.grants.find(({ id }) => id === agent.grant_id)?.scopes).toEqual(['data:read'])
  })

  test('name, owner and expiry are changed; whoever is no member cannot own it', async () => {
    const { post, agent } = await seeded()
    const expires = agent.expires_at
    await post(ONE, { name: 'Report', owner: 'grace@northwind.example', ends: '' })
    expect(agent).toMatchObject({ name: 'Report', owner: { name: 'Grace Hopper' }, expires_at: expires })
    await post(ONE, { name: 'Report', owner: 'grace@northwind.example', ends: '30' })
    expect(agent.expires_at).toBe('2026-12-15T11:59:00.000Z')
    const refused = await post(ONE, { name: 'Report', owner: 'nobody@x.example', ends: '' })
    expect(await refused.text()).toContain('<p class="field-problem">No member has this email address</p>')
  })

  test('it is disconnected for good, and removed; both ask first', async () => {
    const { post, read, data, agent } = await seeded()
    const page = await read(ONE)
    for (const id of ['disconnect', 'remove']) expect(page).toContain(`<dialog id="${id}"`)
    await post(`/console/agents/${agent.grant_id}/disconnect`, { back: ONE })
    expect(textOf(await read(ONE))).toContain('This machine agent was disconnected. It cannot come back.')
    const response = await post(`${ONE}/remove`)
    expect(response.headers.get('location')).toBe(PATH)
    expect(data.agents).toHaveLength(1)
  })

  test.each([
    ['expired', 'This machine agent has expired.'],
    ['owner_left', 'Ada Lovelace has left.'],
    ['blocked', 'This machine agent is blocked.'],
    ['no_credentials', 'This machine agent has no credentials.'],
  ] as const)('%s is said to be', async (state, words) => {
    const { read, agent } = await seeded()
    agent.state = state
    expect(textOf(await read(ONE))).toContain(words)
  })

  test('a viewer who answers for it rotates and removes it, and changes no more', async () => {
    const { read } = await seeded({ role: 'viewer' })
    const forms = formsOf(await read(ONE))
    expect(forms).toContain(`${ONE}/credentials`)
    expect(forms).toContain(`${ONE}/remove`)
    expect(forms).not.toContain(ONE)
  })

  test('nobody adds a credential to one whose role is above their own', async () => {
    const { read, agent } = await seeded({ role: 'viewer' })
    agent.role = 'developer'
    expect(formsOf(await read(ONE))).not.toContain(`${ONE}/credentials`)
  })

  test('says what it may do in words about it', async () => {
    const { read } = await seeded()
    for (const path of [`${PATH}/new`, ONE]) {
      const words = textOf(await read(path))
      expect(words).toContain('Query the data sources it may query')
      expect(words).not.toContain('you may')
    }
  })

  test('a name that is markup is shown as the text it is', async () => {
    const { read, agent } = await seeded()
    agent.name = '</h1><script>alert(1)</script>'
    for (const path of [PATH, ONE]) {
      const page = await read(path)
      expect(page).not.toContain('<script>alert')
      expect(page).toContain('&lt;script&gt;alert(1)')
    }
  })
})

describe('among the connected agents', () => {
  test('each says how it was connected', async () => {
    const { read, gateway } = await seeded()
    Object.assign(gateway.data.grants[2]!, { via: 'enterprise' })
    const words = textOf(await read('/console/agents?all=true'))
    expect(words).toMatch(/“Desk assistant” \(desk\.northwind\.example\) By your organization Grace Hopper/)
    expect(words).toMatch(/Nightly report Machine agent Nobody/)
  })

  test('one by the organization can come back, and a machine agent cannot', async () => {
    const { read, gateway, agent } = await seeded()
    const grant = Object.assign(gateway.data.grants[2]!, { via: 'enterprise' })
    const page = textOf(await read(`/console/agents/${grant.id}`))
    expect(page).toContain('Acts for Grace Hopper in Northwind Traders, connected by your organization.')
    expect(page).toContain('can connect again through your identity provider')
    expect(page).toContain('When it connects again, it gets what your rules give.')
    const machine = await read(`/console/agents/${agent.grant_id}`)
    expect(machine).toContain(`href="${ONE}"`)
    expect(textOf(machine)).toContain('and cannot come back')
    expect(machine).not.toContain('@machine.invalid')
  })
})
