/**
 * An installation with hosted auth: it serves the organizations that it names and nobody else, every right comes from the
 * vendor's validation of the call, and nothing needs a user, a membership or an organization of its own.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { memberships, notifications, organizations, users, validatedMembers } from '../../db/schema.ts'
import { createApp, listApps, renameApp, setAppMember, showApp } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { listDataSources } from '../../src/contracts/data-sources.ts'
import { listDeliveries } from '../../src/contracts/deliveries.ts'
import { listNotifications } from '../../src/contracts/inbox.ts'
import { connectWebhook } from '../../src/contracts/integrations.ts'
import {
  acceptInvitation,
  changeMemberRole,
  inviteMember,
  listMembers,
  removeMember,
} from '../../src/contracts/members.ts'
import {
  createOrganization,
  listOrganizations,
  switchOrganization,
  updateOrganization,
} from '../../src/contracts/organizations.ts'
import { showProfile, whoAmI } from '../../src/contracts/people.ts'
import { listSessions, signOut } from '../../src/contracts/sessions.ts'
import { createSubscription, listFollows, setFollow } from '../../src/contracts/subscriptions.ts'
import { startSupportSession } from '../../src/contracts/support.ts'
import { changeTicketStatus, createTicket, listTickets, replyToTicket } from '../../src/contracts/tickets.ts'
import { createApiToken, listApiTokens } from '../../src/contracts/tokens.ts'
import type { ChannelPorts, Outcome } from '../../src/cores/notifications/index.ts'
import { actorOf, signActor } from '../support/actor.ts'
import { testDatabase } from '../support/database.ts'
import { drainNotifications } from '../support/drain.ts'
import { fakeChecks } from '../support/fake-integrations.ts'
import { reaching } from '../support/hosted-system.ts'
import {
  makeApiToken,
  makeMember,
  makeOrganization,
  makePerson,
  unique,
  type Org,
  type Person,
} from '../support/make.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'

let vendor: TestSystem
let customer: TestSystem
/** Named in HOSTED_ORGS. */
let org: Org
let second: Org
/** An organization of the vendor that is not. */
let foreign: Org

const HOUR = 60 * 60
const DAY = 24 * 60 * 60
const NOT_SERVED = { code: 'FORBIDDEN', message: 'This installation does not serve your organization' }

beforeAll(async () => {
  vendor = await startSystem(
    { SVC_SERVICES: 'api-gateway,auth-service', BASE_DOMAIN: 'vendor.test', AUTH_MODE: 'self' },
    { connection: await testDatabase('vendor') },
  )
  ;[org, second, foreign] = [
    await makeOrganization(vendor),
    await makeOrganization(vendor),
    await makeOrganization(vendor),
  ]
  customer = await startSystem(
    {
      SVC_SERVICES: 'api-gateway,deploy-api,mcp-server',
      BASE_DOMAIN: 'customer.test',
      AUTH_MODE: 'hosted',
      AUTH_SERVICE_URL: 'https://auth.vendor.test',
      AUTH_LOGIN_URL: 'https://app.vendor.test/auth/sign-in',
      HOSTED_ORGS: `${org.id}, ${second.id}`,
      JWT_SECRET: '',
      JWT_SIGNING_KEY: '',
    },
    { network: reaching(() => vendor.service), clockOf: vendor, checks: fakeChecks },
  )
})

afterAll(async () => {
  await customer.stop()
  await vendor.stop()
})

const here = ({ token }: { token: string }, organization?: string) => customer.as({ token, organization })
/** Somebody who has been here, as the vendor knows them. */
async function known(role: Parameters<typeof makeMember>[2], of = org, verified = true): Promise<Person> {
  const person = await makeMember(vendor, of, role, await makePerson(vendor, { verified }))
  await here(person)(whoAmI, {})
  return person
}
const remembered = async ({ userId }: Person, of = org) =>
  (await customer.db.select().from(validatedMembers).where(eq(validatedMembers.userId, userId))).find(
    ({ orgId }) => orgId === of.id,
  )

