import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'
import { REFUSAL_REASONS } from '../../../contracts/identity-provider-states.ts'

const PATH = '/console/identity-provider'

const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  return { ...client, data: client.gateway.identityProvider.data }
}

const textOf = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
const formsOf = (page: string): string[] =>
  [...page.matchAll(/<form method="post" action="([^"]+)"/g)]
    .map(([, action]) => action ?? '')
    .filter((action) => action.startsWith(PATH))

describe('clients', () => {
  const CLIENTS = `${PATH}/clients`

  test('says what each may do at most, and which prove nothing', async () => {
    const words = textOf(await (await seeded()).read(CLIENTS))
    expect(words).toMatch(/claude\.ai \(“Claude”\) public data:read \+1 \/platform, \/notifications 11/)
    expect(words).toMatch(/“Desk assistant” data:read \/platform None Never/)
  })

  test('an empty list leads to the known ones', async () => {
    const { read, data } = await seeded()
    data.clients.length = 0
    const page = await read(CLIENTS)
    for (const preset of ['?preset=claude', '?preset=vs-code', ''])
      expect(page).toContain(`"${CLIENTS}/allow${preset}"`)
  })

  test.each([
    ['claude', 'https://claude.ai/oauth/mcp-oauth-client-metadata'],
    ['vs-code', 'https://vscode.dev/oauth/client-metadata.json'],
  ])('%s is filled in, with the least', async (preset, client_id) => {
    const page = await (await seeded()).read(`${CLIENTS}/allow?preset=${preset}`)
    expect(page).toContain(`value="${client_id}"`)
    const ticked = [...page.matchAll(/name="max_scopes" value="([^"]+)" checked/g)].map(([, scope]) => scope)
    expect(ticked).toEqual(['data:read', 'maintenance:read'])
    expect(page).toContain('name="may_be_public" value="yes" checked')
  })

  test('one is created, and its secret is shown once, with what to enter beside it', async () => {
    const { read, post, data } = await seeded()
    expect(await read(CLIENTS)).toContain(`"${CLIENTS}/create"`)
    expect(formsOf(await read(`${CLIENTS}/create`))).toEqual([`${CLIENTS}/create`])
    const fields = { name: ' Claude ', max_scopes: ['data:read'], resources: ['platform', 'notifications'] }
    const made = await post(`${CLIENTS}/create`, fields)
    expect([made.status, made.headers.get('location')]).toEqual([201, null])
    const page = await made.text()
    const { client_id, ...client } = data.clients.at(-1)!
    expect(client).toMatchObject({ name: 'Claude', is_own: true, resources: ['platform', 'notifications'] })
    for (const shown of [client_id, 'svcc_shown-once', '/oauth/token', '/platform', '/notifications'])
      expect(page).toContain(shown)
    expect(await read(CLIENTS)).not.toContain('svcc_')
    // Forbidding it is for good, and it has a secret in any case.
    expect(textOf(await read(CLIENTS))).toContain('it is deleted with its secret')
    expect(await read(`${CLIENTS}/allow?client_id=${client_id}`)).not.toContain('may_be_public')
  })

  test('one without a name stands in the form again', async () => {
    const { post, data } = await seeded()
    const before = data.clients.length
    const refused = await post(`${CLIENTS}/create`, {
      name: '',
      max_scopes: 'data:read',
      resources: 'platform',
    })
    expect(refused.status).toBe(400)
    expect(await refused.text()).toMatch(/name="max_scopes" value="data:read" checked/)
    expect(data.clients).toHaveLength(before)
  })

  test('another one proves who it is, unless it is said otherwise', async () => {
    const { read, post, data } = await seeded()
    expect(await read(`${CLIENTS}/allow`)).not.toContain('name="may_be_public" value="yes" checked')
    await post(`${CLIENTS}/allow`, { client_id: ' helper\n', max_scopes: 'data:read', resources: 'platform' })
    expect(data.clients.at(-1)).toMatchObject({
      client_id: 'helper',
      may_be_public: false,
      max_scopes: ['data:read'],
      resources: ['platform'],
    })
  })

  test('one that cannot be allowed stands in the form again, with the reason at its field', async () => {
    const { post } = await seeded()
    const fields = {
      client_id: 'dcr_self',
      max_scopes: ['data:read', 'maintenance:run'],
      resources: 'platform',
    }
    const refused = await post(`${CLIENTS}/allow`, fields)
    expect(refused.status).toBe(400)
    const page = await refused.text()
    expect(page).toContain('value="dcr_self"')
    expect(page).toContain('<p class="field-problem">it registered itself</p>')
    expect(page).toContain('value="maintenance:run" checked')
  })

  test('what may be had is changed, and none at all is refused', async () => {
    const { read, post, data } = await seeded()
    expect(await read(`${CLIENTS}/allow?client_id=desk-assistant`)).toContain(
      'name="client_id" value="desk-assistant"',
    )
    const terms = { client_id: 'desk-assistant', resources: ['platform', 'notifications'] }
    await post(`${CLIENTS}/allow`, { ...terms, max_scopes: ['data:read', 'notifications:read'] })
    expect(data.clients[1]).toMatchObject({
      max_scopes: ['data:read', 'notifications:read'],
      resources: ['platform', 'notifications'],
    })
    expect((await post(`${CLIENTS}/allow`, terms)).status).toBe(400)
    expect(data.clients[1]!.max_scopes).toHaveLength(2)
  })

  test('sensitive permissions are the owners’: an admin is not offered them, and cannot change who has them', async () => {
    const owner = await seeded()
    expect(await owner.read(`${CLIENTS}/allow`)).toContain('value="proposals:decide"')
    const admin = await seeded({ role: 'admin' })
    const page = await admin.read(`${CLIENTS}/allow`)
    expect(page).not.toContain('value="proposals:decide"')
    expect(textOf(page)).toContain('Only owners can give maintenance:admin and proposals:decide')
    admin.data.clients[1]!.max_scopes = ['proposals:decide']
    expect(formsOf(await admin.read(`${CLIENTS}/allow?client_id=desk-assistant`))).toEqual([])
  })

  test('one is forbidden', async () => {
    const { post, data } = await seeded()
    await post(`${CLIENTS}/forbid`, { client_id: 'desk-assistant' })
    expect(data.clients.map(({ client_id }) => client_id)).not.toContain('desk-assistant')
  })

  test('an id that is markup is shown as the text it is', async () => {
    const { read, data } = await seeded()
    data.clients[1]!.name = '"><script>alert(1)</script>'
    const page = await read(CLIENTS)
    expect(page).not.toContain('<script>alert')
    expect(page).toContain('&lt;script&gt;alert(1)')
  })
})

