/** Organizations: who founds them, what they are called, whose domains they hold, and who comes in by them. */
import { eq } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type * as z from 'zod'
import { formerMembers, organizationIdentityProviders, users } from '../../db/schema.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { acceptInvitation, inviteMember, listMembers, removeMember } from '../../src/contracts/members.ts'
import {
  addOwnerAsOperator,
  switchOrganization,
  createOrganization,
  createOrganizationAsOperator,
  listOrganizations,
  listOrganizationsAsOperator,
  setOrganizationDomains,
  showOrganization,
  updateOrganization,
} from '../../src/contracts/organizations.ts'
import { sendEmailVerification, showProfile, whoAmI } from '../../src/contracts/people.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { validateToken } from '../../src/contracts/tokens.ts'
import { answerTo } from '../support/answers.ts'
import { linkIn, mailTo } from '../support/links.ts'
import {
  makeMember,
  makeOrganization,
  makePerson,
  PASSWORD,
  signedIn,
  unique,
  type Person,
} from '../support/make.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'
import { newWalker, signInOnPage } from '../support/walker.ts'

const API_ONLY = { SVC_SERVICES: 'api-gateway,auth-service' }

let system: TestSystem
let mailing: TestSystem

beforeAll(async () => {
  system = await startSystem(API_ONLY)
  mailing = await startSystem(API_ONLY, { withMail: true })
})

afterAll(async () => {
  await system.stop()
  await mailing.stop()
})

const operator = (of: TestSystem = system) => of.as({ token: OPERATOR_TOKEN })
const domain = () => `${unique('corp')}.test`
const open = (input: Omit<z.input<typeof createOrganizationAsOperator.input>, 'name'> = {}, of = system) =>
  operator(of)(createOrganizationAsOperator, { name: unique('Opened'), ...input })
const follow = async (of: TestSystem, link: string, button: string, filled?: Record<string, string>) => {
  const walker = newWalker(of)
  return walker.submit(await walker.open(link), button, filled)
}
const takeOver = (of: TestSystem, link: string) =>
  follow(of, link, 'Create account and join', { name: 'First Owner', password: PASSWORD })
const secretOf = (link: string): string => link.split('/').at(-1) ?? ''
const organizationsOf = async ({ call }: Pick<Person, 'call'>) =>
  (await call(listOrganizations, {})).organizations

describe('founding one', () => {
  test('answers 201 with id, name, slug and role, and the founder owns it', async () => {
    const founder = await makePerson(system)
    const name = unique('Founders')
    const answered = await answerTo(system, { token: founder.token }, createOrganization, { name })
    expect(answered.status).toBe(201)
    const org = JSON.parse(answered.text) as { id: string }
    expect(org).toEqual({ id: org.id, name, slug: name.toLowerCase(), role: 'owner' })
    const { members } = await founder.call(listMembers, { org_id: org.id })
    expect(members).toMatchObject([{ user_id: founder.userId, role: 'owner', joined_by: 'creation' }])
  })

  test.each([
    ['Café Zürich', 'cafe-zurich'],
    ['  Ärger & Söhne GmbH  ', 'arger-sohne-gmbh'],
    ['ＦＵＬＬ ｗｉｄｔｈ', 'full-width'],
    ['日本 tea', 'tea'],
    ['---', ''],
  ])('%s is spelled %s in an address', async (name, spelled) => {
    const mark = unique('x')
    const { call } = await makePerson(system)
    const { slug } = await call(createOrganization, { name: `${name} ${mark}` })
    expect(slug).toBe([spelled, mark].filter(Boolean).join('-'))
  })

  test('a name in another script gets an address too, and a long one is cut', async () => {
    const { call } = await makePerson(system)
    expect((await call(createOrganization, { name: '日本の会社' })).slug).toMatch(/^org(-\d+)?$/)
    expect(
      (await call(createOrganization, { name: `${unique('long')} ${'word '.repeat(20)}` })).slug.length,
    ).toBeLessThanOrEqual(51)
  })

  test('namesakes get a number each, also when they come at the same moment', async () => {
    const people = await Promise.all(Array.from({ length: 5 }, () => makePerson(system)))
    const name = unique('Namesake')
    const slugs = await Promise.all(
      people.map(async ({ call }) => (await call(createOrganization, { name })).slug),
    )
    const base = name.toLowerCase()
    expect(slugs.toSorted()).toEqual([base, `${base}-2`, `${base}-3`, `${base}-4`, `${base}-5`])
  })

  test('a new name changes no address', async () => {
    const { owner, id, slug } = await makeOrganization(system)
    const name = unique('Renamed')
    expect(await owner.call(updateOrganization, { org_id: id, name })).toMatchObject({ name, slug })
  })
})

