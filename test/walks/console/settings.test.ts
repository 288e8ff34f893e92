/** The pages about people and the organization: members, tokens, settings, support sessions, one's own profile. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { users } from '../../../db/schema.ts'
import { eq } from '../../../db/drizzle.ts'
import { listGroups } from '../../../src/contracts/groups.ts'
import { listMembers } from '../../../src/contracts/members.ts'
import {
  createOrganization,
  listOrganizations,
  updateOrganization,
} from '../../../src/contracts/organizations.ts'
import { listProvisionedGroups, showScim } from '../../../src/contracts/scim.ts'
import { listMySupportSessions, startSupportSession } from '../../../src/contracts/support.ts'
import { whoAmI } from '../../../src/contracts/people.ts'
import { createApiToken, listApiTokens } from '../../../src/contracts/tokens.ts'
import { openConsole, type ConsolePage } from '../../support/console.ts'
import {
  makeMember,
  makeOrganization,
  makePerson,
  PASSWORD,
  unique,
  type Person,
} from '../../support/make.ts'
import { directoryOf, entraUser, giveDomain } from '../../support/scim.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../../support/system.ts'

let [system, mailing]: TestSystem[] = []
beforeAll(async () => {
  system = await startSystem()
  const mail = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'svc <notify@acme.test>' }
  // Never asked: SCIM is set up at it.
  const provider = { OIDC_ISSUER: 'https://idp.test', OIDC_CLIENT_ID: 'client', OIDC_CLIENT_SECRET: 'secret' }
  mailing = await startSystem({ ...mail, ...provider, PASSWORD_SIGN_IN: 'on' }, { withMail: true })
})
afterAll(async () => {
  await system?.stop()
  await mailing?.stop()
})

const MEMBERS = '/console/members'
const SETTINGS = '/console/settings/organization'
const SECURITY = '/console/settings/security'
const TOKENS = '/console/settings/tokens'

async function scene(of = system!) {
  const org = await makeOrganization(of)
  const people = {
    admin: await makeMember(of, org, 'admin'),
    developer: await makeMember(of, org, 'developer'),
    viewer: await makeMember(of, org, 'viewer'),
  }
  const as = (person: Person) => of.as({ token: person.token, organization: org.id })
  return {
    org,
    people,
    as,
    call: org.owner.call,
    owner: await openConsole(of, org.owner),
    admin: await openConsole(of, people.admin),
    viewer: await openConsole(of, people.viewer),
    details: async () =>
      (await org.owner.call(listOrganizations, {})).organizations.find(({ id }) => id === org.id)!,
  }
}

/** Where its forms lead; those of the header left out. */
const actionsOf = ({ forms }: ConsolePage): string[] =>
  forms
    .filter(({ method }) => method === 'POST')
    .map(({ action }) => action.pathname)
    .filter((path) => !['/console/organization', '/console/search', '/console/sign-out'].includes(path))

test('SCIM: an owner sets it up, copies the bearer once, gives a group a role, rotates and removes it', async () => {
  const { org, owner, admin, call } = await scene(mailing)
  const page = `${MEMBERS}/scim`
  expect((await admin.open(page)).status).toBe(403)
  const without = await owner.open((await owner.open(MEMBERS)).link('SCIM'))
  expect(without.text).toContain('SCIM needs an email domain')
  const domain = await giveDomain(mailing!, org)
  const set = await (await owner.open(page)).form('Create bearer').with({ provider: 'oidc' }).submit()
  expect(set.status).toBe(201)
  const token = /svcs_\w+/.exec(set.text)![0]
  const directory = directoryOf(mailing!, token)
  const { body: group } = await directory('POST', '/Groups', { displayName: 'Board <b>' })
  await directory('POST', '/Users', entraUser(`ada@${domain}`))
  const shown = await owner.open(page)
  expect(shown.text).toContain('1 active, 1 of them not signed in yet')
  expect(shown.text).toContain('Board <b>')
  expect(shown.text).not.toContain(token)
  await shown.form('Save').with({ role: 'developer' }).submit()
  expect((await call(listProvisionedGroups, {})).groups).toMatchObject([{ id: group.id, role: 'developer' }])
  const rotated = await (await owner.open(page)).form('Rotate').with({ overlap_hours: '0' }).submit()
  const next = /svcs_\w+/.exec(rotated.text)![0]
  expect([
    (await directory('GET', '/Users')).status,
    (await directoryOf(mailing!, next)('GET', '/Users')).status,
  ]).toEqual([401, 200])
  const removed = await (await owner.open(page)).form('Remove SCIM').submit()
  expect(removed.notices[0]).toContain('People, roles and groups stay as they are')
  expect((await call(showScim, {})).bearer).toBeNull()
})

