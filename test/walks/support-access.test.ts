/** Support sessions: started by the operator, an hour at most, seen and ended by the owners, with no more rights than their level. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { appMembers, outbox } from '../../db/schema.ts'
import type { Call } from '../../src/client/http-client.ts'
import { createCheck, listChecks, showCheck } from '../../src/contracts/checks.ts'
import { createApp, listApps, renameApp, showApp } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { showConnectionString } from '../../src/contracts/databases.ts'
import { showIncident } from '../../src/contracts/incidents.ts'
import { listLogGroups, pushLogs } from '../../src/contracts/logs.ts'
import { changeMemberRole, inviteMember, listMembers, removeMember } from '../../src/contracts/members.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import {
  switchOrganization,
  listOrganizations,
  showOrganization,
  updateOrganization,
} from '../../src/contracts/organizations.ts'
import { updateProfile, whoAmI } from '../../src/contracts/people.ts'
import { ROLES } from '../../src/contracts/roles.ts'
import {
  elevateSupportSession,
  endSupportSession,
  listMySupportSessions,
  listSupportSessions,
  startSupportSession,
} from '../../src/contracts/support.ts'
import { createTicket, listTickets, showTicket } from '../../src/contracts/tickets.ts'
import { createApiToken, listApiTokens, validateToken } from '../../src/contracts/tokens.ts'
import { organizationChoices } from '../../oauth/connector/organization-choices.ts'
import { pathFor } from '../support/invalid-request.ts'
import { makeMember, makeOrganization, makePerson, unique, type Org, type Person } from '../support/make.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let operator: Call
let org: Org
let staff: Person
/** The staff person's own organization. */
let home: Org
/** As the member of staff, in the organization of the support session. */
let asStaff: Call

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api' })
  operator = system.as({ token: OPERATOR_TOKEN })
  home = await makeOrganization(system)
  staff = home.owner
})

beforeEach(async () => {
  org = await makeOrganization(system)
  asStaff = system.as({ token: staff.token, organization: org.id })
})

afterAll(() => system.stop())

const reason = 'Ticket 4711: cannot sign in'
const start = (asked: { org?: string; staff_email?: string; minutes?: number } = {}) =>
  operator(startSupportSession, { org: org.id, staff_email: staff.email, reason, ...asked })
const elevate = async () => {
  const { id } = await start()
  await asStaff(elevateSupportSession, { support_session_id: id, reason: 'To repair it' })
  return id
}
const mine = async () =>
  (await staff.call(listMySupportSessions, { limit: 200 })).support_sessions.filter(
    ({ organization }) => organization.id === org.id,
  )
const events = async ({ id } = org) =>
  system.db.select().from(outbox).where(eq(outbox.orgId, id)).orderBy(outbox.occurredAt, outbox.id)
const refused = (code: string) => ({ code })

describe('how a support session starts', () => {
  test('by id or short name of the organization, and as a viewer for an hour', async () => {
    const { id, org_id, level, live, started_at, expires_at } = await start({ org: org.slug, minutes: 60 })
    expect({ org_id, level, live }).toEqual({ org_id: org.id, level: 'viewer', live: true })
    expect(Date.parse(expires_at) - Date.parse(started_at)).toBe(3_600_000)
    expect(await asStaff(whoAmI, {})).toMatchObject({
      organization: { id: org.id },
      role: 'viewer',
      support_session_id: id,
    })
    expect((await asStaff(listMembers, { org_id: org.id })).members).toHaveLength(1)
    expect((await asStaff(showOrganization, { org_id: org.id })).role).toBe('viewer')
  })

  test.each([0, 61, 1.5])('never for %s minutes', async (minutes) => {
    await expect(start({ minutes })).rejects.toMatchObject(refused('INVALID_REQUEST'))
  })

  test('only for an account whose address is verified', async () => {
    const { email } = await makePerson(system, { verified: false })
    for (const staff_email of [email, `${unique('nobody')}@people.test`]) {
      await expect(start({ staff_email })).rejects.toMatchObject(refused('NOT_FOUND'))
    }
  })

  test('not to an organization that does not exist, that is closed, or that one belongs to', async () => {
    await expect(start({ org: unique('org') })).rejects.toMatchObject(refused('NOT_FOUND'))
    await expect(start({ org: home.id })).rejects.toMatchObject(refused('CONFLICT'))
    await start()
    await expect(start()).rejects.toMatchObject(refused('CONFLICT'))
    const closed = await makeOrganization(system)
    await closed.owner.call(updateOrganization, { org_id: closed.id, support_access_enabled: false })
    await expect(start({ org: closed.id })).rejects.toMatchObject(refused('CONFLICT'))
    expect(await events(closed)).toEqual([])
  })

  test('is an event that names the session and the member of staff, nobody’s words', async () => {
    const { id } = await start()
    const [event, ...more] = await events()
    expect(more).toEqual([])
    expect(event).toMatchObject({
      type: 'org.support_access.started',
      subject: `support-sessions/${id}`,
      actorId: staff.userId,
      data: { support_session_id: id },
    })
    expect(JSON.stringify(event)).not.toContain('4711')
  })
})

