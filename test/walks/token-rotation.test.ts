/** A rotated credential has a new value, and for a chosen time the old one too: the same rights, the same end. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type * as z from 'zod'
import {
  createAppToken,
  listAppTokens,
  revokeAppToken,
  rotateAppToken,
} from '../../src/contracts/app-tokens.ts'
import { createApp, setAppMember } from '../../src/contracts/apps.ts'
import { endAccessSince } from '../../src/contracts/access.ts'
import {
  addMachineAgentCredential,
  createMachineAgent,
  revokeMachineAgentCredential,
  rotateMachineAgentCredential,
  showMachineAgent,
} from '../../src/contracts/machine-agents.ts'
import { inviteMember, removeMember } from '../../src/contracts/members.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { claimPipelineRun } from '../../src/contracts/pipelines.ts'
import {
  createApiToken,
  listApiTokens,
  revokeApiToken,
  rotateApiToken,
  validateToken,
} from '../../src/contracts/tokens.ts'
import { answerTo } from '../support/answers.ts'
import { startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import {
  askForToken,
  assertionOf,
  basic,
  comesIn,
  makeMachineAgent,
  newKeyPair,
} from '../support/machine-agents.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'

type Token = z.output<typeof rotateApiToken.output>

const HOUR = 60 * 60
const REFUSED = { code: 'UNAUTHENTICATED', message: 'Invalid or expired API token' }
const NOBODYS = `svc_${'a'.repeat(49)}`

let system: ListeningSystem
let org: Org
let other: Org
beforeAll(async () => {
  system = await startListeningSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api,mcp-server' })
})
// Fresh for each: the clock moves by days, and with it every session ends.
beforeEach(async () => {
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
})
afterAll(() => system.stop())

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => String((error as { code?: unknown }).code),
  )
const who = (token: string) => system.as({ token })(whoAmI, {})
const later = (hours: number) => system.clock.advance(hours * HOUR)
/** In hours from now: the clock of the system goes on. */
const hoursTo = (time: string | null | undefined) =>
  time == null ? null : Math.round((Date.parse(time) - system.clock.now().getTime()) / HOUR / 1000) || 0
/** When each value was last used, and until when the old one works. */
const told = ({ last_used_at, previous }: Pick<Token, 'last_used_at' | 'previous'>) => ({
  used: hoursTo(last_used_at),
  old: previous && { used: hoursTo(previous.last_used_at), until: hoursTo(previous.works_until) },
})

