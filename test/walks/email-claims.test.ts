/** Two accounts, one address: whoever proves it has it, and nothing of the other's passes over. */
import { eq } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { passwords, users } from '../../db/schema.ts'
import { listMembers } from '../../src/contracts/members.ts'
import { listOrganizations, setOrganizationDomains } from '../../src/contracts/organizations.ts'
import { sendEmailVerification, showProfile, whoAmI } from '../../src/contracts/people.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { answerTo } from '../support/answers.ts'
import { invitation, linkIn, mailTo, resetLink } from '../support/links.ts'
import {
  makeApiToken,
  makeMember,
  makeOrganization,
  makePerson,
  PASSWORD,
  unique,
  type Person,
} from '../support/make.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'
import { signInThrough, startWithProviders, type WithProviders } from '../support/system-with-providers.ts'
import { newWalker, personIn, signInOnPage } from '../support/walker.ts'

const NEW_PASSWORD = 'quite other words than before'
const CREATE = 'Create account and join'

const ADA = `${unique('ada')}@people.test`
const BOB = `${unique('bob')}@people.test`
const PEOPLE = {
  ada: { sub: unique('ada'), email: ADA, name: 'Ada', email_verified: true },
  bob: { sub: unique('bob'), email: BOB, name: 'Bob', email_verified: false },
  bobProven: { sub: unique('bob2'), email: BOB, name: 'Bob', email_verified: true },
}

let system: WithProviders
beforeAll(async () => {
  system = await startWithProviders(PEOPLE, { PASSWORD_SIGN_IN: 'on' }, ['oidc'], { withMail: true })
})
afterAll(() => system.stop())

/** Somebody with an account on another's address, who owns an organization and has a token in it. */
async function claimer(email = `${unique('claimed')}@people.test`) {
  const person = await makePerson(system, { email, verified: false })
  const org = await makeOrganization(system, person)
  return { person, org, token: await makeApiToken(system, org, person) }
}

const register = async (link: string, password = NEW_PASSWORD) => {
  const walker = newWalker(system)
  const answer = await walker.submit(await walker.open(link), CREATE, { name: 'The Owner', password })
  return { walker, answer }
}

/** It has lost the address and nothing else; nobody gained anything of it. */
async function expectMoved({ person, org, token }: Awaited<ReturnType<typeof claimer>>, newUserId: string) {
  const profile = await person.call(showProfile, {})
  expect(profile).toMatchObject({ id: person.userId, email_verified: false, receives_mail: false })
  expect(profile.email).not.toBe(person.email)
  expect(await token.call(whoAmI, {})).toMatchObject({ organization: { id: org.id }, role: 'owner' })
  const { members } = await person.call(listMembers, { org_id: org.id })
  expect(members.map(({ user_id }) => user_id)).toEqual([person.userId])
  expect(newUserId).not.toBe(person.userId)
  // The old password opens the old account under its new name, and nothing under the old one.
  const entered = await system.as()(signInWithPassword, { email: profile.email, password: PASSWORD })
  expect(entered.user.id).toBe(person.userId)
  const [row] = await system.db.select().from(passwords).where(eq(passwords.email, person.email))
  expect(row?.userId).not.toBe(person.userId)
}

