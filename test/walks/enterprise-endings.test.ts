/** Whatever ends what came in by an identity provider acts on the next call, also on the first one after the exchange. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import {
  assertionRefusals,
  identityProviderClients,
  organizationIdentityProviders,
  platformAccessGrants,
  platformOauthClients,
} from '../../db/schema.ts'
import {
  blockOauthClient,
  listGrants,
  narrowGrant,
  revokeGrant,
  showGrant,
} from '../../src/contracts/grants.ts'
import {
  allowIdentityProviderClient,
  deleteIdentityProvider,
  endEnterpriseGrants,
  forbidIdentityProviderClient,
  setIdentityProviderRules,
  unlinkIdentity,
  updateIdentityProvider,
} from '../../src/contracts/identity-provider.ts'
import { changeMemberRole, removeMember } from '../../src/contracts/members.ts'
import { updateOrganization } from '../../src/contracts/organizations.ts'
import { sweep } from '../../src/worker/jobs.ts'
import {
  arrive,
  boxes,
  decide,
  isConsent,
  newAssistant,
  preRegistered,
  startListeningSystem,
  whoami,
  type ListeningSystem,
} from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import {
  allow,
  claimsIn,
  company,
  exchange,
  grantsBy,
  JWT_BEARER,
  postToken,
  refusalsOf,
  setProvider,
  tokenIn,
  usesOf,
  type Company,
} from '../support/enterprise.ts'
import { freePort } from '../support/free-port.ts'
import { unique } from '../support/make.ts'
import { makeIssuer } from '../support/issuer.ts'
import { freshSecrets } from '../support/system.ts'
import { newWalker } from '../support/walker.ts'

let host: DocumentHost
let system: ListeningSystem
let ours: Company
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startListeningSystem({}, { guardedFetch: host.guardedFetch })
})
beforeEach(async () => {
  ours = await company(system, await makeIssuer(system, host))
})
afterAll(async () => {
  await system.stop()
  host.close()
})

const swap = (claims = {}) => ours.assertion(claims).then((one) => exchange(system, ours.client, one))
const owner = () => ours.org.owner
const status = async (token: string) => (await whoami(system, token)).status

/** Each of them, and whether a new assertion brings it back. */
const ENDINGS: Record<string, [end: () => Promise<unknown>, comesBack: boolean]> = {
  'the member is removed': [
    () => owner().call(removeMember, { org_id: ours.org.id, user_id: ours.person.userId }),
    false,
  ],
  'the provider is paused': [() => owner().call(updateIdentityProvider, { state: 'paused' }), false],
  'the provider is removed': [() => owner().call(deleteIdentityProvider, {}), false],
  'its row is gone': [
    () =>
      system.db
        .delete(organizationIdentityProviders)
        .where(eq(organizationIdentityProviders.id, ours.providerId)),
    false,
  ],
  'state = paused in SQL': [() => setProvider(system, ours.providerId, { state: 'paused' }), false],
  'the client is forbidden': [
    () => owner().call(forbidIdentityProviderClient, { client_id: ours.client.clientId }),
    false,
  ],
  'the client’s row is gone from the list': [
    () =>
      system.db
        .delete(identityProviderClients)
        .where(eq(identityProviderClients.providerId, ours.providerId)),
    false,
  ],
  'the client may use other endpoints only': [
    () =>
      system.db
        .update(identityProviderClients)
        .set({ resources: ['notifications'] })
        .where(eq(identityProviderClients.providerId, ours.providerId)),
    false,
  ],
  'the client may have less': [
    () =>
      owner().call(allowIdentityProviderClient, {
        client_id: ours.client.clientId,
        max_scopes: ['data:read'],
        resources: ['platform'],
      }),
    true,
  ],
  'the operator switches the client off': [
    () =>
      system.db
        .update(platformOauthClients)
        .set({ isActive: false })
        .where(eq(platformOauthClients.clientId, ours.client.clientId)),
    false,
  ],
  'the organization blocks the client': [
    () => owner().call(blockOauthClient, { client_id: ours.client.clientId, blocked: true }),
    false,
  ],
  'agents are switched off': [
    () => owner().call(updateOrganization, { org_id: ours.org.id, agents_enabled: false }),
    false,
  ],
  'rules are set': [
    () =>
      owner().call(setIdentityProviderRules, {
        rules: [{ claim: null, value: null, scopes: ['data:read'] }],
      }),
    true,
  ],
  'the defaults are narrowed': [
    () => owner().call(updateIdentityProvider, { default_scopes: ['data:read'] }),
    true,
  ],
  'the person is unlinked': [() => owner().call(unlinkIdentity, { link_id: ours.linkId }), false],
  'every one is ended': [() => owner().call(endEnterpriseGrants, {}), true],
  'the person disconnects it': [
    async () => {
      const [grant] = await grantsBy(system, ours.providerId)
      await ours.person.call(revokeGrant, { grant_id: grant!.id })
    },
    true,
  ],
  'thirty days pass': [async () => system.clock.advance(30 * 24 * 60 * 60 + 1), true],
}

