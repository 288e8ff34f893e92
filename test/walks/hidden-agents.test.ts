/** Another organization's machine agents, clients, links and grants: every operation answers as for an id that nobody has. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConnectorDeps } from '../../oauth/connector/dependencies.ts'
import { clientAdapter } from '../../oauth/connector/registered-clients.ts'
import type { Call } from '../../src/client/http-client.ts'
import { endAccessSince, showAccess } from '../../src/contracts/access.ts'
import { listActivity } from '../../src/contracts/activity.ts'
import { createApp, removeAppMember, setAppMember } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import * as grants from '../../src/contracts/grants.ts'
import * as provider from '../../src/contracts/identity-provider.ts'
import * as machines from '../../src/contracts/machine-agents.ts'
import { changeMemberRole, removeMember } from '../../src/contracts/members.ts'
import { recordAudit } from '../../src/cores/record-audit.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import {
  newAddress,
  readAnswer,
  startListeningSystem,
  tokensIn,
  whoami,
  type HttpAnswer,
  type ListeningSystem,
} from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import {
  company,
  exchange,
  grantsBy,
  JWT_BEARER,
  linksOf,
  tokenIn,
  type Company,
} from '../support/enterprise.ts'
import { makeExposedSource } from '../support/exposed-source.ts'
import {
  askForToken,
  assertionOf,
  basic,
  makeMachineAgent,
  newKeyPair,
  posted,
  type MachineAgent,
  type Proof,
} from '../support/machine-agents.ts'
import { makeApiToken, unique, type Org } from '../support/make.ts'
import { makeIssuer, type Claims } from '../support/issuer.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'

let host: DocumentHost
let system: ListeningSystem
let ours: Company
let theirs: Company
let agent: MachineAgent
let theirAgent: MachineAgent
/** What they have. */
let their: Record<Kind, string>
type Kind =
  | 'machine'
  | 'disabled machine'
  | 'keyed machine'
  | 'credential'
  | 'user'
  | 'member'
  | 'grant'
  | 'standing'
  | 'client'
  | 'link'
  | 'source'

const alias = unique('shop')
const TERMS = { max_scopes: ['data:read' as const], resources: ['platform' as const] }

beforeAll(async () => {
  host = await openDocumentHost()
  const SVC_SERVICES = 'api-gateway,auth-service,mcp-server,deploy-api'
  system = await startListeningSystem({ SVC_SERVICES }, { guardedFetch: host.guardedFetch })
  ours = await company(system, await makeIssuer(system, host))
  theirs = await company(system, await makeIssuer(system, host))
  agent = await makeMachineAgent(ours.org.owner)
  theirAgent = await makeMachineAgent(theirs.org.owner)
  const disabled = await makeMachineAgent(theirs.org.owner)
  await system.as({ token: OPERATOR_TOKEN })(grants.setOauthClientActive, {
    client_id: disabled.client_id,
    is_active: false,
  })
  const client = await theirs.org.owner.call(provider.createIdentityProviderClient, {
    name: 'Theirs',
    ...TERMS,
  })
  await leaveTraces(client)
  const [grant] = await grantsBy(system, theirs.providerId)
  await ours.org.owner.call(createApp, { alias, name: 'Shop' })
  their = {
    machine: theirAgent.id,
    'disabled machine': disabled.id,
    'keyed machine': (await makeMachineAgent(theirs.org.owner, { public_key: newKeyPair().jwk })).id,
    credential: theirAgent.credentials[0]!.id,
    user: theirAgent.user_id,
    member: theirs.person.userId,
    grant: grant!.id,
    standing: theirAgent.grant_id!,
    client: client.client_id,
    link: theirs.linkId,
    source: (await makeExposedSource(system, theirs.org)).id,
  }
})

/** Each of theirs has done something, so that lists have something to leave out. */
async function leaveTraces({ client_id, secret }: { client_id: string; secret: string }): Promise<void> {
  const { org, person } = theirs
  const trade = async (claims: Claims) =>
    exchange(system, { clientId: client_id, secret }, await theirs.assertion({ client_id, ...claims }))
  await whoami(system, tokenIn(await trade({})))
  expect((await trade({ sub: 'nobody' })).status).toBe(400)
  await whoami(system, tokensIn(await askForToken(system, basic(theirAgent))).access)
  await makeApiToken(system, org, person)
  // What a machine agent starts is recorded in its name; here the row is enough.
  const { user_id: userId, name: userName } = theirAgent
  const machine = { kind: 'actor', userId, userName, requestId: 'req_1' } as const
  await withTransaction(system.db, (tx) =>
    recordAudit(tx, () => system.clock.now(), machine, { orgId: org.id, action: 'maintenance.run_started' }),
  )
}

