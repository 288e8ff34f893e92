/** Invitations: a link for one organization and one person that works once, and only while its inviter may still invite. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { invitations } from '../../db/schema.ts'
import { INVITATION_SECONDS, MAILS_PER_ADDRESS } from '../../src/contracts/limits.ts'
import {
  acceptInvitation,
  changeMemberRole,
  inviteMember,
  listInvitations,
  listMembers,
  removeMember,
  revokeInvitation,
} from '../../src/contracts/members.ts'
import { updateOrganization } from '../../src/contracts/organizations.ts'
import { showProfile, whoAmI } from '../../src/contracts/people.ts'
import type { GRANTABLE_ROLES, Role } from '../../src/contracts/roles.ts'
import { makeId } from '../../src/contracts/ids.ts'
import type { Message } from '../../src/cores/dependencies.ts'
import { sweepInvitations } from '../../src/cores/organizations/index.ts'
import { answerTo } from '../support/answers.ts'
import { linkIn } from '../support/links.ts'
import { makeMember, makeOrganization, makePerson, unique, type Org, type Person } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

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

const newcomer = () => `${unique('new')}@people.test`
const secretOf = (link: string | undefined): string => link?.split('/').at(-1) ?? ''

type Asked = { by?: Person; email?: string; role?: (typeof GRANTABLE_ROLES)[number] }
async function invite(org: Org, { by = org.owner, email = newcomer(), role = 'viewer' }: Asked = {}) {
  const made = await by.call(inviteMember, { org_id: org.id, email, role })
  return { ...made, secret: secretOf(made.invitation_url) }
}
const accept = (person: Pick<Person, 'call'>, token: string) => person.call(acceptInvitation, { token })
const openOnes = async (org: Org) => (await org.owner.call(listInvitations, { org_id: org.id })).invitations
const GONE = { code: 'NOT_FOUND' }
const expire = async (id: string, daysAgo: number) => {
  const expiresAt = new Date(system.clock.now().getTime() - daysAgo * 24 * 60 * 60 * 1000)
  await system.db.update(invitations).set({ expiresAt }).where(eq(invitations.id, id))
}

describe('without a mail server', () => {
  test('the link is shown to the inviter once, and lets a signed-in person in', async () => {
    const org = await makeOrganization(system)
    const person = await makePerson(system)
    const invited = await invite(org, { role: 'developer' })
    expect(invited).toMatchObject({ role: 'developer', invited_by: org.owner.name })
    const [listed] = await openOnes(org)
    expect(listed).toMatchObject({
      id: invited.id,
      email: invited.email,
      role: 'developer',
      invited_by: org.owner.name,
    })
    expect(JSON.stringify(listed)).not.toContain(invited.secret)

    expect(await accept(person, invited.secret)).toEqual({
      id: org.id,
      name: org.name,
      slug: org.slug,
      role: 'developer',
    })
    expect(await openOnes(org)).toEqual([])
    const { members } = await org.owner.call(listMembers, { org_id: org.id, role: 'developer' })
    expect(members).toMatchObject([{ user_id: person.userId, joined_by: 'invitation' }])
  })
})

describe('with a mail server', () => {
  const mailed = (mails: readonly Message[], email: string) =>
    secretOf(linkIn(mails.findLast(({ to }) => to === email)?.text ?? ''))

  test('the link is in the mail and nowhere else, and opening it proves the address', async () => {
    const org = await makeOrganization(mailing)
    const person = await makePerson(mailing, { verified: false })
    const invited = await invite(org, { email: person.email })
    expect(invited).not.toHaveProperty('invitation_url')
    await accept(person, mailed(mailing.mails, person.email))
    expect((await person.call(showProfile, {})).email_verified).toBe(true)
  })

  test('somebody else who opens the mailed link joins, and proves nothing about their own address', async () => {
    const org = await makeOrganization(mailing)
    const person = await makePerson(mailing, { verified: false })
    const { email } = await invite(org)
    await accept(person, mailed(mailing.mails, email))
    expect((await person.call(showProfile, {})).email_verified).toBe(false)
  })

  test('a mail that cannot be sent: another link is shown, and the one in the mail is dead', async () => {
    const tried: Message[] = []
    const broken = await startSystem(API_ONLY, {
      mail: async (message) => {
        tried.push(message)
        throw new Error('the mail server is down')
      },
    })
    const org = await makeOrganization(broken)
    const person = await makePerson(broken, { verified: false })
    const { secret, email } = await invite(org, { email: person.email })
    await expect(accept(person, mailed(tried, email))).rejects.toMatchObject(GONE)
    await accept(person, secret)
    expect((await person.call(showProfile, {})).email_verified).toBe(false)
    await broken.stop()
  })

  test('one address gets only so many mails an hour; after that inviting fails, and no link is shown', async () => {
    const org = await makeOrganization(mailing)
    const email = newcomer()
    for (let n = 0; n < MAILS_PER_ADDRESS.count; n++) expect((await invite(org, { email })).secret).toBe('')
    const before = await openOnes(org)
    const refused = await answerTo(mailing, { token: org.owner.token }, inviteMember, {
      org_id: org.id,
      email,
      role: 'viewer',
    })
    expect(refused.status).toBe(429)
    expect(refused.text).not.toContain('/auth/invitation/')
    expect(mailing.mails.filter(({ to }) => to === email)).toHaveLength(MAILS_PER_ADDRESS.count)
    // The link that was mailed last is still the one that works.
    expect(await openOnes(org)).toEqual(before)
    // Another organization has nothing to do with it.
    await invite(await makeOrganization(mailing), { email })
    expect(mailing.mails.filter(({ to }) => to === email)).toHaveLength(MAILS_PER_ADDRESS.count + 1)
  })
})

describe('a link is dead', () => {
  test.each<[string, (org: Org, invited: Awaited<ReturnType<typeof invite>>) => Promise<unknown>]>([
    ['used', async (_org, { secret }) => accept(await makePerson(system), secret)],
    ['taken back', (org, { id }) => org.owner.call(revokeInvitation, { org_id: org.id, invitation_id: id })],
    ['replaced by a newer one', (org, { email }) => invite(org, { email })],
    ['seven days old', async () => system.clock.advance(INVITATION_SECONDS)],
  ])('once it is %s, and answers like one that never was', async (_how, kill) => {
    const org = await makeOrganization(system)
    const invited = await invite(org)
    await kill(org, invited)
    const person = await makePerson(system)
    const ask = (token: string) => answerTo(system, { token: person.token }, acceptInvitation, { token })
    const [dead, nonsense] = [await ask(invited.secret), await ask('nonsense')]
    expect([dead.status, dead.text]).toEqual([404, nonsense.text])
    expect((await person.call(whoAmI, {})).organization).toBeNull()
  })

  test.each<[string, (org: Org, inviter: Person) => Promise<unknown>]>([
    ['removed', (org, { userId }) => org.owner.call(removeMember, { org_id: org.id, user_id: userId })],
    [
      'lowered',
      (org, { userId }) =>
        org.owner.call(changeMemberRole, { org_id: org.id, user_id: userId, role: 'viewer' }),
    ],
    [
      'gone by themselves',
      (org, { userId, call }) => call(removeMember, { org_id: org.id, user_id: userId }),
    ],
  ])('once its giver is %s', async (_how, act) => {
    const org = await makeOrganization(system)
    await org.owner.call(updateOrganization, { org_id: org.id, admins_may_invite: true })
    const inviter = await makeMember(system, org, 'admin')
    const { secret } = await invite(org, { by: inviter, role: 'admin' })
    const kept = await invite(org)
    await act(org, inviter)
    await expect(accept(await makePerson(system), secret)).rejects.toMatchObject(GONE)
    expect((await openOnes(org)).map(({ id }) => id)).toEqual([kept.id])
  })

  test('for the second of two who accept it at the same moment', async () => {
    const org = await makeOrganization(system)
    const people = await Promise.all(Array.from({ length: 6 }, () => makePerson(system)))
    // Three times, because the first pair spends its time on opening connections.
    for (const pair of [people.slice(0, 2), people.slice(2, 4), people.slice(4)]) {
      const { secret } = await invite(org)
      const both = await Promise.allSettled(pair.map((person) => accept(person, secret)))
      expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: GONE })
    }
    expect((await org.owner.call(listMembers, { org_id: org.id })).members).toHaveLength(4)
  })
})

test('inviting again replaces the earlier link: the newest one works', async () => {
  const org = await makeOrganization(system)
  const first = await invite(org, { role: 'admin' })
  const second = await invite(org, { email: first.email, role: 'viewer' })
  expect((await openOnes(org)).map(({ id }) => id)).toEqual([second.id])
  expect((await accept(await makePerson(system), second.secret)).role).toBe('viewer')
})

test.each<[Role, (typeof GRANTABLE_ROLES)[number], Role]>([
  ['viewer', 'admin', 'admin'],
  ['developer', 'owner', 'owner'],
  ['member', 'developer', 'developer'],
  ['member', 'viewer', 'member'],
  ['admin', 'viewer', 'admin'],
  ['owner', 'developer', 'owner'],
])('a %s who is invited as %s is then %s: up, never down', async (before, invitedAs, after) => {
  const org = await makeOrganization(system)
  const person = await makeMember(system, org, before)
  const { secret } = await invite(org, { role: invitedAs })
  expect((await accept(person, secret)).role).toBe(after)
  expect((await person.call(whoAmI, {})).role).toBe(after)
})

test('somebody who is here already, by a verified address, is a conflict; by a claimed one is not', async () => {
  const org = await makeOrganization(system)
  const [known, claimed] = [await makePerson(system), await makePerson(system, { verified: false })]
  for (const person of [known, claimed]) await makeMember(system, org, 'viewer', person)
  await expect(invite(org, { email: known.email })).rejects.toMatchObject({ code: 'CONFLICT' })
  expect((await invite(org, { email: claimed.email })).email).toBe(claimed.email)
})

test('an owner’s invitation keeps admins from inviting the address only until it is over', async () => {
  const org = await makeOrganization(system)
  await org.owner.call(updateOrganization, { org_id: org.id, admins_may_invite: true })
  const admin = await makeMember(system, org, 'admin')
  const { id, email } = await invite(org)
  await expect(invite(org, { by: admin, email })).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expire(id, 0)
  expect(await invite(org, { by: admin, email })).toMatchObject({ email, invited_by: admin.name })
})

test('what was open is kept for thirty days after it is over, for whoever investigates', async () => {
  const org = await makeOrganization(system)
  const [open, over, old] = [await invite(org), await invite(org), await invite(org)]
  await expire(over.id, 29)
  await expire(old.id, 31)
  await sweepInvitations({ db: system.db, clock: () => system.clock.now() })
  const kept = await system.db.select().from(invitations).where(eq(invitations.orgId, org.id))
  expect(kept.map(({ id }) => id).toSorted()).toEqual([open.id, over.id].toSorted())
})

test('another organization neither sees nor revokes an invitation', async () => {
  const [mine, theirs] = [await makeOrganization(system), await makeOrganization(system)]
  const { id } = await invite(theirs)
  expect(await openOnes(mine)).toEqual([])
  const end = (org_id: string, invitation_id: string) =>
    answerTo(system, { token: mine.owner.token }, revokeInvitation, { org_id, invitation_id })
  const unknown = await end(mine.id, makeId('inv', 0))
  for (const foreign of [await end(mine.id, id), await end(theirs.id, id)]) {
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
  }
  expect(await openOnes(theirs)).toHaveLength(1)
})
