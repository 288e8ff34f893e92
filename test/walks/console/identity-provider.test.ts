/** The pages of an organization's identity provider: adding and proving it, its settings, clients, rules, people and refusals. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { assertionRefusals, identityLinks } from '../../../db/schema.ts'
import { makeId } from '../../../src/contracts/ids.ts'
import {
  activateIdentityProvider,
  listIdentityLinks,
  listIdentityProviderClients,
  listIdentityProviderRules,
  showIdentityProvider,
} from '../../../src/contracts/identity-provider.ts'
import { REFUSAL_REASONS } from '../../../src/contracts/identity-provider-states.ts'
import { openConsole, type Filling } from '../../support/console.ts'
import { insertSource } from '../../support/data-sources.ts'
import { openDocumentHost, type DocumentHost } from '../../support/document-host.ts'
import { clientWithSecret } from '../../support/enterprise.ts'
import {
  addEnterpriseGrant,
  addProvider,
  allowClient,
  makeOrgWithDomain,
} from '../../support/identity-providers.ts'
import { makeIssuer } from '../../support/issuer.ts'
import { makeMember, makeOrganization, unique } from '../../support/make.ts'
import { startSystem, type TestSystem } from '../../support/system.ts'

const PATH = '/console/identity-provider'
const [CLIENTS, RULES, PEOPLE, REFUSALS] = ['clients', 'rules', 'people', 'refusals'].map(
  (tab) => `${PATH}/${tab}`,
)
const MARKUP = '"><script>alert(1)</script>'

let host: DocumentHost
let system: TestSystem
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startSystem({}, { guardedFetch: host.guardedFetch })
})
afterAll(async () => {
  await system.stop()
  host.close()
})

/** With a domain, and no provider yet. */
async function scene() {
  const org = await makeOrgWithDomain(system)
  const issuer = await makeIssuer(system, host)
  const [admin, developer] = [
    await makeMember(system, org, 'admin'),
    await makeMember(system, org, 'developer'),
  ]
  return {
    org,
    issuer,
    people: { admin, developer },
    owner: await openConsole(system, org.owner),
    admin: await openConsole(system, admin),
    developer: await openConsole(system, developer),
    call: org.owner.call,
    shown: async () => (await org.owner.call(showIdentityProvider, {})).identity_provider,
  }
}

/** With one that is on. */
async function provided() {
  const made = await scene()
  const { id: providerId } = await addProvider(system, host, made.org, { issuer: made.issuer })
  const assertion = await made.issuer.assertionFor(made.org.owner)
  await made.call(activateIdentityProvider, { assertion })
  return { ...made, providerId }
}

/** A client that an operator has registered. */
const registered = () => clientWithSecret({ ...system, origin: system.system.config.API_URL.origin })

test('who is no admin gets the same answer whether there is one or not; without one, the tabs lead to adding it', async () => {
  const [some, none] = [await provided(), await scene()]
  const words = async ({ developer }: typeof none, path: string) => {
    const page = await developer.open(path)
    return [page.status, page.text.replace(/req_\w+/, '')]
  }
  for (const path of [
    PATH,
    CLIENTS!,
    RULES!,
    PEOPLE!,
    REFUSALS!,
    `${CLIENTS}/allow`,
    `${RULES}/new`,
    `${RULES}/1`,
  ]) {
    expect([path, await words(some, path)]).toEqual([path, await words(none, path)])
    expect((await some.developer.open(path)).status).toBe(403)
  }
  expect((await some.developer.open('/console')).html).not.toContain(PATH)
  for (const path of [CLIENTS!, RULES!, PEOPLE!, REFUSALS!])
    expect((await none.owner.open(path)).path).toBe(PATH)
})

