/** The links we mail: one proves an address, one lets a person choose a new password. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  MAIL_LINK_SECONDS,
  OPERATOR_LINK_SECONDS,
  SIGN_IN_FAILURES_PER_ADDRESS,
  VERIFICATIONS_PER_PERSON,
} from '../../src/contracts/limits.ts'
import {
  createOrganizationAsOperator,
  listOrganizations,
  updateOrganization,
} from '../../src/contracts/organizations.ts'
import { changePassword, sendEmailVerification, showProfile, whoAmI } from '../../src/contracts/people.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { createOperatorResetLink } from '../../src/cores/identity/index.ts'
import { invitation, linkIn, mailTo, resetLink } from '../support/links.ts'
import {
  makeApiToken,
  makeOrganization,
  makePerson,
  PASSWORD,
  signedIn,
  unique,
  type Person,
} from '../support/make.ts'
import { OPERATOR_TOKEN, ORIGIN, startSystem, type TestSystem } from '../support/system.ts'
import { newWalker, PAGES, personIn, sameSecrets, signInOnPage, type Page } from '../support/walker.ts'

const NEW_PASSWORD = 'quite other words than before'
const YES = 'Confirm email address'

let system: TestSystem
beforeAll(async () => {
  system = await startSystem(PAGES, { withMail: true })
})
afterAll(() => system.stop())

async function verificationLink(where: TestSystem, { call, email }: Person): Promise<string> {
  const since = where.mails.length
  await call(sendEmailVerification, {})
  return linkIn((await mailTo(where, email, since)).text)
}

/** Opens a link and presses its button, in a browser nobody has used before. */
async function use(where: TestSystem, link: string, button: string, filled = {}): Promise<Page> {
  const walker = newWalker(where)
  return walker.submit(await walker.open(link), button, filled)
}

/** The person opens the link where they are signed in. */
async function prove(where: TestSystem, { email }: Person, link: string): Promise<Page> {
  const walker = newWalker(where)
  await signInOnPage(walker, email)
  return walker.submit(await walker.open(link), YES)
}

const choose = (link: string, password = NEW_PASSWORD, where = system) =>
  use(where, link, 'Save', { password })
const isProven = async ({ call }: Person) => (await call(showProfile, {})).email_verified
const opens = async (email: string, password: string) =>
  (await signInOnPage(newWalker(system), email, '/auth/sign-in', password)).status === 303

const GONE = { status: 404, words: expect.stringContaining('This link is no longer valid') }