describe('where it counts', () => {
  test('in the organization that is named, never by default over one’s own, and for nobody else', async () => {
    await start()
    expect((await staff.call(whoAmI, {})).organization?.id).toBe(home.id)
    const own = await system.as({ token: staff.token, organization: home.id })(whoAmI, {})
    expect([own.role, own.support_session_id]).toEqual(['owner', undefined])
    expect((await asStaff(listOrganizations, {})).organizations.map(({ id }) => id)).toEqual([home.id])
    const outsider = await makePerson(system)
    const asOutsider = system.as({ token: outsider.token, organization: org.id })
    expect((await asOutsider(whoAmI, {})).organization).toBeNull()
    await expect(asOutsider(listApps, {})).rejects.toMatchObject(refused('NOT_FOUND'))
  })

  test('somebody without an organization of their own is in none until they name the visited one', async () => {
    const helper = await makePerson(system)
    await start({ staff_email: helper.email })
    expect((await helper.call(whoAmI, {})).organization).toBeNull()
    const there = system.as({ token: helper.token, organization: org.slug })
    expect((await there(whoAmI, {})).role).toBe('viewer')
  })

  test('their API tokens have no support session', async () => {
    await start()
    const { token } = await staff.call(createApiToken, { name: unique('token') })
    const named = await system.as({ token, organization: org.id })(whoAmI, {})
    expect([named.organization, named.support_session_id]).toEqual([null, undefined])
  })

  test('the member of staff finds their sessions; nobody else does', async () => {
    const { id } = await start()
    expect(await mine()).toMatchObject([
      { id, organization: { id: org.id, name: org.name }, level: 'viewer' },
    ])
    expect((await org.owner.call(listMySupportSessions, {})).support_sessions).toEqual([])
  })

  test('staff who become members are members, and no longer in a support session', async () => {
    const helper = await makePerson(system)
    await start({ staff_email: helper.email })
    await makeMember(system, org, 'developer', helper)
    const there = system.as({ token: helper.token, organization: org.id })
    const { role, support_session_id } = await there(whoAmI, {})
    expect([role, support_session_id]).toEqual(['developer', undefined])
  })
})

