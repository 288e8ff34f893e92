/** Agents without a person: how they come in, what they are and are not, and who may make one. */
import { createHash, generateKeyPairSync, KeyObject } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { machineAgents, memberships, oauthArtifacts, users } from '../../db/schema.ts'
import { listActivity, showAgentDay } from '../../src/contracts/activity.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import {
  blockOauthClient,
  listGrants,
  listOauthClients,
  narrowGrant,
  setOauthClientActive,
  showGrant,
} from '../../src/contracts/grants.ts'
import {
  addMachineAgentCredential,
  createMachineAgent,
  listMachineAgents,
  removeMachineAgent,
  revokeMachineAgentCredential,
  showMachineAgent,
  updateMachineAgent,
} from '../../src/contracts/machine-agents.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { MACHINE_AGENTS_MAX } from '../../src/contracts/limits.ts'
import { changeMemberRole, inviteMember, listMembers } from '../../src/contracts/members.ts'
import { addOwnerAsOperator } from '../../src/contracts/organizations.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { createApiToken, revokeApiToken } from '../../src/contracts/tokens.ts'
import {
  newAssistant,
  preRegistered,
  register,
  startListeningSystem,
  tokensIn,
  whoami,
  type ListeningSystem,
} from '../support/assistant.ts'
import { insertActivity } from '../../src/cores/activity/insert-activity.ts'
import { readMachineUsersBehind } from '../../src/cores/machine-agents/index.ts'
import { makeExposedSource } from '../support/exposed-source.ts'
import {
  askForToken,
  assertionOf,
  basic,
  comesIn,
  makeMachineAgent,
  newKeyPair,
  posted,
  type MachineAgent,
} from '../support/machine-agents.ts'
import {
  makeApiToken,
  makeMember,
  makeOrganization,
  PASSWORD,
  unique,
  type Org,
  type Person,
} from '../support/make.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'

let system: ListeningSystem
let org: Org
let admin: Person
let agent: MachineAgent
beforeAll(async () => void (system = await startListeningSystem()))
beforeEach(async () => {
  org = await makeOrganization(system)
  admin = await makeMember(system, org, 'admin')
  agent = await makeMachineAgent(admin)
})
afterAll(() => system.stop())

const code = (expected: string) => ({ code: expected })