describe('who is let in', () => {
  test('nobody else of the vendor: neither by session nor by API token, at no service, for nothing', async () => {
    const token = await makeApiToken(vendor, foreign, foreign.owner)
    const alone = await makePerson(vendor)
    for (const who of [foreign.owner, token, alone]) {
      const call = here(who)
      for (const ask of [
        () => call(whoAmI, {}),
        () => call(listDataSources, {}),
        () => call(listApps, {}),
        () => call(createApp, { alias: unique('app'), name: 'Theirs' }),
        () => call(listApiTokens, {}),
        () => call(listOrganizations, {}),
        () => call(createOrganization, { name: unique('Org') }),
        () => call(showProfile, {}),
        () => call(listSessions, {}),
        () => here(who, org.id)(whoAmI, {}),
        () => here(who, 'no-such-organization')(listOrganizations, {}),
        () => call(listMembers, { org_id: foreign.id }),
        () => call(listAudit, { org_id: org.id }),
      ]) {
        await expect(ask()).rejects.toMatchObject(NOT_SERVED)
      }
    }
    expect(await remembered(foreign.owner, foreign)).toBeUndefined()
  })

  test('and not over MCP', async () => {
    const call = async (of: Org) => {
      const { token } = await makeApiToken(vendor, of, of.owner)
      const clientInfo = { name: 'an assistant', version: '1' }
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
      return customer.service(
        new Request('https://mcp.customer.test/platform', {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
        }),
      )
    }
    expect([(await call(foreign)).status, (await call(org)).status]).toEqual([403, 200])
  })

  test('an assertion for another organization opens nothing, though our own MCP server signed it', async () => {
    const token = await signActor(customer, actorOf(foreign, foreign.owner, 'tok_0'))
    await expect(here({ token })(whoAmI, {})).rejects.toMatchObject(NOT_SERVED)
  })

  test('who belongs to several acts in the one that is served, whatever they chose elsewhere', async () => {
    const person = await makeMember(vendor, foreign, 'owner')
    await makeMember(vendor, org, 'admin', person)
    await person.call(switchOrganization, { org_id: foreign.id })
    const call = here(person)
    expect(await call(whoAmI, {})).toMatchObject({ organization: { id: org.id }, role: 'admin' })
    // What the vendor does for them through us is in that organization too.
    const made = await call(createApiToken, { name: 'made here' })
    expect(await vendor.as({ token: made.token })(whoAmI, {})).toMatchObject({ organization: { id: org.id } })
    await expect(here(person, foreign.id)(whoAmI, {})).rejects.toMatchObject(NOT_SERVED)
    await expect(call(listMembers, { org_id: foreign.id })).rejects.toMatchObject(NOT_SERVED)
    await expect(call(listMembers, { org_id: second.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('people come in by an invitation, and whoever signed in can sign out', async () => {
    const person = await makePerson(vendor)
    const { invitation_url: link } = await here(org.owner)(inviteMember, {
      org_id: org.id,
      email: person.email,
      role: 'viewer',
    })
    await here(person)(acceptInvitation, { token: new URL(link!).pathname.split('/').at(-1)! })
    expect(await here(person)(whoAmI, {})).toMatchObject({ organization: { id: org.id }, role: 'viewer' })
    await here(foreign.owner)(signOut, { session_id: 'current' })
    await expect(foreign.owner.call(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })
})

describe('what somebody may do', () => {
  test('an owner manages the app they made, and a developer theirs', async () => {
    const developer = await known('developer')
    for (const [maker, role] of [
      [org.owner, 'administrator'],
      [developer, 'maintainer'],
    ] as const) {
      const [alias, call] = [unique('shop'), here(maker)]
      expect(await call(createApp, { alias, name: 'Shop' })).toMatchObject({ my_role: role })
      expect(await call(renameApp, { alias, name: 'Store' })).toMatchObject({ name: 'Store', my_role: role })
      const { members } = await call(showApp, { alias })
      expect(members).toMatchObject([{ user_id: maker.userId, name: maker.name, role: 'maintainer' }])
    }
  })

  test('a part in an app is given to whoever has been here, and counts while the vendor validates them', async () => {
    const [developer, builder, never] = [
      await known('developer'),
      await known('viewer'),
      await makeMember(vendor, org, 'viewer'),
    ]
    const elsewhere = await known('viewer', second)
    const alias = unique('shop')
    await here(developer)(createApp, { alias, name: 'Shop' })
    const give = (to: Person) => here(developer)(setAppMember, { alias, user_id: to.userId, role: 'builder' })
    expect(await give(builder)).toMatchObject({ name: builder.name, role: 'builder' })
    for (const unknown of [never, elsewhere]) {
      await expect(give(unknown)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    const ticket = await here(developer)(createTicket, { alias, title: 'It broke', body: 'Badly.' })
    const seen = async (by: Person) => (await here(by)(listTickets, { alias })).tickets.map(({ id }) => id)
    await here(never)(whoAmI, {})
    expect([await seen(builder), await seen(never)]).toEqual([[ticket.id], []])
    const move = { alias, ticket_id: ticket.id, status: 'in_progress' as const }
    expect(await here(builder)(changeTicketStatus, move)).toMatchObject({ status: 'in_progress' })
    await org.owner.call(removeMember, { org_id: org.id, user_id: builder.userId })
    await expect(here(builder)(listTickets, { alias })).rejects.toMatchObject(NOT_SERVED)
  })

  test('a role that is changed at the vendor’s acts on the next call, and a token has no more than its cap', async () => {
    const person = await known('admin')
    const alias = unique('shop')
    await here(org.owner)(createApp, { alias, name: 'Shop' })
    const rename = (who: { token: string }) => here(who)(renameApp, { alias, name: unique('Shop') })
    const capped = await makeApiToken(vendor, org, person, { role_cap: 'viewer' })
    expect(await rename(person)).toMatchObject({ my_role: 'administrator' })
    await expect(rename(capped)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect((await here(person)(listFollows, { limit: 1 })).follows).toHaveLength(1)
    expect((await here(capped)(listFollows, {})).follows).toEqual([])
    await org.owner.call(changeMemberRole, { org_id: org.id, user_id: person.userId, role: 'developer' })
    await expect(rename(person)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect((await here(person)(listFollows, {})).follows).toEqual([])
  })

  test('a token capped to viewing has no role on the app that its person maintains', async () => {
    const maintainer = await known('developer')
    const alias = unique('shop')
    await here(maintainer)(createApp, { alias, name: 'Shop' })
    const rename = (who: { token: string }) => here(who)(renameApp, { alias, name: unique('Shop') })
    const capped = await makeApiToken(vendor, org, maintainer, { role_cap: 'viewer' })
    expect(await rename(maintainer)).toMatchObject({ my_role: 'maintainer' })
    await expect(rename(capped)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test('whoever was removed at the vendor’s and comes back has no role on an app', async () => {
    const maintainer = await known('developer')
    const alias = unique('shop')
    await here(maintainer)(createApp, { alias, name: 'Shop' })
    await org.owner.call(removeMember, { org_id: org.id, user_id: maintainer.userId })
    await makeMember(vendor, org, 'developer', maintainer)
    expect(await here(maintainer)(showApp, { alias })).toMatchObject({ my_role: null, members: [] })
  })

  test('rows that were left by an auth service of one’s own give nobody anything', async () => {
    const viewer = await known('viewer')
    const [alias, at] = [unique('shop'), customer.clock.now()]
    await here(org.owner)(createApp, { alias, name: 'Shop' })
    await customer.db
      .insert(organizations)
      .values({ id: org.id, name: 'Old', slug: unique('old'), createdAt: at })
    await customer.db
      .insert(users)
      .values({ id: viewer.userId, email: viewer.email, name: 'Old', createdAt: at })
    await customer.db
      .insert(memberships)
      .values({ orgId: org.id, userId: viewer.userId, role: 'owner', joinedBy: 'creation', joinedAt: at })
    expect(await here(viewer)(showApp, { alias })).toMatchObject({ my_role: null })
    await expect(here(viewer)(renameApp, { alias, name: 'Mine' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    await expect(
      here(viewer)(setFollow, { alias, categories: ['Tickets'], frequency: 'daily' }),
    ).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    expect((await here(viewer)(listFollows, {})).follows).toEqual([])
    await customer.db.delete(organizations).where(eq(organizations.id, org.id))
  })

  test('following and the inbox work, by the time zone that the organization has at the vendor’s', async () => {
    const alias = unique('shop')
    await here(second.owner)(createApp, { alias, name: 'Shop' })
    const follow = { alias, categories: ['Tickets' as const], frequency: 'daily' as const }
    expect(await here(second.owner)(setFollow, follow)).toMatchObject({ app: alias, categories: ['Tickets'] })
    const nextDaily = async () => (await here(second.owner)(listFollows, {})).next_daily_at.slice(11, 16)
    expect(await nextDaily()).toBe('09:00')
    await second.owner.call(updateOrganization, { org_id: second.id, timezone: 'Asia/Tokyo' })
    expect(await nextDaily()).toBe('00:00')
    expect(await here(second.owner)(listNotifications, {})).toMatchObject({
      notifications: [],
      unread_count: 0,
    })
  })
})

describe('what is remembered of somebody', () => {
  test('their own role and not that of a token; an address only if it is verified; when', async () => {
    const [person, unproven] = [await known('admin'), await known('viewer', org, false)]
    const token = await makeApiToken(vendor, org, person, { role_cap: 'viewer' })
    expect(await here(token)(whoAmI, {})).toMatchObject({ role: 'viewer' })
    expect(await remembered(person)).toMatchObject({ role: 'admin', name: person.name, email: person.email })
    expect(await remembered(unproven)).toMatchObject({ role: 'viewer', email: null })
    const before = (await remembered(person))!.validatedAt
    customer.clock.advance(90)
    await here(token)(whoAmI, {})
    expect((await remembered(person))!.validatedAt.getTime() - before.getTime()).toBeGreaterThanOrEqual(
      90_000,
    )
  })

  test('an agent’s call counts too, from when its token was validated', async () => {
    const person = await makeMember(vendor, org, 'developer')
    const { known: said, ...about } = actorOf(org, person, 'tok_0')
    const membership = { role: 'developer' as const, email_verified: true, timezone: 'UTC' }
    const token = await signActor(customer, { ...about, known: { ...said!, role: 'viewer', membership } })
    const signedAt = customer.clock.now().getTime()
    customer.clock.advance(30)
    await here({ token })(whoAmI, {})
    const row = await remembered(person)
    expect(row).toMatchObject({ role: 'developer', email: person.email })
    expect(Math.abs(row!.validatedAt.getTime() - signedAt)).toBeLessThan(2_000)
  })

  test('support staff are nobody’s members', async () => {
    const staff = await makePerson(vendor)
    await vendor.as({ token: OPERATOR_TOKEN })(startSupportSession, {
      org: org.id,
      staff_email: staff.email,
      reason: 'asked for',
    })
    expect(await here(staff, org.id)(whoAmI, {})).toMatchObject({
      organization: { id: org.id },
      role: 'viewer',
    })
    expect((await here(staff, org.id)(listFollows, {})).follows).toEqual([])
    expect(await remembered(staff)).toBeUndefined()
    await expect(here(staff)(whoAmI, {})).rejects.toMatchObject(NOT_SERVED)
  })
})

test.runIf(inject('everyCase'))(
  'the audit trail is one: what happened here and what happened at the vendor’s, page by page',
  async () => {
    const of = second
    const alias = unique('shop')
    await here(of.owner)(createApp, { alias, name: 'Shop' })
    await here(of.owner)(createApiToken, { name: 'one' })
    await here(of.owner)(renameApp, { alias, name: 'Store' })
    const list = (input: { limit?: number; cursor?: string | undefined; action?: 'app.renamed' }) =>
      here(of.owner)(listAudit, { org_id: of.id, ...input })
    const all = (await list({ limit: 200 })).audit
    expect(all.slice(0, 3).map(({ action }) => action)).toEqual([
      'app.renamed',
      'token.created',
      'app.created',
    ])
    expect(all.map(({ id }) => id)).toEqual(
      all
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    )
    for (const limit of [1, 2, 3]) {
      const paged: typeof all = []
      for (let cursor: string | undefined; ;) {
        const page = await list({ limit, cursor })
        paged.push(...page.audit)
        cursor = page.next_cursor
        if (cursor === undefined) break
      }
      expect(paged).toEqual(all)
    }
    expect((await list({ action: 'app.renamed' })).audit).toMatchObject([
      { subject: `${alias}: Shop → Store` },
    ])
    expect(JSON.stringify(await here(org.owner)(listAudit, { org_id: org.id, limit: 200 }))).not.toContain(
      alias,
    )
    const member = await known('developer', of)
    await expect(here(member)(listAudit, { org_id: of.id })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(here(org.owner)(listAudit, { org_id: of.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  },
)

describe('what is sent to people', () => {
  let answer: Outcome = { kind: 'sent', httpStatus: 200 }
  let mailed: string[] = []
  const never = async (): Promise<Outcome> => ({ kind: 'sent' })
  const channels: ChannelPorts = {
    webhook: async () => answer,
    chat: never,
    direct_message: never,
    forum: never,
    email: async ({ to }) => {
      mailed.push(to)
      return { kind: 'sent' }
    },
  }
  async function deliver() {
    mailed = []
    const { gateway, config, log } = customer.system
    await drainNotifications({
      db: gateway!.db,
      clock: () => customer.clock.now(),
      directory: gateway!.directory,
      channels,
      dataKeys: gateway!.dataKeys,
      appUrl: config.APP_URL,
      siteUrl: config.SITE_URL,
      log,
    })
  }
  /** By an API token, because a session does not last for days. */
  let owner: { token: string }
  beforeAll(async () => {
    owner = await makeApiToken(vendor, second, second.owner)
  })
  const lastMail = async () => (await here(owner)(listDeliveries, { channel: 'email' })).deliveries[0]

  test.runIf(inject('everyCase'))(
    'only for a day after they were validated; then it is dropped and says so, until they come back',
    async () => {
      const [alias, person] = [unique('shop'), await known('viewer', second)]
      const reporter = await makeApiToken(vendor, second, person)
      await here(owner)(createApp, { alias, name: 'Shop' })
      const { id } = await here(reporter)(createTicket, { alias, title: 'It broke', body: 'Badly.' })
      const reply = () => here(owner)(replyToTicket, { alias, ticket_id: id, body: 'We look.' })
      await reply()
      await deliver()
      expect(mailed).toEqual([person.email])
      expect(await lastMail()).toMatchObject({ state: 'sent', destination: person.name })

      customer.clock.advance(DAY + 60)
      await reply()
      await deliver()
      expect(mailed).toEqual([])
      expect(await lastMail()).toMatchObject({ state: 'dropped', reason: 'not_validated' })
      // It waits for them where they will be validated first.
      expect(await here(reporter)(listNotifications, {})).toMatchObject({ unread_count: 2 })

      await reply()
      await deliver()
      expect(mailed).toEqual([person.email])
    },
  )

  test('an address that is not verified gets nothing', async () => {
    const [alias, reporter] = [unique('shop'), await known('viewer', second, false)]
    await here(owner)(createApp, { alias, name: 'Shop' })
    const { id } = await here(reporter)(createTicket, { alias, title: 'It broke', body: 'Badly.' })
    await here(owner)(replyToTicket, { alias, ticket_id: id, body: 'We look.' })
    await deliver()
    expect(mailed).toEqual([])
    expect(await lastMail()).toMatchObject({ state: 'dropped', reason: 'no_address' })
  })

  test('owners and admins are told that an integration stopped: by mail if they were here today, in the inbox in any case', async () => {
    const of = second
    const away = await known('admin', of)
    customer.clock.advance(DAY + 60)
    const [admin, viewer, elsewhere] = [
      await known('admin', of),
      await known('viewer', of),
      await known('admin'),
    ]
    const { id } = await here(owner)(connectWebhook, { name: 'Receiver', url: 'https://hooks.test/in' })
    await here(owner)(createSubscription, {
      pattern: 'support.*',
      integration_id: id,
      timing: 'immediately',
    })
    const alias = unique('shop')
    await here(owner)(createApp, { alias, name: 'Shop' })
    await here(viewer)(createTicket, { alias, title: 'It broke', body: 'Badly.' })
    answer = { kind: 'refused', reason: 'endpoint_gone', retry: false, httpStatus: 410 }
    await deliver()
    // With whatever else there is to tell them, once an hour.
    expect(mailed).toEqual([])
    customer.clock.advance(HOUR)
    await deliver()
    expect(mailed.toSorted()).toEqual([of.owner.email, admin.email].toSorted())
    const told = async ({ userId }: Person) =>
      (await customer.db.select().from(notifications).where(eq(notifications.userId, userId))).filter(
        ({ type }) => type === 'org.integration.stopped',
      ).length
    expect(await Promise.all([of.owner, admin, away, viewer, elsewhere].map(told))).toEqual([1, 1, 1, 0, 0])
  })
})