test('every member is told whether agents connect through the identity provider', async () => {
  const uses = [
    ['draft', false, 'none'],
    ['on', false, 'on'],
    ['paused', false, 'none'],
    ['on', true, 'required'],
    ['paused', true, 'required'],
  ] as const
  for (const [state, isRequired, identity_provider] of uses) {
    const org = await makeOrganization(system)
    const viewer = await makeMember(system, org, 'viewer')
    const other = await makeOrganization(system, viewer)
    await system.db.insert(organizationIdentityProviders).values({
      id: makeId('idp', system.clock.now().getTime()),
      orgId: org.id,
      name: 'A provider',
      issuer: `https://${unique('idp')}.test`,
      jwksUri: 'https://idp.test/keys',
      state,
      defaultScopes: [],
      assertionSeconds: 600,
      tokenMinutes: 15,
      isRequired,
      createdAt: system.clock.now(),
    })
    const { organizations } = await viewer.call(listOrganizations, {})
    const listed = (one: { id: string }) => organizations.find(({ id }) => id === one.id)
    expect(listed(org)).toMatchObject({ identity_provider })
    expect(listed(other)).toMatchObject({ identity_provider: 'none' })
    expect(await viewer.call(showOrganization, { org_id: org.id })).toMatchObject({ identity_provider })
    const renamed = await org.owner.call(updateOrganization, { org_id: org.id, name: unique('New') })
    expect(renamed).toMatchObject({ identity_provider })
  }
})

describe('at most so many of one person', () => {
  test('can be founded, those that the founder has left included, and others are not concerned', async () => {
    const own = await startSystem({ ...API_ONLY, ORGANIZATIONS_PER_PERSON: '2' })
    const [founder, other] = [await makePerson(own), await makePerson(own)]
    const found = ({ call }: Person) => call(createOrganization, { name: unique('Founded') })
    const { id } = await found(founder)
    await makeMember(own, { id, name: '', slug: '', owner: founder }, 'owner', other)
    await founder.call(removeMember, { org_id: id, user_id: founder.userId })
    await found(founder)
    await expect(found(founder)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await organizationsOf(founder)).toHaveLength(1)
    // One that somebody else founded, and this person owns now, does not count.
    await found(other)
    await own.stop()
  })

  test('can be founded at the same moment', async () => {
    const own = await startSystem({ ...API_ONLY, ORGANIZATIONS_PER_PERSON: '3' })
    const { call } = await makePerson(own)
    const tries = Array.from({ length: 8 }, () => call(createOrganization, { name: unique('Burst') }))
    const done = await Promise.allSettled(tries)
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    await own.stop()
  })

  test('is ten where nobody set it', () => {
    expect(system.system.config.ORGANIZATIONS_PER_PERSON).toBe(10)
  })
})