describe('rules', () => {
  const RULES = `${PATH}/rules`
  const edition = (page: string): string => /name="edition" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const values = (data: { rules: { value: string | null }[] }) => data.rules.map(({ value }) => value)
  const rule = {
    who: 'some',
    claim: 'groups',
    value: 'support',
    access: 'scopes',
    scopes: ['data:read'],
    which: 'all',
  }

  test('are listed in their order', async () => {
    const words = textOf(await (await seeded()).read(RULES))
    expect(words).toMatch(
      /1\. groups is or contains contractors Refused .* 2\. groups is or contains engineering data:read \+2 .* 3\. Everybody data:read/,
    )
  })

  test('without rules the page says what holds', async () => {
    const { read, data } = await seeded()
    data.rules.length = 0
    expect(await read(RULES)).toContain('No rules yet')
  })

  test('one is added at the end, moved up and down, changed and removed', async () => {
    const { read, post, data } = await seeded()
    const now = async () => edition(await read(RULES))
    await post(`${RULES}/new`, { ...rule, edition: await now() })
    expect(values(data)).toEqual(['contractors', 'engineering', null, 'support'])
    await post(`${RULES}/4/move`, { to: 'up', edition: await now() })
    expect(values(data)).toEqual(['contractors', 'engineering', 'support', null])
    await post(`${RULES}/1/move`, { to: 'down', edition: await now() })
    expect(values(data)).toEqual(['engineering', 'contractors', 'support', null])
    await post(`${RULES}/3`, {
      ...rule,
      value: 'sales',
      which: 'chosen',
      sources: 'db_handbook',
      edition: await now(),
    })
    expect(data.rules[2]).toMatchObject({ value: 'sales', sources: [{ source_id: 'db_handbook' }] })
    await post(`${RULES}/2/remove`, { edition: await now() })
    expect(values(data)).toEqual(['engineering', 'sales', null])
    expect(await read(RULES)).toContain('Rule removed.')
  })

  test('the first has no way up and the last none down', async () => {
    const page = await (await seeded()).read(RULES)
    const moves = [...page.matchAll(/aria-label="Move rule (\d) (up|down)"/g)].map(
      ([, at, to]) => `${at} ${to}`,
    )
    expect(moves).toEqual(['1 down', '2 up', '2 down', '3 up'])
  })

  test('a form about rules that have changed since changes nothing', async () => {
    const { read, post, data } = await seeded()
    const stale = edition(await read(RULES))
    data.rules[1]!.value = 'research'
    await post(`${RULES}/1/remove`, { edition: stale })
    expect(await read(RULES)).toContain('The rules have changed in the meantime')
    const response = await post(`${RULES}/new`, { ...rule, edition: stale })
    expect(response.status).toBe(409)
    expect(data.rules).toHaveLength(3)
  })

  test('nothing ticked is neither a refusal nor all data sources', async () => {
    const { read, post, data } = await seeded()
    const now = edition(await read(RULES))
    const { scopes: _none, ...untold } = rule
    const refused = await (await post(`${RULES}/new`, { ...untold, edition: now })).text()
    expect(refused).toContain('Select at least one permission, or refuse them')
    expect(await (await post(`${RULES}/new`, { ...rule, which: 'chosen', edition: now })).text()).toContain(
      'Select at least one data source',
    )
    expect(await (await post(`${RULES}/new`, { ...rule, value: ' ', edition: now })).text()).toContain(
      '<p class="field-problem">Enter a value</p>',
    )
    expect(data.rules).toHaveLength(3)
    await post(`${RULES}/new`, { ...untold, access: 'none', edition: now })
    expect(data.rules[3]).toMatchObject({ value: 'support', scopes: [] })
  })

  test('a refused value is said at its field, though the gateway names its place in the list', async () => {
    const { read, post } = await seeded()
    const page = await (
      await post(`${RULES}/new`, { ...rule, claim: 'not a claim', edition: edition(await read(RULES)) })
    ).text()
    expect(page).toMatch(/<p class="field-problem">must be the name of a claim/)
    expect(page).toContain('value="not a claim"')
  })

  test('where one gives what only owners give, an admin changes none of them', async () => {
    const { read, get, data } = await seeded({ role: 'admin' })
    expect(formsOf(await read(RULES)).length).toBeGreaterThan(1)
    data.rules[1]!.scopes = ['proposals:decide']
    const page = await read(RULES)
    expect(formsOf(page)).toEqual([`${RULES}/preview`])
    expect(page).toContain('Only an owner can change these rules')
    expect(formsOf(await (await get(`${RULES}/2`)).text())).toEqual([])
  })

  test('one that does not exist is not found', async () => {
    const { get } = await seeded()
    for (const position of ['0', '4', '999']) expect((await get(`${RULES}/${position}`)).status).toBe(404)
  })

  test('the preview says what a member would get, and by which rule', async () => {
    const { post } = await seeded()
    const fields = { member: 'Grace@northwind.example', client_id: 'desk-assistant', resource: 'platform' }
    const engineer = textOf(
      await (
        await post(`${RULES}/preview`, { ...fields, claims: 'groups=sales\r\ngroups=engineering\r\n' })
      ).text(),
    )
    expect(engineer).toContain('Grace Hopper would be connected.')
    expect(engineer).toMatch(/Decided by Rule 2 Role Admin Can Query the data sources/)
    const contractor = textOf(
      await (await post(`${RULES}/preview`, { ...fields, claims: 'groups=contractors' })).text(),
    )
    expect(contractor).toContain('Grace Hopper would be refused. A rule refuses them.')
  })

  test('a preview for nobody, or with claims that are none, is refused at the field', async () => {
    const { post } = await seeded()
    const fields = { client_id: 'desk-assistant', resource: 'platform' }
    expect(
      await (await post(`${RULES}/preview`, { ...fields, member: 'nobody@x.example' })).text(),
    ).toContain('<p class="field-problem">No member has this email address</p>')
    const page = await (
      await post(`${RULES}/preview`, { ...fields, member: 'grace@northwind.example', claims: 'engineering' })
    ).text()
    expect(page).toContain('<p class="field-problem">Write one claim a line')
    expect(page).toMatch(/engineering<\/textarea>/)
  })
})