describe('adding it', () => {
  test('says what to enter at the provider, refuses an issuer at its field, and makes a draft', async () => {
    const { admin, issuer, shown } = await scene()
    const page = await admin.open(PATH)
    expect(page.text).toContain('Your identity provider vouches for members')
    const { AUTH_URL, MCP_URL } = system.system.config
    for (const value of [AUTH_URL.origin, `${MCP_URL.origin}/platform`, `${MCP_URL.origin}/notifications`]) {
      expect(page.html).toMatch(new RegExp(`<code id="[a-z-]+">${value}</code>`))
    }
    expect(page.html).not.toContain('class="tabs"')
    const form = page.form('Add identity provider')
    const plain = await form.with({ name: 'X', issuer: 'http://plain.example' }).submit()
    expect([plain.status, Object.keys(plain.problems)]).toEqual([400, ['issuer']])
    expect(plain.form('Add identity provider').values()).toMatchObject({
      name: 'X',
      issuer: 'http://plain.example',
    })
    expect(page.html).toMatch(/<details class="more" >/)
    const shared = await form.with({ name: 'Google', issuer: 'https://accounts.google.com' }).submit()
    expect(shared.status).toBe(409)
    expect(shared.html).toMatch(/<details class="more" open>/)
    expect(shared.form('Add identity provider').value('issuer')).toBe('https://accounts.google.com')
    expect(await shown()).toBeNull()
    const made = await form.with({ name: 'Okta', issuer: issuer.issuer }).submit()
    expect(made.text).toContain('Okta is added')
    expect(made.text).toContain('Check it next')
    expect(await shown()).toMatchObject({ name: 'Okta', issuer: issuer.issuer, state: 'draft', tenant: null })
  })

  test('of a shared issuer it is the tenant that a claim names, and half of that is refused', async () => {
    const { admin, issuer, shown } = await scene()
    const form = (await admin.open(PATH)).form('Add identity provider')
    const half = await form.with({ name: 'Entra', issuer: issuer.issuer, tenant_claim: 'tid' }).submit()
    expect(half.status).toBe(400)
    expect(half.html).toMatch(/<details class="more" open>/)
    expect(half.form('Add identity provider').value('tenant_claim')).toBe('tid')
    expect(await shown()).toBeNull()
    const made = await half.form('Add identity provider').with({ tenant_value: 'tenant-42' }).submit()
    expect(made.text).toContain('where tid is tenant-42')
    expect(await shown()).toMatchObject({ tenant: { claim: 'tid', value: 'tenant-42' } })
  })

  test('where the operator has turned it off there is no form, and the page says why', async () => {
    const off = await startSystem({ ENTERPRISE_AUTH: 'off' }, { guardedFetch: host.guardedFetch })
    try {
      const org = await makeOrgWithDomain(off)
      const page = await (await openConsole(off, org.owner)).open(PATH)
      expect(page.text).toContain('Turned off for this installation')
      expect(page.offers('Add identity provider')).toBe(false)
    } finally {
      await off.stop()
    }
  })

  test('the sign-in providers stand beside it, with the domains of the organization', async () => {
    const settings = { OIDC_ISSUER: 'https://id.test', OIDC_CLIENT_ID: 'svc', OIDC_CLIENT_SECRET: 'shared' }
    const there = await startSystem(
      { ...settings, OIDC_TITLE: 'Acme', PASSWORD_SIGN_IN: 'on' },
      { guardedFetch: host.guardedFetch },
    )
    try {
      const [some, none] = [await makeOrgWithDomain(there), await makeOrganization(there)]
      const textOf = async ({ owner }: typeof none) =>
        (await (await openConsole(there, owner)).open(PATH)).text
      const [withDomain, without] = [await textOf(some), await textOf(none)]
      for (const text of [withDomain, without])
        expect(text).toMatch(
          /Sign-in providers.* Acme https:\/\/id\.test.* Password People can sign in with one/s,
        )
      expect(withDomain).toContain(`Email domains ${some.domain}`)
      expect(without).toContain('Email domains None')
      expect(without).not.toContain(some.domain)
    } finally {
      await there.stop()
    }
    const { owner } = await provided()
    expect((await owner.open(PATH)).text).toMatch(/Sign-in providers.* Password People can sign in with one/s)
  })

  test('it is checked with an assertion, whose checks are all told, and switched on by an owner with one', async () => {
    const { owner, admin, org, issuer, shown } = await scene()
    const added = (await owner.open(PATH)).form('Add identity provider')
    const page = await added.with({ name: 'Okta', issuer: issuer.issuer }).submit()
    const keys = await page.form('Check').submit()
    expect(keys.text).toContain(`1 key found: ${issuer.key.kid} (ES256)`)
    expect(keys.text).not.toContain('Checks of the assertion')
    const wrong = await issuer.assertionFor(org.owner, { aud: 'https://elsewhere.example' })
    const refused = await page.form('Check').with({ assertion: wrong }).submit()
    expect(refused.text).toContain('Usually there is a slash too many')
    expect(refused.html.match(/: failed<\/span>/g)).toHaveLength(1)
    const checks = [...refused.html.matchAll(/: (passed|failed|not reached)<\/span>/g)].map(
      ([, word]) => word,
    )
    expect(checks.length).toBeGreaterThan(20)
    expect(new Set(checks)).toEqual(new Set(['passed', 'failed', 'not reached']))
    const theirs = await admin.open(PATH)
    expect([theirs.offers('Check'), theirs.offers('Switch on')]).toEqual([true, false])
    expect(theirs.text).toContain('Only an owner can do this')
    const unknown = await issuer.assertionFor({ email: 'nobody@x.example' })
    const unproven = await page.form('Switch on').with({ assertion: unknown }).submit()
    expect([unproven.status, Object.keys(unproven.problems).length]).toEqual([400, 1])
    expect(unproven.html).not.toContain(unknown)
    expect((await shown())?.state).toBe('draft')
    // Another organization's draft of the same issuer proves nothing, and keeps nobody out.
    await addProvider(system, host, await makeOrgWithDomain(system), { issuer })
    const proof = await issuer.assertionFor(org.owner)
    const on = await page.form('Switch on').with({ assertion: proof }).submit()
    expect([on.path, on.notices]).toEqual([PATH, ['Identity provider switched on.']])
    expect((await shown())?.state).toBe('on')
    const { clientId } = await registered()
    await allowClient(org, clientId)
    const good = await issuer.assertionFor(org.owner, { client_id: clientId })
    const accepted = await on.form('Check').with({ assertion: good }).submit()
    expect(accepted.text).toContain('This assertion would be accepted.')
  })
})

