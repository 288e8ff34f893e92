import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'
import { GOOD_ASSERTION } from '../../../../test/support/fake-identity-provider.ts'
import { REFUSAL_REASONS, REFUSALS } from '../../../contracts/identity-provider-states.ts'

const PATH = '/console/identity-provider'
const TABS = [PATH, `${PATH}/clients`, `${PATH}/rules`, `${PATH}/people`, `${PATH}/refusals`]

const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  return { ...client, data: client.gateway.identityProvider.data }
}
/** With members, and no provider. */
const without = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await seeded(options)
  Object.assign(client.data, { provider: null, clients: [], rules: [], links: [], refusals: [] })
  return client
}
const added = { name: 'Okta', issuer: 'https://northwind.okta.example' }

const textOf = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
const formsOf = (page: string): string[] =>
  [...page.matchAll(/<form method="post" action="([^"]+)"/g)]
    .map(([, action]) => action ?? '')
    .filter((action) => action.startsWith(PATH))

describe('who finds it', () => {
  test.each(['viewer', 'developer'] as const)(
    'a %s gets the same answer whether there is one or not',
    async (role) => {
      const [some, none] = [await seeded({ role }), await without({ role })]
      const words = async (client: typeof some, path: string) => {
        const response = await client.get(path)
        return [response.status, textOf(await response.text()).replace(/req_\w+/, '')]
      }
      for (const path of [...TABS, `${PATH}/clients/allow`, `${PATH}/rules/new`, `${PATH}/rules/1`]) {
        expect([path, await words(some, path)]).toEqual([path, await words(none, path)])
        expect((await some.get(path)).status).toBe(403)
      }
      expect(await some.read('/console')).not.toContain(PATH)
      expect(some.gateway.data.seen).not.toContain('showIdentityProvider')
    },
  )

  test.each(['viewer', 'developer'] as const)('a %s changes nothing by writing forms', async (role) => {
    const { post, data } = await seeded({ role })
    const before = structuredClone(data)
    await post(`${PATH}/state`, { state: 'paused' })
    await post(`${PATH}/remove`)
    await post(`${PATH}/clients/forbid`, { client_id: 'desk-assistant' })
    await post(`${PATH}/rules/1/remove`)
    await post(`${PATH}/people/${data.links[0]!.id}/unlink`)
    expect(data).toEqual(before)
  })

  test('a form without its token changes nothing', async () => {
    const { post, data } = await seeded()
    expect((await post(`${PATH}/state`, { state: 'paused', form_token: 'made-up' })).status).toBe(403)
    expect(data.provider?.state).toBe('on')
  })

  test('without a provider, its tabs lead to adding one', async () => {
    const { get } = await without()
    for (const path of TABS.slice(1)) expect((await get(path)).headers.get('location')).toBe(PATH)
  })
})

describe('adding it', () => {
  test('says what it is, and what to enter at the provider', async () => {
    const page = await (await without()).read(PATH)
    expect(textOf(page)).toContain('Your identity provider vouches for members')
    for (const value of [
      'https://auth.svc.example',
      'https://mcp.svc.example/platform',
      'https://mcp.svc.example/notifications',
    ])
      expect(page).toMatch(new RegExp(`<code id="[a-z-]+">${value}</code>`))
    expect(page).not.toContain('class="tabs"')
  })

  test('where the operator has turned it off there is no form, and the page says why', async () => {
    const { read, data } = await without()
    data.is_enabled = false
    const page = await read(PATH)
    expect(page).toContain('Turned off for this installation')
    expect(formsOf(page)).toEqual([])
  })

  test('it becomes a draft, which leads to checking it', async () => {
    const { post, read, data } = await without()
    await post(PATH, { ...added, tenant_claim: '', tenant_value: '' })
    expect(data.provider).toMatchObject({ ...added, state: 'draft', tenant: null })
    const page = await read(PATH)
    expect(page).toContain('Check it next')
    expect(textOf(page)).toContain('Okta is added')
  })

  test('an issuer that others share opens the fields of the tenant, with what was typed', async () => {
    const { post, read, data } = await without()
    expect(await read(PATH)).toMatch(/<details class="more" >/)
    const refused = await post(PATH, { name: 'Google', issuer: 'https://accounts.google.com' })
    expect(refused.status).toBe(409)
    const page = await refused.text()
    expect(page).toMatch(/<details class="more" open>/)
    expect(page).toContain('value="https://accounts.google.com"')
    await post(PATH, {
      name: 'Google',
      issuer: 'https://accounts.google.com',
      tenant_claim: 'hd',
      tenant_value: 'northwind.example',
    })
    expect(data.provider?.tenant).toEqual({ claim: 'hd', value: 'northwind.example' })
  })

  test('an issuer that cannot be used is refused at its field', async () => {
    const { post, data } = await without()
    const page = await (await post(PATH, { name: 'X', issuer: 'https://unreachable.example' })).text()
    expect(page).toContain('<p class="field-problem">it could not be reached</p>')
    const plain = await (await post(PATH, { name: 'X', issuer: 'http://plain.example' })).text()
    expect(plain).toMatch(/<p class="field-problem">must be an https address/)
    expect(data.provider).toBeNull()
  })
})