describe('ending access with a receipt', () => {
  test('is rehearsed, done, told when it is final, and listed; a member of another organization is not found', async () => {
    const { org, people, admin, viewer } = await scene()
    const other = await scene()
    const page = await admin.open(`/console/receipts/end?of=person&id=${people.developer.userId}`)
    const rehearsed = await page.form('Rehearse').submit()
    expect(rehearsed.text).toContain('Nothing was ended.')
    const begun = await page.form('End access now').submit()
    const shown = async () => (await admin.open(begun.path)).text
    await expect.poll(shown, { timeout: 20_000 }).toContain('1 member')
    await expect
      .poll(async () => (await admin.open(`${begun.path}/part`)).html, { timeout: 20_000 })
      .toContain('data-final')
    expect(await shown()).toContain(`Member ${people.developer.userId}`)
    const { members } = await org.owner.call(listMembers, { org_id: org.id })
    expect(members.map(({ user_id }) => user_id)).not.toContain(people.developer.userId)
    const listed = await admin.open((await admin.open('/console/audit')).link('Receipts'))
    expect(listed.row(people.developer.email)).toContain('Final')
    const saved = await admin.open((await admin.open(begun.path)).link('Download'))
    expect(saved.headers.get('content-type')).toBe('application/json')
    expect(saved.headers.get('content-disposition')).toMatch(/^attachment; filename="receipt-rct_\w+\.json"$/)
    expect(JSON.parse(saved.html)).toMatchObject({ of: { id: people.developer.userId }, state: 'final' })
    expect((await other.admin.open(saved.path)).status).toBe(404)
    expect((await viewer.open('/console/receipts')).status).toBe(403)
    expect((await other.admin.open(begun.path)).status).toBe(404)
    const strange = await other.admin.open(`/console/receipts/end?of=person&id=${people.developer.userId}`)
    expect((await strange.form('End access now').submit()).status).toBe(404)
  })

  test('an owner removes the organization by typing its name', async () => {
    const { org, owner, admin, people } = await scene()
    expect((await admin.open(SETTINGS)).text).not.toContain('Remove the organization')
    const page = await owner.open(SETTINGS)
    const refused = await page.form('Remove organization').with({ confirm: 'another' }).submit()
    expect(refused.text).toContain('The name and its confirmation differ')
    const gone = await page.form('Remove organization').with({ confirm: org.name }).submit()
    expect(gone.text).toContain(`${org.name} is removed`)
    const [, file] = /href="data:application\/json;base64,([^"]+)"/.exec(gone.html)!
    const receipt = JSON.parse(Buffer.from(file!, 'base64').toString()) as Record<string, unknown>
    expect(receipt).toMatchObject({ state: 'final', of: { id: org.id }, signature: expect.any(String) })
    expect((await people.viewer.call(listOrganizations, {})).organizations).toEqual([])
  })
})