describe('between two calls', () => {
  test.each(Object.keys(ENDINGS))('%s: the next one is refused', async (how) => {
    const [end, comesBack] = ENDINGS[how]!
    const token = tokenIn(await swap())
    expect(await status(token)).toBe(200)
    await end()
    expect(await status(token)).toBe(401)
    const again = await swap()
    expect([how, again.status === 200]).toEqual([how, comesBack])
    // What was ended stays ended, whatever comes after it.
    expect(await status(token)).toBe(401)
    if (comesBack) expect(await status(tokenIn(again))).toBe(200)
  })
})

describe('between the exchange and the first call', () => {
  test.each(Object.keys(ENDINGS))('%s', async (how) => {
    const token = tokenIn(await swap())
    await ENDINGS[how]![0]()
    expect(await status(token)).toBe(401)
  })
})

test('a paused provider that is resumed brings nothing back by itself', async () => {
  const token = tokenIn(await swap())
  await owner().call(updateIdentityProvider, { state: 'paused' })
  await owner().call(updateIdentityProvider, { state: 'on' })
  expect(await status(token)).toBe(401)
  expect(await status(tokenIn(await swap()))).toBe(200)
})

test('an assertion within its grace is not good for a grant that has ended', async () => {
  const assertion = await ours.assertion()
  tokenIn(await exchange(system, ours.client, assertion))
  await owner().call(endEnterpriseGrants, {})
  expect((await exchange(system, ours.client, assertion)).body.error).toBe('invalid_grant')
  expect((await refusalsOf(system, ours.providerId)).at(-1)?.reason).toBe('replayed')
})

test('the role of a call is the member’s of that moment', async () => {
  const token = tokenIn(await swap())
  for (const role of ['viewer', 'admin'] as const) {
    await owner().call(changeMemberRole, { org_id: ours.org.id, user_id: ours.person.userId, role })
    expect((await whoami(system, token)).who?.role).toBe(role)
  }
})

test('narrowed by its person, until the organization gives it again', async () => {
  const token = tokenIn(await swap())
  const grant_id = String(claimsIn(token).grant_id)
  await ours.person.call(narrowGrant, { grant_id, scopes: ['data:read'] })
  expect((await whoami(system, token)).who?.scopes).toEqual(['data:read'])
  tokenIn(await swap())
  expect((await whoami(system, token)).who?.scopes).toEqual(['data:read', 'maintenance:read'])
})

test('a grant of other keys does not live again: it has a successor', async () => {
  const token = tokenIn(await swap())
  const first = String(claimsIn(token).grant_id)
  const where = eq(platformAccessGrants.id, first)
  await system.db.update(platformAccessGrants).set({ keyEpoch: 'before' }).where(where)
  expect(await status(token)).toBe(401)
  const next = tokenIn(await swap())
  expect(claimsIn(next).grant_id).not.toBe(first)
  expect([await status(token), await status(next)]).toEqual([401, 200])
  expect(await owner().call(showGrant, { grant_id: first })).toMatchObject({
    ended: { reason: 'keys_rotated' },
  })
})

test('a client with fewer endpoints, or that has to prove who it is, and tokens for less time, end what was given before, and more does not', async () => {
  const [client] = await system.db
    .select()
    .from(identityProviderClients)
    .where(eq(identityProviderClients.providerId, ours.providerId))
  const { clientId: client_id, maxScopes: max_scopes } = client!
  const given = async (change: () => Promise<unknown>) => {
    const token = tokenIn(await swap())
    await change()
    return status(token)
  }
  const endpoints = (resources: ('platform' | 'notifications')[], may_be_public = false) =>
    owner().call(allowIdentityProviderClient, { client_id, max_scopes, resources, may_be_public })
  const lasting = (token_minutes: number) => owner().call(updateIdentityProvider, { token_minutes })
  expect([
    await given(() => endpoints(['platform'])),
    await given(() => endpoints(['platform', 'notifications'])),
    await given(() => endpoints(['platform', 'notifications'], true)),
    await given(() => endpoints(['platform', 'notifications'])),
    await given(() => lasting(10)),
    await given(() => lasting(15)),
  ]).toEqual([401, 200, 200, 401, 401, 200])
})