afterAll(async () => {
  await system.stop()
  host.close()
})

type Act = (call: Call, id: string, org: Org) => Promise<unknown>
const ofAgent = (id: string) => ({ machine_agent_id: id })
const preview = (user_id: string, client_id: string) => ({ user_id, client_id, claims: {} })

const ACTS: [Kind[], string, Act][] = [
  [['machine'], 'showMachineAgent', (call, id) => call(machines.showMachineAgent, ofAgent(id))],
  [
    ['machine'],
    'updateMachineAgent',
    (call, id) => call(machines.updateMachineAgent, { ...ofAgent(id), name: 'Mine' }),
  ],
  [['machine'], 'removeMachineAgent', (call, id) => call(machines.removeMachineAgent, ofAgent(id))],
  [
    ['machine'],
    'addMachineAgentCredential',
    (call, id) => call(machines.addMachineAgentCredential, ofAgent(id)),
  ],
  [
    ['machine'],
    'rotateMachineAgentCredential of it',
    (call, id) =>
      call(machines.rotateMachineAgentCredential, { ...ofAgent(id), credential_id: their.credential }),
  ],
  [
    ['credential'],
    'rotateMachineAgentCredential of one’s own',
    (call, credential_id) =>
      call(machines.rotateMachineAgentCredential, { ...ofAgent(agent.id), credential_id }),
  ],
  [
    ['machine'],
    'revokeMachineAgentCredential of it',
    (call, id) =>
      call(machines.revokeMachineAgentCredential, { ...ofAgent(id), credential_id: their.credential }),
  ],
  [
    ['credential'],
    'revokeMachineAgentCredential of one’s own',
    (call, credential_id) =>
      call(machines.revokeMachineAgentCredential, { ...ofAgent(agent.id), credential_id }),
  ],
  [
    ['user', 'member'],
    'createMachineAgent for an owner',
    (call, owner_id) => call(machines.createMachineAgent, { name: 'Mine', owner_id }),
  ],
  [
    ['source'],
    'createMachineAgent with a source',
    (call, id) => call(machines.createMachineAgent, { name: 'Mine', sources: [id] }),
  ],
  [
    ['user', 'member'],
    'updateMachineAgent to an owner',
    (call, owner_id) => call(machines.updateMachineAgent, { ...ofAgent(agent.id), owner_id }),
  ],
  [['grant', 'standing'], 'showGrant', (call, grant_id) => call(grants.showGrant, { grant_id })],
  [
    ['grant', 'standing'],
    'narrowGrant',
    (call, grant_id) => call(grants.narrowGrant, { grant_id, scopes: ['data:read'] }),
  ],
  [['grant', 'standing'], 'showAccess', (call, grant_id) => call(showAccess, { grant_id })],
  [['user'], 'showAccess of a user', (call, user_id) => call(showAccess, { user_id })],
  [['grant', 'standing'], 'revokeGrant', (call, grant_id) => call(grants.revokeGrant, { grant_id })],
  [
    ['machine', 'disabled machine', 'client'],
    'allowIdentityProviderClient',
    (call, client_id) => call(provider.allowIdentityProviderClient, { client_id, ...TERMS }),
  ],
  [
    ['machine', 'disabled machine', 'client'],
    'forbidIdentityProviderClient',
    (call, client_id) => call(provider.forbidIdentityProviderClient, { client_id }),
  ],
  [
    ['machine', 'disabled machine', 'client'],
    'previewIdentityProviderRules with a client',
    (call, id) => call(provider.previewIdentityProviderRules, preview(ours.person.userId, id)),
  ],
  [
    ['user', 'member'],
    'previewIdentityProviderRules for a user',
    (call, id) => call(provider.previewIdentityProviderRules, preview(id, ours.client.clientId)),
  ],
  [
    ['machine', 'client'],
    'probeIdentityProvider',
    async (call, client_id) =>
      (await call(provider.probeIdentityProvider, { assertion: await ours.assertion({ client_id }) }))
        .assertion,
  ],
  [
    ['source'],
    'setIdentityProviderRules',
    (call, id) =>
      call(provider.setIdentityProviderRules, {
        rules: [{ claim: null, value: null, scopes: ['data:read'], sources: [id] }],
      }),
  ],
  [
    ['user', 'member'],
    'linkIdentity',
    (call, user_id) => call(provider.linkIdentity, { subject: unique('subject'), user_id }),
  ],
  [['link'], 'unlinkIdentity', (call, link_id) => call(provider.unlinkIdentity, { link_id })],
  [
    ['machine', 'client'],
    'blockOauthClient',
    async (call, client_id) => [
      await call(grants.blockOauthClient, { client_id, blocked: true }),
      (await call(grants.listOauthClients, {})).oauth_clients.find((one) => one.client_id === client_id),
      await call(grants.blockOauthClient, { client_id, blocked: false }),
    ],
  ],
  [
    ['user', 'member'],
    'changeMemberRole',
    (call, user_id) => call(changeMemberRole, { org_id: ours.org.id, user_id, role: 'viewer' }),
  ],
  [
    ['user', 'member'],
    'removeMember',
    (call, user_id) => call(removeMember, { org_id: ours.org.id, user_id }),
  ],
  [
    ['user', 'member'],
    'setAppMember',
    (call, user_id) => call(setAppMember, { alias, user_id, role: 'builder' }),
  ],
  [['user', 'member'], 'removeAppMember', (call, user_id) => call(removeAppMember, { alias, user_id })],
  [
    ['user', 'member'],
    'endAccessSince',
    (call, user_id) => call(endAccessSince, { since: '2020-01-01T00:00:00Z', user_id }),
  ],
]