describe('an API token', () => {
  const rotate = (token_id: string, overlap_hours?: number, { call }: Pick<Person, 'call'> = org.owner) =>
    call(rotateApiToken, { token_id, overlap_hours })
  const listed = async (id: string) =>
    (await org.owner.call(listApiTokens, {})).tokens.find((one) => one.id === id)!

  test('has both values for a day, and then the new one alone', async () => {
    const { id, token, expires_at } = await org.owner.call(createApiToken, {
      name: 'nightly',
      role_cap: 'developer',
      scopes: ['data:read'],
      expires_in_days: 30,
    })
    const before = await who(token)
    const rotated = await rotate(id)
    expect(rotated).toMatchObject({ id, expires_at, previous: { starts_with: token.slice(0, 10) } })
    expect(told(rotated)).toEqual({ used: null, old: { used: 0, until: 24 } })
    expect(rotated.token).not.toBe(token)
    expect(rotated.token.startsWith(rotated.starts_with)).toBe(true)
    expect(await who(rotated.token)).toEqual(before)
    // What the old value says of itself is true: it ends sooner.
    expect(await who(token)).toEqual({ ...before, expires_at: rotated.previous!.works_until })
    later(24)
    for (const value of [token, NOBODYS]) await expect(who(value)).rejects.toMatchObject(REFUSED)
    expect(await who(rotated.token)).toEqual(before)
  })

  test.runIf(inject('everyCase'))(
    'refuses an old value with the very words of one that nobody made',
    async () => {
      const { id, token } = await makeApiToken(system, org, org.owner)
      await rotate(id, 0)
      const [old, unknown] = await Promise.all(
        [token, NOBODYS].map((value) => answerTo(system, { token: value }, whoAmI, {})),
      )
      const said = ({ status, text }: NonNullable<typeof old>) => [status, text.replaceAll(/req_\w+/g, '')]
      expect(said(old!)).toEqual(said(unknown!))
      expect(old!.status).toBe(401)
      for (const audience of ['platform', 'notifications'] as const)
        await expect(system.as()(validateToken, { token, audience })).rejects.toMatchObject(REFUSED)
    },
  )

  test('says when the old value was last used, apart from the new one', async () => {
    const { id, token } = await makeApiToken(system, org, org.owner)
    const rotated = await rotate(id, 48)
    expect(told(await listed(id))).toEqual({ used: null, old: { used: null, until: 48 } })
    later(1)
    await who(token)
    expect(told(await listed(id))).toEqual({ used: null, old: { used: 0, until: 47 } })
    later(1)
    await who(rotated.token)
    expect(told(await listed(id))).toEqual({ used: 0, old: { used: -1, until: 46 } })
  })

  test('rotated again, has no third value', async () => {
    const { id, token: first } = await makeApiToken(system, org, org.owner)
    const { token: second } = await rotate(id, 168)
    const { token: third, previous } = await rotate(id, 1)
    expect([previous!.starts_with, hoursTo(previous!.works_until)]).toEqual([second.slice(0, 10), 1])
    await expect(who(first)).rejects.toMatchObject(REFUSED)
    await Promise.all([who(second), who(third)])
    // Two at once: one of the two new values is the old one of the other.
    const both = await Promise.all([rotate(id), rotate(id)])
    const codes = await Promise.all(
      [second, third, ...both.map(({ token }) => token)].map((one) => codeOf(who(one))),
    )
    expect(codes).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED', 'done', 'done'])
  })

  test.each(['the old value', 'the new value'])(
    'that is revoked, seen with %s, has none left',
    async (which) => {
      const { id, token } = await makeApiToken(system, org, org.owner)
      const rotated = await rotate(id)
      await who(which === 'the old value' ? token : rotated.token)
      await org.owner.call(revokeApiToken, { token_id: id })
      for (const value of [token, rotated.token]) await expect(who(value)).rejects.toMatchObject(REFUSED)
      expect(await codeOf(rotate(id))).toBe('NOT_FOUND')
    },
  )

  test('keeps its expiry, which also ends an overlap', async () => {
    const { id, token, expires_at } = await org.owner.call(createApiToken, {
      name: 'nightly',
      expires_in_days: 1,
    })
    const rotated = await rotate(id, 168)
    expect(rotated.expires_at).toBe(expires_at)
    expect((await who(token)).expires_at).toBe(expires_at)
    later(24)
    for (const value of [token, rotated.token]) await expect(who(value)).rejects.toMatchObject(REFUSED)
  })

  test('makes with its old value nothing that outlives that', async () => {
    const { id, token } = await makeApiToken(system, org, org.owner)
    const older = await system.as({ token })(createApiToken, { name: 'made before' })
    const rotated = await rotate(id, 2)
    const [byOld, byNew] = [system.as({ token }), system.as({ token: rotated.token })]
    const ends = rotated.previous!.works_until
    expect(await codeOf(rotate(older.id, 1, { call: byOld }))).toBe('FORBIDDEN')
    expect(await codeOf(rotate(older.id, 1, { call: byNew }))).toBe('done')
    const invited = { org_id: org.id, email: `${unique('guest')}@people.test`, role: 'viewer' } as const
    expect((await byOld(inviteMember, invited)).expires_at).toBe(ends)
    expect(Date.parse((await byNew(inviteMember, invited)).expires_at)).toBeGreaterThan(Date.parse(ends))
    expect((await byOld(createApiToken, { name: 'child' })).expires_at).toBe(ends)
    expect((await byNew(createApiToken, { name: 'child' })).expires_at).toBeNull()
    const agent = await byOld(createMachineAgent, { name: unique('nightly') })
    expect(agent.credentials[0]!.expires_at).toBe(ends)
  })

  test('is rotated by its person, or by a token that it was made with', async () => {
    const [parent, sibling] = [
      await makeApiToken(system, org, org.owner),
      await makeApiToken(system, org, org.owner),
    ]
    const child = await parent.call(createApiToken, { name: 'child' })
    const grandchild = await system.as({ token: child.token })(createApiToken, { name: 'grandchild' })
    const attempt = (by: Pick<Person, 'call'>, id: string) => codeOf(rotate(id, 1, by))
    expect(await attempt(parent, parent.id)).toBe('FORBIDDEN')
    expect(await attempt({ call: system.as({ token: child.token }) }, parent.id)).toBe('FORBIDDEN')
    expect(await attempt(sibling, child.id)).toBe('FORBIDDEN')
    expect(await attempt(parent, child.id)).toBe('done')
    expect(await attempt(parent, grandchild.id)).toBe('done')
    expect(await attempt(org.owner, child.id)).toBe('done')
    const scoped = await makeApiToken(system, org, org.owner, { scopes: ['data:read'] })
    expect(await attempt(scoped, scoped.id)).toBe('FORBIDDEN')
  })

  test('is rotated by nobody else: whoever has its value is its person', async () => {
    const viewer = await makeMember(system, org, 'viewer')
    const theirs = await makeApiToken(system, org, viewer)
    for (const by of [org.owner, await makeMember(system, org, 'admin'), other.owner])
      expect(await codeOf(rotate(theirs.id, 0, by))).toBe('NOT_FOUND')
    await who(theirs.token)
  })

  test('is ended with access since the time it was rotated, whenever it was made', async () => {
    const [rotated, left] = [
      await makeApiToken(system, org, org.owner),
      await makeApiToken(system, org, org.owner),
    ]
    later(1)
    const since = system.clock.now().toISOString()
    const { token } = await rotate(rotated.id)
    await org.owner.call(endAccessSince, { since })
    for (const value of [token, rotated.token]) await expect(who(value)).rejects.toMatchObject(REFUSED)
    await who(left.token)
  })

  test.each([-1, 169, 0.5, '24' as never])(
    'is not rotated with an overlap of %s hours',
    async (overlap_hours) => {
      const { id, token } = await makeApiToken(system, org, org.owner)
      expect(await codeOf(rotate(id, overlap_hours))).toBe('INVALID_REQUEST')
      await who(token)
    },
  )
})