describe('groups', () => {
  const GROUPS = `${MEMBERS}/groups`

  test('are made, filled, renamed, emptied and removed by admins, and hidden from others', async () => {
    const { org, people, admin, viewer, call } = await scene()
    expect((await viewer.open(GROUPS)).status).toBe(403)
    expect((await viewer.open(MEMBERS)).html).not.toContain(`href="${GROUPS}"`)
    const empty = await admin.open((await admin.open(MEMBERS)).link('Groups'))
    expect(empty.text).toContain('No groups yet')
    const refused = await empty.form('Create').with({ name: ' ' }).submit()
    expect(refused.status).toBe(400)
    const made = await empty.form('Create').with({ name: 'Board <b>' }).submit()
    expect(made.notices[0]).toBe('Board <b> created.')
    expect(made.text).toContain('group:Board <b>')
    const again = await (await admin.open(GROUPS)).form('Create').with({ name: 'board <B>' }).submit()
    expect(again.text).toContain('A group of this name exists already')
    const unknown = await made.form('Add').with({ member_id: 'nobody@people.test' }).submit()
    expect(unknown.status).toBe(404)
    const added = await made.form('Add').with({ member_id: people.viewer.email }).submit()
    expect(added.row(people.viewer.email)).toContain(people.viewer.name)
    expect((await call(listGroups, {})).groups).toMatchObject([{ name: 'Board <b>', members: 1 }])
    const renamed = await added.form('Rename').with({ name: 'Directors' }).submit()
    expect(renamed.notices[0]).toBe('Renamed.')
    const without = await renamed.form(`Take out ${people.viewer.name}`).submit()
    expect(without.text).toContain('Nobody is in it yet')
    const gone = await without.form('Remove group').submit()
    expect([gone.path, gone.notices[0]]).toEqual([GROUPS, 'Group removed.'])
    expect((await admin.open(`${GROUPS}/${org.id}`)).status).toBe(404)
  })
})

describe('members', () => {
  test('a viewer sees them and may only leave; an admin manages everybody up to admin', async () => {
    const { org, people, admin, viewer, call } = await scene()
    const read = await viewer.open(MEMBERS)
    expect(read.rows).toHaveLength(4)
    expect(actionsOf(read)).toEqual([`${MEMBERS}/leave`])
    const leaving = await openConsole(system!, await makeMember(system!, org, 'viewer'))
    const left = await (await leaving.open(MEMBERS)).form('Leave organization').submit()
    expect(left.notices).toContain(`You left ${org.name}.`)
    expect((await read.form('Filter').submit()).rows).toHaveLength(4)
    const page = await admin.open(MEMBERS)
    expect(page.html).not.toContain(`${MEMBERS}/${org.owner.userId}/`)
    const form = page.form('Save role', people.viewer.userId)
    expect(form.choices('role')).not.toContain('owner')
    const saved = await form.with({ role: 'developer' }).submit()
    expect(saved.row(people.viewer.email)).toContain('Developer')
    const removed = await saved.form('Remove from organization', people.viewer.userId).submit()
    expect(removed.rows.join()).not.toContain(people.viewer.email)
    const found = await page
      .form('Filter')
      .with({ search: people.developer.name, role: 'developer' })
      .submit()
    expect(found.rows).toHaveLength(1)
    expect((await page.form('Filter').with({ search: 'nobody' }).submit()).text).toContain('No ')
    expect((await call(listMembers, { org_id: org.id })).members).toHaveLength(3)
  })

  test('a refused button in a row says why after the redirect, on the list that was left', async () => {
    const { org, owner } = await scene()
    const page = await owner.open(`${MEMBERS}?role=owner`)
    const refused = await page.form('Save role', org.owner.userId).with({ role: 'viewer' }).submit()
    expect([refused.path, refused.notices[0]]).toEqual([
      `${MEMBERS}?role=owner`,
      expect.stringContaining('must have at least one owner'),
    ])
  })

  test.runIf(inject('everyCase'))(
    'pages lead forward and back again, each with its rows of how many, and keep the filters',
    async () => {
      const { org, owner } = await scene()
      for (let n = 0; n < 101; n++) await makeMember(system!, org, 'viewer', await insertPerson(`clone-${n}`))
      const first = await owner.open(`${MEMBERS}?search=clone&role=viewer`)
      const second = await owner.open(first.link('Next page'))
      const third = await owner.open(second.link('Next page'))
      const counts = [first, second, third].map(({ text }) => /\d+–\d+ of \d+/.exec(text)?.[0])
      expect(counts).toEqual(['1–50 of 101', '51–100 of 101', '101–101 of 101'])
      expect(third.path).toContain('search=clone&role=viewer&cursor=')
      expect(third.offers('Next page')).toBe(false)
      const back = await owner.open(third.link('Previous page'))
      expect(back.rows).toEqual(second.rows)
      expect(back.link('Previous page')).toBe(`${MEMBERS}?search=clone&role=viewer`)
    },
  )

  test('invitations: the link is shown once, or goes by mail; admins invite where owners allow it', async () => {
    const { owner, admin, org, call } = await scene()
    const form = (await owner.open(MEMBERS)).form('Invite')
    const refused = await form.with({ email: 'not an address', role: 'admin' }).submitUnchecked()
    expect([refused.status, Object.keys(refused.problems)]).toEqual([400, ['email']])
    expect(refused.form('Invite').values()).toMatchObject({ email: 'not an address', role: 'admin' })
    const invited = await form.with({ email: `${unique('new')}@people.test`, role: 'viewer' }).submit()
    expect(invited.html).toContain('/auth/invitation/')
    expect((await owner.open(MEMBERS)).html).not.toContain('/auth/invitation/')
    expect((await admin.open(MEMBERS)).offers('Invite')).toBe(false)
    await call(updateOrganization, { org_id: org.id, admins_may_invite: true })
    const theirs = await admin.open(MEMBERS)
    expect(theirs.offers('Invite')).toBe(true)
    // One by an owner is an owner's to revoke.
    expect(theirs.offers('Revoke invitation')).toBe(false)
    expect((await admin.open(SETTINGS)).html).not.toContain(`${SETTINGS}/invitations`)
    const revoked = await (await owner.open(MEMBERS)).form('Revoke invitation').submit()
    expect(revoked.offers('Revoke invitation')).toBe(false)
    const { owner: mailed } = await scene(mailing)
    const email = `${unique('new')}@people.test`
    const sent = await (await mailed.open(MEMBERS)).form('Invite').with({ email }).submit()
    expect(sent.notices[0]).toContain(`Invitation sent to ${email}`)
    expect(mailing!.mails.at(-1)?.to).toBe(email)
  })
})