describe('a link that proves an address', () => {
  test('comes by mail, and proves it when the button is pressed', async () => {
    const person = await makePerson(system, { verified: false })
    const link = await verificationLink(system, person)
    expect(await mailTo(system, person.email)).toMatchObject({ subject: 'Confirm your email address' })
    expect(link).toMatch(`${ORIGIN}/auth/verify/`)
    const done = await prove(system, person, link)
    expect([done.status, await isProven(person)]).toEqual([200, true])
    expect(done.words).toContain('Your email address is confirmed')
  })

  /** Scanners open every link in a mail; that must not prove anything. */
  test('proves nothing when it is opened', async () => {
    const person = await makePerson(system, { verified: false })
    const link = await verificationLink(system, person)
    const page = await newWalker(system).open(link)
    await system.fetch(new URL(link).pathname, { method: 'HEAD' })
    expect([page.status, await isProven(person)]).toEqual([200, false])
    await prove(system, person, link)
    expect(await isProven(person)).toBe(true)
  })

  test('works once', async () => {
    const person = await makePerson(system, { verified: false })
    const link = await verificationLink(system, person)
    await prove(system, person, link)
    expect(await prove(system, person, link)).toMatchObject(GONE)
  })

  test('works for an hour', async () => {
    const own = await startSystem(PAGES, { withMail: true })
    onTestFinished(() => own.stop())
    const person = await makePerson(own, { verified: false })
    const links = [await verificationLink(own, person), await verificationLink(own, person)]
    own.clock.advance(MAIL_LINK_SECONDS - 10)
    expect((await prove(own, person, links[0]!)).status).toBe(200)
    own.clock.advance(20)
    expect(await prove(own, person, links[1]!)).toMatchObject(GONE)
  })

  test('opens the organization of the address’s domain, and no other', async () => {
    const domain = `${unique('acme')}.test`
    const asOperator = system.as({ token: OPERATOR_TOKEN })
    const { id } = await asOperator(createOrganizationAsOperator, { name: unique('Acme'), domains: [domain] })
    await asOperator(createOrganizationAsOperator, { name: unique('Rival'), domains: [`rival.${domain}`] })
    const person = await makePerson(system, { email: `ada@${domain}`, verified: false })
    const mine = async () => (await person.call(listOrganizations, {})).organizations.map((org) => org.id)
    expect(await mine()).toEqual([])
    await prove(system, person, await verificationLink(system, person))
    expect(await mine()).toEqual([id])
  })

  test('is sent so often to one person, whatever the addresses; others still get theirs', async () => {
    const [person, other] = [
      await makePerson(system, { verified: false }),
      await makePerson(system, { verified: false }),
    ]
    const ask = ({ call }: Person) => call(sendEmailVerification, { email: `${unique('new')}@people.test` })
    for (let n = 0; n < VERIFICATIONS_PER_PERSON.count; n++) await ask(person)
    await expect(ask(person)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    await ask(other)
  })

  test('is not sent for an address that is proven', async () => {
    const { call } = await makePerson(system)
    await expect(call(sendEmailVerification, {})).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('proves nothing for whoever is not signed in, and signs nobody in', async () => {
    const person = await makePerson(system, { verified: false })
    const walker = newWalker(system)
    const page = await walker.open(await verificationLink(system, person))
    expect(page.words).toContain('Sign in with the account that requested this link')
    expect(page.words).not.toContain(person.email)
    expect(await personIn(system, walker)).toBeUndefined()
  })

  /** An account on somebody else's address, whose owner is asked to press the button: nothing is proven by that. */
  test('proves nothing about another account than the one that is signed in', async () => {
    const [attacker, victim] = [
      await makePerson(system, { verified: false }),
      await makePerson(system, { verified: false }),
    ]
    const link = await verificationLink(system, attacker)
    expect(await prove(system, victim, link)).toMatchObject(GONE)
    expect([await isProven(attacker), await isProven(victim)]).toEqual([false, false])
    expect((await victim.call(showProfile, {})).email).toBe(victim.email)
    // Nor is it used up: it is still that of the account it was mailed for.
    await prove(system, attacker, link)
    expect([await isProven(attacker), await isProven(victim)]).toEqual([true, false])
  })
})

describe('a link to a new password', () => {
  test('comes by mail, and changes the password when the form is sent', async () => {
    const { email } = await makePerson(system)
    const link = await resetLink(system, email)
    expect(await mailTo(system, email)).toMatchObject({ subject: 'Choose a new password' })
    expect(link).toMatch(`${ORIGIN}/auth/reset/`)
    const done = await choose(link)
    expect(done.status).toBe(200)
    expect(done.words).toContain('Your password has been changed')
    expect([await opens(email, PASSWORD), await opens(email, NEW_PASSWORD)]).toEqual([false, true])
  })

  test('ends agents and API tokens too when that is chosen, and leaves them otherwise', async () => {
    const org = await makeOrganization(system)
    const { email } = org.owner
    const { token } = await makeApiToken(system, org, org.owner)
    const isLive = () =>
      system
        .as({ token })(whoAmI, {})
        .then(
          () => true,
          () => false,
        )
    await choose(await resetLink(system, email))
    expect(await isLive()).toBe(true)
    await use(system, await resetLink(system, email), 'Save', { password: NEW_PASSWORD, end_access: 'yes' })
    expect(await isLive()).toBe(false)
  })

  test('changes nothing when it is opened', async () => {
    const { email } = await makePerson(system)
    const link = await resetLink(system, email)
    await newWalker(system).open(link)
    await system.fetch(new URL(link).pathname, { method: 'HEAD' })
    expect(await opens(email, PASSWORD)).toBe(true)
    expect((await choose(link)).status).toBe(200)
  })

  /** Whoever was in with the old password, or on a stolen machine, is out. */
  test('ends every session, in programs and in browsers, and those of nobody else', async () => {
    const [person, other] = [await makePerson(system), await makePerson(system)]
    const second = await signedIn(system, person.email)
    const walker = newWalker(system)
    await signInOnPage(walker, person.email)
    await choose(await resetLink(system, person.email))
    for (const { call } of [person, second]) {
      await expect(call(showProfile, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    }
    expect(await personIn(system, walker)).toBeUndefined()
    expect(await other.call(showProfile, {})).toMatchObject({ id: other.userId })
  })

  test('works once', async () => {
    const { email } = await makePerson(system)
    const link = await resetLink(system, email)
    await choose(link)
    expect(await choose(link, PASSWORD)).toMatchObject(GONE)
    expect(await opens(email, NEW_PASSWORD)).toBe(true)
  })

  test('works for an hour', async () => {
    const own = await startSystem(PAGES, { withMail: true })
    onTestFinished(() => own.stop())
    const { email } = await makePerson(own)
    const link = await resetLink(own, email)
    own.clock.advance(MAIL_LINK_SECONDS + 1)
    expect(await choose(link, NEW_PASSWORD, own)).toMatchObject(GONE)
    expect((await signInOnPage(newWalker(own), email)).status).toBe(303)
  })

  /** Somebody read the mailbox and kept an older link: it must not undo what the person has just done. */
  test('dies with every other one when the password changes, by a link or by hand', async () => {
    const person = await makePerson(system)
    const links = [await resetLink(system, person.email), await resetLink(system, person.email)]
    await choose(links[1]!)
    expect(await choose(links[0]!, PASSWORD)).toMatchObject(GONE)
    expect(await opens(person.email, NEW_PASSWORD)).toBe(true)

    const third = await resetLink(system, person.email)
    const { token } = await system.as()(signInWithPassword, { email: person.email, password: NEW_PASSWORD })
    const call = system.as({ token })
    await call(changePassword, { current_password: NEW_PASSWORD, new_password: PASSWORD })
    expect(await choose(third)).toMatchObject(GONE)
    expect(await opens(person.email, PASSWORD)).toBe(true)
  })

  /** Whoever has the mailbox of an address that was only claimed must not set the password of another one. */
  test('dies when the account verifies another address, as does one of the operator', async () => {
    const person = await makePerson(system, { verified: false })
    const links = [
      await resetLink(system, person.email),
      (await createOperatorResetLink(system.system.auth!, person.email))!,
    ]
    const email = `${unique('hers')}@people.test`
    const since = system.mails.length
    await person.call(sendEmailVerification, { email })
    await prove(system, person, linkIn((await mailTo(system, email, since)).text))
    expect(await person.call(showProfile, {})).toMatchObject({ email, email_verified: true })
    for (const link of links) expect(await choose(link)).toMatchObject(GONE)
    expect([await opens(email, PASSWORD), await opens(email, NEW_PASSWORD)]).toEqual([true, false])
    expect((await choose(await resetLink(system, email))).status).toBe(200)
  })

  test('keeps working after a password that does not do', async () => {
    const { email } = await makePerson(system)
    const walker = newWalker(system)
    const page = await walker.open(await resetLink(system, email))
    const refused = await walker.submit(page, 'Save', { password: 'short' })
    expect([refused.status, refused.forms[0]?.fields['password']]).toEqual([400, ''])
    expect(refused.words).toContain('must have at least 15 characters')
    expect(await opens(email, PASSWORD)).toBe(true)
    expect((await walker.submit(refused, 'Save', { password: NEW_PASSWORD })).status).toBe(200)
    expect(await opens(email, NEW_PASSWORD)).toBe(true)
  })

  test('proves the address it was mailed to, and signs nobody in', async () => {
    const { email } = await makePerson(system, { verified: false })
    const walker = newWalker(system)
    await walker.submit(await walker.open(await resetLink(system, email)), 'Save', { password: NEW_PASSWORD })
    expect(await personIn(system, walker)).toBeUndefined()
    await signInOnPage(walker, email, '/auth/sign-in', NEW_PASSWORD)
    const person = await personIn(system, walker)
    expect(await person!.call(showProfile, {})).toMatchObject({ email_verified: true })
  })

  test('is found from the sign-in page', async () => {
    const { email } = await makePerson(system)
    const walker = newWalker(system)
    const page = await walker.click(await walker.open('/auth/sign-in'), 'Forgot your password?')
    const answer = await walker.submit(page, 'Send reset link', { email: email.toUpperCase() })
    expect(answer.words).toContain('If an account uses this address, we have sent it a link.')
    expect((await choose(linkIn((await mailTo(system, email)).text))).status).toBe(200)
  })

  test('fifty from one network address: it must wait, whatever the addresses', async () => {
    const own = await startSystem(PAGES, { withMail: true })
    onTestFinished(() => own.stop())
    const walker = newWalker(own)
    const page = await walker.open('/auth/forgot')
    const ask = () => walker.submit(page, 'Send reset link', { email: `${unique('nobody')}@people.test` })
    for (let time = 0; time < SIGN_IN_FAILURES_PER_ADDRESS.count; time++)
      expect((await ask()).status).toBe(200)
    const refused = await ask()
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect(refused.words).toMatch(/Try again in \d+ seconds/)
  })
})

describe('a link that the operator hands over', () => {
  const handOver = async (email: string, where = system) =>
    (await createOperatorResetLink(where.system.auth!, email))!

  test('sets the password once, ends every session and mails the person; it proves nothing about the address', async () => {
    const [person, other] = [await makePerson(system, { verified: false }), await makePerson(system)]
    const link = await handOver(person.email)
    const since = system.mails.length
    expect((await choose(link)).status).toBe(200)
    expect(await mailTo(system, person.email, since)).toMatchObject({ subject: 'Your password was changed' })
    expect(system.mails.slice(since)).toHaveLength(1)
    await expect(person.call(showProfile, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(await other.call(showProfile, {})).toMatchObject({ id: other.userId })
    expect(await choose(link, PASSWORD)).toMatchObject(GONE)
    const walker = newWalker(system)
    await signInOnPage(walker, person.email, '/auth/sign-in', NEW_PASSWORD)
    expect(await (await personIn(system, walker))!.call(showProfile, {})).toMatchObject({
      email_verified: false,
    })
  })

  test('works for thirty minutes', async () => {
    const own = await startSystem(PAGES, { withMail: true })
    onTestFinished(() => own.stop())
    const { email } = await makePerson(own)
    const links = [await handOver(email, own), await handOver(email, own)]
    own.clock.advance(OPERATOR_LINK_SECONDS - 10)
    expect((await choose(links[0]!, NEW_PASSWORD, own)).status).toBe(200)
    const late = await handOver(email, own)
    own.clock.advance(OPERATOR_LINK_SECONDS + 1)
    expect(await choose(late, PASSWORD, own)).toMatchObject(GONE)
  })

  test('dies when the password changes another way, and so do mailed ones when it is used', async () => {
    const { email } = await makePerson(system)
    const [handed, mailed] = [await handOver(email), await resetLink(system, email)]
    expect((await choose(mailed)).status).toBe(200)
    expect(await choose(handed, PASSWORD)).toMatchObject(GONE)
    const [again, before] = [await handOver(email), await resetLink(system, email)]
    expect((await choose(again)).status).toBe(200)
    expect(await choose(before, PASSWORD)).toMatchObject(GONE)
  })

  test('is for password accounts only, and worthless where passwords are switched off', async () => {
    expect(
      await createOperatorResetLink(system.system.auth!, `${unique('nobody')}@people.test`),
    ).toBeUndefined()
    const { email } = await makePerson(system)
    const link = await handOver(email)
    const off = await startSystem({ ...sameSecrets(system), PASSWORD_SIGN_IN: 'off' })
    onTestFinished(() => off.stop())
    expect((await choose(link, NEW_PASSWORD, off)).status).toBe(403)
    expect(await opens(email, PASSWORD)).toBe(true)
  })
})

/** The secret of one page is tried at another. */
test('a link opens the one thing it was mailed for', async () => {
  const person = await makePerson(system, { verified: false })
  const [verify, reset] = [await verificationLink(system, person), await resetLink(system, person.email)]
  const secretOf = (link: string) => link.split('/').at(-1)!
  expect(await prove(system, person, `/auth/verify/${secretOf(reset)}`)).toMatchObject(GONE)
  expect(await choose(`/auth/reset/${secretOf(verify)}`)).toMatchObject(GONE)
  const { link } = await invitation(system)
  expect(await choose(`/auth/reset/${secretOf(link)}`)).toMatchObject(GONE)
  expect((await newWalker(system).open(`/auth/invitation/${secretOf(reset)}`)).status).toBe(404)
  expect([await isProven(person), await opens(person.email, PASSWORD)]).toEqual([false, true])
})

test('an invitation by mail says who invites, where to and as what', async () => {
  const owner = await makePerson(system, { name: 'Ada Lovelace', email: `${unique('ada')}@people.test` })
  const org = await makeOrganization(system, owner)
  await owner.call(updateOrganization, { org_id: org.id, name: 'Engines & Sons' })
  const { link, email } = await invitation(system, { org, role: 'developer' })
  const mail = await mailTo(system, email)
  expect(mail.subject).toBe('Join “Engines & Sons” on svc')
  expect(mail.text).toContain('“Ada Lovelace” invites you to “Engines & Sons” as developer.')
  expect(mail.text).toContain('within seven days')
  expect((await newWalker(system).open(link)).status).toBe(200)
})

test('without a mail server the pages say so instead of pretending', async () => {
  const own = await startSystem(PAGES)
  onTestFinished(() => own.stop())
  const { call } = await makePerson(own, { verified: false })
  await expect(call(sendEmailVerification, {})).rejects.toMatchObject({ code: 'CONFLICT' })
  const walker = newWalker(own)
  expect((await walker.open('/auth/sign-in')).words).not.toContain('Forgot your password?')
  const page = await walker.open('/auth/forgot')
  expect(page.words).toContain('This installation has no mail server.')
  expect(page.forms).toEqual([])
})