describe('a token of an app', () => {
  let alias: string
  beforeEach(async () => {
    alias = unique('shop')
    for (const { owner } of [org, other]) await owner.call(createApp, { alias, name: 'Shop' })
  })
  const make = () => org.owner.call(createAppToken, { alias, name: 'worker', scope: 'apps:report' })
  const report = (token: string) =>
    codeOf(system.as({ token })(claimPipelineRun, { alias, worker: 'w', pipelines: ['none'] }))
  const rotate = (token_id: string, overlap_hours?: number, { call }: Pick<Person, 'call'> = org.owner) =>
    call(rotateAppToken, { alias, token_id, overlap_hours })
  const listed = async () => (await org.owner.call(listAppTokens, { alias })).tokens

  test('has both values for a chosen time, each with its last use', async () => {
    const { id, token } = await make()
    const rotated = await rotate(id, 3)
    expect(rotated).toMatchObject({ id, scope: 'apps:report' })
    later(1)
    expect(await report(token)).toBe('done')
    expect((await listed()).map(told)).toEqual([{ used: null, old: { used: 0, until: 2 } }])
    later(1)
    expect(await report(rotated.token)).toBe('done')
    expect((await listed()).map(told)).toEqual([{ used: 0, old: { used: -1, until: 1 } }])
    later(1)
    expect([await report(token), await report(rotated.token)]).toEqual(['UNAUTHENTICATED', 'done'])
    expect((await listed()).map(told)).toEqual([{ used: 0, old: null }])
  })

  test('rotated again has no third value, revoked none', async () => {
    const { id, token } = await make()
    const second = await rotate(id)
    const third = await rotate(id)
    expect([await report(token), await report(second.token), await report(third.token)]).toEqual([
      'UNAUTHENTICATED',
      'done',
      'done',
    ])
    await org.owner.call(revokeAppToken, { alias, token_id: id })
    expect([await report(second.token), await report(third.token)]).toEqual([
      'UNAUTHENTICATED',
      'UNAUTHENTICATED',
    ])
    expect(await codeOf(rotate(id))).toBe('NOT_FOUND')
  })

  test('is rotated by those who may make one, never by itself', async () => {
    const { id, token } = await make()
    const [viewer, builder] = [
      await makeMember(system, org, 'viewer'),
      await makeMember(system, org, 'viewer'),
    ]
    await org.owner.call(setAppMember, { alias, user_id: builder.userId, role: 'builder' })
    expect(await codeOf(rotate(id, 1, viewer))).toBe('FORBIDDEN')
    expect(await codeOf(rotate(id, 1, { call: system.as({ token }) }))).toBe('FORBIDDEN')
    // The same alias is another app there.
    expect(await codeOf(rotate(id, 1, other.owner))).toBe('NOT_FOUND')
    expect(await codeOf(rotate(id, 1, builder))).toBe('done')
    expect(await codeOf(rotate(id, 169))).toBe('INVALID_REQUEST')
  })
})