describe('while it is on', () => {
  test('its settings are saved as chosen, and refused at the field', async () => {
    const { owner, issuer, shown } = await provided()
    const page = await owner.open(PATH)
    expect(page.pairs).toMatchObject({ State: 'On', Issuer: issuer.issuer })
    const form = page.form('Save settings')
    expect(form.choices('default_scopes')).not.toContain('proposals:decide')
    expect(form.choices('default_scopes')).not.toContain('maintenance:admin')
    const long = form.with({ token_minutes: '600' })
    expect(long.submit).toThrow('60 or less')
    const refused = await long.submitUnchecked()
    expect([refused.status, Object.keys(refused.problems)]).toEqual([400, ['token_minutes']])
    expect(refused.form('Save settings').value('token_minutes')).toBe('600')
    const chosen = { name: '</h1><script>alert(1)</script>', token_minutes: '30', assertion_seconds: '200' }
    const scopes = ['data:read', 'notifications:read']
    const saved = await form.with({ ...chosen, linking: 'domain', default_scopes: scopes }).submit()
    expect(await shown()).toMatchObject({
      name: chosen.name,
      linking: 'domain',
      default_scopes: scopes,
      token_minutes: 30,
      assertion_seconds: 200,
    })
    expect(saved.html).not.toContain('<script>alert')
    expect(saved.form('Save settings').values()).toMatchObject({
      ...chosen,
      linking: 'domain',
      default_scopes: scopes.join(' '),
    })
  })

  test('it is paused, resumed, required, emptied and removed; what ends something asks first', async () => {
    const { owner, shown, org, people, providerId } = await provided()
    await addEnterpriseGrant(system, org, { id: providerId }, people.developer)
    const page = await owner.open(PATH)
    expect((await owner.open('/console/connect')).text).toContain(
      'Your organization connects assistants for you.',
    )
    for (const id of ['pause', 'end-agents', 'require', 'remove-provider'])
      expect(page.html).toContain(`<dialog id="${id}"`)
    expect((await page.form('Disconnect agents').submit()).notices[0]).toContain('1 agent disconnected')
    const paused = await page.form('Pause identity provider').submit()
    expect((await shown())?.state).toBe('paused')
    expect((await owner.open(RULES!)).text).toContain('The identity provider is paused.')
    const on = await paused.form('Resume').submit()
    expect((await shown())?.state).toBe('on')
    const required = await on.form('Require identity provider').submit()
    expect((await shown())?.is_required).toBe(true)
    expect(required.text).toContain('Members cannot approve assistants themselves.')
    const allowed = await required.form('Allow approvals again').submit()
    expect((await shown())?.is_required).toBe(false)
    await allowed.form('Remove identity provider').submit()
    expect(await shown()).toBeNull()
  })
})