/** Without a session: nobody signs in as them. */
async function insertPerson(name: string): Promise<Person> {
  return makePerson(system!, { name: `${name}-${unique('x')}` })
}

describe('tokens', () => {
  test('whoever changes nothing gets the least; the value stands in the answer and nowhere else', async () => {
    const { viewer, owner, people, as, call } = await scene()
    const form = (await viewer.open(`${TOKENS}/new`)).form('Create token')
    expect(form.values()).toEqual({
      name: '',
      access: 'scopes',
      scopes: 'data:read',
      audiences: 'api',
      role_cap: 'viewer',
      ends: '30',
    })
    const made = await form.with({ name: 'Laptop' }).submit()
    expect([made.status, made.headers.get('cache-control'), made.headers.get('set-cookie')]).toEqual([
      201,
      'no-store',
      null,
    ])
    const value = /svc_[0-9A-Za-z]{40,}/.exec(made.html)![0]
    expect((await viewer.open(TOKENS)).html).not.toContain(value)
    expect(JSON.stringify(viewer.walker.jar.all())).not.toContain(value)
    const [token] = (await as(people.viewer)(listApiTokens, {})).tokens
    expect(token).toMatchObject({
      name: 'Laptop',
      role_cap: 'viewer',
      scopes: ['data:read'],
      audiences: ['api'],
    })
    expect(token!.expires_at).toMatch(/^2026-04-01/)
    // Nothing ticked must not become everything.
    const nothing = await form.with({ name: 'None', scopes: [] }).submit()
    expect(nothing.status).toBe(400)
    expect(nothing.form('Create token').value('name')).toBe('None')
    const owners = (await owner.open(`${TOKENS}/new?audience=platform`)).form('Create token')
    expect(owners.value('audiences')).toBe('platform')
    expect(
      (await owner.open(`${TOKENS}/new?audience=nonsense`)).form('Create token').value('audiences'),
    ).toBe('api')
    await owners.with({ name: 'All', access: 'role', ends: '', audiences: ['api', 'platform'] }).submit()
    expect((await call(listApiTokens, {})).tokens).toMatchObject([{ name: 'All', expires_at: null }])
    await owners.with({ name: 'Some', scopes: ['data:read', 'notifications:read'] }).submit()
    const all = (await owner.open(`${TOKENS}?all=true`)).rows.map(([name]) => name)
    expect(all.join()).toMatch(/Some.*All.*Laptop/)
    // Only admins may ask for everybody's.
    expect((await viewer.open(`${TOKENS}?all=true`)).rows).toHaveLength(1)
    const revoked = await (await viewer.open(TOKENS)).form('Revoke token').submit()
    expect(revoked.notices).toEqual(['Token revoked.'])
    expect((await as(people.viewer)(listApiTokens, {})).tokens).toEqual([])
  })

  test('one’s own are rotated: the new value is shown once, and what is left of the old one', async () => {
    const { viewer, owner, people, as } = await scene()
    const { id, token } = await as(people.viewer)(createApiToken, { name: 'Laptop' })
    const form = (await viewer.open(TOKENS)).form('Rotate', id)
    expect([form.value('overlap_hours'), form.choices('overlap_hours')]).toEqual([
      '24',
      ['0', '1', '24', '72', '168'],
    ])
    const rotated = await form.with({ overlap_hours: '72' }).submit()
    expect([rotated.status, rotated.headers.get('cache-control'), rotated.title]).toEqual([
      200,
      'no-store',
      'Token rotated',
    ])
    const value = /svc_[0-9A-Za-z]{40,}/.exec(rotated.html)![0]
    for (const each of [token, value]) await system!.as({ token: each })(whoAmI, {})
    const list = await viewer.open(TOKENS)
    expect(list.html).not.toContain(value)
    expect(list.row('Laptop')).toMatch(/Old value svc_\w{6}… used .*, works until/)
    const ended = await list.form('Rotate', id).with({ overlap_hours: '0' }).submit()
    expect(ended.text).toContain('The old value has ended.')
    // With the value of a colleague's, an owner would be that colleague.
    const all = await owner.open(`${TOKENS}?all=true`)
    expect(all.rows).toHaveLength(1)
    expect([all.offers('Rotate'), all.offers('Revoke token')]).toEqual([false, true])
    await all.form('Revoke token').submit()
    expect((await list.form('Rotate', id).submit()).notices).toEqual(['Not found'])
  })
})

