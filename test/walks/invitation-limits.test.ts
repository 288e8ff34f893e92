/** Invitations are no mail relay: how many, with which words, and whose invitation an admin leaves alone. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  INVITATIONS_PER_ORGANIZATION,
  INVITATIONS_PER_PERSON,
  MAILS_PER_ADDRESS,
  VERIFICATIONS_PER_PERSON,
} from '../../src/contracts/limits.ts'
import {
  acceptInvitation,
  inviteMember,
  listInvitations,
  revokeInvitation,
} from '../../src/contracts/members.ts'
import { createOrganizationAsOperator, updateOrganization } from '../../src/contracts/organizations.ts'
import { sendEmailVerification, updateProfile } from '../../src/contracts/people.ts'
import { sha256 } from '../../src/trust/keyed-hash.ts'
import { throttles } from '../../db/schema.ts'
import { answerTo } from '../support/answers.ts'
import { linkIn, resetLink } from '../support/links.ts'
import { makeMember, makeOrganization, makePerson, unique, type Org, type Person } from '../support/make.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let mailing: TestSystem
beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service' })
  mailing = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service' }, { withMail: true })
})
afterAll(async () => {
  await system.stop()
  await mailing.stop()
})

const newcomer = () => `${unique('new')}@people.test`
const invite = (org: Org, by: Person = org.owner, email = newcomer(), where = mailing) =>
  answerTo(where, { token: by.token }, inviteMember, { org_id: org.id, email, role: 'viewer' })
const statusOf = async (answer: Promise<{ status: number }>) => (await answer).status
const openOnes = async ({ id, owner }: Org) =>
  (await owner.call(listInvitations, { org_id: id })).invitations.map((one) => one.id)
const mailsTo = (email: string) => mailing.mails.filter(({ to }) => to === email)

/** All but one of the uses of a bucket, without making them one by one. */
const almostFill = (where: TestSystem, key: string, { seconds, count }: { seconds: number; count: number }) =>
  where.db.insert(throttles).values({
    key: sha256(key),
    fullUntil: new Date(where.clock.now().getTime() + (seconds - seconds / count) * 1000),
  })

describe('too many', () => {
  test.each(['with', 'without'])(
    'of one person fail, %s a mail server, whichever organization',
    async (how) => {
      const where = how === 'with' ? mailing : system
      const org = await makeOrganization(where)
      const second = await makeOrganization(where, org.owner)
      await almostFill(where, `invitations-by:${org.owner.userId}`, INVITATIONS_PER_PERSON)
      expect(await statusOf(invite(org, org.owner, newcomer(), where))).toBe(201)
      for (const tried of [org, second]) {
        const refused = await invite(tried, org.owner, newcomer(), where)
        expect(refused.status).toBe(429)
        expect(refused.text).not.toContain('/auth/invitation/')
      }
      expect([(await openOnes(org)).length, (await openOnes(second)).length]).toEqual([1, 0])
      // Another person of the same organization is not concerned.
      const other = await makeMember(where, org, 'owner')
      expect(await statusOf(invite(org, other, newcomer(), where))).toBe(201)
    },
  )

  test('of one organization fail, whoever invites, and other organizations do not notice', async () => {
    const [org, other] = [await makeOrganization(mailing), await makeOrganization(mailing)]
    const second = await makeMember(mailing, org, 'owner')
    await almostFill(mailing, `invitations-of:${org.id}`, INVITATIONS_PER_ORGANIZATION)
    expect(await statusOf(invite(org))).toBe(201)
    const sent = mailing.mails.length
    for (const by of [org.owner, second]) expect(await statusOf(invite(org, by))).toBe(429)
    expect(mailing.mails).toHaveLength(sent)
    expect(await statusOf(invite(other))).toBe(201)
  })

  test('at the same moment: as many get through as fit', async () => {
    const org = await makeOrganization(mailing)
    await almostFill(mailing, `invitations-of:${org.id}`, INVITATIONS_PER_ORGANIZATION)
    const statuses = await Promise.all(Array.from({ length: 6 }, () => statusOf(invite(org))))
    expect(statuses.filter((status) => status === 201)).toHaveLength(1)
    expect(statuses.filter((status) => status === 429)).toHaveLength(5)
    expect(await openOnes(org)).toHaveLength(1)
  })

  test('what is refused for another reason uses up nothing', async () => {
    const org = await makeOrganization(mailing)
    const viewer = await makeMember(mailing, org, 'viewer')
    const admin = await makeMember(mailing, org, 'admin')
    await almostFill(mailing, `invitations-of:${org.id}`, INVITATIONS_PER_ORGANIZATION)
    expect(await statusOf(invite(org, viewer))).toBe(403)
    expect(await statusOf(invite(org, admin))).toBe(403)
    expect(await statusOf(invite(org, org.owner, viewer.email))).toBe(409)
    expect(await statusOf(invite(org))).toBe(201)
  })

  test('of one organization to an address keep neither another one nor the operator from inviting it', async () => {
    const [org, other] = [await makeOrganization(mailing), await makeOrganization(mailing)]
    const email = newcomer()
    for (let n = 0; n < MAILS_PER_ADDRESS.count; n++)
      expect(await statusOf(invite(org, org.owner, email))).toBe(201)
    expect(await statusOf(invite(org, org.owner, email))).toBe(429)
    expect(await statusOf(invite(other, other.owner, email))).toBe(201)
    const opened = { name: unique('Opened'), admin_email: email }
    const answer = answerTo(mailing, { token: OPERATOR_TOKEN }, createOrganizationAsOperator, opened)
    expect(await statusOf(answer)).toBe(201)
  })

  test('leave the reset and verification mails of that address alone', async () => {
    const person = await makePerson(mailing, { verified: false })
    const org = await makeOrganization(mailing)
    for (let n = 0; n < MAILS_PER_ADDRESS.count; n++)
      expect(await statusOf(invite(org, org.owner, person.email))).toBe(201)
    expect(await statusOf(invite(org, org.owner, person.email))).toBe(429)
    await person.call(sendEmailVerification, {})
    expect(await resetLink(mailing, person.email)).toContain('/auth/reset/')
    expect(mailsTo(person.email)).toHaveLength(MAILS_PER_ADDRESS.count + 2)
  })
})