describe('how it ends, on the very next call', () => {
  const expectOver = async () => {
    expect(await asStaff(whoAmI, {})).toMatchObject({ organization: null, role: null })
    await expect(asStaff(listApps, {})).rejects.toMatchObject(refused('NOT_FOUND'))
    await expect(asStaff(listMembers, { org_id: org.id })).rejects.toMatchObject(refused('NOT_FOUND'))
    expect(await mine()).toEqual([])
  }

  test('by itself', async () => {
    await start({ minutes: 1 })
    system.clock.advance(59)
    expect((await asStaff(whoAmI, {})).role).toBe('viewer')
    system.clock.advance(2)
    await expectOver()
    expect((await org.owner.call(listSupportSessions, {})).support_sessions).toMatchObject([
      { live: false, ended_at: null },
    ])
    // Over is over: they may come again.
    expect(await start()).toMatchObject({ live: true })
    await expect(start()).rejects.toMatchObject(refused('CONFLICT'))
  })

  test('by the member of staff', async () => {
    const { id } = await start()
    await asStaff(endSupportSession, { support_session_id: id })
    await expectOver()
  })

  test('by an owner, once and for all', async () => {
    const { id } = await start()
    await org.owner.call(endSupportSession, { support_session_id: id })
    await expectOver()
    await org.owner.call(endSupportSession, { support_session_id: id })
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, action: 'support.ended' })
    expect(audit).toHaveLength(1)
  })

  test('by turning support access off; turning it on again revives no session', async () => {
    await elevate()
    await org.owner.call(updateOrganization, { org_id: org.id, support_access_enabled: false })
    await expectOver()
    await org.owner.call(updateOrganization, { org_id: org.id, support_access_enabled: true })
    await expectOver()
  })

  test('by nobody else: not by admins, not by other staff, not from another organization', async () => {
    const { id } = await start()
    const admin = await makeMember(system, org, 'admin')
    await expect(admin.call(endSupportSession, { support_session_id: id })).rejects.toMatchObject(
      refused('FORBIDDEN'),
    )
    const another = await makePerson(system)
    await start({ staff_email: another.email })
    await expect(
      system.as({ token: another.token, organization: org.id })(endSupportSession, {
        support_session_id: id,
      }),
    ).rejects.toMatchObject(refused('FORBIDDEN'))
    await expect(home.owner.call(endSupportSession, { support_session_id: id })).rejects.toMatchObject(
      refused('NOT_FOUND'),
    )
    expect((await asStaff(whoAmI, {})).role).toBe('viewer')
  })

  test('starting one and turning access off at the same moment leaves no live session', async () => {
    await Promise.allSettled([
      start(),
      org.owner.call(updateOrganization, { org_id: org.id, support_access_enabled: false }),
    ])
    await expectOver()
  })
})