describe('clients', () => {
  test('known ones are filled in with the least; one is created, and its secret shown once', async () => {
    const { owner, admin, call } = await provided()
    const page = await owner.open(CLIENTS!)
    for (const preset of ['?preset=claude', '?preset=vs-code', ''])
      expect(page.html).toContain(`"${CLIENTS}/allow${preset}"`)
    const claude = (await owner.open(`${CLIENTS}/allow?preset=claude`)).form('Allow client')
    expect(claude.values()).toMatchObject({
      client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
      max_scopes: 'data:read maintenance:read',
      may_be_public: true,
    })
    expect(claude.choices('max_scopes')).toContain('proposals:decide')
    const admins = await admin.open(`${CLIENTS}/allow`)
    expect(admins.form('Allow client').choices('max_scopes')).not.toContain('proposals:decide')
    expect(admins.text).toContain('Only owners can give maintenance:admin and proposals:decide')
    const form = (await owner.open(`${CLIENTS}/create`)).form('Create client')
    const refused = await form.with({ name: ' ', max_scopes: ['data:read'] }).submit()
    expect([refused.status, refused.form('Create client').value('max_scopes')]).toEqual([400, 'data:read'])
    const terms = { name: ` ${MARKUP} `, max_scopes: ['data:read'], resources: ['platform', 'notifications'] }
    const made = await form.with(terms).submit()
    expect(made.status).toBe(201)
    const secret = /svcc_[\w-]+/.exec(made.html)?.[0]
    expect(secret).toBeDefined()
    const [client] = (await call(listIdentityProviderClients, {})).clients
    expect(client).toMatchObject({ name: MARKUP, is_own: true, resources: ['platform', 'notifications'] })
    for (const shown of [client!.client_id, '/oauth/token', '/platform', '/notifications'])
      expect(made.text).toContain(shown)
    const list = await owner.open(CLIENTS!)
    expect(list.html).not.toMatch(/svcc_|<script>alert/)
    expect(list.text).toContain('it is deleted with its secret')
    expect((await owner.open(`${CLIENTS}/allow?client_id=${client!.client_id}`)).html).not.toContain(
      'may_be_public',
    )
    await list.form('Forbid client', client!.client_id).submit()
    expect((await call(listIdentityProviderClients, {})).clients).toEqual([])
  })

  test('one that is registered is allowed, its terms are changed, and none at all is refused', async () => {
    const { owner, admin, call } = await provided()
    const { clientId } = await registered()
    const form = (await owner.open(`${CLIENTS}/allow`)).form('Allow client')
    expect(form.value('may_be_public')).toBe('')
    const refused = await form
      .with({ client_id: 'dcr_self', max_scopes: ['data:read', 'maintenance:run'], resources: ['platform'] })
      .submit()
    expect(refused.status).toBe(404)
    expect(refused.form('Allow client').values()).toMatchObject({
      client_id: 'dcr_self',
      max_scopes: 'data:read maintenance:run',
    })
    await form
      .with({ client_id: ` ${clientId}`, max_scopes: ['data:read'], resources: ['platform'] })
      .submit()
    const stored = async () => (await call(listIdentityProviderClients, {})).clients
    expect(await stored()).toMatchObject([
      { client_id: clientId, may_be_public: false, max_scopes: ['data:read'], resources: ['platform'] },
    ])
    const edit = (await owner.open(`${CLIENTS}/allow?client_id=${clientId}`)).form('Save')
    expect((await edit.with({ max_scopes: [] }).submit()).status).toBe(400)
    await edit
      .with({ max_scopes: ['data:read', 'proposals:decide'], resources: ['platform', 'notifications'] })
      .submit()
    expect((await stored())[0]).toMatchObject({
      max_scopes: ['data:read', 'proposals:decide'],
      resources: ['platform', 'notifications'],
    })
    // Who may not give it may not change who has it.
    expect((await admin.open(`${CLIENTS}/allow?client_id=${clientId}`)).offers('Save')).toBe(false)
  })
})