test('verification mails of one account are limited, to whatever addresses, and leave resets alone', async () => {
  const person = await makePerson(mailing, { verified: false })
  const { count } = VERIFICATIONS_PER_PERSON
  const statuses: number[] = []
  for (let n = 0; n <= count; n++) {
    const email = newcomer()
    statuses.push(
      await statusOf(answerTo(mailing, { token: person.token }, sendEmailVerification, { email })),
    )
  }
  expect(statuses).toEqual([...Array<number>(count).fill(204), 429])
  expect(await resetLink(mailing, person.email)).toContain('/auth/reset/')
})

test('names that are texts or addresses do not go out as such', async () => {
  const org = await makeOrganization(mailing)
  await org.owner.call(updateProfile, { name: 'Prize! claim at https://evil.test/now or +1 800 555 0199' })
  await org.owner.call(updateOrganization, {
    org_id: org.id,
    name: 'evil.test — your invoice, see http://evil.test',
  })
  const email = newcomer()
  expect(await statusOf(invite(org, org.owner, email))).toBe(201)
  const [mail] = mailsTo(email)
  const link = linkIn(mail!.text)
  expect(link).toMatch(/^http:\/\/localhost:4000\/auth\/invitation\//)
  const rest = `${mail!.subject}\n${mail!.text}`.replace(link, '')
  expect(rest).not.toMatch(/evil\.test|:\/\/|@|\d{3}/)
})

describe('what an owner has offered', () => {
  const admins = async (where = system) => {
    const org = await makeOrganization(where)
    await org.owner.call(updateOrganization, { org_id: org.id, admins_may_invite: true })
    return { org, admin: await makeMember(where, org, 'admin') }
  }
  const make = async (by: Person, org: Org, email = newcomer()) =>
    by.call(inviteMember, { org_id: org.id, email, role: 'viewer' })

  test('an admin neither replaces nor revokes; the link stays as it was', async () => {
    const { org, admin } = await admins()
    const made = await make(org.owner, org)
    await expect(make(admin, org, made.email)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const revoking = admin.call(revokeInvitation, { org_id: org.id, invitation_id: made.id })
    await expect(revoking).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await openOnes(org)).toEqual([made.id])
    expect(made.by_owner).toBe(true)
    expect((await make(admin, org)).by_owner).toBe(false)
    const { invitations } = await admin.call(listInvitations, { org_id: org.id })
    expect(invitations.map(({ by_owner }) => by_owner)).toEqual([true, false])
    const token = made.invitation_url!.split('/').at(-1)!
    await (await makePerson(system)).call(acceptInvitation, { token })
  })

  test('another owner does both, and an admin does with those of admins', async () => {
    const { org, admin } = await admins()
    const [second, colleague] = [
      await makeMember(system, org, 'owner'),
      await makeMember(system, org, 'admin'),
    ]
    const replaced = await make(second, org, (await make(org.owner, org)).email)
    await second.call(revokeInvitation, { org_id: org.id, invitation_id: replaced.id })
    const theirs = await make(colleague, org, (await make(admin, org)).email)
    await admin.call(revokeInvitation, { org_id: org.id, invitation_id: theirs.id })
    expect(await openOnes(org)).toEqual([])
  })

  test('seven days later, or revoked by them, is nobody’s: an admin may invite again', async () => {
    const { org, admin } = await admins()
    const { id, email } = await make(org.owner, org)
    await org.owner.call(revokeInvitation, { org_id: org.id, invitation_id: id })
    expect((await make(admin, org, email)).email).toBe(email)
  })

  test('is not replaced by an admin who is a moment later', async () => {
    const { org, admin } = await admins()
    for (let round = 0; round < 4; round++) {
      const email = newcomer()
      const [offered] = await Promise.allSettled([make(org.owner, org, email), make(admin, org, email)])
      const id = offered.status === 'fulfilled' ? offered.value.id : ''
      expect(await openOnes(org)).toContain(id)
    }
  })

  test('in another organization, to the same address, does not matter', async () => {
    const [here, there] = [await admins(), await admins()]
    const { email, id } = await make(there.org.owner, there.org)
    const made = await make(here.admin, here.org, email)
    await here.admin.call(revokeInvitation, { org_id: here.org.id, invitation_id: made.id })
    expect(await openOnes(there.org)).toEqual([id])
  })

  test('what the operator has offered is an owner’s too', async () => {
    const { org, admin } = await admins()
    const { id, owner } = await system.as({ token: OPERATOR_TOKEN })(createOrganizationAsOperator, {
      name: unique('Opened'),
      admin_email: newcomer(),
    })
    const opened = { ...org, id }
    await makeMember(system, opened, 'admin', admin)
    await makeMember(system, opened, 'owner', org.owner)
    await org.owner.call(updateOrganization, { org_id: id, admins_may_invite: true })
    await expect(make(admin, opened, owner!.email)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})