describe('comes in', () => {
  test('with its secret, in the header or in the form, as itself and with its role', async () => {
    for (const proof of [basic(agent), posted(agent)]) {
      const answer = await askForToken(system, proof)
      expect(answer.body).toEqual({
        access_token: expect.any(String),
        expires_in: 900,
        scope: 'data:read maintenance:read',
        token_type: 'Bearer',
      })
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect((await whoami(system, tokensIn(answer).access)).who).toMatchObject({
        user: { id: agent.user_id, name: agent.name, email: null },
        machine_agent: { id: agent.id, owner_id: admin.userId },
        organization: { id: org.id },
        role: 'viewer',
        scopes: ['data:read', 'maintenance:read'],
      })
    }
  })

  test.each([
    ['ES256', () => generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['EdDSA', () => generateKeyPairSync('ed25519')],
    ['RS256', () => generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['PS256', () => generateKeyPairSync('rsa', { modulusLength: 2048 })],
  ])('with a key, %s, and no secret is made', async (alg, newPair) => {
    const { privateKey, publicKey } = newPair()
    const jwk = publicKey.export({ format: 'jwk' })
    const made = await admin.call(createMachineAgent, {
      name: 'Keyed',
      public_key: { ...jwk, kty: jwk.kty! as 'EC' },
    })
    expect(made).toMatchObject({ secret: null, credentials: [{ kind: 'public_key' }] })
    const proof = await assertionOf(system, made.client_id, { privateKey }, { alg })
    expect(await comesIn(system, proof)).toMatchObject({ status: 200, who: { user: { id: made.user_id } } })
  })

  test('with a key that says what it is for, and with that algorithm alone', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const jwk = { ...publicKey.export({ format: 'jwk' }), kty: 'RSA' as const }
    const made = await makeMachineAgent(admin, {
      public_key: { ...jwk, alg: 'PS256', use: 'sig', key_ops: ['verify'] },
    })
    const status = async (alg: string) =>
      (await askForToken(system, await assertionOf(system, made.client_id, { privateKey }, { alg }))).status
    expect([await status('PS256'), await status('RS256')]).toEqual([200, 401])
  })

  test('with an Ed25519 key as a browser exports it', async () => {
    const pair = await crypto.subtle.generateKey({ name: 'Ed25519' }, true, ['sign', 'verify'])
    const jwk = await crypto.subtle.exportKey('jwk', pair.publicKey)
    const made = await makeMachineAgent(admin, { public_key: { ...jwk, kty: 'OKP', alg: 'Ed25519' } })
    const key = { privateKey: KeyObject.from(pair.privateKey) }
    const proof = await assertionOf(system, made.client_id, key, { alg: 'EdDSA' })
    expect((await askForToken(system, proof)).status).toBe(200)
  })

  test('with two secrets and two keys at once, while they are rotated', async () => {
    const [one, two] = [newKeyPair(), newKeyPair()]
    const machine_agent_id = agent.id
    const second = await admin.call(addMachineAgentCredential, { machine_agent_id })
    await admin.call(addMachineAgentCredential, { machine_agent_id, public_key: { ...one.jwk, kid: 'one' } })
    await admin.call(addMachineAgentCredential, { machine_agent_id, public_key: { ...two.jwk, kid: 'two' } })
    const proofs = [
      basic(agent),
      posted({ ...agent, secret: second.secret! }),
      await assertionOf(system, agent.client_id, one, { kid: 'one' }),
      await assertionOf(system, agent.client_id, two, { kid: 'two' }),
      await assertionOf(system, agent.client_id, two),
    ]
    for (const proof of proofs) expect((await askForToken(system, proof)).status).toBe(200)
    for (const public_key of [undefined, newKeyPair().jwk]) {
      await expect(
        admin.call(addMachineAgentCredential, { machine_agent_id, public_key }),
      ).rejects.toMatchObject(code('CONFLICT'))
    }
  })

  test('and each credential says when it was last used', async () => {
    const second = await admin.call(addMachineAgentCredential, { machine_agent_id: agent.id })
    await askForToken(system, basic({ ...agent, secret: second.secret! }))
    const { credentials } = await admin.call(showMachineAgent, { machine_agent_id: agent.id })
    expect(credentials.map(({ last_used_at }) => last_used_at)).toEqual([null, expect.any(String)])
    const lastUsed = async () =>
      (await admin.call(showMachineAgent, { machine_agent_id: agent.id })).credentials[1]!.last_used_at!
    const before = await lastUsed()
    system.clock.advance(120)
    await askForToken(system, basic({ ...agent, secret: second.secret! }))
    expect((await lastUsed()) > before).toBe(true)
    const first = await admin.call(showGrant, { grant_id: agent.grant_id! })
    // Another grant takes the place of the one that ends with a credential: what it uses is counted from then on.
    await admin.call(revokeMachineAgentCredential, {
      machine_agent_id: agent.id,
      credential_id: agent.credentials[0]!.id,
    })
    const { grant_id } = await admin.call(showMachineAgent, { machine_agent_id: agent.id })
    const { use, created_at } = await admin.call(showGrant, { grant_id: grant_id! })
    expect([created_at, use.since > created_at]).toEqual([first.created_at, true])
  })

  test('unless its client is blocked here or turned off by the operator, and it says so', async () => {
    const { client_id } = agent
    const state = async () => (await admin.call(showMachineAgent, { machine_agent_id: agent.id })).state
    const operator = system.as({ token: OPERATOR_TOKEN })
    expect(await state()).toBe('active')
    for (const turn of [
      (is_off: boolean) => admin.call(blockOauthClient, { client_id, blocked: is_off }),
      (is_off: boolean) => operator(setOauthClientActive, { client_id, is_active: !is_off }),
    ]) {
      await turn(true)
      expect(await state()).toBe('blocked')
      await turn(false)
      expect(await state()).toBe('active')
    }
  })

  test('with fewer scopes where it asks for fewer, and never with more', async () => {
    const asking = async (scope: string) => (await askForToken(system, basic(agent), { scope })).body
    expect(await asking('data:read')).toMatchObject({ scope: 'data:read' })
    expect(await asking('data:read maintenance:run openid')).toMatchObject({ scope: 'data:read' })
    expect(await asking('maintenance:run')).toMatchObject({ error: 'invalid_scope' })
  })

  test('only to the endpoint /platform', async () => {
    const asking = async (...resource: string[]) =>
      (await askForToken(system, basic(agent), { resource })).body.error
    const { origin } = system
    expect(await asking(`${origin}/platform`)).toBeUndefined()
    for (const resource of [`${origin}/notifications`, 'https://elsewhere.example/platform', 'platform'])
      expect(await asking(resource)).toBe('invalid_target')
    expect(await asking(`${origin}/platform`, `${origin}/notifications`)).toBe('invalid_target')
    const { access } = tokensIn(await askForToken(system, basic(agent)))
    expect((await whoami(system, access, 'notifications')).status).toBe(401)
  })
})

describe('does not come in', () => {
  const refused = { status: 401, error: 'invalid_client' }

  test('with a wrong secret, another agent’s, one that is cut, or none', async () => {
    const other = await makeMachineAgent(admin)
    const { client_id, secret } = agent
    for (const wrong of [other.secret, secret.slice(0, -1), `${secret}0`, 'svcm_', 'x'])
      expect(await comesIn(system, basic({ client_id, secret: wrong }))).toMatchObject(refused)
    expect(await comesIn(system, { params: { client_id } })).toMatchObject(refused)
    // What is stored of it opens nothing.
    const hash = createHash('sha256').update(secret).digest('hex')
    expect(await comesIn(system, basic({ client_id, secret: hash }))).toMatchObject(refused)
  })

  test('with an assertion twice, by another key, for somebody else, elsewhere, or expired', async () => {
    const [key, other] = [newKeyPair(), newKeyPair()]
    const keyed = await makeMachineAgent(admin, { public_key: key.jwk })
    const { client_id } = keyed
    const once = await assertionOf(system, client_id, key)
    expect(await comesIn(system, once)).toMatchObject({ status: 200 })
    expect(await comesIn(system, once)).toMatchObject(refused)
    for (const proof of [
      await assertionOf(system, client_id, other),
      await assertionOf(system, agent.client_id, key),
      await assertionOf(system, client_id, key, { iss: agent.client_id }),
      await assertionOf(system, client_id, key, { aud: 'https://elsewhere.example' }),
      await assertionOf(system, client_id, key, { exp: 1 }),
      await assertionOf(system, client_id, key, { jti: undefined }),
      await assertionOf(system, client_id, key, { kid: 'another' }),
    ])
      expect(await comesIn(system, proof)).toMatchObject(refused)
  })

  test('by code and consent: it has no address to return to, and no person', async () => {
    const machine = { clientId: agent.client_id, redirectUri: 'http://127.0.0.1:8472/callback' }
    const answer = await fetch(newAssistant(system, machine).request().url, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
    const swapped = await askForToken(system, basic(agent), {
      grant_type: 'authorization_code',
      code: 'x',
      redirect_uri: machine.redirectUri,
      code_verifier: 'x'.repeat(43),
    })
    expect(swapped.body.error).toMatch(/^(invalid_request|unauthorized_client)$/)
    const refreshed = await askForToken(system, basic(agent), {
      grant_type: 'refresh_token',
      refresh_token: 'x',
    })
    expect(refreshed.body.error).toMatch(/^(invalid_request|unauthorized_client)$/)
  })

  test('attack 38: a client that registers itself for client credentials does not get them', async () => {
    const secretive = { token_endpoint_auth_method: 'client_secret_basic' }
    const answer = await register(system, {
      redirect_uris: ['http://127.0.0.1:8472/callback'],
      grant_types: ['client_credentials', 'authorization_code'],
      svc_kind: 'machine',
      svc_secrets: ['00'],
      ...secretive,
    })
    expect(answer.status).toBe(201)
    expect(answer.body.grant_types).toEqual(['authorization_code'])
    expect(answer.text).not.toMatch(/svc_kind|svc_secrets/)
    const { client_id, client_secret } = answer.body as { client_id: string; client_secret: string }
    const asked = await askForToken(system, basic({ client_id, secret: client_secret }))
    expect([asked.status, asked.body.access_token]).toEqual([400, undefined])
    expect(asked.body.error).toMatch(/^(invalid_request|unauthorized_client)$/)
    const registered = await preRegistered(system, { grant_types: ['client_credentials'] })
    const other = await askForToken(system, { params: { client_id: registered.clientId } })
    expect([other.status, other.body.access_token]).toEqual([400, undefined])
  })
})

test('its token cannot be revoked at the revocation endpoint, and nobody can end its grant there', async () => {
  const { access } = tokensIn(await askForToken(system, basic(agent)))
  const answer = await askForToken(system, basic(agent), { token: access }, '/oauth/revoke')
  expect(answer.body).toMatchObject({ error: 'unsupported_token_type' })
  expect((await whoami(system, access)).status).toBe(200)
})

test('no code, session or refresh token is stored for it', async () => {
  await askForToken(system, basic(agent))
  const [grant] = (await admin.call(listGrants, { all: 'true' })).grants
  const rows = await system.db.select().from(oauthArtifacts).where(eq(oauthArtifacts.grantId, grant!.id))
  expect(rows).toEqual([])
})

describe('is no member', () => {
  test('in no list, and counted nowhere', async () => {
    const { members, total } = await admin.call(listMembers, { org_id: org.id, count: 'true' })
    expect([members.map(({ user_id }) => user_id), total]).toEqual([
      expect.not.arrayContaining([agent.user_id]),
      2,
    ])
    const rows = await system.db.select().from(memberships).where(eq(memberships.userId, agent.user_id))
    expect(rows).toEqual([])
  })

  test('cannot sign in, be made a member, or own the organization', async () => {
    const [user] = await system.db.select().from(users).where(eq(users.id, agent.user_id))
    expect(user).toMatchObject({ kind: 'machine', emailVerifiedAt: null })
    const { email } = user!
    await expect(system.as()(signInWithPassword, { email, password: PASSWORD })).rejects.toMatchObject(
      code('UNAUTHENTICATED'),
    )
    const change = { org_id: org.id, user_id: agent.user_id, role: 'owner' as const }
    await expect(org.owner.call(changeMemberRole, change)).rejects.toMatchObject(code('NOT_FOUND'))
    // An invitation to its address invites whoever reads mail there, which is nobody.
    await org.owner.call(inviteMember, { org_id: org.id, email, role: 'viewer' })
    const rows = await system.db.select().from(memberships).where(eq(memberships.userId, agent.user_id))
    expect(rows).toEqual([])
    await expect(
      system.as({ token: OPERATOR_TOKEN })(addOwnerAsOperator, { org_id: org.id, email }),
    ).rejects.toMatchObject(code('CONFLICT'))
  })

  test('answers for no machine agent itself', async () => {
    await expect(makeMachineAgent(admin, { owner_id: agent.user_id })).rejects.toMatchObject(
      code('NOT_FOUND'),
    )
  })
})

describe('who may make one', () => {
  test('an owner or admin, with a role up to their own; maintenance:admin only an owner', async () => {
    const developer = await makeMember(system, org, 'developer')
    await expect(makeMachineAgent(developer)).rejects.toMatchObject(code('FORBIDDEN'))
    await expect(makeMachineAgent(admin, { role: 'owner' })).rejects.toMatchObject(code('FORBIDDEN'))
    const scopes = ['maintenance:admin' as const]
    await expect(makeMachineAgent(admin, { role: 'admin', scopes })).rejects.toMatchObject(code('FORBIDDEN'))
    expect(await makeMachineAgent(org.owner, { role: 'owner', scopes })).toMatchObject({ scopes })
  })

  test('proposals:decide is for people, and notifications have no machine', async () => {
    for (const scope of ['proposals:decide', 'notifications:read'])
      await expect(makeMachineAgent(org.owner, { scopes: [scope as 'data:read'] })).rejects.toMatchObject(
        code('INVALID_REQUEST'),
      )
  })

  test('for a year at most, and not for the past', async () => {
    const at = (days: number) => new Date(system.clock.now().getTime() + days * 86_400_000).toISOString()
    for (const expires_at of [at(366), at(-1), at(0)])
      await expect(makeMachineAgent(admin, { expires_at })).rejects.toMatchObject(code('INVALID_REQUEST'))
    const tomorrow = at(1)
    expect(await makeMachineAgent(admin, { expires_at: tomorrow })).toMatchObject({ expires_at: tomorrow })
    // With a later end it gets tokens until then.
    const { id, grant_id } = await makeMachineAgent(admin, { expires_at: tomorrow })
    const later = at(10)
    await admin.call(updateMachineAgent, { machine_agent_id: id, expires_at: later })
    expect((await admin.call(showGrant, { grant_id: grant_id! })).expires_at).toBe(later)
    expect(Date.parse(agent.expires_at) - Date.parse(agent.created_at)).toBeCloseTo(365 * 86_400_000, -3)
  })

  test('up to a hundred of an organization; one that was removed makes room, and another has its own', async () => {
    const [row] = await system.db.select().from(machineAgents).where(eq(machineAgents.id, agent.id))
    const others = Array.from({ length: MACHINE_AGENTS_MAX - 1 }, () => ({
      ...row!,
      id: unique('mch'),
      userId: unique('usr'),
    }))
    await system.db.insert(users).values(
      others.map(({ id, userId }) => ({
        id: userId,
        email: `${id}@machine.invalid`,
        name: 'One',
        createdAt: row!.createdAt,
      })),
    )
    await system.db.insert(machineAgents).values(others.map((one) => ({ ...one, clientId: one.id })))
    await expect(makeMachineAgent(admin)).rejects.toMatchObject(code('CONFLICT'))
    await makeMachineAgent((await makeOrganization(system)).owner)
    await admin.call(removeMachineAgent, { machine_agent_id: agent.id })
    await makeMachineAgent(admin)
  })

  test('with data sources that its role may query', async () => {
    const [open, closed] = [
      await makeExposedSource(system, org),
      await makeExposedSource(system, org, { minimumRole: 'admin' }),
    ]
    const limited = await makeMachineAgent(admin, { sources: [open.source_id] })
    expect(limited.sources).toEqual([open])
    const foreign = await makeExposedSource(system, await makeOrganization(system))
    for (const { source_id } of [closed, foreign])
      await expect(makeMachineAgent(admin, { sources: [source_id] })).rejects.toMatchObject(
        code('INVALID_REQUEST'),
      )
  })

  test.each([
    ['a private key', () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey],
    ['a short RSA key', () => generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey],
    ['another curve', () => generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey],
    ['a key to encrypt with', () => generateKeyPairSync('x25519').publicKey],
  ])('not with %s', async (_what, newKey) => {
    const jwk = newKey().export({ format: 'jwk' })
    await expect(
      makeMachineAgent(admin, { public_key: { ...jwk, kty: jwk.kty as 'EC' } }),
    ).rejects.toMatchObject(code('INVALID_REQUEST'))
  })

  const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' })

  test.each([
    ['to encrypt with', { use: 'enc' }, 'for signatures'],
    ['to wrap others with', { key_ops: ['wrapKey'] }, 'for signatures'],
    ['whose operations are no list', { key_ops: 'verify' }, 'for signatures'],
    ['of another algorithm', { alg: 'RSA-OAEP' }, 'for signatures'],
    ['with a shared secret’s algorithm', { alg: 'HS256' }, 'for signatures'],
    ['with another kind’s algorithm', { alg: 'ES256' }, 'alg must be'],
    ['with an exponent of one', { e: 'AQ' }, 'exponent'],
  ])('not with an RSA key %s', async (_what, changes, problem) => {
    const public_key = { ...RSA, kty: 'RSA' as const, ...changes }
    await expect(makeMachineAgent(admin, { public_key })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: [expect.stringContaining(problem)],
    })
  })
})

describe('who may see and manage it', () => {
  test('who answers for it sees its calls; a colleague and another organization see none', async () => {
    const [owner, colleague, other] = [
      await makeMember(system, org, 'viewer'),
      await makeMember(system, org, 'developer'),
      await makeOrganization(system),
    ]
    const { grant_id, user_id, name } = await makeMachineAgent(admin, { owner_id: owner.userId })
    const at = system.clock.now()
    await insertActivity(
      system.db,
      {
        type: 'function',
        orgId: org.id,
        id: makeId('act', at.getTime()),
        at,
        name: 'whoami',
        userId: user_id,
        userName: name,
        entryPoint: 'mcp',
        grantId: grant_id!,
        outcome: 'answered',
        durationMs: 1,
        questionBytes: 2,
        answerBytes: 3,
        requestId: 'req',
      },
      [],
    )
    const calls = async (who: Person) => (await who.call(showAgentDay, { grant_id: grant_id! })).calls
    expect([await calls(owner), await calls(org.owner)]).toEqual([1, 1])
    expect([await calls(colleague), await calls(other.owner)]).toEqual([0, 0])
    expect((await owner.call(listActivity, { type: 'function' })).activity).toEqual([])
  })

  test('its owner as well as admins; for everybody else it does not exist', async () => {
    const [owner, colleague] = [
      await makeMember(system, org, 'developer'),
      await makeMember(system, org, 'developer'),
    ]
    const { id, grant_id, credentials } = await makeMachineAgent(admin, { owner_id: owner.userId })
    const ids = async (who: Person) =>
      (await who.call(listMachineAgents, {})).machine_agents.map((one) => one.id)
    expect([await ids(owner), await ids(colleague), await ids(org.owner)]).toEqual([[id], [], [id, agent.id]])
    const hidden = code('NOT_FOUND')
    const path = { machine_agent_id: id }
    await expect(colleague.call(showMachineAgent, path)).rejects.toMatchObject(hidden)
    await expect(colleague.call(addMachineAgentCredential, path)).rejects.toMatchObject(hidden)
    await expect(colleague.call(removeMachineAgent, path)).rejects.toMatchObject(hidden)
    await expect(
      colleague.call(narrowGrant, { grant_id: grant_id!, scopes: ['data:read'] }),
    ).rejects.toMatchObject(hidden)
    // Who answers for it rotates, narrows and removes it, and does not hand it on.
    const added = await owner.call(addMachineAgentCredential, path)
    await owner.call(revokeMachineAgentCredential, { ...path, credential_id: credentials[0]!.id })
    expect((await owner.call(listGrants, {})).grants).toMatchObject([
      { via: 'machine', machine_agent_id: id },
    ])
    await expect(owner.call(updateMachineAgent, { ...path, name: 'Mine' })).rejects.toMatchObject(
      code('FORBIDDEN'),
    )
    expect(added.secret).toMatch(/^svcm_[0-9A-Za-z]{49}$/)
    await owner.call(removeMachineAgent, path)
    expect(await ids(owner)).toEqual([])
  })

  test('a credential of one with a role above one’s own is not to be had, also not by its owner', async () => {
    const high = await makeMachineAgent(org.owner, { role: 'owner', owner_id: admin.userId })
    const path = { machine_agent_id: high.id }
    const above = code('FORBIDDEN')
    await expect(admin.call(addMachineAgentCredential, path)).rejects.toMatchObject(above)
    await expect(
      admin.call(updateMachineAgent, { ...path, owner_id: org.owner.userId }),
    ).rejects.toMatchObject(above)
    // Ending it is always possible.
    await admin.call(removeMachineAgent, path)
  })

  /** Threat: an admin takes what only owners may give, from an agent that has it. */
  test('nor of one with maintenance:admin, for who is no owner', async () => {
    const sensitive = await makeMachineAgent(org.owner, { role: 'admin', scopes: ['maintenance:admin'] })
    const path = { machine_agent_id: sensitive.id }
    await expect(admin.call(addMachineAgentCredential, path)).rejects.toMatchObject(code('FORBIDDEN'))
    await expect(admin.call(updateMachineAgent, { ...path, owner_id: admin.userId })).rejects.toMatchObject(
      code('FORBIDDEN'),
    )
    await org.owner.call(addMachineAgentCredential, path)
    await admin.call(removeMachineAgent, path)
  })

  test('its secret is shown once, and never again', async () => {
    const { secret, ...rest } = agent
    expect(secret).toMatch(/^svcm_[0-9A-Za-z]{49}$/)
    expect(JSON.stringify(rest)).not.toContain(secret)
    const shown = JSON.stringify([
      await admin.call(showMachineAgent, { machine_agent_id: agent.id }),
      await admin.call(listMachineAgents, {}),
      await org.owner.call(listAudit, { org_id: org.id }),
    ])
    expect(shown).not.toContain(secret)
  })
})

/** Four eyes: nobody approves what they could have asked for through an agent. */
test('whoever has made a credential of it is behind it, also after that was revoked; others are not', async () => {
  const { userId } = org.owner
  const isBehind = async (of = org.id) =>
    (await readMachineUsersBehind(system.db, of, userId)).has(agent.user_id)
  expect(await isBehind()).toBe(false)
  const path = { machine_agent_id: agent.id }
  const { id } = await org.owner.call(addMachineAgentCredential, path)
  await org.owner.call(revokeMachineAgentCredential, { ...path, credential_id: id })
  expect([await isBehind(), await isBehind((await makeOrganization(system)).id)]).toEqual([true, false])
})

/** Threat: a stolen API token makes itself permanent. */
test('a credential that was made with an API token, or with a token of that one, ends with it', async () => {
  const token = await makeApiToken(system, org, admin)
  const child = await token.call(createApiToken, { name: 'made with it' })
  const made = await makeMachineAgent({ call: system.as({ token: child.token }) })
  const added = await token.call(addMachineAgentCredential, { machine_agent_id: agent.id })
  const { access } = tokensIn(await askForToken(system, basic(made)))
  expect((await whoami(system, access)).status).toBe(200)
  await admin.call(revokeApiToken, { token_id: token.id })
  expect((await whoami(system, access)).status).toBe(401)
  for (const ended of [made, { ...agent, secret: added.secret! }])
    expect((await askForToken(system, basic(ended))).body.error).toBe('invalid_client')
  expect((await comesIn(system, basic(agent))).status).toBe(200)
})

test('its grant is listed among all, says what it is, and can be narrowed', async () => {
  const { access } = tokensIn(await askForToken(system, basic(agent)))
  expect((await admin.call(listGrants, { all: 'true' })).grants).toMatchObject([
    { id: agent.grant_id, via: 'machine', client_kind: 'machine', client_name: agent.name, host: '' },
  ])
  const { user } = await admin.call(showGrant, { grant_id: agent.grant_id! })
  expect(user).toEqual({ id: agent.user_id, name: agent.name, email: null })
  // Among the clients only to be unblocked: its own list is another.
  const listed = async () => (await admin.call(listOauthClients, {})).oauth_clients
  const { client_id } = agent
  expect(await listed()).toEqual([])
  await admin.call(blockOauthClient, { client_id, blocked: true })
  expect(await listed()).toMatchObject([{ client_id, kind: 'machine', live_grants: 1, blocked: true }])
  await admin.call(blockOauthClient, { client_id, blocked: false })
  await admin.call(narrowGrant, { grant_id: agent.grant_id!, scopes: ['data:read'] })
  expect((await whoami(system, access)).who?.scopes).toEqual(['data:read'])
  const { body } = await askForToken(system, basic(agent), { scope: 'data:read maintenance:read' })
  expect(body.scope).toBe('data:read')
  expect(await admin.call(showMachineAgent, { machine_agent_id: agent.id })).toMatchObject({
    scopes: ['data:read'],
    last_used_at: expect.any(String),
  })
})

describe('nobody is there to ask', () => {
  const ask = async (method: string, params: object, more: Record<string, string> = {}) => {
    const { access } = tokensIn(await askForToken(system, basic(agent), more))
    const response = await fetch(`${system.origin}/platform`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${access}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    return {
      status: response.status,
      challenge: response.headers.get('www-authenticate'),
      text: await response.text(),
    }
  }

  test('so it is offered only the tools whose scopes it has, and hears why of the others', async () => {
    agent = await makeMachineAgent(org.owner, { role: 'admin', scopes: ['data:read'] })
    const { text } = await ask('tools/list', {})
    const { result } = JSON.parse(text) as { result: { tools: { name: string }[] } }
    const names = result.tools.map(({ name }) => name)
    expect(names).toContain('search')
    for (const name of ['maintenance_run', 'proposal_decide']) expect(names).not.toContain(name)
    const { access } = tokensIn(await askForToken(system, basic(agent)))
    const { who } = await whoami(system, access)
    expect(who?.hidden).toContainEqual({ tool: 'maintenance_run', why: 'needs the scope maintenance:run' })
    const called = await ask('tools/call', { name: 'maintenance_run', arguments: { app: 'shop' } })
    // No challenge: it could not get more by asking for a token again.
    expect(called.status).toBe(200)
    expect(called.text).toContain('An admin can create a machine agent that has it; do not retry.')
    expect(called.text).not.toContain('user')
  })

  test('and with a token for less than it was given it is told what to ask for, which is all of that', async () => {
    agent = await makeMachineAgent(org.owner, { role: 'admin', scopes: ['data:read', 'maintenance:run'] })
    const less = { scope: 'data:read' }
    const { text } = await ask('tools/list', {}, less)
    expect(text).toContain('"maintenance_run"')
    expect(text).not.toContain('"maintenance_set"')
    const called = await ask('tools/call', { name: 'maintenance_run', arguments: { app: 'shop' } }, less)
    expect(called.status).toBe(403)
    expect(called.challenge).toContain('error="insufficient_scope", scope="data:read maintenance:run"')
    const denied = await ask('tools/call', { name: 'maintenance_set', arguments: { app: 'shop' } }, less)
    expect([denied.status, denied.challenge]).toEqual([200, null])
  })

  test('and the scope of the challenge, which clients repeat, keeps none out that has others', async () => {
    agent = await makeMachineAgent(org.owner, { scopes: ['maintenance:read'] })
    const asking = async (scope: string) => (await askForToken(system, basic(agent), { scope })).body
    expect(await asking('data:read')).toMatchObject({ scope: 'maintenance:read' })
    expect(await asking('maintenance:run')).toMatchObject({ error: 'invalid_scope' })
  })

  test('and its instructions speak of no user', async () => {
    const { text } = await ask('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'nightly', version: '1' },
    })
    const { result } = JSON.parse(text) as { result: { instructions: string } }
    expect(result.instructions).toContain('as a machine agent')
    expect(result.instructions).not.toMatch(/\buser\b/)
  })
})

test('a change that changes nothing at all is refused', async () => {
  await expect(admin.call(updateMachineAgent, { machine_agent_id: agent.id })).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    problems: ['name, owner_id or expires_at must be given'],
  })
})