describe('organizations', () => {
  test('somebody without one is told what to do; a new one is chosen at once, and the header switches', async () => {
    const person = await makePerson(system!)
    const own = await openConsole(system!, person)
    const none = await own.open('/console')
    expect(none.html).toContain('/console/organizations/new')
    expect(none.html).not.toContain('href="/console/members"')
    expect(none.html).not.toContain('id="palette"')
    expect((await own.open(MEMBERS)).path).toBe('/console')
    expect((await own.open('/console/profile')).status).toBe(200)
    const name = unique('Initech')
    const made = await (
      await own.open('/console/organizations/new')
    )
      .form('Create organization')
      .with({ name })
      .submit()
    expect((await own.open('/console')).title).toBe(name)
    expect(made.status).toBe(200)
    const second = await person.call(createOrganization, { name: unique('Contoso') })
    const switched = await (
      await own.open('/console/organizations')
    )
      .form(`Switch to ${second.name}`)
      .submit()
    expect((await own.open('/console')).title).toBe(second.name)
    // A form is about the organization it was shown for, whichever another tab has switched to.
    const rename = (await own.open(SETTINGS)).form('Save settings')
    const first = switched.forms.find(({ action }) => action.pathname === '/console/organization')!
    expect(first.presses.map(({ label }) => label).join()).toContain(name)
    await switched.form(first.presses.find(({ label }) => label.includes(name))!.label).submit()
    await rename.with({ name: `${second.name} renamed` }).submit()
    const names = (await person.call(listOrganizations, {})).organizations.map((one) => one.name)
    expect(names.toSorted()).toEqual([`${second.name} renamed`, name].toSorted())
  })

  test('its name, time zone and switches are changed by those who may', async () => {
    const { owner, admin, viewer, details } = await scene()
    expect(actionsOf(await viewer.open(SETTINGS))).toEqual([])
    expect(actionsOf(await viewer.open(SECURITY))).toEqual([])
    const page = await admin.open(SETTINGS)
    const refused = await page.form('Save settings').with({ timezone: 'Nowhere' }).submit()
    expect([refused.status, refused.problems]).toEqual([
      400,
      { timezone: 'must be a time zone such as Europe/Vienna or UTC' },
    ])
    expect(refused.form('Save settings').value('timezone')).toBe('Nowhere')
    await refused.form('Save settings').with({ timezone: 'America/New_York' }).submit()
    expect((await details()).timezone).toBe('America/New_York')
    const name = unique('Renamed')
    const renamed = await (await owner.open(SETTINGS)).form('Save settings').with({ name }).submit()
    expect(renamed.notices).toEqual(['Settings saved.'])
    expect(renamed.form('Save settings').value('name')).toBe(name)
    expect((await owner.open(SETTINGS)).notices).not.toContain(renamed.notices[0])
    const off = await (await owner.open(SECURITY)).form('Turn off agents').submit()
    expect((await details()).agents_enabled).toBe(false)
    expect(off.text).toContain('Assistants have no access')
    const on = await off.form('Turn on agents').submit()
    expect((await details()).agents_enabled).toBe(true)
    const unregistered = await on.form('Refuse registered clients').submit()
    expect((await details()).registered_clients).toBe('refused')
    const allowed = await unregistered.form('Allow registered clients').submit()
    expect((await details()).registered_clients).toBe('allowed')
    const days = { narrow_unused_after_days: '30', end_unused_after_days: '90' }
    const few = await allowed
      .form('Save')
      .with({ ...days, end_unused_after_days: '3' })
      .submitUnchecked()
    expect([few.status, Object.keys(few.problems)]).toEqual([400, ['end_unused_after_days']])
    const set = await few.form('Save').with(days).submit()
    expect(await details()).toMatchObject({ narrow_unused_after_days: 30, end_unused_after_days: 90 })
    expect((await viewer.open(SECURITY)).text).toContain('Agents lose what they have not used for 30 days.')
    await set.form('Save').with({ narrow_unused_after_days: '', end_unused_after_days: '' }).submit()
    expect(await details()).toMatchObject({ narrow_unused_after_days: null, end_unused_after_days: null })
  })
})

