/** Rights that end: with the membership, with the role, with the token they were made with; and none comes back. */
import { and, eq, isNull, sql } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { connect, setConfirmation, type Connection, type Server } from '../../db/connect.ts'
import { DatabaseAway } from '../../db/database-away.ts'
import {
  apiTokens,
  appMembers,
  appTokens,
  identities,
  integrations,
  invitations,
  memberships,
  messages,
  messageTargets,
  oauthArtifacts,
  organizationDomains,
  outbox,
  sessions,
} from '../../db/schema.ts'
import { createAppToken, revokeAppToken, rotateAppToken } from '../../src/contracts/app-tokens.ts'
import {
  createApp,
  listApps,
  removeAppMember,
  renameApp,
  setAppMember,
  showApp,
} from '../../src/contracts/apps.ts'
import { createCheck } from '../../src/contracts/checks.ts'
import { setDataSourceExposure, showDataSource } from '../../src/contracts/data-sources.ts'
import type { NarrowedKind } from '../../src/contracts/endings.ts'
import { blockOauthClient } from '../../src/contracts/grants.ts'
import { addGroupMember, createGroup, showGroup } from '../../src/contracts/groups.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { SESSION_ROTATION_GRACE_SECONDS } from '../../src/contracts/limits.ts'
import { listLogs } from '../../src/contracts/logs.ts'
import {
  acceptInvitation,
  changeMemberRole,
  inviteMember,
  listInvitations,
  removeMember,
  revokeInvitation,
} from '../../src/contracts/members.ts'
import {
  createOrganization,
  setOrganizationDomains,
  showOrganization,
  updateOrganization,
} from '../../src/contracts/organizations.ts'
import {
  changePassword,
  sendEmailVerification,
  showProfile,
  updateProfile,
  whoAmI,
} from '../../src/contracts/people.ts'
import {
  listSessions,
  rotateSession,
  signInWithPassword,
  signOut,
  signOutEverywhere,
} from '../../src/contracts/sessions.ts'
import { endSupportSession, startSupportSession } from '../../src/contracts/support.ts'
import { createTicket, listTickets } from '../../src/contracts/tickets.ts'
import { createApiToken, revokeApiToken, rotateApiToken, validateToken } from '../../src/contracts/tokens.ts'
import {
  endLost,
  keepUnsettledEndings,
  watchTimeline,
  type Ending,
  type EndingsJournal,
} from '../../src/cores/endings/index.ts'
import { addEndingKeeper, endingKeepersOf } from '../../src/cores/record-ending.ts'
import { localDirectory, rememberValidation, validatedDirectory } from '../../src/cores/directory/index.ts'
import { signInWithProvider } from '../../src/cores/identity/index.ts'
import {
  newAssistant,
  preRegistered,
  startListeningSystem,
  whoami,
  type ListeningSystem,
} from '../support/assistant.ts'
import { askCli, signInCli } from '../support/cli-login.ts'
import { insertSource } from '../support/data-sources.ts'
import { watchStatements } from '../support/crossing-statements.ts'
import { newDatabase, testDatabase, type TestDatabase } from '../support/database.ts'
import { hasOneConnection } from '../support/left-out.ts'
import { basic, comesIn, makeMachineAgent } from '../support/machine-agents.ts'
import {
  makeApiToken,
  makeMember,
  makeOrganization,
  makePerson,
  PASSWORD,
  unique,
  type Org,
  type Person,
} from '../support/make.ts'
import { expectStaysLess, NARROWINGS, removedGroup } from '../support/narrowings.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'
import { TABLE_ENDINGS, type EndingTable } from '../support/table-endings.ts'
import { newWalker, personIn, signInOnPage } from '../support/walker.ts'

let system: ListeningSystem
let org: Org
/** Of another organization, where the same people may be, too. */
let other: Org

beforeAll(async () => {
  const env = { SVC_SERVICES: 'api-gateway,auth-service,deploy-api,mcp-server' }
  // More connections than usual: below, all writes that grant something wait for one removal, and hold theirs.
  const { url } = await testDatabase()
  const connection = url === undefined ? undefined : watchStatements(await connect({ url }, { poolSize: 40 }))
  system = await startListeningSystem(env, connection && { connection })
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
})
afterAll(() => system.stop())

const works = (attempt: Promise<unknown>): Promise<boolean> =>
  attempt.then(
    () => true,
    () => false,
  )
const outcome = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'done',
    (error: { code?: string }) => error.code ?? 'no code',
  )
const secretOf = (invited: { invitation_url?: string | undefined }) =>
  invited.invitation_url!.split('/').at(-1)!
const invite = (by: Person, email = `${unique('new')}@people.test`, role: 'viewer' | 'admin' = 'viewer') =>
  by.call(inviteMember, { org_id: org.id, email, role })
const remove = (person: Person, by = org.owner, from = org) =>
  by.call(removeMember, { org_id: from.id, user_id: person.userId })
/** By hand: somebody invites them, and they accept. */
const comeBack = async (person: Person, role: 'viewer' | 'admin' = 'admin') =>
  person.call(acceptInvitation, { token: secretOf(await invite(org.owner, person.email, role)) })

/** For each table that ends: makes a row for a person, and asks afterwards whether it still opens anything. */
const MAKE: Record<EndingTable, (person: Person) => Promise<() => Promise<boolean>>> = {
  async memberships({ userId }) {
    const mine = and(eq(memberships.orgId, org.id), eq(memberships.userId, userId))
    const [row] = await system.db.select().from(memberships).where(mine)
    return async () =>
      (await system.db.select().from(memberships).where(eq(memberships.id, row!.id))).length > 0
  },
  async api_tokens(person) {
    const { call } = await makeApiToken(system, org, person)
    return () => works(call(whoAmI, {}))
  },
  async machine_agents(person) {
    const agent = await makeMachineAgent(org.owner, { owner_id: person.userId })
    return async () => (await comesIn(system, basic(agent))).status === 200
  },
  async platform_access_grants(person) {
    const { access } = await newAssistant(system, await preRegistered(system)).connect(person)
    return async () => (await whoami(system, access)).status === 200
  },
  async oauth_artifacts(person) {
    const assistant = newAssistant(system, await preRegistered(system))
    const { grantId, refresh } = await assistant.connect(person)
    const rows = () => system.db.select().from(oauthArtifacts).where(eq(oauthArtifacts.grantId, grantId))
    expect(await rows()).not.toEqual([])
    let isEnded = false
    return async () => {
      // Refreshing a live one would change it, so that is asked only where the rows are gone.
      isEnded ||= (await rows()).length === 0
      return !isEnded || (await assistant.refresh(refresh)).status === 200
    }
  },
  async invitations(person) {
    const token = secretOf(await invite(person))
    const toThem = secretOf(await invite(org.owner, person.email).catch(() => invite(person)))
    const isOpen = async (secret: string) => (await system.fetch(`/auth/invitation/${secret}`)).status === 200
    return async () => (await isOpen(token)) || (await isOpen(toThem))
  },
  async group_members(person) {
    const { call } = await makeApiToken(system, org, org.owner)
    const { id: group_id } = await call(createGroup, { name: unique('group') })
    await call(addGroupMember, { group_id, member_id: person.userId })
    return async () => (await call(showGroup, { group_id })).members.length > 0
  },
  async app_members(person) {
    const alias = unique('app')
    await person.call(createApp, { alias, name: 'Shop' })
    const { call } = await makeApiToken(system, org, org.owner)
    return async () => (await call(showApp, { alias })).members.length > 0
  },
}