describe('opening one as the operator', () => {
  test('without an owner', async () => {
    const domains = [domain(), domain()].toSorted()
    const opened = await open({ domains })
    expect(opened).toMatchObject({ domains, owner: null })
    const listed = await operator()(listOrganizationsAsOperator, { limit: 200 })
    expect(listed.organizations.length).toBeGreaterThan(0)
  })

  test('the same name twice is a conflict, in any case of letters and at the same moment', async () => {
    const name = unique('Twice')
    const make = (spelled: string) => operator()(createOrganizationAsOperator, { name: spelled })
    const both = await Promise.allSettled([make(name), make(name)])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    await expect(make(name.toUpperCase())).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('a name that a person gave to theirs is no conflict, before or after', async () => {
    const founder = await makePerson(system)
    const name = unique('Taken')
    const theirs = await founder.call(createOrganization, { name })
    const opened = await operator()(createOrganizationAsOperator, { name })
    expect([theirs.slug, opened.slug]).toEqual([name.toLowerCase(), `${name.toLowerCase()}-2`])
    expect((await founder.call(createOrganization, { name })).slug).toBe(`${name.toLowerCase()}-3`)
    await expect(operator()(createOrganizationAsOperator, { name })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
  })

  test('names that leave the same address are no conflict', async () => {
    const mark = String.fromCodePoint(
      ...Array.from({ length: 8 }, () => 0x4e00 + Math.floor(Math.random() * 20_000)),
    )
    const [first, second] = [
      await operator()(createOrganizationAsOperator, { name: `会社 ${mark}` }),
      await operator()(createOrganizationAsOperator, { name: `組織 ${mark}` }),
    ]
    expect(first.slug).not.toBe(second.slug)
  })

  test('admin_email of somebody we know, verified, makes that person owner', async () => {
    const known = await makePerson(system)
    const opened = await open({ admin_email: known.email.toUpperCase(), admin_name: 'Another Name' })
    expect(opened.owner).toEqual({
      id: known.userId,
      email: known.email,
      name: known.name,
      role: 'owner',
      created: false,
    })
    expect(await organizationsOf(known)).toMatchObject([{ id: opened.id, role: 'owner' }])
  })

  test('admin_email that somebody merely claims is invited: no second account, and none is handed over', async () => {
    const claimed = await makePerson(system, { verified: false })
    const opened = await open({ admin_email: claimed.email })
    expect(opened.owner).toMatchObject({ id: null, email: claimed.email, created: false })
    expect(opened.owner!.invitation_url).toMatch('/auth/invitation/')
    expect(await system.db.select().from(users).where(eq(users.email, claimed.email))).toHaveLength(1)
    expect(await organizationsOf(claimed)).toEqual([])
    await expect(claimed.call(showOrganization, { org_id: opened.id })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  test('whoever takes the invitation with an account of their own replaces the one that waited', async () => {
    const person = await makePerson(system)
    const opened = await open({ admin_email: `${unique('other')}@people.test` })
    const joined = await person.call(acceptInvitation, { token: secretOf(opened.owner!.invitation_url!) })
    expect(joined).toMatchObject({ id: opened.id, role: 'owner' })
    const { members } = await person.call(listMembers, { org_id: opened.id })
    expect(members.map(({ user_id }) => user_id)).toEqual([person.userId])
    expect(await system.db.select().from(users).where(eq(users.id, opened.owner!.id!))).toEqual([])
  })

  test('an unknown admin_email without a mail server: the link is in the answer, and leads to the account', async () => {
    const email = `${unique('first')}@people.test`
    const { id, owner } = await open({ admin_email: email, admin_name: 'First Owner' })
    expect(owner).toMatchObject({ email, name: 'First Owner', role: 'owner', created: true })
    expect((await takeOver(system, owner!.invitation_url!)).status).toBe(303)
    const session = await system.as()(signInWithPassword, { email, password: PASSWORD })
    expect(session).toMatchObject({ user: { id: owner!.id }, organization: { id, role: 'owner' } })
    // Nobody mailed the link, so nothing is proven about the address.
    expect((await system.as({ token: session.token })(showProfile, {})).email_verified).toBe(false)
  })

  test('an unknown admin_email with a mail server: the link is in the mail alone, and proves the address', async () => {
    const email = `${unique('first')}@people.test`
    const { owner } = await open({ admin_email: email }, mailing)
    expect(owner).toMatchObject({ email, created: true })
    expect(owner).not.toHaveProperty('invitation_url')
    await takeOver(mailing, linkIn((await mailTo(mailing, email)).text))
    expect((await (await signedIn(mailing, email)).call(showProfile, {})).email_verified).toBe(true)
  })
})

describe('an organization without an owner', () => {
  const mend = (org_id: string, email: string, of = system) =>
    operator(of)(addOwnerAsOperator, { org_id, email })
  const ownersOf = async ({ call }: Pick<Person, 'call'>, org_id: string) =>
    (await call(listMembers, { org_id, role: 'owner' })).members.map(({ user_id }) => user_id)

  test('gets somebody who has proven the address, also a member, also one who was removed', async () => {
    const [{ id }, other] = [await open(), await open()]
    const person = await makePerson(system)
    const org = { id, name: '', slug: '', owner: person }
    await makeMember(system, org, 'viewer', person)
    const boss = await makeMember(system, org, 'admin')
    await boss.call(removeMember, { org_id: id, user_id: person.userId })
    expect(await mend(id, person.email.toUpperCase())).toEqual({
      id: person.userId,
      email: person.email,
      name: person.name,
      role: 'owner',
      created: false,
    })
    expect(await ownersOf(person, id)).toEqual([person.userId])
    expect((await organizationsOf(person)).map((one) => one.id)).toEqual([id])
    // Named by hand: their domain may bring them in again, too.
    expect(await system.db.select().from(formerMembers).where(eq(formerMembers.orgId, id))).toEqual([])
    await expect(person.call(showOrganization, { org_id: other.id })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  test('gets whoever takes the mailed invitation', async () => {
    const { id } = await open({}, mailing)
    const email = `${unique('mended')}@people.test`
    const added = await mend(id, email, mailing)
    expect(added).toMatchObject({ email, created: true })
    expect(added).not.toHaveProperty('invitation_url')
    await takeOver(mailing, linkIn((await mailTo(mailing, email)).text))
    expect(await ownersOf(await signedIn(mailing, email), id)).toEqual([added.id])
    await expect(mend(id, email, mailing)).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('is also one whose first owner never came: the new one replaces them, and the old link is dead', async () => {
    const opened = await open({ admin_email: `${unique('absent')}@people.test` })
    const email = `${unique('present')}@people.test`
    const added = await mend(opened.id, email)
    expect((await newWalker(system).open(opened.owner!.invitation_url!)).status).toBe(404)
    expect(await system.db.select().from(users).where(eq(users.id, opened.owner!.id!))).toEqual([])
    await takeOver(system, added.invitation_url!)
    expect(await ownersOf(await signedIn(system, email), opened.id)).toEqual([added.id])
  })

  test('is none that has an owner, and none that does not exist', async () => {
    const { id, owner } = await makeOrganization(system)
    const email = `${unique('more')}@people.test`
    await expect(mend(id, email)).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(mend(makeId('org', 0), email)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(owner.call(addOwnerAsOperator, { org_id: id, email })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await ownersOf(owner, id)).toEqual([owner.userId])
  })

  test('gets one owner of two that are named at the same moment', async () => {
    const { id } = await open()
    const people = [await makePerson(system), await makePerson(system)]
    const both = await Promise.allSettled(people.map(({ email }) => mend(id, email)))
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const winner = people[both.findIndex(({ status }) => status === 'fulfilled')]!
    expect(await ownersOf(winner, id)).toEqual([winner.userId])
  })
})

describe('domains', () => {
  test('are the operator’s to set: an owner who tries is told so, and nothing changes', async () => {
    const { owner, id } = await makeOrganization(system)
    const headers = { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'Renamed', domains: [domain()] })
    const answered = await system.fetch(`/api/v1/orgs/${id}`, { method: 'PATCH', headers, body })
    expect(answered.status).toBe(400)
    const org = await owner.call(showOrganization, { org_id: id })
    expect(org.domains).toEqual([])
    expect(org.name).not.toBe('Renamed')
    await expect(owner.call(setOrganizationDomains, { org_id: id, domains: [] })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
  })

  test('are replaced as a whole, in lower case, each once', async () => {
    const { owner, id } = await makeOrganization(system)
    const [first, second] = [domain(), domain()]
    await operator()(setOrganizationDomains, { org_id: id, domains: [first] })
    const set = await operator()(setOrganizationDomains, {
      org_id: id,
      domains: [second.toUpperCase(), second],
    })
    expect(set.domains).toEqual([second])
    expect((await owner.call(showOrganization, { org_id: id })).domains).toEqual([second])
  })

  test('belong to one organization only: taking another’s is a conflict and changes nothing', async () => {
    const [mine, taken] = [domain(), domain()]
    const { id } = await open({ domains: [mine] })
    await open({ domains: [taken] })
    const claims = [
      () => operator()(setOrganizationDomains, { org_id: id, domains: [mine, taken, domain()] }),
      () => open({ domains: [domain(), taken] }),
    ]
    for (const claim of claims) {
      await expect(claim()).rejects.toMatchObject({
        code: 'CONFLICT',
        problems: [`domains: ${taken} is taken`],
      })
    }
    const again = await operator()(setOrganizationDomains, { org_id: id, domains: [mine] })
    expect(again.domains).toEqual([mine])
  })

  test('where anybody can have an address are refused, all of them at once, and nothing is opened', async () => {
    const name = unique('Public')
    const attempt = operator()(createOrganizationAsOperator, {
      name,
      domains: ['gmail.com', domain(), 'Yahoo.co.uk'],
    })
    await expect(attempt).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: [expect.stringContaining('gmail.com'), expect.stringContaining('yahoo.co.uk')] as string[],
    })
    expect((await operator()(createOrganizationAsOperator, { name })).name).toBe(name)
  })

  test('that are none are refused, all of them at once', async () => {
    const nonsense = ['localhost', '*.corp.test', 'corp test', 'corp.test.', 'a@corp.test', '']
    await expect(open({ domains: nonsense })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: nonsense.map((_text, at) => expect.stringContaining(`domains.${at}`) as string),
    })
  })
})

describe('joining by domain', () => {
  const at = (where: string) => ({ email: `${unique('person')}@${where}` })

  test('a verified address in the domain is a regular member from the first sign-in on', async () => {
    const own = domain()
    const org = await open({ domains: [own] })
    const person = await makePerson(system, at(own))
    expect(await organizationsOf(person)).toMatchObject([{ id: org.id, role: 'member' }])
    expect((await person.call(whoAmI, {})).organization?.id).toBe(org.id)
    const { members } = await person.call(listMembers, { org_id: org.id })
    expect(members).toMatchObject([{ user_id: person.userId, joined_by: 'domain' }])
  })

  test('an address that is only claimed opens nothing, until the person follows a link we mailed', async () => {
    const own = domain()
    const org = await open({ domains: [own] }, mailing)
    const person = await makePerson(mailing, { ...at(own), verified: false })
    expect(await organizationsOf(person)).toEqual([])
    await person.call(sendEmailVerification, {})
    const walker = newWalker(mailing)
    await signInOnPage(walker, person.email)
    const page = await walker.open(linkIn((await mailTo(mailing, person.email)).text))
    await walker.submit(page, 'Confirm email address')
    expect(await organizationsOf(person)).toMatchObject([{ id: org.id, role: 'member' }])
  })

  test('is in the audit trail of both organizations: once, and in no third one', async () => {
    const own = domain()
    const person = await makePerson(system, at(own))
    const [before, third] = [
      await person.call(createOrganization, { name: unique('Before') }),
      await makeOrganization(system),
    ]
    const joined = await open({ domains: [own], admin_email: third.owner.email })
    for (const _ of [1, 2]) await signedIn(system, person.email)
    const trail = async (by: Person, org_id: string) => {
      const { audit } = await by.call(listAudit, { org_id })
      return audit
        .filter(({ actor, action }) => actor.id === person.userId && action.startsWith('member.'))
        .map(({ action, subject }) => [action, subject])
    }
    expect(await trail(person, before.id)).toEqual([['member.joined_another', joined.name]])
    expect(await trail(third.owner, joined.id)).toEqual([['member.joined', `through ${own}`]])
    expect(await trail(third.owner, third.id)).toEqual([])
  })

  test('neighboring domains and other organizations stay closed', async () => {
    const own = domain()
    const org = await open({ domains: [own] })
    await open({ domains: [domain()] })
    for (const near of [`sub.${own}`, `x${own}`, own.replace('.test', '.example'), own.slice(1)]) {
      expect(await organizationsOf(await makePerson(system, at(near)))).toEqual([])
    }
    expect(await organizationsOf(await makePerson(system, at(own)))).toMatchObject([{ id: org.id }])
  })

  test.each(['removed', 'gone by themselves'])(
    'whoever was %s stays out, until somebody invites them',
    async (how) => {
      const own = domain()
      const admin = await makePerson(system)
      const org = await open({ domains: [own], admin_email: admin.email })
      const person = await makePerson(system, at(own))
      const by = how === 'removed' ? admin : person
      await by.call(removeMember, { org_id: org.id, user_id: person.userId })
      const again = await signedIn(system, person.email)
      expect(await organizationsOf(again)).toEqual([])
      const { invitation_url } = await admin.call(inviteMember, { org_id: org.id, email: person.email })
      await again.call(acceptInvitation, { token: secretOf(invitation_url!) })
      expect(await organizationsOf(await signedIn(system, person.email))).toMatchObject([
        { id: org.id, role: 'viewer' },
      ])
      // Of the removal nothing is left that would keep their address out.
      expect(await system.db.$count(formerMembers, eq(formerMembers.orgId, org.id))).toBe(0)
    },
  )

  test('a domain that was taken back lets nobody new in, and nobody out', async () => {
    const own = domain()
    const org = await open({ domains: [own] })
    const early = await makePerson(system, at(own))
    await operator()(setOrganizationDomains, { org_id: org.id, domains: [] })
    expect(await organizationsOf(await makePerson(system, at(own)))).toEqual([])
    expect(await organizationsOf(early)).toMatchObject([{ id: org.id }])
  })
})

describe('a person in several organizations', () => {
  test('names the one meant by id or slug, and otherwise works in the one last chosen', async () => {
    const person = await makePerson(system)
    const first = await makeOrganization(system, person)
    const second = await makeOrganization(system)
    await makeMember(system, second, 'viewer', person)
    const me = (organization?: string) => system.as({ token: person.token, organization })(whoAmI, {})
    expect(await me()).toMatchObject({ organization: { id: first.id }, role: 'owner' })
    for (const meant of [second.id, second.slug]) {
      expect(await me(meant)).toMatchObject({ organization: { id: second.id }, role: 'viewer' })
    }
    expect(await me('no-such-organization')).toMatchObject({ organization: null, role: null })

    await person.call(switchOrganization, { org_id: second.id })
    expect((await me()).organization?.id).toBe(second.id)
    const next = await system.as()(signInWithPassword, { email: person.email, password: PASSWORD })
    expect(next.organization?.id).toBe(second.id)
  })

  test('falls back to the first one joined when the chosen one is lost', async () => {
    const person = await makePerson(system)
    const first = await makeOrganization(system, person)
    const second = await makeOrganization(system)
    await makeMember(system, second, 'viewer', person)
    await person.call(switchOrganization, { org_id: second.id })
    system.clock.advance(1)
    await makeMember(system, await makeOrganization(system), 'viewer', person)
    // As every page of the console asks, with all of them.
    const withAll = async () =>
      (await system.as()(validateToken, { token: person.token, organizations: true })).organization?.id
    expect(await withAll()).toBe(second.id)
    await second.owner.call(removeMember, { org_id: second.id, user_id: person.userId })
    expect((await person.call(whoAmI, {})).organization?.id).toBe(first.id)
    expect(await withAll()).toBe(first.id)
    const next = await system.as()(signInWithPassword, { email: person.email, password: PASSWORD })
    expect(next.organization?.id).toBe(first.id)
  })

  test('cannot choose one they do not belong to', async () => {
    const [mine, theirs] = [await makeOrganization(system), await makeOrganization(system)]
    await expect(mine.owner.call(switchOrganization, { org_id: theirs.id })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    expect((await mine.owner.call(whoAmI, {})).organization?.id).toBe(mine.id)
    expect(await organizationsOf(mine.owner)).toMatchObject([{ id: mine.id }])
  })
})