describe('an unproven password account gives way to whoever', () => {
  test('registers by a mailed invitation', async () => {
    const claimed = await claimer()
    const { email } = claimed.person
    const { link, org } = await invitation(system, { email })
    const early = newWalker(system)
    const reset = await early.open(await resetLink(system, email))
    const { walker, answer } = await register(link)
    expect(answer.status).toBe(303)
    // Mailed to whoever has the address now, for the account of another.
    expect((await early.submit(reset, 'Save', { password: NEW_PASSWORD })).status).toBe(404)
    const owner = await personIn(system, walker)
    expect(owner).toMatchObject({ email })
    expect(await owner!.call(showProfile, {})).toMatchObject({ email_verified: true })
    expect((await owner!.call(listOrganizations, {})).organizations.map(({ id }) => id)).toEqual([org.id])
    await expectMoved(claimed, owner!.id)
  })

  test('signs in through a provider that answers for the address, also later', async () => {
    const first = await claimer(ADA)
    const walker = newWalker(system)
    await signInThrough(system, walker, 'oidc', 'ada')
    const ada = await personIn(system, walker)
    await expectMoved(first, ada!.id)
    const second = await claimer(ADA)
    await signInThrough(system, newWalker(system), 'oidc', 'ada')
    await expectMoved(second, ada!.id)
    expect((await ada!.call(listOrganizations, {})).organizations).toEqual([])
  })

  test('opens a verification link, with an account that had another address until then', async () => {
    const claimed = await claimer()
    const { email } = claimed.person
    const owner = await makePerson(system, { verified: false })
    await owner.call(sendEmailVerification, { email })
    const walker = newWalker(system)
    await signInOnPage(walker, owner.email)
    const page = await walker.open(linkIn((await mailTo(system, email)).text))
    expect((await walker.submit(page, 'Confirm email address')).status).toBe(200)
    expect(await owner.call(showProfile, {})).toMatchObject({ email, email_verified: true })
    await expectMoved(claimed, owner.userId)
    expect((await system.as()(signInWithPassword, { email, password: PASSWORD })).user.id).toBe(owner.userId)
  })
})

describe('nobody gives way', () => {
  const holderOf = async ({ email }: Person) =>
    (await system.db.select().from(passwords).where(eq(passwords.email, email)))[0]?.userId

  test('who has proven the address', async () => {
    const person = await makePerson(system)
    const { link } = await invitation(system, { email: person.email })
    const { answer } = await register(link)
    expect(answer.status).toBe(409)
    expect(await holderOf(person)).toBe(person.userId)
    expect(await person.call(showProfile, {})).toMatchObject({ email: person.email, email_verified: true })
  })

  test('for a provider that does not answer for the address', async () => {
    const { person } = await claimer(BOB)
    await signInThrough(system, newWalker(system), 'oidc', 'bob')
    expect(await holderOf(person)).toBe(person.userId)
  })

  test('with another address', async () => {
    const [{ person }, other] = [await claimer(), await claimer()]
    await register((await invitation(system, { email: other.person.email })).link)
    expect(await holderOf(person)).toBe(person.userId)
  })

  test('of two who prove it at the same moment, both at once: one has it', async () => {
    const { person } = await claimer()
    const { email } = person
    await person.call(sendEmailVerification, {})
    const verifying = newWalker(system)
    await signInOnPage(verifying, email)
    const confirm = await verifying.open(linkIn((await mailTo(system, email)).text))
    const { link } = await invitation(system, { email })
    const registering = newWalker(system)
    const page = await registering.open(link)
    const [confirmed, registered] = await Promise.all([
      verifying.submit(confirm, 'Confirm email address'),
      registering.submit(page, CREATE, { name: 'The Owner', password: NEW_PASSWORD }),
    ])
    const rows = await system.db.select().from(passwords).where(eq(passwords.email, email))
    expect(rows).toHaveLength(1)
    const hasIt = rows[0]!.userId === person.userId
    expect(registered.status).toBe(hasIt ? 409 : 303)
    // Whoever gave way had a link to an address that is not theirs any more, or used it a moment before.
    if (!hasIt) expect([404, 409]).toContain(confirmed.status)
    const proven = await system.db.select().from(users).where(eq(users.email, email))
    expect(proven.filter(({ emailVerifiedAt }) => emailVerifiedAt !== null)).toHaveLength(1)
  })
})