describe('a credential of a machine agent', () => {
  let admin: Person
  let agent: Awaited<ReturnType<typeof makeMachineAgent>>
  /** Goes on where sessions have ended. */
  let reader: Pick<Person, 'call'>
  beforeEach(async () => {
    reader = await makeApiToken(system, org, org.owner)
    admin = await makeMember(system, org, 'admin')
    agent = await makeMachineAgent(admin)
  })
  type Asked = { credential_id?: string; overlap_hours?: number; public_key?: { kty: 'EC' } }
  const rotate = (asked: Asked = {}, { call }: Pick<Person, 'call'> = admin) =>
    call(rotateMachineAgentCredential, {
      machine_agent_id: agent.id,
      credential_id: agent.credentials[0]!.id,
      ...asked,
    })
  const statusOf = async (secret: string | null) =>
    (await comesIn(system, basic({ ...agent, secret: secret! }))).status
  const listed = async () => (await reader.call(showMachineAgent, { machine_agent_id: agent.id })).credentials

  test('has both secrets for a day, and then the new one alone', async () => {
    const rotated = await rotate()
    expect(rotated).toMatchObject({ kind: 'secret', expires_at: null, replaced_by: null })
    expect([await statusOf(agent.secret), await statusOf(rotated.secret)]).toEqual([200, 200])
    const told = (await listed()).map((one) => [
      one.id,
      one.replaced_by,
      hoursTo(one.last_used_at),
      hoursTo(one.expires_at),
    ])
    expect(told).toEqual([
      [agent.credentials[0]!.id, rotated.id, 0, 24],
      [rotated.id, null, 0, null],
    ])
    // A token of the old one does not outlive it.
    later(23.9)
    const { body } = await askForToken(system, basic(agent))
    expect(body.expires_in).toBeLessThanOrEqual(360)
    later(0.1)
    expect([await statusOf(agent.secret), await statusOf(rotated.secret)]).toEqual([401, 200])
    const unknown = await askForToken(system, basic({ ...agent, secret: 'svcm_nobodys' }))
    expect((await askForToken(system, basic(agent))).body).toEqual(unknown.body)
    expect(await listed()).toMatchObject([{ id: rotated.id }])
  })

  test('a public key by another one', async () => {
    const [one, two] = [newKeyPair(), newKeyPair()]
    const { id } = await admin.call(addMachineAgentCredential, {
      machine_agent_id: agent.id,
      public_key: one.jwk,
    })
    const asked = { credential_id: id, public_key: two.jwk }
    expect(await rotate(asked)).toMatchObject({ kind: 'public_key', secret: null })
    for (const key of [one, two])
      expect((await askForToken(system, await assertionOf(system, agent.client_id, key))).status).toBe(200)
    expect(await codeOf(rotate({ public_key: two.jwk }))).toBe('INVALID_REQUEST')
    const another = (await listed()).find((each) => each.kind === 'public_key' && each.replaced_by === null)!
    expect(await codeOf(rotate({ credential_id: another.id }))).toBe('INVALID_REQUEST')
    expect(await codeOf(rotate({ credential_id: another.id, public_key: two.jwk }))).toBe('CONFLICT')
  })

  test('rotated again has no third value; the one that was rotated out is not rotated', async () => {
    const second = await rotate()
    expect(await codeOf(rotate())).toBe('CONFLICT')
    const third = await rotate({ credential_id: second.id, overlap_hours: 0 })
    expect([
      await statusOf(agent.secret),
      await statusOf(second.secret),
      await statusOf(third.secret),
    ]).toEqual([401, 401, 200])
    // It counts once, however often it was rotated.
    expect(await codeOf(admin.call(addMachineAgentCredential, { machine_agent_id: agent.id }))).toBe('done')
    expect(await codeOf(rotate({ credential_id: third.id }))).toBe('done')
  })

  test.each(['old', 'new'])('ends both when the %s one is revoked, and no other', async (which) => {
    const kept = await admin.call(addMachineAgentCredential, { machine_agent_id: agent.id })
    const rotated = await rotate()
    const credential_id = which === 'old' ? agent.credentials[0]!.id : rotated.id
    await admin.call(revokeMachineAgentCredential, { machine_agent_id: agent.id, credential_id })
    expect([
      await statusOf(agent.secret),
      await statusOf(rotated.secret),
      await statusOf(kept.secret),
    ]).toEqual([401, 401, 200])
  })

  test('revoked after its time, leaves the new one', async () => {
    const rotated = await rotate({ overlap_hours: 1 })
    later(1)
    await codeOf(
      org.owner.call(revokeMachineAgentCredential, {
        machine_agent_id: agent.id,
        credential_id: agent.credentials[0]!.id,
      }),
    )
    expect(await statusOf(rotated.secret)).toBe(200)
  })

  test('ends with whoever has its value: the old one with its maker, the new one with who rotated it', async () => {
    const [maker, rotator] = [await makeMember(system, org, 'admin'), await makeMember(system, org, 'admin')]
    agent = await makeMachineAgent(maker, { owner_id: org.owner.userId })
    const rotated = await rotate({}, rotator)
    await org.owner.call(removeMember, { org_id: org.id, user_id: maker.userId })
    expect([await statusOf(agent.secret), await statusOf(rotated.secret)]).toEqual([401, 200])
    await org.owner.call(removeMember, { org_id: org.id, user_id: rotator.userId })
    expect(await statusOf(rotated.secret)).toBe(401)
  })

  test('keeps its expiry, which also ends an overlap', async () => {
    const one = await makeApiToken(system, org, admin, { expires_in_days: 1 })
    const made = await one.call(addMachineAgentCredential, { machine_agent_id: agent.id })
    const rotated = await rotate({ credential_id: made.id, overlap_hours: 168 }, one)
    const ends = (await listed()).filter(({ id }) => [made.id, rotated.id].includes(id))
    expect(ends.map(({ expires_at }) => hoursTo(expires_at))).toEqual([24, 24])
  })

  test('is rotated by whoever may add one, and with no token but one that made it', async () => {
    const [one, two] = [await makeApiToken(system, org, admin), await makeApiToken(system, org, admin)]
    expect(await codeOf(rotate({}, one))).toBe('FORBIDDEN')
    const made = await one.call(addMachineAgentCredential, { machine_agent_id: agent.id })
    const asked = { credential_id: made.id }
    expect(await codeOf(rotate(asked, two))).toBe('FORBIDDEN')
    const rotated = await rotate(asked, one)
    expect(rotated.expires_at).toBe(made.expires_at)
    await admin.call(revokeApiToken, { token_id: one.id })
    expect([await statusOf(made.secret), await statusOf(rotated.secret)]).toEqual([401, 401])
    for (const by of [await makeMember(system, org, 'developer'), other.owner])
      expect(await codeOf(rotate({}, by))).toBe('NOT_FOUND')
  })
})