describe('only through the provider', () => {
  const REASON = 'Agents connect through Company sign-in only'

  test('a grant by consent is not live, and comes back when the demand is lifted; the provider’s is', async () => {
    const approved = await newAssistant(system, await preRegistered(system)).connect(ours.person)
    const given = tokenIn(await swap())
    expect([await status(approved.access), await status(given)]).toEqual([200, 200])
    await owner().call(updateIdentityProvider, { is_required: true })
    expect([await status(approved.access), await status(given)]).toEqual([401, 200])
    // Also while it is paused: nobody comes in then.
    await owner().call(updateIdentityProvider, { state: 'paused' })
    expect([await status(approved.access), await status(given)]).toEqual([401, 401])
    await owner().call(updateIdentityProvider, { is_required: false })
    expect([await status(approved.access), await status(given)]).toEqual([200, 401])
  })

  test('the consent page says so, and an approval is refused', async () => {
    const assistant = newAssistant(system, await preRegistered(system))
    await owner().call(updateIdentityProvider, { is_required: true })
    const walker = newWalker(system, { overSockets: true })
    const page = await arrive(system, walker, ours.person, assistant.request().url)
    expect(page.words).toContain(REASON)
    expect(boxes(page, 'organization').ticked).toEqual([])
    const sent = await decide(system, walker, page, { organization: ours.org.id })
    expect([sent.status, sent.location]).toEqual([400, undefined])
    expect((await ours.person.call(listGrants, {})).grants).toEqual([])
  })

  test('demanded while the page was open', async () => {
    const assistant = newAssistant(system, await preRegistered(system))
    const walker = newWalker(system, { overSockets: true })
    const page = await arrive(system, walker, ours.person, assistant.request().url)
    await owner().call(updateIdentityProvider, { is_required: true })
    const sent = await decide(system, walker, page, { organization: ours.org.id })
    expect([sent.status, sent.location]).toEqual([400, undefined])
    expect(sent.words).toContain(REASON)
  })
})

test.runIf(inject('everyCase'))(
  'turned off by the operator: what came in is refused at once, and a demand stays',
  async () => {
    const same = { ...freshSecrets(), PORT: String(await freePort()) }
    const on = await startListeningSystem(same, { guardedFetch: host.guardedFetch })
    const at = await company(on, await makeIssuer(on, host))
    const given = tokenIn(await exchange(on, at.client, await at.assertion()))
    const approved = (await newAssistant(on, await preRegistered(on)).connect(at.person)).access
    const both = async (there: ListeningSystem) =>
      Promise.all([given, approved].map(async (token) => (await whoami(there, token)).status))
    expect(await both(on)).toEqual([200, 200])
    const demand = (there: ListeningSystem, is_required: boolean) =>
      there.as({ token: at.org.owner.token, organization: at.org.id })(updateIdentityProvider, {
        is_required,
      })
    await demand(on, true)
    expect(await both(on)).toEqual([200, 401])
    await on.stop()
    const off = await startListeningSystem({ ...same, ENTERPRISE_AUTH: 'off' })
    try {
      off.clock.advance(60)
      expect(await both(off)).toEqual([401, 401])
      await demand(off, false)
      expect(await both(off)).toEqual([401, 200])
      // Nobody could connect any more.
      await expect(demand(off, true)).rejects.toEqual(expect.objectContaining({ code: 'CONFLICT' }))
    } finally {
      await off.stop()
    }
  },
)

test('what the organization gave is no approval: the consent page is shown', async () => {
  const clientId = host.putClient(`/${unique('assistant')}.json`)
  const assistant = newAssistant(system, { clientId, redirectUri: `${host.origin}/callback` })
  await assistant.connect(ours.person)
  const [approved] = (await ours.person.call(listGrants, {})).grants
  await ours.person.call(revokeGrant, { grant_id: approved!.id })
  await allow(system, ours.providerId, clientId, { kind: 'metadata_document', mayBePublic: true })
  const assertion = await ours.assertion({ client_id: clientId })
  tokenIn(await postToken(system, { grant_type: JWT_BEARER, assertion, client_id: clientId }))
  const walker = newWalker(system, { overSockets: true })
  const page = await arrive(system, walker, ours.person, assistant.request({ scope: 'data:read' }).url)
  expect(isConsent(page)).toBe(true)
})

test('used assertions are swept when they could not be used any more, refusals after a month', async () => {
  tokenIn(await swap())
  await swap({ aud: 'https://other.example' })
  const sweepNow = () => sweep({ db: system.db, clock: () => system.clock.now() })
  await sweepNow()
  expect(await usesOf(system, ours.providerId)).toHaveLength(1)
  system.clock.advance(6 * 60 + 60)
  await sweepNow()
  expect(await usesOf(system, ours.providerId)).toEqual([])
  expect(await refusalsOf(system, ours.providerId)).toHaveLength(1)
  system.clock.advance(30 * 24 * 60 * 60)
  await sweepNow()
  expect(
    await system.db.select().from(assertionRefusals).where(eq(assertionRefusals.providerId, ours.providerId)),
  ).toEqual([])
})