describe('support sessions', () => {
  const BANNER = 'Support session in'

  async function visited() {
    const made = await scene()
    const staff = await makePerson(system!)
    await makeOrganization(system!, staff)
    const start = () =>
      system!.as({ token: OPERATOR_TOKEN })(startSupportSession, {
        org: made.org.id,
        staff_email: staff.email,
        reason: 'Ticket 4711',
      })
    const sessions = async () => (await staff.call(listMySupportSessions, {})).support_sessions
    return { ...made, start, sessions, staff: await openConsole(system!, staff) }
  }

  test('owners see who has access and why, end it, and turn support access off and on', async () => {
    const { owner, admin, start, details, sessions } = await visited()
    await start()
    const read = await admin.open(SETTINGS)
    expect(read.text).toContain('Ticket 4711')
    for (const words of ['End session', 'Turn on support access']) expect(read.offers(words)).toBe(false)
    const page = await owner.open(SETTINGS)
    await page.form('End session').submit()
    expect(await sessions()).toEqual([])
    const off = await page.form('Turn off', 'support').submit()
    expect((await details()).support_access_enabled).toBe(false)
    await off.form('Turn on support access').submit()
    expect((await details()).support_access_enabled).toBe(true)
  })

  test('staff see on every page where they are, get write access with a reason, leave and end it', async () => {
    const { org, staff, start, sessions, owner } = await visited()
    expect((await staff.open('/console/organizations')).text).not.toContain('Support sessions')
    await start()
    const open = async () => (await staff.open('/console/organizations')).form(`Open ${org.name}`).submit()
    await open()
    for (const path of ['/console', MEMBERS, SETTINGS]) {
      const page = await staff.open(path)
      expect(page.text).toContain(`${BANNER} ${org.name}`)
      expect(page.text).toContain('read only')
    }
    const page = await staff.open('/console')
    const elevated = await page.form('Get write access').with({ reason: 'To repair it' }).submit()
    expect(elevated.text).toContain('read and write')
    expect((await sessions())[0]?.level).toBe('admin')
    expect((await owner.open('/console/audit')).text).toContain('support session')
    await elevated.form('Leave without ending').submit()
    expect((await staff.open('/console')).text).not.toContain(BANNER)
    expect(await sessions()).toHaveLength(1)
    const again = await open()
    expect((await again.form('End session').submit()).notices).toEqual(['Support session ended.'])
    expect(await sessions()).toEqual([])
  })

  test('staff are told once that it ended; a form of it does nothing, and signing out works', async () => {
    const { org, staff, start, owner, details } = await visited()
    await start()
    await (await staff.open('/console/organizations')).form(`Open ${org.name}`).submit()
    await (await staff.open('/console')).form('Get write access').with({ reason: 'To repair it' }).submit()
    const rename = (await staff.open(SETTINGS)).form('Save settings')
    await (await owner.open(SETTINGS)).form('End session').submit()
    const told = await staff.open(MEMBERS)
    expect([told.path, told.notices]).toEqual(['/console', ['Your support session has ended.']])
    expect((await staff.open(MEMBERS)).status).toBe(200)
    expect((await rename.with({ timezone: 'Europe/Vienna' }).submit()).status).toBe(403)
    expect((await details()).timezone).toBe('UTC')
    expect((await told.form('Sign out').submit()).path).toBe('/console/signed-out')
  })
})