/** No row is refused here, so there must be some that are left out. */
const LISTS: [Kind[], string, Act][] = [
  [['machine'], 'listMachineAgents', (call, search) => call(machines.listMachineAgents, { search })],
  [
    ['machine', 'client'],
    'listGrants',
    (call, client_id) => call(grants.listGrants, { client_id, all: 'true' }),
  ],
  [['client'], 'listRefusals', (call, client_id) => call(provider.listRefusals, { client_id })],
  [['user', 'member'], 'listActivity of a user', (call, user_id) => call(listActivity, { user_id })],
  [['grant', 'standing'], 'listActivity of a grant', (call, grant_id) => call(listActivity, { grant_id })],
  [['user', 'member'], 'listAudit', (call, user_id, { id: org_id }) => call(listAudit, { org_id, user_id })],
]

/** What an owner hears, without the id they gave and that of the request. */
async function heard(act: Act, id: string, { org } = ours): Promise<string> {
  const answer = await act(org.owner.call, id, org).catch(
    ({ code, message, hint, problems }: Record<string, unknown>) => ({ code, message, hint, problems }),
  )
  return JSON.stringify(answer).replaceAll(id, 'ID')
}

/** As old, and nobody's. */
const unknown = (id: string) => id.slice(0, -8) + 'zzzzzzzz'

describe.each([...ACTS, ...LISTS])('%s: %s', (kinds, _name, act) => {
  test.each(kinds)('another organization’s %s is unknown', async (kind) => {
    const nobodys = await heard(act, unknown(their[kind]))
    // It got as far as looking for it. Sources are named among the problems of a request.
    expect(nobodys).toMatch(
      kind === 'source' ? /INVALID_REQUEST.*ID/ : /^(?!.*(INVALID_REQUEST|FORBIDDEN|UNEXPECTED))/,
    )
    expect(await heard(act, their[kind])).toBe(nobodys)
  })
})

describe.each(LISTS)('%s: %s', (kinds, _name, act) => {
  test.each(kinds)('its own organization finds something by its %s', async (kind) => {
    const nothing = await heard(act, unknown(their[kind]), theirs)
    expect(await heard(act, their[kind], theirs)).not.toBe(nothing)
  })
})