describe('what it may do', () => {
  test('reads until it is elevated, then acts as an admin, never as an owner', async () => {
    const { id } = await start()
    await org.owner.call(createApp, { alias: 'shop', name: 'Shop' })
    await expect(asStaff(createTicket, { alias: 'shop', title: 'x', body: 'x' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: 'A support session is read-only until it is elevated',
    })
    await expect(asStaff(updateOrganization, { org_id: org.id, name: 'Mine' })).rejects.toMatchObject(
      refused('FORBIDDEN'),
    )
    const elevated = await asStaff(elevateSupportSession, { support_session_id: id, reason: 'To repair it' })
    expect(elevated).toMatchObject({ level: 'admin', elevation_reason: 'To repair it', live: true })
    expect((await asStaff(whoAmI, {})).role).toBe('admin')
    expect((await asStaff(renameApp, { alias: 'shop', name: 'Repaired' })).name).toBe('Repaired')
    await expect(
      asStaff(updateOrganization, { org_id: org.id, admins_may_invite: true }),
    ).rejects.toMatchObject(refused('FORBIDDEN'))
    await expect(
      asStaff(updateOrganization, { org_id: org.id, support_access_enabled: true }),
    ).rejects.toMatchObject(refused('FORBIDDEN'))
  })

  test('the query of an address that is checked stays hidden from it, however high its level', async () => {
    await org.owner.call(createApp, { alias: 'shop', name: 'Shop' })
    const url = 'https://shop.test/health?key=of-the-shop'
    const { id } = await org.owner.call(createCheck, {
      alias: 'shop',
      name: 'health',
      definition: { kind: 'http', url },
    })
    await elevate()
    const check = { alias: 'shop', check_id: id }
    const hidden = 'https://shop.test/health?[hidden]'
    const seen = [await asStaff(showCheck, check), ...(await asStaff(listChecks, { alias: 'shop' })).checks]
    expect(seen.map(({ definition }) => definition)).toMatchObject(seen.map(() => ({ url: hidden })))
    expect((await org.owner.call(showCheck, check)).definition).toMatchObject({ url })
    // Nor is an error of the log there for it, by whatever it is asked for.
    const body = Buffer.from(JSON.stringify({ level: 'error', message: 'of a customer' }))
    await org.owner.call(pushLogs, { alias: 'shop', body })
    const { groups } = await org.owner.call(listLogGroups, { alias: 'shop' })
    const error = { alias: 'shop', incident_id: groups[0]!.id }
    expect((await org.owner.call(showIncident, error)).log).toMatchObject({ count: 1 })
    await expect(asStaff(showIncident, error)).rejects.toMatchObject(refused('NOT_FOUND'))
  })

  test('raising it twice is one event and keeps the first reason', async () => {
    const id = await elevate()
    const again = await asStaff(elevateSupportSession, { support_session_id: id, reason: 'Another one' })
    expect(again.elevation_reason).toBe('To repair it')
    expect((await events()).map(({ type }) => type)).toEqual([
      'org.support_access.started',
      'org.support_access.elevated',
    ])
  })

  test('only its member of staff elevates it', async () => {
    const { id } = await start()
    for (const call of [org.owner.call, home.owner.call]) {
      await expect(
        call(elevateSupportSession, { support_session_id: id, reason: 'To repair it' }),
      ).rejects.toMatchObject(refused('NOT_FOUND'))
    }
  })

  test('at no level what would outlast it or open more than it', async () => {
    const isRole = (who: string) => (ROLES as readonly string[]).includes(who)
    const closed = (OPERATIONS as readonly Operation[]).filter((op) => op.closedToSupport)
    expect(closed.map(({ name }) => name)).toEqual(
      expect.arrayContaining(
        [
          createApiToken,
          showConnectionString,
          changeMemberRole,
          removeMember,
          inviteMember,
          switchOrganization,
        ].map(({ name }) => name),
      ),
    )
    // They change nothing of an app that would outlast them, make no app tokens, and read neither source nor logs.
    const ofApps = [
      'createAppToken',
      'rotateAppToken',
      'revokeAppToken',
      'bindServiceAccount',
      'unbindServiceAccount',
      'pushRevision',
      'uploadFiles',
      'createRevision',
      'createDeployment',
      'rollBackDeployment',
      'claimDeployment',
      'readDeploymentOutput',
      'cancelDeployment',
      'confirmDeploymentEnded',
      'reportBrokenRollout',
      'createCheck',
      'updateCheck',
      'removeCheck',
      'runCheck',
      'createPipeline',
      'updatePipeline',
      'removePipeline',
      'startPipelineRun',
      'listRevisions',
      'findMissingFiles',
      'showRevision',
      'readSourceFile',
      'downloadRevision',
      'diffRevisions',
      'listLogs',
      'listLogGroups',
      'summarizeLogs',
      'pushLogs',
      'exportLogs',
      'sendAppEvent',
      'updateMaintenanceSettings',
      'updateAppMaintenance',
      'startMaintenanceRun',
      'showRunEvidence',
      'showRunStep',
      'downloadProposalPatch',
      'approveProposal',
      'denyProposal',
      'retryProposal',
    ]
    expect(closed.map(({ name }) => name)).toEqual(expect.arrayContaining(ofApps))
    expect(closed.every(({ access }) => isRole(access) || access === 'session')).toBe(true)
    await elevate()
    for (const op of closed) {
      const response = await system.fetch(pathFor(op, org.id), {
        method: op.http.method.toUpperCase(),
        headers: { authorization: `Bearer ${staff.token}`, 'x-svc-org': org.id },
      })
      const { error } = (await response.json()) as { error: { code: string; message: string } }
      expect([op.name, error.code, error.message]).toEqual([
        op.name,
        'FORBIDDEN',
        'Support sessions may not do this',
      ])
    }
    expect((await org.owner.call(listApiTokens, { all: 'true' })).tokens).toEqual([])
  })

  test('no agent can be connected in a support session', async () => {
    await elevate()
    const auth = system.system.auth!
    const places = await organizationChoices(auth, staff.userId, {
      clientId: 'any',
      kind: 'pre_registered',
      scopes: [],
    })
    expect(places.map(({ id }) => id)).toEqual([home.id])
  })

  test('an elevated session works on every app, a read-only one sees nobody’s tickets, and neither gives a role on one', async () => {
    await org.owner.call(createApp, { alias: 'shop', name: 'Shop' })
    const { id } = await org.owner.call(createTicket, { alias: 'shop', title: 'x', body: 'x' })
    const { id: support_session_id } = await start()
    expect((await asStaff(listTickets, { alias: 'shop' })).tickets).toEqual([])
    await expect(asStaff(showTicket, { alias: 'shop', ticket_id: id })).rejects.toMatchObject(
      refused('NOT_FOUND'),
    )
    await asStaff(elevateSupportSession, { support_session_id, reason: 'To repair it' })
    expect((await asStaff(listTickets, { alias: 'shop' })).tickets).toHaveLength(1)
    expect((await asStaff(createApp, { alias: 'made', name: 'Made' })).my_role).toBe('administrator')
    expect((await org.owner.call(showApp, { alias: 'made' })).members).toEqual([])
  })

  /** Rows of somebody who was a member once. */
  test('an old role on an app gives staff nothing', async () => {
    const { id: appId } = await org.owner.call(createApp, { alias: 'shop', name: 'Shop' })
    const addedAt = system.clock.now()
    await system.db.insert(appMembers).values({
      orgId: org.id,
      appId,
      userId: staff.userId,
      membershipId: 'mem_ended',
      role: 'maintainer',
      addedAt,
    })
    await start()
    expect((await asStaff(showApp, { alias: 'shop' })).my_role).toBeNull()
    expect((await asStaff(listApps, {})).apps[0]?.my_role).toBeNull()
    expect((await asStaff(listApps, { mine: 'true' })).apps).toEqual([])
  })
})

describe('what the organization sees', () => {
  test('every member reads who came, why, how far and until when; another organization nothing', async () => {
    const id = await elevate()
    const viewer = await makeMember(system, org, 'viewer')
    for (const { call } of [org.owner, viewer]) {
      expect((await call(listSupportSessions, {})).support_sessions).toMatchObject([
        {
          id,
          staff: { id: staff.userId, email: staff.email },
          reason,
          level: 'admin',
          elevation_reason: 'To repair it',
        },
      ])
    }
    expect((await home.owner.call(listSupportSessions, {})).support_sessions).toEqual([])
  })

  test('every audit row of the session carries it, and none of what the member of staff does in their own organization', async () => {
    const id = await elevate()
    await asStaff(createApp, { alias: 'made', name: 'Made' })
    await asStaff(updateOrganization, { org_id: org.id, timezone: 'Europe/Vienna' })
    await staff.call(createApp, { alias: unique('own'), name: 'Own' })
    // Their profile is their own, wherever they change it.
    await asStaff(updateProfile, { name: unique('Staff') })
    await asStaff(endSupportSession, { support_session_id: id })
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, user_id: staff.userId })
    expect(audit.map(({ action, support_session_id }) => [action, support_session_id])).toEqual([
      ['support.ended', id],
      ['organization.updated', id],
      ['app.created', id],
      ['support.elevated', id],
    ])
    const { audit: started } = await org.owner.call(listAudit, {
      org_id: org.id,
      action: 'support.started',
    })
    expect(started).toMatchObject([{ actor: { kind: 'operator' }, support_session_id: id }])
    const { audit: atHome } = await home.owner.call(listAudit, { org_id: home.id })
    expect(atHome.map(({ action }) => action)).toContain('profile.changed')
    expect(atHome.filter(({ support_session_id }) => support_session_id !== null)).toEqual([])
  })

  test('the one answer every other service asks for says it too', async () => {
    const { id } = await start()
    const valid = await system.as()(validateToken, { token: staff.token, organization: org.id })
    expect(valid).toMatchObject({ role: 'viewer', support_session_id: id })
  })
})

