/** Whatever ends or lowers a machine agent acts on its very next call, with every token that it has. */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { and, eq } from '../../db/drizzle.ts'
import {
  machineAgentCredentials,
  machineAgents,
  maintenanceRuns,
  platformAccessGrants,
  proposals,
} from '../../db/schema.ts'
import { endAccessSince } from '../../src/contracts/access.ts'
import {
  blockOauthClient,
  narrowGrant,
  revokeGrant,
  setOauthClientActive,
  showGrant,
} from '../../src/contracts/grants.ts'
import {
  addMachineAgentCredential,
  removeMachineAgent,
  revokeMachineAgentCredential,
  showMachineAgent,
  updateMachineAgent,
} from '../../src/contracts/machine-agents.ts'
import { changeMemberRole, removeMember } from '../../src/contracts/members.ts'
import { updateOrganization } from '../../src/contracts/organizations.ts'
import { approveProposal, listProposalQueue, showProposal } from '../../src/contracts/proposals.ts'
import { pushRevision } from '../../src/contracts/revisions.ts'
import { revokeApiToken } from '../../src/contracts/tokens.ts'
import { startListeningSystem, tokensIn, whoami, type ListeningSystem } from '../support/assistant.ts'
import { testDatabase } from '../support/database.ts'
import { makeExposedSource } from '../support/exposed-source.ts'
import { freePort } from '../support/free-port.ts'
import { hasOneConnection } from '../support/left-out.ts'
import {
  askForToken,
  assertionOf,
  basic,
  comesIn,
  makeMachineAgent,
  newKeyPair,
  type MachineAgent,
} from '../support/machine-agents.ts'
import { makeMaintainedApp, turnOn } from '../support/maintenance.ts'
import { makeApiToken, makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'
import { agentOf, makeProposal, MODEL, MODELS } from '../support/proposals.ts'
import { archiveOf } from '../support/source.ts'
import { freshSecrets, OPERATOR_TOKEN } from '../support/system.ts'

let system: ListeningSystem
let org: Org
let admin: Person
/** Answers for it. */
let person: Person
let agent: MachineAgent
let access: string
beforeAll(async () => {
  const SVC_SERVICES = 'api-gateway,auth-service,deploy-api,mcp-server'
  system = await startListeningSystem({ SVC_SERVICES, ...MODELS })
})
beforeEach(async () => {
  org = await makeOrganization(system)
  ;[admin, person] = [await makeMember(system, org, 'admin'), await makeMember(system, org, 'developer')]
  agent = await makeMachineAgent(admin, { role: 'admin', owner_id: person.userId })
  access = (await comeIn()).access
  // Otherwise a 401 below would prove nothing.
  if ((await call()).status !== 200) throw new Error('The machine agent was not let in')
})
afterAll(() => system.stop())

const comeIn = async (with_: Parameters<typeof basic>[0] = agent) =>
  tokensIn(await askForToken(system, basic(with_)))
const call = (token = access) => whoami(system, token)
const path = () => ({ machine_agent_id: agent.id })
const show = () => admin.call(showMachineAgent, path())
const remove = (who: Person, by = admin) => by.call(removeMember, { org_id: org.id, user_id: who.userId })
const asked = async () => {
  const { status, body } = await askForToken(system, basic(agent))
  return [status, body.error]
}
const ENDED = [400, 'unauthorized_client']
const UNKNOWN = [401, 'invalid_client']

/** Threat: a token that outlives what it stands for. */
describe('ends it: the next call is refused, and so is the next token', () => {
  const ends: Record<string, [how: () => Promise<unknown>, then: typeof ENDED]> = {
    'its owner is removed': [() => remove(person), ENDED],
    'its owner leaves': [() => remove(person, person), ENDED],
    'it expires': [
      () =>
        system.db
          .update(machineAgents)
          .set({ expiresAt: new Date(system.clock.now().getTime() - 1) })
          .where(eq(machineAgents.id, agent.id)),
      ENDED,
    ],
    'attack 39: an admin revokes its grant': [
      () => admin.call(revokeGrant, { grant_id: agent.grant_id! }),
      ENDED,
    ],
    'its owner revokes its grant': [() => person.call(revokeGrant, { grant_id: agent.grant_id! }), ENDED],
    'the row of its grant is gone': [
      () => system.db.delete(platformAccessGrants).where(eq(platformAccessGrants.id, agent.grant_id!)),
      ENDED,
    ],
    'its only credential is revoked': [
      () => admin.call(revokeMachineAgentCredential, { ...path(), credential_id: agent.credentials[0]!.id }),
      UNKNOWN,
    ],
    'it is removed': [() => admin.call(removeMachineAgent, path()), UNKNOWN],
    'its row is gone': [() => system.db.delete(machineAgents).where(eq(machineAgents.id, agent.id)), UNKNOWN],
  }
  test.each(Object.keys(ends))('%s', async (how) => {
    const [end, then] = ends[how]!
    await end()
    expect(await call()).toMatchObject({
      status: 401,
      challenge: expect.stringContaining('error="invalid_token"'),
    })
    expect(await asked()).toEqual(then)
    expect((await call()).status).toBe(401)
  })
})

describe('suspends it until it is undone', () => {
  const client_id = () => agent.client_id
  const operator = () => system.as({ token: OPERATOR_TOKEN })
  const switches: Record<string, [off: () => Promise<unknown>, on: () => Promise<unknown>]> = {
    'agents are switched off': [
      () => admin.call(updateOrganization, { org_id: org.id, agents_enabled: false }),
      () => admin.call(updateOrganization, { org_id: org.id, agents_enabled: true }),
    ],
    'the organization blocks it as a client': [
      () => admin.call(blockOauthClient, { client_id: client_id(), blocked: true }),
      () => admin.call(blockOauthClient, { client_id: client_id(), blocked: false }),
    ],
    'the operator switches it off': [
      () => operator()(setOauthClientActive, { client_id: client_id(), is_active: false }),
      () => operator()(setOauthClientActive, { client_id: client_id(), is_active: true }),
    ],
  }
  test.each(Object.keys(switches))('%s', async (how) => {
    const [off, on] = switches[how]!
    await off()
    expect((await call()).status).toBe(401)
    expect([ENDED, UNKNOWN]).toContainEqual(await asked())
    expect((await show()).state).toBe(how === 'agents are switched off' ? 'active' : 'blocked')
    await on()
    expect((await show()).state).toBe('active')
    expect((await call()).status).toBe(200)
    expect((await comesIn(system, basic(agent))).status).toBe(200)
  })
})

test('its role is its own, and never above its owner’s', async () => {
  const change = (role: 'viewer' | 'admin' | 'owner') =>
    org.owner.call(changeMemberRole, { org_id: org.id, user_id: person.userId, role })
  expect((await call()).who?.role).toBe('developer')
  for (const [role, acts] of [
    ['viewer', 'viewer'],
    ['admin', 'admin'],
    ['owner', 'admin'],
  ] as const) {
    await change(role)
    expect((await call()).who?.role).toBe(acts)
    expect(await show()).toMatchObject({ role: 'admin', current_role: acts })
  }
})

test('an owner who comes back does not revive it; being made its owner does, and anybody else can be', async () => {
  await remove(person)
  expect(await show()).toMatchObject({ state: 'owner_left', current_role: null })
  await makeMember(system, org, 'admin', person)
  expect([(await call()).status, await asked()]).toEqual([401, ENDED])
  await admin.call(updateMachineAgent, { ...path(), owner_id: person.userId })
  expect((await call()).status).toBe(200)
  await remove(person)
  expect((await call()).status).toBe(401)
  await admin.call(updateMachineAgent, { ...path(), owner_id: admin.userId })
  expect([(await call()).status, (await show()).state]).toEqual([200, 'active'])
})

test('another expiry brings it back, and an ended grant does not come back by anything', async () => {
  const at = (days: number) => new Date(system.clock.now().getTime() + days * 86_400_000)
  for (const table of [machineAgents, platformAccessGrants]) {
    const which = table === machineAgents ? machineAgents.id : platformAccessGrants.machineAgentId
    await system.db
      .update(table)
      .set({ expiresAt: at(-1) })
      .where(eq(which, agent.id))
  }
  expect([(await show()).state, (await call()).status]).toEqual(['expired', 401])
  await admin.call(updateMachineAgent, { ...path(), expires_at: at(30).toISOString() })
  expect([(await show()).state, (await call()).status]).toEqual(['active', 200])

  await admin.call(revokeGrant, { grant_id: agent.grant_id! })
  expect(await show()).toMatchObject({ state: 'disconnected', grant_id: null, scopes: [], sources: [] })
  const { secret } = await org.owner.call(addMachineAgentCredential, path())
  await admin.call(updateMachineAgent, {
    ...path(),
    owner_id: admin.userId,
    expires_at: at(60).toISOString(),
  })
  await admin.call(revokeMachineAgentCredential, { ...path(), credential_id: agent.credentials[0]!.id })
  expect((await askForToken(system, basic({ ...agent, secret: secret! }))).body.error).toBe(
    'unauthorized_client',
  )
  expect((await call()).status).toBe(401)
})

test('its tokens end with it, also where it expires before they would', async () => {
  const expiresAt = new Date(system.clock.now().getTime() + 60_000)
  await admin.call(updateMachineAgent, { ...path(), expires_at: expiresAt.toISOString() })
  const { body } = await askForToken(system, basic(agent))
  expect(body.expires_in).toBeLessThanOrEqual(60)
})

describe('a revoked credential', () => {
  test('ends every token so far; with another one it goes on, with what was left of its grant', async () => {
    const source = await makeExposedSource(system, org)
    const { secret } = await org.owner.call(addMachineAgentCredential, path())
    await admin.call(narrowGrant, {
      grant_id: agent.grant_id!,
      scopes: ['data:read'],
      sources: [source.source_id],
    })
    const byOther = (await comeIn({ ...agent, secret: secret! })).access
    await admin.call(revokeMachineAgentCredential, { ...path(), credential_id: agent.credentials[0]!.id })
    expect([(await call()).status, (await call(byOther)).status]).toEqual([401, 401])
    expect(await asked()).toEqual(UNKNOWN)
    const next = await comeIn({ ...agent, secret: secret! })
    expect((await call(next.access)).who?.scopes).toEqual(['data:read'])
    expect(await show()).toMatchObject({ scopes: ['data:read'], sources: [source], grant_id: next.grantId })
    expect(next.grantId).not.toBe(agent.grant_id)
    expect(await admin.call(showGrant, { grant_id: agent.grant_id! })).toMatchObject({
      ended: { reason: 'credential_revoked' },
    })
  })

  test('was the last one: the agent says so', async () => {
    await admin.call(revokeMachineAgentCredential, { ...path(), credential_id: agent.credentials[0]!.id })
    expect(await show()).toMatchObject({ state: 'no_credentials', credentials: [] })
    await org.owner.call(addMachineAgentCredential, path())
    expect((await show()).state).toBe('active')
  })

  /** Threat: somebody disconnects it on a page from before, and it goes on. */
  test('leaves another grant, which ends by the id of the one before', async () => {
    const { secret } = await org.owner.call(addMachineAgentCredential, path())
    await admin.call(revokeMachineAgentCredential, { ...path(), credential_id: agent.credentials[0]!.id })
    const { access: next } = await comeIn({ ...agent, secret: secret! })
    const stale = { grant_id: agent.grant_id! }
    await expect((await makeMember(system, org, 'developer')).call(revokeGrant, stale)).rejects.toMatchObject(
      { code: 'NOT_FOUND' },
    )
    expect((await call(next)).status).toBe(200)
    await admin.call(revokeGrant, stale)
    expect((await call(next)).status).toBe(401)
    // When it was last used is not forgotten with its grants.
    expect(await show()).toMatchObject({ state: 'disconnected', last_used_at: expect.any(String) })
    await expect(admin.call(revokeGrant, stale)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('is revoked once', async () => {
    const once = { ...path(), credential_id: agent.credentials[0]!.id }
    await admin.call(revokeMachineAgentCredential, once)
    await expect(admin.call(revokeMachineAgentCredential, once)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  /** Threat: a stolen API token makes itself permanent. */
  test('one that was made with an API token ends with it', async () => {
    const token = await makeApiToken(system, org, admin)
    const made = await makeMachineAgent(token)
    const { access: first } = await comeIn(made)
    const added = await token.call(addMachineAgentCredential, { machine_agent_id: made.id })
    const own = await makeMachineAgent(admin)
    await admin.call(revokeApiToken, { token_id: token.id })
    expect((await call(first)).status).toBe(401)
    for (const secret of [made.secret, added.secret!])
      expect((await askForToken(system, basic({ ...made, secret }))).body.error).toBe('invalid_client')
    expect((await comesIn(system, basic(own))).status).toBe(200)
  })

  test('one that was made with an API token that expires does not outlive it', async () => {
    const token = await makeApiToken(system, org, admin, { expires_in_days: 1 })
    const made = await makeMachineAgent(token)
    const [credential] = made.credentials
    expect(Date.parse(credential!.expires_at!)).toBeLessThanOrEqual(system.clock.now().getTime() + 86_400_000)
    expect((await comesIn(system, basic(made))).status).toBe(200)
    const past = new Date(system.clock.now().getTime() - 1)
    await system.db
      .update(machineAgentCredentials)
      .set({ expiresAt: past })
      .where(eq(machineAgentCredentials.id, credential!.id))
    expect((await askForToken(system, basic(made))).body.error).toBe('invalid_client')
  })
})

describe.skipIf(hasOneConnection)('a credential that is revoked while it is presented', () => {
  let second: Connection
  beforeAll(async () => void (second = await connect({ url: (await testDatabase()).url! }, { poolSize: 1 })))
  afterAll(() => second?.close())

  /** Threat: the request was authenticated before, and gets its token on the grant that came after. */
  test.each(['a secret', 'a key without a name'])('%s: no token is issued', async (kind) => {
    const [key, other] = [newKeyPair(), newKeyPair()]
    const machine_agent_id = agent.id
    const keyed = await org.owner.call(addMachineAgentCredential, { machine_agent_id, public_key: key.jwk })
    await org.owner.call(addMachineAgentCredential, { machine_agent_id, public_key: other.jwk })
    const isSecret = kind === 'a secret'
    const proof = isSecret ? basic(agent) : await assertionOf(system, agent.client_id, key)
    const credentialId = isSecret ? agent.credentials[0]!.id : keyed.id
    // Its grant is then renewed, which waits for the lock on the agent: the request has been authenticated by then.
    await system.db
      .update(platformAccessGrants)
      .set({ keyEpoch: 'before' })
      .where(eq(platformAccessGrants.machineAgentId, agent.id))
    let asking: ReturnType<typeof askForToken> | undefined
    await second.sql.transaction(async (tx) => {
      await tx.query(`select 1 from machine_agents where id = '${agent.id}' for update`)
      await tx.query(`update machine_agent_credentials set revoked_at = now() where id = '${credentialId}'`)
      asking = askForToken(system, proof)
      await vi.waitFor(
        async () => {
          const [waiting] = await system.db.execute<{ n: number }>(
            "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
          )
          expect(waiting!.n).toBe(1)
        },
        { timeout: 5000, interval: 20 },
      )
    })
    const { status, body } = await asking!
    expect([status, body.error, body.access_token]).toEqual([401, 'invalid_client', undefined])
  })
})

/** Threat: an admin gives a machine agent to somebody else, keeps its secret, and is let go. */
describe('whoever made a credential', () => {
  const change = (who: Person, role: 'viewer' | 'developer' | 'admin') =>
    org.owner.call(changeMemberRole, { org_id: org.id, user_id: who.userId, role })
  const answer = async (one: Parameters<typeof basic>[0]) =>
    (await askForToken(system, basic(one))).body.error ?? 'let in'

  test.each(['is removed', 'leaves'])('%s: it ends, whoever answers for the agent', async (how) => {
    const theirs = await makeMachineAgent(org.owner)
    const { secret } = await admin.call(addMachineAgentCredential, { machine_agent_id: theirs.id })
    const added = { ...theirs, secret: secret! }
    const { access: byAdded } = await comeIn(added)
    await remove(admin, how === 'leaves' ? admin : org.owner)
    expect([(await call()).status, (await call(byAdded)).status]).toEqual([401, 401])
    expect([await answer(agent), await answer(added)]).toEqual(['invalid_client', 'invalid_client'])
    // What others made goes on.
    expect((await comesIn(system, basic(theirs))).status).toBe(200)
  })

  test('gets a lower role: it ends for agents above that role, and for no others', async () => {
    const low = await makeMachineAgent(admin, { role: 'viewer', owner_id: org.owner.userId })
    await change(admin, 'developer')
    expect([(await call()).status, await answer(agent), await answer(low)]).toEqual([
      401,
      'invalid_client',
      'let in',
    ])
  })

  test('is no owner any more: it ends for agents with what only owners may give', async () => {
    const other = await makeMember(system, org, 'owner')
    const scopes = ['maintenance:admin' as const]
    const given = { role: 'admin' as const, owner_id: org.owner.userId }
    const [sensitive, usual] = [
      await makeMachineAgent(other, { ...given, scopes }),
      await makeMachineAgent(other, given),
    ]
    await change(other, 'admin')
    expect([await answer(sensitive), await answer(usual)]).toEqual(['invalid_client', 'let in'])
  })

  test('leaves another organization: nothing ends here', async () => {
    const elsewhere = await makeOrganization(system)
    await makeMember(system, elsewhere, 'admin', admin)
    await elsewhere.owner.call(removeMember, { org_id: elsewhere.id, user_id: admin.userId })
    expect([(await call()).status, await answer(agent)]).toEqual([200, 'let in'])
  })
})

describe('somebody else was in', () => {
  test('one that a member has answered for since then ends; those before stay', async () => {
    system.clock.advance(1)
    const since = system.clock.now().toISOString()
    const newer = await makeMachineAgent(admin, { owner_id: person.userId })
    const { access: byNewer } = await comeIn(newer)
    const own = await makeMachineAgent(admin)
    expect(await admin.call(endAccessSince, { since, user_id: person.userId })).toMatchObject({ grants: 1 })
    expect((await call(byNewer)).status).toBe(401)
    expect((await askForToken(system, basic(newer))).body.error).toBe('unauthorized_client')
    expect([(await call()).status, (await comesIn(system, basic(own))).status]).toEqual([200, 200])
  })

  test('credentials that a person has made since then end, whoever answers for the agent', async () => {
    system.clock.advance(1)
    const since = system.clock.now().toISOString()
    const { secret } = await org.owner.call(addMachineAgentCredential, path())
    const elsewhere = await makeOrganization(system)
    const theirs = await makeMachineAgent(elsewhere.owner)
    const { access: planted } = await comeIn({ ...agent, secret: secret! })
    expect(await org.owner.call(endAccessSince, { since })).toMatchObject({ grants: 0, credentials: 1 })
    expect((await call(planted)).status).toBe(401)
    expect((await askForToken(system, basic({ ...agent, secret: secret! }))).body.error).toBe(
      'invalid_client',
    )
    expect((await comesIn(system, basic(agent))).status).toBe(200)
    expect((await comesIn(system, basic(theirs))).status).toBe(200)
  })
})

test('rotating either secret of the installation ends its tokens and its secrets', async () => {
  const [secrets, PORT] = [freshSecrets(), String(await freePort())]
  const start = (changed: Record<string, string> = {}) =>
    startListeningSystem({ PORT, ...secrets, ...changed })
  const before = await start()
  const owner = (await makeOrganization(before)).owner
  const [kept, ended] = [await makeMachineAgent(owner), await makeMachineAgent(owner)]
  const old = tokensIn(await askForToken(before, basic(kept)))
  await owner.call(revokeGrant, { grant_id: ended.grant_id! })
  await before.stop()
  for (const key of ['JWT_SIGNING_KEY', 'JWT_SECRET'] as const) {
    const after = await start({ [key]: freshSecrets()[key] })
    try {
      expect((await whoami(after, old.access)).status).toBe(401)
      expect((await askForToken(after, basic(kept))).body.error).toBe('invalid_client')
      expect((await askForToken(after, basic(ended))).body.error).toBe('invalid_client')
    } finally {
      await after.stop()
    }
  }
})

/** Threat: four eyes are two, where somebody starts a run through a machine agent and approves what it proposes. */
test('what it asks for is approved by nobody who could have asked through it, also in the past', async () => {
  await turnOn(org, { model: MODEL, cooldown_hours: 0 })
  const proposal = await makeReady()
  const { alias } = await makeMaintainedApp(org)
  const [maker, adder, former, bystander] = [
    await makeMember(system, org, 'owner'),
    await makeMember(system, org, 'admin'),
    await makeMember(system, org, 'admin'),
    await makeMember(system, org, 'admin'),
  ]
  const runner = await makeMachineAgent(maker, {
    role: 'admin',
    owner_id: former.userId,
    scopes: ['maintenance:read', 'maintenance:run'],
  })
  const { access: token } = await comeIn(runner)
  const response = await fetch(`${system.origin}/platform`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'maintenance_run', arguments: { app: alias, idempotency_key: alias } },
    }),
  })
  expect(await response.text()).toContain('queued')
  const [run] = await system.db
    .select()
    .from(maintenanceRuns)
    .where(and(eq(maintenanceRuns.orgId, org.id), eq(maintenanceRuns.status, 'queued')))
  expect(run).toMatchObject({ requestedById: runner.user_id, requestedBy: runner.name })

  const machine_agent_id = runner.id
  const added = await adder.call(addMachineAgentCredential, { machine_agent_id })
  await adder.call(revokeMachineAgentCredential, { machine_agent_id, credential_id: added.id })
  await former.call(updateMachineAgent, { machine_agent_id, owner_id: admin.userId })
  // What the run would propose.
  await system.db
    .update(proposals)
    .set({ requestedById: run!.requestedById, requestedBy: run!.requestedBy })
    .where(eq(proposals.id, proposal.proposal_id))
  const isBarred = async (who: Person) => {
    const shown = await who.call(showProposal, proposal)
    const [queued] = (await who.call(listProposalQueue, { org_id: org.id })).proposals
    const codes = [shown, queued!].map(({ decision }) => decision.reasons.approve.map(({ code }) => code))
    expect(codes[0]).toEqual(codes[1])
    return codes[0]!.includes('REQUESTER')
  }
  const barred = { maker, adder, former, 'its owner now': admin }
  for (const [who, one] of Object.entries(barred)) expect([who, await isBarred(one)]).toEqual([who, true])
  await former.call(removeMachineAgent, { machine_agent_id })
  for (const [who, one] of Object.entries(barred)) expect([who, await isBarred(one)]).toEqual([who, true])
  expect(await isBarred(bystander)).toBe(false)
  const { diff_sha256 } = await admin.call(showProposal, proposal)
  const approve = (who: Person) => who.call(approveProposal, { ...proposal, diff_sha256 })
  await expect(approve(maker)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await approve(bystander)
})

/** A proposal that waits for somebody who approves it. */
async function makeReady() {
  const { alias } = await makeMaintainedApp(org)
  const [path_, text] = ['src/sum.js', 'export const sum = (a, b) => a - b\n']
  await org.owner.call(pushRevision, { alias, body: archiveOf({ [path_]: text }) })
  const maintenance = agentOf(system)
  const given = { call: org.owner.call, alias, path: path_, text, old: 'a - b', now: 'a + b' }
  const { id } = await makeProposal(system, maintenance, given)
  await maintenance.close()
  return { alias, proposal_id: id }
}