test('and nothing of theirs has changed', async () => {
  const found = await theirs.org.owner.call(machines.showMachineAgent, ofAgent(theirAgent.id))
  expect(found).toMatchObject({ state: 'active', name: theirAgent.name, grant_id: theirAgent.grant_id })
  expect(found.credentials.map(({ id }) => id)).toEqual([their.credential])
  expect((await askForToken(system, basic(theirAgent))).status).toBe(200)
  expect(await linksOf(system, theirs.providerId)).toHaveLength(1)
  const [grant] = await grantsBy(system, theirs.providerId)
  expect(grant).toMatchObject({ id: their.grant, revokedAt: null })
})

test('an own machine agent cannot be allowed for the provider either', async () => {
  const allowing = ours.org.owner.call(provider.allowIdentityProviderClient, {
    client_id: agent.client_id,
    ...TERMS,
  })
  await expect(allowing).rejects.toMatchObject({
    code: 'NOT_FOUND',
    hint: expect.stringMatching(/created here or that the operator registered, or the https.*Machine agents/),
  })
})

describe('without signing in', () => {
  const secret = 'svcm_nothing'
  const PROOFS: [string, (client_id: string) => Proof | Promise<Proof>][] = [
    ['the id alone', (client_id) => ({ params: { client_id } })],
    ['a secret in the form', (client_id) => posted({ client_id, secret })],
    ['a secret in the header', (client_id) => basic({ client_id, secret })],
    ['an assertion', (client_id) => assertionOf(system, client_id, newKeyPair())],
  ]
  /** Some are read before anybody has proved who they are. */
  const HEADERS: [string, (client_id: string) => Record<string, string>][] = [
    ['', () => ({})],
    [' from a page in a browser', () => ({ origin: 'https://page.example' })],
    [' with an attestation', (sub) => ({ 'oauth-client-attestation': `e30.${base64({ sub })}.nothing` })],
    [' with the proof of an attestation', () => ({ 'oauth-client-attestation-pop': 'nothing' })],
  ]
  const ENDPOINTS: [string, string, Record<string, string>][] = [
    ['a token', '/oauth/token', { grant_type: 'client_credentials' }],
    ['an exchange', '/oauth/token', { grant_type: JWT_BEARER }],
    ['an end', '/oauth/revoke', { token: 'nothing' }],
  ]
  const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

  /** All of it but the id that was given, that of the request, and the time. */
  const wholeOf = ({ status, headers, text }: HttpAnswer, id: string) =>
    JSON.stringify([status, [...headers].filter(([name]) => name !== 'date'), text])
      .replaceAll(id, 'ID')
      .replaceAll(/req_\w+/g, 'REQ')

  async function expectNothing(ask: (id: string) => Promise<HttpAnswer>): Promise<void> {
    const hear = async (id: string) => wholeOf(await ask(id), id)
    for (const kind of ['machine', 'keyed machine', 'client'] as const)
      expect(`${kind} ${await hear(their[kind])}`).toBe(`${kind} ${await hear(unknown(their[kind]))}`)
  }

  test('nobody learns from the page of an approval which ids there are', () =>
    expectNothing(async (client_id) => {
      const asked = new URLSearchParams({ client_id, response_type: 'code' })
      const headers = { 'x-forwarded-for': newAddress() }
      return readAnswer(
        await fetch(`${system.origin}/oauth/authorize?${asked}`, { headers, redirect: 'manual' }),
      )
    }))

  test('the library finds them nowhere but where they prove who they are', async () => {
    const library = clientAdapter({ db: system.db, clock: () => system.clock.now() } as ConnectorDeps)
    for (const kind of ['machine', 'keyed machine', 'client'] as const)
      expect([kind, await library.find(their[kind])]).toEqual([kind, undefined])
    expect(await library.find(ours.client.clientId)).toMatchObject({ client_id: ours.client.clientId })
  })

  describe.each(ENDPOINTS)('nobody learns from asking for %s which ids there are', (_what, path, asked) => {
    for (const [how, headersFor] of HEADERS)
      test.each(PROOFS)(`with %s${how}`, (_proof, proofFor) =>
        expectNothing(async (id) => {
          const { headers, params } = await proofFor(id)
          const proof = { headers: { ...headersFor(id), ...headers }, params: params ?? {} }
          return askForToken(system, proof, asked, path)
        }),
      )
  })
})