describe('the settings', () => {
  test('only owners switch support access, admins set the time zone', async () => {
    const admin = await makeMember(system, org, 'admin')
    await expect(
      admin.call(updateOrganization, { org_id: org.id, support_access_enabled: false }),
    ).rejects.toMatchObject(refused('FORBIDDEN'))
    expect(
      await admin.call(updateOrganization, { org_id: org.id, timezone: 'America/New_York' }),
    ).toMatchObject({ timezone: 'America/New_York', support_access_enabled: true })
    expect((await home.owner.call(showOrganization, { org_id: home.id })).timezone).toBe('UTC')
  })

  test.each(['Nowhere/City', '+02:00', 'UTC; drop', 'Europe/Vienna\n', 'posix/UTC'])(
    'a time zone %j is refused',
    async (timezone) => {
      await expect(org.owner.call(updateOrganization, { org_id: org.id, timezone })).rejects.toMatchObject(
        refused('INVALID_REQUEST'),
      )
      expect((await org.owner.call(showOrganization, { org_id: org.id })).timezone).toBe('UTC')
    },
  )
})

test('every event of the session belongs to its organization', async () => {
  await elevate()
  const rows = await system.db
    .select()
    .from(outbox)
    .where(and(eq(outbox.orgId, home.id), eq(outbox.source, 'support-access')))
  expect(rows).toEqual([])
})