describe('checking and switching it on', () => {
  const draft = async (options: Parameters<typeof signedIn>[0] = {}) => {
    const client = await without()
    await client.post(PATH, added)
    client.gateway.org.role = options.role ?? 'owner'
    return client
  }

  test('the keys that were found are named; without an assertion nothing is tried', async () => {
    const { post, data } = await draft()
    const page = await (await post(`${PATH}/check`, { assertion: ' ' })).text()
    expect(textOf(page)).toContain('1 key found: key-1 (ES256)')
    expect(page).not.toContain('Checks of the assertion')
    expect(data.assertions).toEqual([])
  })

  test.each(REFUSAL_REASONS)(
    'an assertion refused for %s: the reason in words, and every check',
    async (reason) => {
      const { post } = await draft()
      const page = await (await post(`${PATH}/check`, { assertion: reason })).text()
      expect(page).toContain(REFUSALS[reason])
      expect(page.match(/: failed<\/span>/g)).toHaveLength(1)
      const checks = page.match(/: (passed|failed|not reached)<\/span>/g)
      expect(checks).toHaveLength(REFUSAL_REASONS.length)
    },
  )

  test('one that would be accepted switches it on', async () => {
    const { post, read, data } = await draft()
    const page = await (await post(`${PATH}/check`, { assertion: GOOD_ASSERTION })).text()
    expect(textOf(page)).toContain('This assertion would be accepted.')
    expect(page).toContain('Switch on with this assertion')
    expect(page).toContain(`name="assertion" value="${GOOD_ASSERTION}"`)
    const response = await post(`${PATH}/switch-on`, { assertion: GOOD_ASSERTION })
    expect(response.headers.get('location')).toBe(PATH)
    expect(data.provider?.state).toBe('on')
    expect(await read(PATH)).toContain('Identity provider switched on.')
  })

  test('one that proves nothing is refused at its field, and is not shown again', async () => {
    const { post, data } = await draft()
    const refused = await post(`${PATH}/switch-on`, { assertion: 'eyJ-of-somebody-else' })
    expect(refused.status).toBe(400)
    const page = await refused.text()
    expect(page).toContain('its address is not yours')
    expect(page).not.toContain('eyJ-of-somebody-else')
    expect(data.provider?.state).toBe('draft')
  })

  test('an admin checks it, and is told to ask an owner for the rest', async () => {
    const { post, read, data } = await draft({ role: 'admin' })
    const page = await read(PATH)
    expect(formsOf(page)).toContain(`${PATH}/check`)
    expect(formsOf(page)).not.toContain(`${PATH}/switch-on`)
    expect(page).toContain('Only an owner can do this')
    expect((await post(`${PATH}/switch-on`, { assertion: GOOD_ASSERTION })).status).toBe(403)
    expect(data.provider?.state).toBe('draft')
  })
})