describe('rules', () => {
  test('are added at the end, moved, changed and removed; a form about older ones changes nothing', async () => {
    const { owner, org, call } = await provided()
    await insertSource(system, org, { name: 'handbook', enabled: true, exposed: true })
    expect((await owner.open(RULES!)).text).toContain('No rules yet')
    const add = async (filling: Filling) =>
      (await owner.open(`${RULES}/new`))
        .form('Add rule')
        .with({ who: 'some', claim: 'groups', access: 'scopes', ...filling })
        .submit()
    await add({ value: 'contractors', access: 'none' })
    await add({ value: 'engineering', scopes: ['data:read'] })
    await add({ who: 'everybody', scopes: ['data:read'] })
    const values = async () => (await call(listIdentityProviderRules, {})).rules.map(({ value }) => value)
    expect(await values()).toEqual(['contractors', 'engineering', null])
    const page = await owner.open(RULES!)
    expect(page.text).toMatch(
      /1\. groups is or contains contractors Refused .* 2\. groups is or contains engineering Query data .* 3\. Everybody Query data/,
    )
    const moves = [...page.html.matchAll(/aria-label="(Move rule \d (?:up|down))"/g)].map(
      ([, label]) => label,
    )
    expect(moves).toEqual(['Move rule 1 down', 'Move rule 2 up', 'Move rule 2 down', 'Move rule 3 up'])
    await page.form('Move rule 2 up').submit()
    expect(await values()).toEqual(['engineering', 'contractors', null])
    expect((await page.form('Remove rule', '/1/').submit()).notices[0]).toContain(
      'The rules have changed in the meantime',
    )
    const edit = (await owner.open(`${RULES}/1`)).form('Save rule')
    expect(edit.values()).toMatchObject({ claim: 'groups', value: 'engineering', scopes: 'data:read' })
    await edit.with({ value: 'sales', which: 'chosen', sources: ['db_handbook'] }).submit()
    expect((await call(listIdentityProviderRules, {})).rules[0]).toMatchObject({
      value: 'sales',
      sources: [{ source_id: 'db_handbook' }],
    })
    const removed = await (await owner.open(RULES!)).form('Remove rule', '/2/').submit()
    expect(removed.notices).toEqual(['Rule removed.'])
    expect(await values()).toEqual(['sales', null])
    for (const position of ['0', '4', '999'])
      expect((await owner.open(`${RULES}/${position}`)).status).toBe(404)
    for (const [filling, reason] of [
      [{ value: 'x', scopes: [] }, 'Select at least one permission, or refuse them'],
      [{ value: 'x', scopes: ['data:read'], which: 'chosen' }, 'Select at least one data source'],
      [{ value: ' ', scopes: ['data:read'] }, 'Enter a value'],
      [{ value: 'x', scopes: ['data:read'], claim: 'not a claim' }, 'must be the name of a claim'],
    ] as const) {
      const refused = await add({ ...filling })
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(reason)])
    }
    expect(await values()).toHaveLength(2)
  })

  test('the preview says what a member would get, and by which rule; where one is the owners’, admins change none', async () => {
    const { owner, admin, people, org } = await provided()
    const { clientId } = await registered()
    await allowClient(org, clientId)
    const add = async (filling: Filling) =>
      (await owner.open(`${RULES}/new`))
        .form('Add rule')
        .with({ who: 'some', claim: 'groups', ...filling })
        .submit()
    await add({ value: 'contractors', access: 'none' })
    await add({ value: 'engineering', access: 'scopes', scopes: ['data:read'] })
    const form = (await owner.open(RULES!)).form('Preview')
    const asked = {
      member: people.developer.email.toUpperCase(),
      client_id: clientId,
      resource: 'platform',
    }
    const engineer = await form.with({ ...asked, claims: 'groups=sales\ngroups=engineering\n' }).submit()
    expect(engineer.text).toContain(`${people.developer.name} would be connected.`)
    expect(engineer.text).toMatch(/Decided by Rule 2 Role Developer Can Query the data sources/)
    const contractor = await form.with({ ...asked, claims: 'groups=contractors' }).submit()
    expect(contractor.text).toContain(`${people.developer.name} would be refused. A rule refuses them.`)
    expect((await form.with({ ...asked, member: 'nobody@x.example' }).submit()).problems).toMatchObject({
      member: 'No member has this email address',
    })
    const none = await form.with({ ...asked, claims: 'engineering' }).submit()
    expect(none.problems['claims']).toContain('Write one claim a line')
    expect(none.form('Preview').value('claims')).toBe('engineering')
    expect((await admin.open(RULES!)).offers('Remove rule')).toBe(true)
    await add({ value: 'reviewers', access: 'scopes', scopes: ['proposals:decide'] })
    const theirs = await admin.open(RULES!)
    expect(theirs.text).toContain('Only an owner can change these rules')
    expect(theirs.offers('Remove rule')).toBe(false)
    expect((await admin.open(`${RULES}/2`)).offers('Save rule')).toBe(false)
  })
})