describe('people', () => {
  const PEOPLE = `${PATH}/people`

  test('are found by subject and name', async () => {
    const { read } = await seeded()
    expect(textOf(await read(PEOPLE))).toMatch(/00u1ada Ada Lovelace .* when it was switched on/)
    const found = await read(`${PEOPLE}?search=grace`)
    expect(found).toContain('00u2grace')
    expect(found).not.toContain('00u1ada')
    expect(await read(`${PEOPLE}?search=nobody`)).toContain('Nobody found')
  })

  test('the next page keeps the search', async () => {
    const { read, data } = await seeded()
    for (let number = 0; number < 60; number += 1)
      data.links.push({
        ...data.links[0]!,
        id: `idl_${String(number).padStart(25, '0')}`,
        subject: `clone-${number}`,
      })
    const page = await read(`${PEOPLE}?search=clone`)
    expect(page).toMatch(/1–50 of 60/)
    const next = /href="([^"]+)"[^>]*>Next page/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(next).toContain('search=clone&cursor=')
    expect(await read(next)).toContain('clone-59')
  })

  test('a member is linked by their address, and unlinked', async () => {
    const { post, read, data } = await seeded()
    await post(PEOPLE, { subject: '00u9', member: 'barbara@northwind.example' })
    expect(data.links.at(-1)).toMatchObject({ subject: '00u9', user: { name: 'Barbara Liskov' } })
    expect(await read(PEOPLE)).toContain('Barbara Liskov linked.')
    await post(`${PEOPLE}/${data.links.at(-1)!.id}/unlink`)
    expect(data.links.map(({ subject }) => subject)).toEqual(['00u1ada', '00u2grace'])
  })

  test('whoever is no member, or taken, stands in the form again with the reason', async () => {
    const { post } = await seeded()
    const nobody = await (await post(PEOPLE, { subject: '00u9', member: 'nobody@x.example' })).text()
    expect(nobody).toContain('<p class="field-problem">No member has this email address</p>')
    expect(nobody).toContain('value="00u9"')
    const taken = await post(PEOPLE, { subject: '00u1ada', member: 'barbara@northwind.example' })
    expect(taken.status).toBe(409)
    expect(await taken.text()).toContain('This subject is linked already')
  })
})