describe('while it is on', () => {
  test('says how it is, and has a form for each change', async () => {
    const { read } = await seeded()
    const page = await read(PATH)
    expect(textOf(page)).toMatch(
      /State On Issuer https:\/\/northwind.okta.example .* by Ada Lovelace Agents 12 Last used/,
    )
    expect(formsOf(page).toSorted()).toEqual(
      ['check', 'end-agents', 'remove', 'required', 'settings', 'state'].map((one) => `${PATH}/${one}`),
    )
  })

  test('settings are saved as chosen', async () => {
    const { post, data } = await seeded()
    await post(`${PATH}/settings`, {
      name: 'Okta of Northwind',
      linking: 'domain',
      default_scopes: ['data:read', 'notifications:read'],
      token_minutes: '30',
      assertion_seconds: '300',
    })
    expect(data.provider).toMatchObject({
      name: 'Okta of Northwind',
      linking: 'domain',
      default_scopes: ['data:read', 'notifications:read'],
      token_minutes: 30,
      assertion_seconds: 300,
      is_required: false,
    })
  })

  test('a number outside its bounds is refused at its field, with what was typed', async () => {
    const { post, data } = await seeded()
    const refused = await post(`${PATH}/settings`, {
      name: 'Okta',
      linking: 'admin',
      token_minutes: '600',
      assertion_seconds: '300',
    })
    expect(refused.status).toBe(400)
    const page = await refused.text()
    expect(page).toContain('value="600"')
    expect(page).toMatch(/aria-invalid="true"/)
    expect(data.provider?.token_minutes).toBe(15)
  })

  test('sensitive permissions are not among the defaults, also for owners', async () => {
    const page = await (await seeded()).read(PATH)
    expect(page).not.toMatch(/name="default_scopes" value="(maintenance:admin|proposals:decide)"/)
  })

  test('it is paused, resumed, required, emptied and removed', async () => {
    const { post, read, data } = await seeded()
    await post(`${PATH}/state`, { state: 'paused' })
    expect(data.provider?.state).toBe('paused')
    expect(textOf(await read(`${PATH}/rules`))).toContain('The identity provider is paused.')
    await post(`${PATH}/state`, { state: 'on' })
    expect(data.provider?.state).toBe('on')
    await post(`${PATH}/required`, { required: 'yes' })
    expect(data.provider?.is_required).toBe(true)
    expect(textOf(await read(PATH))).toContain('Members cannot approve assistants themselves.')
    await post(`${PATH}/required`, { required: 'no' })
    expect(data.provider?.is_required).toBe(false)
    await post(`${PATH}/end-agents`)
    expect(await read(PATH)).toContain('12 agents disconnected.')
    await post(`${PATH}/remove`)
    expect(data.provider).toBeNull()
  })

  test('it cannot be required while nobody has proven that it is theirs', async () => {
    const { read, data } = await seeded()
    Object.assign(data.provider!, { state: 'paused', proven_at: null, proven_by: null })
    const page = await read(PATH)
    expect(textOf(page)).toContain('It can be required once an owner has switched it on.')
    expect(page).not.toContain('<dialog id="require"')
  })

  test('what ends something asks first', async () => {
    const page = await (await seeded()).read(PATH)
    for (const id of ['pause', 'end-agents', 'require', 'remove-provider'])
      expect(page).toContain(`<dialog id="${id}"`)
  })

  test('where its keys have moved, an owner is asked to switch it on again', async () => {
    const { post, data } = await seeded()
    data.isPinned = false
    const page = await (await post(`${PATH}/check`)).text()
    expect(textOf(page)).toContain('Its keys moved to')
    expect(formsOf(page)).toContain(`${PATH}/switch-on`)
  })

  test('a name that is markup is shown as the text it is', async () => {
    const { read, data } = await seeded()
    Object.assign(data.provider!, { name: '</h1><script>alert(1)</script>' })
    const page = await read(PATH)
    expect(page).not.toContain('<script>alert')
    expect(page).toContain('&lt;script&gt;alert(1)')
  })
})