test('people are linked by their address, found, paged, and unlinked', async () => {
  const { owner, people, call, providerId } = await provided()
  const page = await owner.open(PEOPLE!)
  const form = page.form('Link')
  const nobody = await form.with({ subject: '00u9', member: 'nobody@x.example' }).submit()
  expect(nobody.problems).toEqual({ member: 'No member has this email address' })
  expect(nobody.form('Link').value('subject')).toBe('00u9')
  const linked = await form.with({ subject: '00u9', member: people.developer.email }).submit()
  expect(linked.notices).toEqual([`${people.developer.name} linked.`])
  const taken = await form.with({ subject: '00u9', member: people.admin.email }).submit()
  expect(taken.status).toBe(409)
  const links = async () => (await call(listIdentityLinks, {})).links
  expect((await links()).find(({ subject }) => subject === '00u9')).toMatchObject({
    user: { name: people.developer.name },
  })
  expect((await page.form('Filter').with({ search: 'nobody' }).submit()).text).toContain('No matching people')
  const one = (await links()).find(({ subject }) => subject === '00u9')!
  await linked.form('Unlink', one.id).submit()
  expect((await links()).map(({ subject }) => subject)).not.toContain('00u9')
  const now = system.clock.now()
  const rows = Array.from({ length: 51 }, (_, at) => ({
    id: makeId('idl', now.getTime()),
    providerId,
    subject: `clone-${at}`,
    userId: people.admin.userId,
    linkedBy: 'admin' as const,
    createdAt: now,
  }))
  await system.db.insert(identityLinks).values(rows)
  const found = await page.form('Filter').with({ search: 'clone' }).submit()
  expect(found.text).toMatch(/1–50 of 51/)
  expect(found.link('Next page')).toContain('search=clone&cursor=')
  expect((await owner.open(found.link('Next page'))).rows).toHaveLength(1)
})

test('refusals say why in words, what to do and with which key, and are filtered', async () => {
  const { owner, providerId } = await provided()
  expect((await owner.open(REFUSALS!)).rows).toEqual([])
  const now = system.clock.now()
  const refusal = { providerId, refusedAt: now, clientId: unique('client') }
  await system.db.insert(assertionRefusals).values([
    {
      ...refusal,
      id: makeId('ref', now.getTime()),
      reason: 'audience',
      subject: '<b>bold</b>',
      keyId: MARKUP,
    },
    { ...refusal, id: makeId('ref', now.getTime()), reason: 'malformed', clientId: 'other' },
  ])
  const page = await owner.open(REFUSALS!)
  expect(page.text).toContain('Its audience is not this server, exactly as shown here')
  expect(page.text).toContain('Usually there is a slash too many at the end.')
  expect(page.text).toContain('Subject <b>bold</b>')
  expect(page.html).not.toMatch(/<script>alert|<b>bold/)
  const form = page.form('Filter')
  expect(form.choices('reason')).toEqual(expect.arrayContaining([...REFUSAL_REASONS]))
  expect((await form.with({ reason: 'malformed' }).submit()).rows).toHaveLength(1)
  expect((await form.with({ client_id: refusal.clientId }).submit()).rows).toHaveLength(1)
  expect((await form.with({ reason: 'replayed' }).submit()).text).toContain('No matching refusals')
  expect(
    (await owner.open(`${REFUSALS}?reason=nonsense&client_id=${encodeURIComponent('ä b')}`)).status,
  ).toBe(200)
})