/** The provider says who it is and which address it answers for; the account shows another one, which proves nothing. */
test('a provider that answers for one address does not prove another that is stored', async () => {
  const domain = `${unique('corp')}.test`
  const org = await makeOrganization(system)
  await system.as({ token: OPERATOR_TOKEN })(setOrganizationDomains, { org_id: org.id, domains: [domain] })
  const stored = `boss@${domain}`
  const walker = newWalker(system)
  const claim = (email: string, email_verified: boolean) =>
    system.providers.oidc.misbehave({ idToken: { email, email_verified } })
  claim(stored, false)
  await signInThrough(system, walker, 'oidc', 'bobProven')
  // Nor does the account that shows that one give way: nobody has it in its place.
  const { person: other } = await claimer(`own@${unique('elsewhere')}.test`)
  claim(other.email, true)
  const again = newWalker(system)
  await signInThrough(system, again, 'oidc', 'bobProven')
  system.providers.oidc.misbehave({})
  const person = await personIn(system, again)
  expect(await person!.call(showProfile, {})).toMatchObject({ email: stored, email_verified: false })
  expect(await other.call(showProfile, {})).toMatchObject({ email: other.email })
  expect((await person!.call(listOrganizations, {})).organizations).toEqual([])
})

describe('a reset of an account that never proved its address', () => {
  test('proves it, and ends what was made before: sessions and tokens, here and of nobody else', async () => {
    const { person, token, org } = await claimer()
    const colleague = await makeMember(system, org, 'viewer')
    const kept = await makeApiToken(system, org, colleague)
    const walker = newWalker(system)
    const page = await walker.open(await resetLink(system, person.email))
    expect((await walker.submit(page, 'Save', { password: NEW_PASSWORD })).status).toBe(200)
    for (const call of [person.call, token.call])
      await expect(call(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(await kept.call(whoAmI, {})).toMatchObject({ user: { id: colleague.userId } })
  })

  test('of one that has proven it leaves the tokens alone', async () => {
    const org = await makeOrganization(system)
    const token = await makeApiToken(system, org, org.owner)
    const walker = newWalker(system)
    const page = await walker.open(await resetLink(system, org.owner.email))
    await walker.submit(page, 'Save', { password: NEW_PASSWORD })
    expect(await token.call(whoAmI, {})).toMatchObject({ role: 'owner' })
  })
})

describe('another address for an account that has proven none', () => {
  test('needs a signed-in session, and a mailbox that gets mail', async () => {
    const { person, token } = await claimer()
    const ask = (by: string, email: string) =>
      answerTo(system, { token: by }, sendEmailVerification, { email })
    expect((await ask(token.token, `${unique('new')}@people.test`)).status).toBe(403)
    for (const nowhere of ['owner@svc.localhost', 'a@b.invalid', 'a@localhost.invalid'])
      expect((await ask(person.token, nowhere)).status).toBe(409)
    const proven = await makePerson(system)
    expect((await ask(proven.token, `${unique('new')}@people.test`)).status).toBe(409)
  })

  test('that another account has proven is refused, after the mailbox was', async () => {
    const [person, taken] = [await makePerson(system, { verified: false }), await makePerson(system)]
    await person.call(sendEmailVerification, { email: taken.email })
    const walker = newWalker(system)
    await signInOnPage(walker, person.email)
    const page = await walker.open(linkIn((await mailTo(system, taken.email)).text))
    const answer = await walker.submit(page, 'Confirm email address')
    expect(answer.status).toBe(409)
    expect(await person.call(showProfile, {})).toMatchObject({ email: person.email, email_verified: false })
    expect(await taken.call(showProfile, {})).toMatchObject({ email: taken.email, email_verified: true })
  })

  test('does not replace one that was proven in between', async () => {
    const person = await makePerson(system, { verified: false })
    const other = `${unique('other')}@people.test`
    await person.call(sendEmailVerification, { email: other })
    await person.call(sendEmailVerification, {})
    const walker = newWalker(system)
    await signInOnPage(walker, person.email)
    const use = async (address: string) =>
      walker.submit(await walker.open(linkIn((await mailTo(system, address)).text)), 'Confirm email address')
    expect((await use(person.email)).status).toBe(200)
    expect((await use(other)).status).toBe(404)
    expect(await person.call(showProfile, {})).toMatchObject({ email: person.email, email_verified: true })
  })
})