describe('the profile', () => {
  test('an address that is not verified is asked for, kept when refused, and verified by mail', async () => {
    const { org } = await scene(mailing)
    const isOwner = eq(users.id, org.owner.userId)
    await mailing!.db.update(users).set({ emailVerifiedAt: null }).where(isOwner)
    const own = await openConsole(mailing!, org.owner)
    expect((await own.open('/console')).text).toContain('Verify your email address')
    const form = (await own.open('/console/profile')).form('Send verification link')
    expect(form.value('email')).toBe(org.owner.email)
    const refused = await form.with({ email: 'no address' }).submitUnchecked()
    expect([refused.status, refused.form('Send verification link').value('email')]).toEqual([
      400,
      'no address',
    ])
    await form.submit()
    expect(mailing!.mails.at(-1)?.to).toBe(org.owner.email)
    await mailing!.db.update(users).set({ emailVerifiedAt: mailing!.clock.now() }).where(isOwner)
    expect((await own.open('/console')).text).not.toContain('Verify your email address')
    expect((await own.open('/console/profile')).offers('Send verification link')).toBe(false)
  })

  test('a password is changed, never written back, and ends API tokens only where that is ticked', async () => {
    const { viewer, people, as } = await scene()
    await as(people.viewer)(createApiToken, { name: 'Kept' })
    const tokens = async () => (await viewer.open(TOKENS)).rows.length
    const form = (await viewer.open('/console/profile')).form('Change password')
    const wrong = await form
      .with({ current_password: 'wrong but secret', new_password: 'another long secret' })
      .submit()
    expect(wrong.status).toBe(400)
    expect(wrong.text).toContain('current password')
    expect(wrong.html).not.toContain('secret"')
    const first = 'another few words here'
    expect(
      (await form.with({ current_password: PASSWORD, new_password: first }).submit()).notices,
    ).toHaveLength(1)
    expect(await tokens()).toBe(1)
    const again = await form
      .with({ current_password: first, new_password: PASSWORD, end_api_tokens: true })
      .submit()
    expect(again.notices[0]).toContain('Your API tokens were revoked.')
    expect(await tokens()).toBe(0)
  })

  test('access since a time is ended: one’s own by everybody, a member’s and everybody’s by admins', async () => {
    const { admin, viewer, people, as } = await scene()
    await as(people.viewer)(createApiToken, { name: 'One' })
    const PATH = '/console/end-access'
    const theirs = (await viewer.open(PATH)).form('End access')
    expect(theirs.choices('whose')).toEqual(['mine'])
    const refused = await theirs.with({ since: 'yesterday' }).submit()
    expect([refused.status, refused.form('End access').value('since')]).toEqual([400, 'yesterday'])
    const page = await admin.open(PATH)
    expect(page.form('End access').choices('whose')).toEqual(
      expect.arrayContaining(['mine', 'everybody', people.viewer.userId]),
    )
    const ended = await page
      .form('End access')
      .with({ whose: people.viewer.userId, since: '2026-01-01T00:00' })
      .submit()
    expect(ended.notices[0]).toMatch(/^Ended: \d+ sessions?, 1 API token/)
    expect((await viewer.open('/console')).status).toBe(401)
  })
})