describe('refusals', () => {
  const REFUSALS = `${PATH}/refusals`

  test('say why in words, what to do, and with which key', async () => {
    const words = textOf(await (await seeded()).read(REFUSALS))
    expect(words).toMatch(
      /Its audience is not this server, exactly as shown here claude\.ai okta-2026-a What to do/,
    )
    expect(words).toContain('Usually there is a slash too many at the end.')
    expect(words).toContain('Subject 00u3barbara')
  })

  test('are filtered by reason and client; what is neither is left out', async () => {
    const { read, get } = await seeded()
    const rows = (page: string) => [...page.matchAll(/<dialog id="refusal-/g)].length
    expect(rows(await read(`${REFUSALS}?reason=malformed`))).toBe(1)
    const client = encodeURIComponent('https://claude.ai/oauth/mcp-oauth-client-metadata')
    expect(rows(await read(`${REFUSALS}?client_id=${client}`))).toBe(2)
    expect(await read(`${REFUSALS}?reason=replayed`)).toContain('No refusals found')
    expect((await get(`${REFUSALS}?reason=nonsense&client_id=${encodeURIComponent('ä b')}`)).status).toBe(200)
  })

  test('every reason can be chosen', async () => {
    const page = await (await seeded()).read(REFUSALS)
    for (const reason of REFUSAL_REASONS) expect(page).toContain(`<option value="${reason}"`)
  })

  test('text of others is shown as the text it is', async () => {
    const { read, data } = await seeded()
    Object.assign(data.refusals[0]!, { key_id: '"><script>alert(1)</script>', subject: '<b>bold</b>' })
    const page = await read(REFUSALS)
    expect(page).not.toMatch(/<script>alert|<b>bold/)
    expect(page).toContain('&lt;script&gt;alert(1)')
  })
})