describe('every table is declared, and what is declared to end with a membership ends', () => {
  test('the tables are those of the database', async () => {
    const { sql } = await testDatabase()
    const tables = await sql.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
         and (not relispartition or pg_get_expr(relpartbound, oid) = 'DEFAULT')`,
    )
    expect(tables.map(({ name }) => name).toSorted()).toEqual(Object.keys(TABLE_ENDINGS).toSorted())
  })

  test.each(['is removed', 'leaves'])('when somebody %s, and nothing comes back with them', async (how) => {
    const person = await makeMember(system, org, 'owner')
    const rows = Object.entries(MAKE) as [EndingTable, (typeof MAKE)[EndingTable]][]
    const asks: [string, () => Promise<boolean>][] = []
    for (const [table, make] of rows) asks.push([table, await make(person)])
    const alive = async () => {
      const found: string[] = []
      for (const [table, isAlive] of asks) if (await isAlive()) found.push(table)
      return found
    }
    expect(await alive()).toEqual(rows.map(([table]) => table))
    await remove(person, how === 'leaves' ? person : org.owner)
    expect(await alive()).toEqual([])
    await comeBack(person)
    expect(await person.call(whoAmI, {})).toMatchObject({ organization: { id: org.id }, role: 'admin' })
    expect(await alive()).toEqual([])
  })
})

describe('what became less stays less when the database has lost that, until somebody gives it again', () => {
  const kinds = Object.keys(NARROWINGS) as (keyof typeof NARROWINGS)[]

  test.each(kinds)('%s', (kind) => expectStaysLess(system, kind, NARROWINGS[kind]))

  test('a group that was removed', () => expectStaysLess(system, 'group', removedGroup))

  const endAgain = (kind: NarrowedKind, id: string, to: Record<string, string>) =>
    endLost({ db: system.db, clock: () => system.clock.now() }, [
      { kind, id, orgId: org.id, to: { ...to, version: '7' } },
    ])

  test('a group whose new name another one has by then has neither', async () => {
    const [before, taken] = [unique('group'), unique('group')]
    const make = (name: string, by: Org = org) => by.owner.call(createGroup, { name })
    const [group, another] = [await make(before), await make(taken.toUpperCase())]
    const theirs = await make(before, other)
    expect(await endAgain('group', group.id, { name: taken })).toBe(1)
    const nameOf = async ({ id }: { id: string }, by: Org = org) =>
      (await by.owner.call(showGroup, { group_id: id })).name
    expect([await nameOf(group), await nameOf(another), await nameOf(theirs, other)]).toEqual([
      group.id,
      taken.toUpperCase(),
      before,
    ])
  })

  test('an integration that was paused holds nothing any more, so that what waits for it is dropped', async () => {
    const held = new Date('9999-01-01T00:00:00Z')
    const [mine, theirs] = await Promise.all(
      [org, other].map(async ({ id: orgId }) => {
        const createdAt = system.clock.now()
        const id = makeId('int', createdAt.getTime())
        const row = { orgId, id, kind: 'webhook', name: 'Receiver', state: 'paused', config: {} } as const
        await system.db.insert(integrations).values({ ...row, sealed: '', digest: id, createdAt })
        const target = { orgId, target: id, nextAllowedAt: createdAt, heldUntil: held }
        await system.db.insert(messageTargets).values(target)
        const message = {
          orgId,
          id: makeId('msg', createdAt.getTime()),
          target: id,
          channel: 'webhook',
        } as const
        await system.db.insert(messages).values({ ...message, state: 'pending', nextAt: held, createdAt })
        return { id, message: message.id }
      }),
    )
    expect(await endAgain('integration', mine!.id, {})).toBe(1)
    expect(await endAgain('integration', theirs!.id, {})).toBe(0)
    const stateOf = async ({ id, message }: { id: string; message: string }) => {
      const [integration] = await system.db.select().from(integrations).where(eq(integrations.id, id))
      const [target] = await system.db.select().from(messageTargets).where(eq(messageTargets.target, id))
      const [waiting] = await system.db.select().from(messages).where(eq(messages.id, message))
      return [integration!.state, target!.heldUntil, waiting!.nextAt < held]
    }
    expect([await stateOf(mine!), await stateOf(theirs!)]).toEqual([
      ['off', null, true],
      ['paused', held, false],
    ])
  })

  test('each of the settings that give others a right, and none that was off before', async () => {
    const most = {
      agents_enabled: true,
      registered_clients: 'allowed',
      admins_may_invite: true,
      support_access_enabled: true,
    } as const
    const all = {
      agentsEnabled: 'true',
      registeredClients: 'allowed',
      adminsMayInvite: 'true',
      supportAccessEnabled: 'true',
    }
    const off = {
      agentsEnabled: ['agents_enabled', false],
      registeredClients: ['registered_clients', 'refused'],
      adminsMayInvite: ['admins_may_invite', false],
      supportAccessEnabled: ['support_access_enabled', false],
    } as const
    for (const [name, [shown, value]] of Object.entries(off)) {
      const own = await makeOrganization(system)
      await own.owner.call(updateOrganization, { org_id: own.id, ...most })
      await system.db.execute(
        sql`delete from installation_facts where name like ${`right:organization:%${own.id}%`}`,
      )
      const to = { ...all, [name]: String(value === 'refused' ? value : false), version: '7' }
      const narrowed = { kind: 'organization' as const, id: own.id, orgId: own.id, to }
      expect(await endLost({ db: system.db, clock: () => system.clock.now() }, [narrowed])).toBe(1)
      const after = await own.owner.call(showOrganization, { org_id: own.id })
      expect(after).toMatchObject({ ...most, [shown]: value })
    }
  })

  test('a data source that has lost its whole configuration is hidden', async () => {
    const exposed = { enabled: true, exposed: true }
    const [mine, theirs] = [
      await insertSource(system, org, exposed),
      await insertSource(system, other, exposed),
    ]
    expect(await endAgain('data_source_access', mine.id, { column: 'seen_by' })).toBe(1)
    // It is not one of this organization.
    expect(await endAgain('data_source_access', theirs.id, { column: 'seen_by' })).toBe(0)
    const isExposed = async (by: Org, { id }: { id: string }) =>
      (await by.owner.call(showDataSource, { source_id: id })).exposed
    expect([await isExposed(org, mine), await isExposed(other, theirs)]).toEqual([false, true])
  })
})

describe('what is ended by hand', () => {
  /** What ended meanwhile, as whoever keeps endings is told. */
  async function endedBy(work: () => Promise<unknown>): Promise<readonly Ending[]> {
    const kept: Ending[] = []
    const leave = addEndingKeeper(system.ownDb, {
      async committing(endings) {
        kept.push(...endings)
        return async () => {}
      },
    })
    await work().finally(leave)
    return kept
  }
  const told = async (work: () => Promise<unknown>, kept: Ending[] = []) => {
    const endings = await endedBy(work)
    kept.push(...endings)
    return endings.map(({ kind, id, orgId }) => ({ kind, id, orgId }))
  }
  const clock = () => system.clock.now()
  const change = (from: string, to: string) => ({ current_password: from, new_password: to })

  test('is told: sessions, which are their people’s', async () => {
    const [person, browser] = [await makeMember(system, org, 'viewer'), newWalker(system)]
    await signInOnPage(browser, person.email)
    const { session_id: inBrowser } = await (await personIn(system, browser))!.call(whoAmI, {})
    // Another sign-in in the same browser takes its place.
    const again = () => signInOnPage(browser, person.email, '/auth/sign-in?prompt=login')
    expect(await told(again)).toMatchObject([{ kind: 'session', id: inBrowser }])
    const { session_id: id } = await person.call(whoAmI, {})
    const out = () => person.call(signOut, { session_id: id! })
    expect(await told(out)).toMatchObject([{ kind: 'session', id }])
    const replayed = await makeMember(system, org, 'viewer')
    const { session_id } = await replayed.call(whoAmI, {})
    await replayed.call(rotateSession, {})
    const before = new Date(clock().getTime() - SESSION_ROTATION_GRACE_SECONDS * 1000)
    await system.db.update(sessions).set({ rotatedAt: before }).where(eq(sessions.id, session_id!))
    const replay = async () => expect(await works(replayed.call(whoAmI, {}))).toBe(false)
    expect(await told(replay)).toMatchObject([{ kind: 'session', id: session_id }])
    const login = await signInCli(system, org, await makeMember(system, org, 'viewer'))
    const { cli_session_id } = await login.call(whoAmI, {})
    const logout = () => askCli(system, 'revoke', { token: login.refresh })
    expect(await told(logout)).toMatchObject([{ kind: 'session', id: cli_session_id }])
  })

  test('is told, and not done again while the database knows it: invitations, tokens of apps, support sessions', async () => {
    const kept: Ending[] = []
    const invited = [await invite(org.owner), await invite(org.owner)] as const
    const revoke = { org_id: org.id, invitation_id: invited[0].id }
    expect(await told(() => org.owner.call(revokeInvitation, revoke), kept)).toEqual([
      { kind: 'invitation', id: invited[0].id, orgId: org.id },
    ])
    expect(await told(() => invite(org.owner, invited[1].email), kept)).toEqual([
      { kind: 'invitation', id: invited[1].id, orgId: org.id },
    ])
    const alias = unique('app')
    await org.owner.call(createApp, { alias, name: 'Shop' })
    const token = await org.owner.call(createAppToken, { alias, name: 'collector', scope: 'apps:report' })
    const over = { alias, token_id: token.id }
    for (const kind of ['app_token_rotated', 'app_token'])
      expect(
        await told(() => org.owner.call(kind === 'app_token' ? revokeAppToken : rotateAppToken, over), kept),
      ).toEqual([{ kind, id: token.id, orgId: org.id }])
    const { id } = await system.as({ token: OPERATOR_TOKEN })(startSupportSession, {
      org: org.id,
      staff_email: (await makePerson(system)).email,
      reason: 'Ticket 4711',
    })
    expect(await told(() => org.owner.call(endSupportSession, { support_session_id: id }), kept)).toEqual([
      { kind: 'support_session', id, orgId: org.id },
    ])
    expect(kept).toHaveLength(5)
    expect(await endLost({ db: system.db, clock }, kept)).toBe(0)
  })

  test('is not done over what came after it: a password that was changed again stays', async () => {
    const person = await makePerson(system)
    const first = await endedBy(() => person.call(changePassword, change(PASSWORD, 'the second password')))
    await person.call(changePassword, change('the second password', 'and the third password'))
    expect(await endLost({ db: system.db, clock }, first)).toBe(0)
    const enter = (password: string) =>
      works(system.as()(signInWithPassword, { email: person.email, password }))
    expect([await enter('the second password'), await enter('and the third password')]).toEqual([false, true])
  })

  test('is done again however many there are, and each of them', async () => {
    const tokens = [await makeApiToken(system, org, org.owner), await makeApiToken(system, org, org.owner)]
    const unknown = Array.from({ length: 199 }, () => makeId('tok', 0))
    const ids = [...unknown, ...tokens.map(({ id }) => id)]
    const all = ids.map((id) => ({ kind: 'api_token' as const, id, orgId: org.id }))
    expect(await endLost({ db: system.db, clock }, all)).toBe(2)
    for (const { call } of tokens) expect(await works(call(whoAmI, {}))).toBe(false)
  })

  test('is done again where the database has lost it: sessions, members, machine agents and their secrets', async () => {
    const again = (...lost: Ending[]) => endLost({ db: system.db, clock }, lost)
    const [person, colleague] = [
      await makeMember(system, org, 'viewer'),
      await makeMember(system, org, 'viewer'),
    ]
    const { session_id } = await person.call(whoAmI, {})
    expect(await again({ kind: 'session', id: session_id!, orgId: null })).toBe(1)
    expect([await works(person.call(whoAmI, {})), await works(colleague.call(whoAmI, {}))]).toEqual([
      false,
      true,
    ])

    const isTheirs = and(eq(memberships.orgId, org.id), eq(memberships.userId, colleague.userId))
    const [{ id } = { id: '' }] = await system.db.select().from(memberships).where(isTheirs)
    const token = await makeApiToken(system, org, colleague)
    const isIn = () => works(colleague.call(showOrganization, { org_id: org.id }))
    // It is not one of that organization.
    await again({ kind: 'membership', id, orgId: other.id })
    expect(await isIn()).toBe(true)
    await again({ kind: 'membership', id, orgId: org.id })
    expect([await isIn(), await works(token.call(whoAmI, {}))]).toEqual([false, false])

    const [agent, rotated, kept] = [
      await makeMachineAgent(org.owner),
      await makeMachineAgent(org.owner),
      await makeMachineAgent(org.owner),
    ]
    const statusOf = async (one: typeof agent) => (await comesIn(system, basic(one))).status
    const expiry = (seconds: number): Ending => {
      const expiresAt = new Date(clock().getTime() + seconds * 1000).toISOString()
      const { id: credential } = rotated.credentials[0]!
      return { kind: 'machine_credential_rotated', id: credential, orgId: org.id, to: { expiresAt } }
    }
    expect([await again(expiry(60)), await statusOf(rotated)]).toEqual([1, 200])
    // No longer than it has by then.
    expect([await again(expiry(120)), await statusOf(rotated)]).toEqual([0, 200])
    expect(await again(expiry(-1))).toBeGreaterThan(0)
    expect(await statusOf(rotated)).toBe(401)
    expect(await again({ kind: 'machine_agent', id: agent.id, orgId: org.id })).toBeGreaterThan(0)
    expect([await statusOf(agent), await statusOf(kept)]).toEqual([401, 200])
  })

  /** With a revoked credential another grant took its place, for those that were left. */
  test('is not done again to a grant that ended with a credential: the credential ends', async () => {
    const agent = await makeMachineAgent(org.owner)
    const grant = { kind: 'grant' as const, id: agent.grant_id!, orgId: org.id }
    expect(
      await endLost({ db: system.db, clock }, [{ ...grant, to: { reason: 'credential_revoked' } }]),
    ).toBe(0)
    expect((await comesIn(system, basic(agent))).status).toBe(200)
    expect(await endLost({ db: system.db, clock }, [{ ...grant, to: { reason: 'revoked' } }])).toBe(1)
    expect((await comesIn(system, basic(agent))).status).not.toBe(200)
  })

  test('is told as an event each time, also of somebody who came back', async () => {
    const person = await makeMember(system, org, 'viewer')
    await remove(person)
    await comeBack(person)
    await remove(person)
    const isTheirs = and(eq(outbox.orgId, org.id), eq(outbox.subject, `members/${person.userId}`))
    const rows = await system.db.select().from(outbox).where(isTheirs)
    expect(rows.map(({ type }) => type)).toEqual(['org.member.removed', 'org.member.removed'])
    expect(new Set(rows.map(({ dedupKey }) => dedupKey)).size).toBe(2)
  })
})

test('a lowered person keeps the credentials of machine agents that they could still make, and no others', async () => {
  const [boss, admin] = [await makeMember(system, org, 'owner'), await makeMember(system, org, 'admin')]
  const owner_id = org.owner.userId
  const sensitive = await makeMachineAgent(boss, {
    owner_id,
    role: 'developer',
    scopes: ['data:read', 'maintenance:admin'],
  })
  const [high, low] = [
    await makeMachineAgent(admin, { owner_id, role: 'admin' }),
    await makeMachineAgent(admin, { owner_id, role: 'developer' }),
  ]
  const [{ userId: bossId }, { userId: adminId }] = [boss, admin]
  await org.owner.call(changeMemberRole, { org_id: org.id, user_id: bossId, role: 'admin' })
  await org.owner.call(changeMemberRole, { org_id: org.id, user_id: adminId, role: 'developer' })
  const isIn = async (agent: typeof high) => (await comesIn(system, basic(agent))).status === 200
  expect([await isIn(sensitive), await isIn(high), await isIn(low)]).toEqual([false, false, true])
})

describe('endings of which nobody knows whether they are done', () => {
  test('are done although one of them cannot be: that one is named, and is not waited for without end', async () => {
    const tokens = await Promise.all([org, other].map((of) => makeApiToken(system, of, of.owner)))
    // Its keepers are its own.
    const db = Object.create(system.db) as typeof system.db
    const warned: { event: string; fields: Record<string, unknown> | undefined }[] = []
    const unsettled = keepUnsettledEndings({
      db,
      clock: () => system.clock.now(),
      log: { warn: (event, fields) => void warned.push({ event, fields }) },
      holdMs: 0,
    })
    onTestFinished(() => unsettled.close())
    const unknown = (endings: readonly Ending[]) => {
      for (const keeper of endingKeepersOf(db)) keeper.unknown?.(endings, false)
    }
    const impossible: Ending = { kind: 'password', orgId: null, id: 'usr_nobody' }
    unknown([impossible, { kind: 'api_token', orgId: org.id, id: tokens[0]!.id }])
    expect(unsettled.untilEnded()).toBeInstanceOf(Promise)
    await expect.poll(() => outcome(tokens[0]!.call(whoAmI, {}))).toBe('UNAUTHENTICATED')
    expect(await outcome(tokens[1]!.call(whoAmI, {}))).toBe('done')
    await expect.poll(() => unsettled.untilEnded(), { timeout: 10_000 }).toBeUndefined()
    const ofImpossible = () => warned.filter(({ fields }) => fields?.['id'] === 'usr_nobody')
    expect(ofImpossible().map(({ event }) => event)).toEqual([
      expect.stringContaining('cannot be done again yet'),
      expect.stringContaining('not waited for any more'),
    ])
    // Another one does not wait until that is tried again.
    unknown([{ kind: 'api_token', orgId: other.id, id: tokens[1]!.id }])
    await expect.poll(() => outcome(tokens[1]!.call(whoAmI, {}))).toBe('UNAUTHENTICATED')
    expect(ofImpossible()).toHaveLength(2)
  })

  test('are waited for again when the server is lost that was to confirm them', async () => {
    const db = Object.create(system.db) as typeof system.db
    setConfirmation(db, () => Promise.reject(new DatabaseAway()))
    const unsettled = keepUnsettledEndings({ db, clock: () => system.clock.now(), log: { warn: () => {} } })
    onTestFinished(() => unsettled.close())
    const isWaitedFor = () => {
      const ended = unsettled.untilEnded()
      void ended?.catch(() => {})
      return ended !== undefined
    }
    // One that cannot be done again.
    const ending: Ending = { kind: 'password', orgId: null, id: 'usr_nobody' }
    for (const keeper of endingKeepersOf(db)) keeper.unknown?.([ending], true)
    expect(isWaitedFor()).toBe(false)
    await expect.poll(isWaitedFor).toBe(true)
  })
})

// The embedded database has neither standbys nor poolers.
describe.skipIf(inject('engine') === 'pglite')('processes that watch for a database that was lost', () => {
  let own: TestDatabase
  beforeAll(async () => void (own = await newDatabase()))
  afterAll(() => own?.close())
  const clock = () => system.clock.now()
  const log = { warn: () => {} }
  const journalAt = (id: string): EndingsJournal => ({
    id,
    keep: async () => async () => {},
    read: async () => [],
    sweep: async () => {},
    close: async () => {},
  })

  test('promise what every one of them does', async () => {
    const start = async (journal?: EndingsJournal) => {
      const connection = { db: own.db, server: own.server! }
      const watch = await watchTimeline({ connection, clock, log, journal })
      onTestFinished(() => watch.close())
      return watch
    }
    const first = await start(journalAt('one'))
    await start(journalAt('one'))
    expect(await first.promise()).toBe('shared journal')
    await start(journalAt('another'))
    expect(await first.promise()).toBe('own journals')
    const without = await start()
    expect(await first.promise()).toBe('nothing')
    await without.close()
    expect(await first.promise()).toBe('own journals')
  })

  test('behind a pooler, where another server comes without a new session, send nothing from the moment it is noticed until what was lost is ended again', async () => {
    for (const id of ['atk_lost', 'atk_living'])
      await own.db.insert(appTokens).values({
        orgId: `org_of_${id}`,
        id,
        appId: 'app_one',
        name: 'collector',
        scope: 'apps:report',
        secretHash: id,
        startsWith: 'svca_',
        createdBy: 'usr_one',
        createdByName: 'Somebody',
        createdAt: clock(),
        fullUntil: clock(),
      })
    const entries = Promise.withResolvers<readonly Ending[]>()
    let reads = 0
    const journal: EndingsJournal = {
      ...journalAt('journal'),
      // At the start there is nothing.
      read: () => (reads++ === 0 ? Promise.resolve([]) : entries.promise),
    }
    const held: Promise<void>[] = []
    const server: Server = {
      ...own.server!,
      isPooled: true,
      hold(until) {
        held.push(until)
        own.server!.hold(until)
      },
    }
    const watch = await watchTimeline({
      connection: { db: own.db, server },
      clock,
      log,
      journal,
      beatMs: 50,
    })
    onTestFinished(() => watch.close())
    const beat = `(value ->> 'beat')::int`
    const beats = () =>
      own.sql.query<{ n: number }>(
        `select ${beat} as n from installation_facts where name = 'database_timeline'`,
      )
    await expect.poll(async () => (await beats())[0]!.n).toBeGreaterThan(3)
    const before = held.length
    // A copy of before: what the process knows of it was later.
    await server.aside(({ sql: copy }) =>
      copy.query(
        `update installation_facts set value = jsonb_set(value, '{beat}', '1') where name = 'database_timeline'`,
      ),
    )
    await expect.poll(() => held.length).toBe(before + 1)
    let isAnswered = false
    const asked = own.sql
      .query<{ id: string }>('select id from app_tokens where revoked_at is null')
      .finally(() => (isAnswered = true))
    await server.aside(({ sql: other }) => other.query('select 1'))
    expect(isAnswered).toBe(false)
    entries.resolve([{ kind: 'app_token', orgId: 'org_of_atk_lost', id: 'atk_lost' }])
    expect(await asked).toEqual([{ id: 'atk_living' }])
    await held.at(-1)
  })
})

describe('an invitation', () => {
  test('to somebody who is removed meanwhile does not bring them back; a later one does', async () => {
    // Their address was not proven when they were invited a second time.
    const person = await makePerson(system, { verified: false })
    await makeMember(system, org, 'viewer', person)
    const earlier = secretOf(await invite(org.owner, person.email, 'admin'))
    await system.db.execute(`update users set email_verified_at = now() where id = '${person.userId}'`)
    await remove(person)
    expect(await outcome(person.call(acceptInvitation, { token: earlier }))).toBe('NOT_FOUND')
    expect((await comeBack(person)).role).toBe('admin')
  })

  test('of one organization outlives a removal from another', async () => {
    const person = await makePerson(system)
    for (const where of [org, other]) await makeMember(system, where, 'owner', person)
    const elsewhere = await person.call(inviteMember, {
      org_id: other.id,
      email: `${unique('new')}@people.test`,
    })
    await remove(person)
    expect((await (await makePerson(system)).call(acceptInvitation, { token: secretOf(elsewhere) })).id).toBe(
      other.id,
    )
  })
})

describe.skipIf(hasOneConnection)('at the same moment', () => {
  let second: Connection
  beforeAll(async () => void (second = await connect({ url: (await testDatabase()).url! }, { poolSize: 1 })))
  afterAll(() => second?.close())

  test('invitations made while their author is removed do not survive', async () => {
    for (let round = 0; round < 10; round++) {
      const author = await makeMember(system, org, 'owner')
      await Promise.allSettled([
        ...Array.from({ length: 3 }, () => invite(author)),
        remove(author),
        ...Array.from({ length: 3 }, () => invite(author)),
      ])
      const open = and(eq(invitations.invitedBy, author.userId), isNull(invitations.revokedAt))
      expect(await system.db.select().from(invitations).where(open)).toEqual([])
    }
  })

  test('a token made with a token that is being revoked does not survive it', async () => {
    for (let round = 0; round < 5; round++) {
      const root = await makeApiToken(system, org, org.owner)
      const { token } = await root.call(createApiToken, { name: 'child' })
      const child = system.as({ token })
      await Promise.allSettled([
        child(createApiToken, { name: 'grandchild' }),
        child(createApiToken, { name: 'grandchild' }),
        org.owner.call(revokeApiToken, { token_id: root.id }),
        child(createApiToken, { name: 'grandchild' }),
        root.call(createApiToken, { name: 'child' }),
      ])
      const live = await system.db
        .select({ name: apiTokens.name })
        .from(apiTokens)
        .where(and(eq(apiTokens.orgId, org.id), isNull(apiTokens.revokedAt)))
      expect(live.filter(({ name }) => name.endsWith('child'))).toEqual([])
    }
  })

  /** What every write that grants something has before its author is removed. */
  async function setUp() {
    const [author, target, guest] = [
      await makeMember(system, org, 'owner'),
      await makeMember(system, org, 'viewer'),
      await makePerson(system),
    ]
    const [alias, client_id] = [unique('app'), unique('client')]
    await author.call(createApp, { alias, name: 'Shop' })
    await author.call(blockOauthClient, { client_id, blocked: true })
    const { id: source_id } = await insertSource(system, org, { enabled: true })
    const invited = secretOf(await invite(author, undefined, 'admin'))
    const token = await makeApiToken(system, org, author)
    return { author, target, guest, alias, client_id, source_id, invited, token }
  }
  type SetUp = Awaited<ReturnType<typeof setUp>>

  const GRANTING: Record<string, (ready: SetUp) => Promise<unknown>> = {
    inviteMember: ({ author }) => invite(author),
    acceptInvitation: ({ guest, invited }) => guest.call(acceptInvitation, { token: invited }),
    changeMemberRole: ({ author, target }) =>
      author.call(changeMemberRole, { org_id: org.id, user_id: target.userId, role: 'owner' }),
    removeMember: ({ author, target }) => remove(target, author),
    createApiToken: ({ author }) => author.call(createApiToken, { name: 'late' }),
    'createApiToken by a token': ({ token }) => token.call(createApiToken, { name: 'late' }),
    rotateApiToken: ({ author, token }) => author.call(rotateApiToken, { token_id: token.id }),
    updateOrganization: ({ author }) =>
      author.call(updateOrganization, { org_id: org.id, admins_may_invite: true }),
    blockOauthClient: ({ author, client_id }) => author.call(blockOauthClient, { client_id, blocked: false }),
    setDataSourceExposure: ({ author, source_id }) =>
      author.call(setDataSourceExposure, { source_id, exposed: true }),
    createApp: ({ author }) => author.call(createApp, { alias: unique('app'), name: 'Late' }),
    setAppMember: ({ author, target, alias }) =>
      author.call(setAppMember, { alias, user_id: target.userId, role: 'maintainer' }),
  }

  /** The removal has begun and is not over: a write that does not ask under a lock would not see it, and be done. */
  test.each(['is removed', 'is lowered'])(
    'whoever %s grants nothing any more: every such write waits',
    async (how) => {
      const ready = await setUp()
      const { userId } = ready.author
      const names = Object.keys(GRANTING)
      let outcomes: Promise<string[]> | undefined
      await second.sql.transaction(async (tx) => {
        const which = `where org_id = '${org.id}' and user_id = '${userId}'`
        await tx.query(
          how === 'is removed'
            ? `delete from memberships ${which}`
            : `update memberships set role = 'member' ${which}`,
        )
        outcomes = Promise.all(names.map((name) => outcome(GRANTING[name]!(ready))))
        await vi.waitFor(
          async () => {
            const [waiting] = await system.db.execute<{ n: number }>(
              "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
            )
            expect(waiting!.n).toBe(names.length)
          },
          { timeout: 5000, interval: 20 },
        )
      })
      const done = (await outcomes!).map((word, at) => [names[at], word])
      // A member of any role may make a token, with their own role, and maintains the app that they made.
      const allowed = ['createApiToken', 'createApiToken by a token', 'rotateApiToken', 'setAppMember']
      const isAllowed = (name: string) => how === 'is lowered' && allowed.includes(name)
      expect(done.filter(([name, word]) => word === 'done' && !isAllowed(name!))).toEqual([])
      if (how === 'is removed') return
      const made = and(eq(apiTokens.userId, userId), eq(apiTokens.name, 'late'))
      const caps = await system.db.select({ cap: apiTokens.roleCap }).from(apiTokens).where(made)
      // Not capped: each acts with the role that its person has at the time.
      expect(caps.map(({ cap }) => cap)).toEqual(['owner', 'owner'])
    },
  )
})

describe('a token made with a token', () => {
  test('ends with it, through all generations, and with no other', async () => {
    const root = await makeApiToken(system, org, org.owner)
    const sibling = await makeApiToken(system, org, org.owner)
    const generations = [root.call]
    for (let n = 0; n < 3; n++) {
      const { token } = await generations.at(-1)!(createApiToken, { name: 'child' })
      generations.push(system.as({ token }))
    }
    for (const call of generations) await call(whoAmI, {})
    await org.owner.call(revokeApiToken, { token_id: root.id })
    expect(await Promise.all(generations.map((call) => outcome(call(whoAmI, {}))))).toEqual(
      Array(4).fill('UNAUTHENTICATED'),
    )
    expect(await outcome(sibling.call(whoAmI, {}))).toBe('done')
  })

  test('has at most its audiences, and unasked just those', async () => {
    const parent = await makeApiToken(system, org, org.owner, { audiences: ['api'] })
    expect((await parent.call(createApiToken, { name: 'child' })).audiences).toEqual(['api'])
    for (const audiences of [['platform'], ['api', 'notifications']] as const) {
      expect(await outcome(parent.call(createApiToken, { name: 'child', audiences: [...audiences] }))).toBe(
        'FORBIDDEN',
      )
    }
    const wide = await makeApiToken(system, org, org.owner)
    const narrow = await wide.call(createApiToken, { name: 'child', audiences: ['platform'] })
    const validate = system.as()
    expect((await validate(validateToken, { token: narrow.token, audience: 'platform' })).audiences).toEqual([
      'platform',
    ])
  })

  test('has no more scopes: a token with scopes makes none', async () => {
    const scoped = await makeApiToken(system, org, org.owner, { scopes: ['data:read'] })
    expect(await outcome(scoped.call(createApiToken, { name: 'child' }))).toBe('FORBIDDEN')
  })
})

const CHECK = { name: 'Home page', definition: { kind: 'http', url: 'https://a.test/' } } as const

describe('a token that is capped to viewing', () => {
  test('has no role on the apps that its person maintains; one for developers has', async () => {
    const person = await makeMember(system, org, 'developer')
    const alias = unique('app')
    await person.call(createApp, { alias, name: 'Shop' })
    await org.owner.call(createTicket, { alias, title: 'Broken', body: 'Badly.' })
    const { call } = await makeApiToken(system, org, person, { role_cap: 'viewer' })
    expect((await call(showApp, { alias })).my_role).toBeNull()
    expect((await call(listApps, { search: alias })).apps).toMatchObject([{ my_role: null, open_tickets: 0 }])
    expect((await call(listApps, { search: alias, mine: 'true' })).apps).toEqual([])
    expect((await call(listTickets, { alias })).tickets).toEqual([])
    const { userId: user_id } = org.owner
    for (const attempt of [
      () => call(renameApp, { alias, name: 'Mine' }),
      () => call(setAppMember, { alias, user_id, role: 'builder' }),
      () => call(removeAppMember, { alias, user_id }),
    ]) {
      expect(await outcome(attempt())).toBe('FORBIDDEN')
    }
    const developer = await makeApiToken(system, org, person, { role_cap: 'developer' })
    expect((await developer.call(renameApp, { alias, name: 'Store' })).my_role).toBe('maintainer')
  })

  test('gains nothing when its person is lowered to the same role', async () => {
    const person = await makeMember(system, org, 'developer')
    const alias = unique('app')
    await person.call(createApp, { alias, name: 'Shop' })
    const { call } = await makeApiToken(system, org, person, { role_cap: 'viewer' })
    const { userId: user_id } = org.owner
    const attempts = () =>
      Promise.all([
        outcome(call(renameApp, { alias, name: 'Mine' })),
        outcome(call(listLogs, { alias })),
        outcome(call(createCheck, { alias, ...CHECK })),
        outcome(call(setAppMember, { alias, user_id, role: 'maintainer' })),
      ])
    const before = await attempts()
    expect(before).toEqual(['FORBIDDEN', 'FORBIDDEN', 'FORBIDDEN', 'FORBIDDEN'])
    await org.owner.call(changeMemberRole, { org_id: org.id, user_id: person.userId, role: 'viewer' })
    expect(await attempts()).toEqual(before)
    // Their own session keeps what the app gave them.
    expect((await person.call(renameApp, { alias, name: 'Store' })).my_role).toBe('maintainer')
  })

  test('a viewer who builds an app does so by token, too', async () => {
    const person = await makeMember(system, org, 'viewer')
    const alias = unique('app')
    await org.owner.call(createApp, { alias, name: 'Shop' })
    await org.owner.call(setAppMember, { alias, user_id: person.userId, role: 'maintainer' })
    const { call } = await makeApiToken(system, org, person)
    expect((await call(renameApp, { alias, name: 'Store' })).my_role).toBe('maintainer')
  })
})

test('a role on an app is given again to somebody who came back, and then counts', async () => {
  const person = await makeMember(system, org, 'viewer')
  const alias = unique('app')
  const { id } = await org.owner.call(createApp, { alias, name: 'Shop' })
  const put = () => org.owner.call(setAppMember, { alias, user_id: person.userId, role: 'builder' })
  const first = await put()
  await remove(person)
  // Ending access writes nothing to tenant tables.
  const row = and(eq(appMembers.appId, id), eq(appMembers.userId, person.userId))
  expect(await system.db.select().from(appMembers).where(row)).toHaveLength(1)
  await comeBack(person, 'viewer')
  const roles = async () => [
    (await person.call(showApp, { alias })).my_role,
    (await person.call(listApps, { search: alias })).apps[0]!.my_role,
  ]
  expect(await roles()).toEqual([null, null])
  expect(await outcome(person.call(removeAppMember, { alias, user_id: person.userId }))).toBe('NOT_FOUND')
  expect(Date.parse((await put()).added_at)).toBeGreaterThan(Date.parse(first.added_at))
  expect(await roles()).toEqual(['builder', 'builder'])
})

describe('only a signed-in session', () => {
  test.each([
    ['leaves', ({ userId }: Person) => [removeMember, { org_id: org.id, user_id: userId }] as const],
    ['signs out', () => [signOut, { session_id: makeId('ses', 0) }] as const],
    ['signs out everywhere', () => [signOutEverywhere, {}] as const],
    ['rotates a session', () => [rotateSession, {}] as const],
    ['lists sessions', () => [listSessions, {}] as const],
    ['founds an organization', () => [createOrganization, { name: 'Elsewhere' }] as const],
    ['joins another organization', () => [acceptInvitation, { token: 'x'.repeat(43) }] as const],
    ['reads the profile', () => [showProfile, {}] as const],
    ['verifies an address', () => [sendEmailVerification, {}] as const],
    ['changes the name', () => [updateProfile, { name: 'Mallory' }] as const],
    [
      'changes the password',
      () => [changePassword, { current_password: PASSWORD, new_password: 'another few words here' }] as const,
    ],
  ])('%s, never an API token of an owner', async (_what, request) => {
    const person = await makeMember(system, org, 'owner')
    const { call } = await makeApiToken(system, org, person)
    const [operation, input] = request(person)
    await expect(call(operation as typeof signOut, input as never)).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: 'This requires a signed-in session, not an API token',
    })
    expect(await person.call(whoAmI, {})).toMatchObject({ role: 'owner', user: { name: person.name } })
    expect(await works(system.as()(signInWithPassword, { email: person.email, password: PASSWORD }))).toBe(
      true,
    )
  })
})

describe('a removal is remembered', () => {
  const domain = `${unique('corp')}.test`
  const email = () => `${unique('person')}@${domain}`
  beforeAll(() =>
    system.as({ token: OPERATOR_TOKEN })(setOrganizationDomains, { org_id: org.id, domains: [domain] }),
  )
  afterAll(() => system.db.delete(organizationDomains).where(eq(organizationDomains.domain, domain)))

  /** An account at an identity provider, which signs in. */
  const provided = (address: string, { verified = true, subject = unique('sub') } = {}) => {
    const proven = {
      provider: 'google',
      issuer: 'https://accounts.test',
      subject,
      email: address,
      emailVerified: verified,
      name: 'Ada',
    }
    return signInWithProvider(system.system.auth!, proven, { device: 'a test', requestId: 'a test' })
  }
  const signIn = ({ email: address }: Person) =>
    system.as()(signInWithPassword, { email: address, password: PASSWORD })
  const members = async (address: string) => {
    const rows = await system.db.execute<{ id: string }>(
      `select u.id from memberships m join users u on u.id = m.user_id where m.org_id = '${org.id}' and u.email = '${address}'`,
    )
    return rows.map(({ id }) => id)
  }

  test('the domain brings back neither the account nor a second one with the address; others it brings in', async () => {
    const person = await makePerson(system, { email: email() })
    expect(await members(person.email)).toEqual([person.userId])
    await remove(person)
    await signIn(person)
    await provided(person.email)
    await provided(person.email.toUpperCase())
    expect(await members(person.email)).toEqual([])
    const colleague = email()
    await provided(colleague)
    expect(await members(colleague)).toHaveLength(1)
  })

  test.each([true, false])(
    'an address that a provider vouched for is remembered beside the stored one (proven: %s); a claimed one is not',
    async (verified) => {
      const [stored, vouched, claimed] = [email(), email(), email()]
      const subject = unique('sub')
      await provided(stored, { subject, verified })
      // However the provider spells it.
      await provided(vouched.toUpperCase(), { subject })
      const [userId] = await members(stored)
      await provided(claimed, { verified: false })
      const invited = await invite(org.owner, vouched)
      await org.owner.call(removeMember, { org_id: org.id, user_id: userId! })
      const { invitations: open } = await org.owner.call(listInvitations, { org_id: org.id, limit: 200 })
      expect(open.filter(({ id }) => id === invited.id)).toEqual([])
      await provided(vouched)
      expect(await members(vouched)).toEqual([])
      await provided(claimed)
      expect(await members(claimed)).toHaveLength(1)
    },
  )

  /** Whose mailbox an integration writes to. */
  test('and since when; a claimed address is nobody’s, before and after', async () => {
    const directory = localDirectory(() => system.clock.now())
    const [person, address] = [await makeMember(system, org, 'viewer'), email()]
    const holder = (since = new Date(0), where = org) =>
      directory.readAddressHolder(system.db, { orgId: where.id, email: address, since })
    const now = system.clock.now()
    const said = { provider: 'google', issuer: 'https://accounts.test', createdAt: now, lastUsedAt: now }
    const { userId } = person
    const claimed = { ...said, userId, email: address.toUpperCase(), emailVerified: false }
    await system.db.insert(identities).values({ ...claimed, subject: unique('sub') })
    expect(await holder()).toBe('nobody')
    await system.db.update(identities).set({ emailVerified: true }).where(eq(identities.userId, userId))
    expect([await holder(), await holder(undefined, other)]).toEqual(['member', 'nobody'])
    await remove(person)
    const later = new Date(system.clock.now().getTime() + 60_000)
    expect([await holder(), await holder(later)]).toEqual(['former', 'nobody'])
  })

  test('with hosted auth the last validation counts, and for a day', async () => {
    const [now, userId] = [system.clock.now(), makeId('usr', 0)]
    const of = {
      orgId: org.id,
      userId,
      membershipId: 'mem',
      name: 'Ada',
      email: null,
      orgName: 'A',
      timezone: 'UTC',
    }
    const told = { ...of, role: 'viewer' as const, validatedAt: now }
    await rememberValidation(system, told)
    const slow = { ...told, role: 'owner' as const, validatedAt: new Date(now.getTime() - 1000) }
    await rememberValidation(system, slow)
    const roleOf = async (hours: number) => {
      const directory = validatedDirectory(() => new Date(now.getTime() + hours * 60 * 60 * 1000))
      const one = (await directory.readMembers(system.db, [told])).get(`${org.id} ${userId}`)
      const locked = await system.db.transaction((tx) => directory.lockMember(tx, told))
      return [one?.role, one?.isCurrent, locked?.name]
    }
    expect([await roleOf(23), await roleOf(25)]).toEqual([
      ['viewer', true, 'Ada'],
      ['viewer', false, undefined],
    ])
  })

  test('a group names the address of a member only where it is proven', async () => {
    const people = [await makePerson(system), await makePerson(system, { verified: false })] as const
    const { id: group_id } = await org.owner.call(createGroup, { name: unique('group') })
    for (const person of people) {
      await makeMember(system, org, 'viewer', person)
      await org.owner.call(addGroupMember, { group_id, member_id: person.userId })
    }
    const { members: shown } = await org.owner.call(showGroup, { group_id })
    const emails = new Map(shown.map(({ id, email: seen }) => [id, seen]))
    expect(people.map(({ userId }) => emails.get(userId))).toEqual([people[0].email, null])
  })

  test('until somebody invites them by hand', async () => {
    const person = await makePerson(system, { email: email() })
    await remove(person)
    await comeBack(person)
    expect(await members(person.email)).toEqual([person.userId])
    await provided(person.email)
    expect(await members(person.email)).toHaveLength(2)
  })

  test.skipIf(hasOneConnection)('also by whoever signs in at that moment', async () => {
    for (let round = 0; round < 5; round++) {
      const person = await makePerson(system, { email: email() })
      await Promise.all([signIn(person), remove(person), signIn(person), signIn(person)])
      expect(await members(person.email)).toEqual([])
    }
  })
})

test('a lowered owner keeps no invitation; a token rises with them again, up to what it was made with', async () => {
  const person = await makeMember(system, org, 'owner')
  const token = await makeApiToken(system, org, person)
  const capped = await makeApiToken(system, org, person, { role_cap: 'admin' })
  const child = await capped.call(createApiToken, { name: 'child' })
  const roles = () =>
    Promise.all(
      [token.token, capped.token, child.token].map(
        async (each) => (await system.as({ token: each })(whoAmI, {})).role,
      ),
    )
  const invited = await invite(person)
  const set = (role: 'developer' | 'owner') =>
    org.owner.call(changeMemberRole, { org_id: org.id, user_id: person.userId, role })
  expect(await roles()).toEqual(['owner', 'admin', 'admin'])
  await set('developer')
  expect(await roles()).toEqual(['developer', 'developer', 'developer'])
  await set('owner')
  expect(await roles()).toEqual(['owner', 'admin', 'admin'])
  const open = await org.owner.call(listInvitations, { org_id: org.id, limit: 200 })
  expect(open.invitations.map(({ id }) => id)).not.toContain(invited.id)
})
