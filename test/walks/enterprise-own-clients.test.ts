/** A client with a secret that an organization makes for its identity provider: what it can, who knows it, and how it ends. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { identityProviderClients, platformOauthClients } from '../../db/schema.ts'
import {
  blockOauthClient,
  listGrants,
  listOauthClients,
  listRegistrations,
} from '../../src/contracts/grants.ts'
import {
  allowIdentityProviderClient,
  createIdentityProviderClient,
  deleteIdentityProvider,
  forbidIdentityProviderClient,
  listIdentityProviderClients,
  previewIdentityProviderRules,
} from '../../src/contracts/identity-provider.ts'
import { IDENTITY_PROVIDER } from '../../src/contracts/limits.ts'
import { newAddress, startListeningSystem, whoami, type ListeningSystem } from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import {
  allow,
  basic,
  company,
  exchange,
  grantsBy,
  JWT_BEARER,
  postToken,
  tokenIn,
  type ClientWithSecret,
  type Company,
} from '../support/enterprise.ts'
import { makeMember, unique, type Person } from '../support/make.ts'
import { makeIssuer } from '../support/issuer.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'

let host: DocumentHost
let system: ListeningSystem
let ours: Company
let theirs: Company
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startListeningSystem({}, { guardedFetch: host.guardedFetch })
})
beforeEach(async () => {
  ours = await company(system, await makeIssuer(system, host))
  theirs = await company(system, await makeIssuer(system, host))
})
afterAll(async () => {
  await system.stop()
  host.close()
})

const TERMS = { max_scopes: ['data:read' as const], resources: ['platform' as const] }
const create = ({ call }: Pick<Person, 'call'> = ours.org.owner, changes: object = {}) =>
  call(createIdentityProviderClient, { name: 'Claude', ...TERMS, ...changes })
const makeClient = async (): Promise<ClientWithSecret> => {
  const { client_id, secret } = await create()
  return { clientId: client_id, secret }
}
const assertionFor = ({ clientId }: ClientWithSecret, { assertion } = ours) =>
  assertion({ client_id: clientId })
const connect = async (client: ClientWithSecret) =>
  tokenIn(await exchange(system, client, await assertionFor(client)))
const status = async (token: string) => (await whoami(system, token)).status
const rowOf = async (clientId: string) =>
  (await system.db.select().from(platformOauthClients).where(eq(platformOauthClients.clientId, clientId)))[0]
const refused = (code: string) => expect.objectContaining({ code })
/** All of a refusal but the id of its request. */
const refusalOf = async (act: Promise<unknown>) => {
  const error = (await act.then(
    () => undefined,
    (problem: unknown) => problem,
  )) as { code: string; message: string; hint?: string; problems?: unknown } | undefined
  return error && { code: error.code, message: error.message, hint: error.hint, problems: error.problems }
}