test('another name is its name everywhere', async () => {
  const { access } = tokensIn(await askForToken(system, basic(agent)))
  await admin.call(updateMachineAgent, { machine_agent_id: agent.id, name: 'Renamed' })
  expect((await whoami(system, access)).who?.user).toMatchObject({ name: 'Renamed' })
  expect((await admin.call(listGrants, { all: 'true' })).grants[0]?.client_name).toBe('Renamed')
})

test('two organizations: one does not see, change or end the other’s, nor make its people answer', async () => {
  const other = await makeOrganization(system)
  const theirs = await makeMachineAgent(other.owner)
  const hidden = code('NOT_FOUND')
  const path = { machine_agent_id: agent.id }
  const call = other.owner.call
  expect((await call(listMachineAgents, {})).machine_agents.map(({ id }) => id)).toEqual([theirs.id])
  await expect(call(showMachineAgent, path)).rejects.toMatchObject(hidden)
  await expect(call(updateMachineAgent, { ...path, name: 'x' })).rejects.toMatchObject(hidden)
  await expect(call(addMachineAgentCredential, path)).rejects.toMatchObject(hidden)
  await expect(
    call(revokeMachineAgentCredential, { ...path, credential_id: agent.credentials[0]!.id }),
  ).rejects.toMatchObject(hidden)
  // Neither through an agent of their own.
  await expect(
    call(revokeMachineAgentCredential, {
      machine_agent_id: theirs.id,
      credential_id: agent.credentials[0]!.id,
    }),
  ).rejects.toMatchObject(hidden)
  await expect(call(removeMachineAgent, path)).rejects.toMatchObject(hidden)
  await expect(makeMachineAgent(other.owner, { owner_id: admin.userId })).rejects.toMatchObject(hidden)
  expect(await comesIn(system, basic(agent))).toMatchObject({ who: { organization: { id: org.id } } })
  expect(await comesIn(system, basic(theirs))).toMatchObject({ who: { organization: { id: other.id } } })
  // The secret of one with the name of the other.
  expect(await comesIn(system, basic({ ...theirs, client_id: agent.client_id }))).toMatchObject({
    status: 401,
  })
})