describe('what it can', () => {
  test('it is answered once with all that is to be entered elsewhere, and only its hash is kept', async () => {
    const made = await create()
    expect(made).toMatchObject({
      kind: 'pre_registered',
      name: 'Claude',
      is_public: false,
      may_be_public: false,
      is_own: true,
      ...TERMS,
      token_endpoint: `${system.origin}/oauth/token`,
      resource_urls: [`${system.origin}/platform`],
    })
    expect(made.secret).toMatch(/^svcc_\w{49}$/)
    const [row, { clients }] = [
      await rowOf(made.client_id),
      await ours.org.owner.call(listIdentityProviderClients, {}),
    ]
    expect(row).toMatchObject({ kind: 'pre_registered', orgId: ours.org.id, isActive: true, expiresAt: null })
    expect(JSON.stringify([row, clients])).not.toContain(made.secret)
    expect(clients.find(({ client_id }) => client_id === made.client_id)).toMatchObject({
      is_own: true,
      name: 'Claude',
    })
    expect(clients.find(({ client_id }) => client_id === ours.client.clientId)).toMatchObject({
      is_own: false,
    })
    expect((await create()).secret).not.toBe(made.secret)
  })

  test('it connects with its secret, in the header or in the body, and not without', async () => {
    const client = await makeClient()
    const token = await connect(client)
    expect((await whoami(system, token)).who).toMatchObject({
      user: { id: ours.person.userId },
      scopes: ['data:read'],
    })
    const posted = { client_id: client.clientId, client_secret: client.secret }
    const asked = async () => ({ grant_type: JWT_BEARER, assertion: await assertionFor(client) })
    tokenIn(await postToken(system, { ...(await asked()), ...posted }))
    const wrong = { ...client, secret: ours.client.secret }
    for (const answer of [
      await postToken(system, { ...(await asked()), client_id: client.clientId }),
      await postToken(system, { ...(await asked()), ...posted, client_secret: wrong.secret }),
      await exchange(system, wrong, await assertionFor(client)),
    ])
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client'])
    expect((await grantsBy(system, ours.providerId)).map(({ clientName }) => clientName)).toEqual(['Claude'])
  })

  test('nothing else: neither a page, nor a token of its own', async () => {
    const client = await makeClient()
    const query = new URLSearchParams({
      client_id: client.clientId,
      response_type: 'code',
      redirect_uri: 'https://evil.example/callback',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    })
    const page = await fetch(`${system.origin}/oauth/authorize?${query.toString()}`, {
      headers: { 'x-forwarded-for': newAddress() },
      redirect: 'manual',
    })
    expect([page.status, page.headers.get('location')]).toEqual([400, null])
    for (const grant_type of ['client_credentials', 'authorization_code', 'refresh_token']) {
      const answer = await postToken(system, { grant_type, code: 'x', refresh_token: 'x' }, basic(client))
      expect([answer.status, answer.body.error_description], grant_type).toEqual([
        400,
        'requested grant type is not allowed for this client',
      ])
    }
  })

  test('admins make them, but only an owner gives the sensitive scopes', async () => {
    const [admin, developer] = [
      await makeMember(system, ours.org, 'admin'),
      await makeMember(system, ours.org, 'developer'),
    ]
    expect(await create(admin)).toMatchObject({ is_own: true })
    await expect(create(developer)).rejects.toEqual(refused('FORBIDDEN'))
    for (const scope of ['maintenance:admin', 'proposals:decide']) {
      const max_scopes = ['data:read', scope]
      await expect(create(admin, { max_scopes })).rejects.toEqual(refused('FORBIDDEN'))
      expect(await create(ours.org.owner, { max_scopes })).toMatchObject({ max_scopes })
    }
  })

  test('what it may have is changed as of any other', async () => {
    const client = await makeClient()
    const token = await connect(client)
    const terms = {
      client_id: client.clientId,
      max_scopes: ['maintenance:read' as const],
      resources: TERMS.resources,
    }
    expect(await ours.org.owner.call(allowIdentityProviderClient, terms)).toMatchObject({
      is_own: true,
      name: 'Claude',
      max_scopes: ['maintenance:read'],
    })
    expect(await status(token)).toBe(401)
  })

  test('they count among the clients that may be allowed', async () => {
    const room = IDENTITY_PROVIDER.clients - 1
    for (let made = 0; made < room - 1; made++) await allow(system, ours.providerId, unique('client'))
    await create()
    await expect(create()).rejects.toEqual(refused('CONFLICT'))
    const { clients } = await ours.org.owner.call(listIdentityProviderClients, { limit: 200 })
    expect(clients).toHaveLength(IDENTITY_PROVIDER.clients)
  })

  test('a repeated key makes another: an answer with a secret is never kept', async () => {
    const post = async () => {
      const response = await system.fetch('/api/v1/identity-provider/clients', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${ours.org.owner.token}`,
          'x-svc-org': ours.org.id,
          'content-type': 'application/json',
          'idempotency-key': 'the-same',
        },
        body: JSON.stringify({ name: 'Claude', ...TERMS }),
      })
      return [response.status, ((await response.json()) as { secret?: string }).secret] as const
    }
    const [first, second] = [await post(), await post()]
    expect([first[0], second[0]]).toEqual([201, 201])
    expect(second[1]).not.toBe(first[1])
  })
})

describe('for another organization it does not exist', () => {
  const UNKNOWN = 'idc_0mwhkcyh5nlh1pqqssy5gj19q'

  test('to allow, forbid, preview or block', async () => {
    const client = await makeClient()
    const token = await connect(client)
    const { owner } = theirs.org
    const acts: ((client_id: string) => Promise<unknown>)[] = [
      (client_id) => owner.call(allowIdentityProviderClient, { client_id, ...TERMS }),
      (client_id) => owner.call(forbidIdentityProviderClient, { client_id }),
      (client_id) =>
        owner.call(previewIdentityProviderRules, { user_id: owner.userId, client_id, claims: {} }),
    ]
    for (const act of acts) {
      const hidden = await refusalOf(act(client.clientId))
      expect(hidden).toEqual(await refusalOf(act(UNKNOWN)))
    }
    expect(await refusalOf(acts[0]!(client.clientId))).toMatchObject({ code: 'NOT_FOUND' })
    // Also when the operator turned it off.
    const off = (isActive: boolean) =>
      system.db
        .update(platformOauthClients)
        .set({ isActive })
        .where(eq(platformOauthClients.clientId, client.clientId))
    await off(false)
    expect(await refusalOf(acts[0]!(client.clientId))).toEqual(await refusalOf(acts[0]!(UNKNOWN)))
    await off(true)
    // Anything can be blocked, known or not: here it blocks nothing, and tells nothing.
    for (const client_id of [client.clientId, UNKNOWN])
      expect(await owner.call(blockOauthClient, { client_id, blocked: true })).toEqual({})
    const { oauth_clients } = await owner.call(listOauthClients, {})
    const [hidden, unknown] = [client.clientId, UNKNOWN].map((id) =>
      oauth_clients.find((one) => one.client_id === id),
    )
    expect({ ...hidden, client_id: '' }).toEqual({ ...unknown, client_id: '' })
    expect(await status(token)).toBe(200)
    expect(await rowOf(client.clientId)).toBeDefined()
  })

  test('nor to see', async () => {
    const client = await makeClient()
    await connect(client)
    const { owner } = theirs.org
    const seen = [
      await owner.call(listIdentityProviderClients, {}),
      await owner.call(listOauthClients, {}),
      await owner.call(listGrants, {}),
      // It took no slot of those that register themselves.
      await system.as({ token: OPERATOR_TOKEN })(listRegistrations, {}),
    ]
    expect(JSON.stringify(seen)).not.toContain(client.clientId)
  })

  test('nor does it bring anybody in by their provider', async () => {
    const client = await makeClient()
    const answer = await exchange(system, client, await assertionFor(client, theirs))
    expect([answer.status, answer.body.error]).toEqual([400, 'unauthorized_client'])
    expect(await grantsBy(system, theirs.providerId)).toEqual([])
  })
})

describe('how it ends', () => {
  test.each<[string, (client_id: string) => Promise<unknown>]>([
    ['forbidden', (client_id) => ours.org.owner.call(forbidIdentityProviderClient, { client_id })],
    ['with its provider', () => ours.org.owner.call(deleteIdentityProvider, {})],
  ])('%s: with its row, its secret and its agents, and for good', async (_how, end) => {
    const [client, other] = [await makeClient(), await create(theirs.org.owner)]
    const token = await connect(client)
    expect(await status(token)).toBe(200)
    await end(client.clientId)
    expect(await status(token)).toBe(401)
    expect(await rowOf(client.clientId)).toBeUndefined()
    expect((await grantsBy(system, ours.providerId)).map(({ revokedAt }) => revokedAt)).not.toContain(null)
    const answer = await exchange(system, client, await assertionFor(client))
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client'])
    const again = { client_id: client.clientId, ...TERMS }
    await expect(ours.org.owner.call(allowIdentityProviderClient, again)).rejects.toEqual(
      refused('NOT_FOUND'),
    )
    // The operator's, and those of others, stay.
    for (const clientId of [ours.client.clientId, other.client_id])
      expect(await rowOf(clientId)).toBeDefined()
  })

  test('forbidding one leaves the others', async () => {
    const [one, two] = [await makeClient(), await makeClient()]
    const token = await connect(two)
    await ours.org.owner.call(forbidIdentityProviderClient, { client_id: one.clientId })
    expect([await status(token), await rowOf(one.clientId)]).toEqual([200, undefined])
  })

  test('forbidden while it was being allowed, it does not come back', async () => {
    const { clientId: client_id } = await makeClient()
    // As between looking it up and writing it down.
    await system.db.delete(identityProviderClients).where(eq(identityProviderClients.clientId, client_id))
    const again = ours.org.owner.call(allowIdentityProviderClient, { client_id, ...TERMS })
    await expect(again).rejects.toEqual(refused('NOT_FOUND'))
  })
})
