/** Invitation links: who opens one, with which account they join, and what a dead one says. */
import { eq } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { invitations, users } from '../../db/schema.ts'
import { INVITATION_SECONDS } from '../../src/contracts/limits.ts'
import { listInvitations, listMembers, revokeInvitation } from '../../src/contracts/members.ts'
import { createOrganizationAsOperator } from '../../src/contracts/organizations.ts'
import { showProfile } from '../../src/contracts/people.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { requestPasswordReset, invitation, linkIn, mailTo, resetLink } from '../support/links.ts'
import { makeOrganization, makePerson, PASSWORD, unique, type Org } from '../support/make.ts'
import { freshSecrets, OPERATOR_TOKEN, ORIGIN, startSystem, type TestSystem } from '../support/system.ts'
import { signInThrough, startWithProviders } from '../support/system-with-providers.ts'
import { newWalker, PAGES, personIn, sameSecrets, signInOnPage, type Walker } from '../support/walker.ts'

let system: TestSystem
/** The same, with a mail server: links reach the invited person only. */
let mailing: TestSystem
beforeAll(async () => {
  system = await startSystem(PAGES)
  mailing = await startSystem({ ...PAGES, ...freshSecrets() }, { withMail: true })
})
afterAll(async () => {
  await system.stop()
  await mailing.stop()
})

const CREATE = 'Create account and join'
const account = (name = unique('Newcomer')) => ({ name, password: PASSWORD })

async function membersOf({ id, owner }: Org) {
  const { members } = await owner.call(listMembers, { org_id: id })
  return members.filter(({ user_id }) => user_id !== owner.userId)
}

async function openInvitationsOf({ id, owner }: Org) {
  return (await owner.call(listInvitations, { org_id: id })).invitations.map(({ email }) => email)
}

async function signedInWalker(where: TestSystem, email: string): Promise<Walker> {
  const walker = newWalker(where)
  await signInOnPage(walker, email)
  return walker
}

describe('somebody without an account', () => {
  test('sees who invites whom, makes an account with a password and is in', async () => {
    const { link, email, org } = await invitation(system, { role: 'developer' })
    const walker = newWalker(system)
    const page = await walker.open(link)
    expect(page.status).toBe(200)
    expect(page.words).toContain(`Join ${org.name}`)
    expect(page.words).toContain(`You have been invited as developer . The invitation is for ${email}.`)
    const filled = account()
    const joined = await walker.submit(page, CREATE, filled)
    expect([joined.status, joined.location?.href]).toEqual([303, `${ORIGIN}/console`])
    expect(await personIn(system, walker)).toMatchObject({ email, name: filled.name })
    expect(await membersOf(org)).toMatchObject([
      { email, name: filled.name, role: 'developer', joined_by: 'invitation' },
    ])
    expect((await walker.follow(joined)).words).toContain(org.name)
    await system.as()(signInWithPassword, { email, password: PASSWORD })
  })

  test.each([
    ['mailed', true],
    ['handed over', false],
  ])('whose link was %s has a proven address: %s', async (_how, proven) => {
    const where = proven ? mailing : system
    const { link } = await invitation(where)
    const walker = newWalker(where)
    await walker.submit(await walker.open(link), CREATE, account())
    const person = await personIn(where, walker)
    expect(await person!.call(showProfile, {})).toMatchObject({ email_verified: proven, has_password: true })
  })

  test.each([
    ['a short password', { name: 'Ada', password: 'short' }, 'must have at least 15 characters'],
    ['no password', { name: 'Ada', password: '' }, 'must have at least 15 characters'],
    ['a name of control characters', { name: 'A\u202eda', password: PASSWORD }, 'must not contain control'],
  ])('with %s is told so, keeps the name, and can go on', async (_what, filled, said) => {
    const { link, org } = await invitation(system)
    const walker = newWalker(system)
    const page = await walker.submit(await walker.open(link), CREATE, filled)
    expect([page.status, page.forms[0]?.fields]).toMatchObject([400, { name: filled.name, password: '' }])
    expect(page.words).toContain(said)
    expect(await membersOf(org)).toEqual([])
    expect((await walker.submit(page, CREATE, account())).status).toBe(303)
  })

  test('whose address has an account is asked to sign in, and then joins with that', async () => {
    const person = await makePerson(system)
    const { link, org } = await invitation(system, { email: person.email })
    const walker = newWalker(system)
    const refused = await walker.submit(await walker.open(link), CREATE, account())
    expect(refused.status).toBe(409)
    expect(refused.words).toContain('An account with this address already exists')
    const form = await walker.click(refused, 'Sign in first')
    const back = await walker.submit(form, 'Sign in', { email: person.email, password: PASSWORD })
    // The page knows the browser by its cookie: no code in an address that people copy.
    expect(back.location?.href).toBe(link)
    await walker.submit(await walker.step(back), `Join as ${person.name}`)
    expect(await membersOf(org)).toMatchObject([{ user_id: person.userId }])
  })
})

describe('a person who is signed in', () => {
  test('joins with the account they are in, whatever address was invited', async () => {
    const person = await makePerson(system)
    const { link, email, org } = await invitation(system, { role: 'admin' })
    const other = await makeOrganization(system)
    const walker = await signedInWalker(system, person.email)
    const page = await walker.open(link)
    expect(page.words).toContain(`You are signed in as ${person.name} (${person.email}).`)
    expect(page.words).toContain(`The invitation is for ${email}.`)
    const joined = await walker.submit(page, `Join as ${person.name}`)
    expect([joined.status, joined.location?.href]).toEqual([303, `${ORIGIN}/console`])
    expect(await membersOf(org)).toMatchObject([{ user_id: person.userId, role: 'admin' }])
    expect(await membersOf(other)).toEqual([])
  })

  test('with the invited address joins with one press, and is offered nothing else', async () => {
    const person = await makePerson(system)
    const { link } = await invitation(system, { email: person.email })
    const page = await (await signedInWalker(system, person.email)).open(link)
    expect(page.forms.map(({ button }) => button)).toEqual([`Join as ${person.name}`])
    expect(page.words).not.toContain('another')
  })

  test('with another address may sign in as somebody else: that one joins, and the first session is over', async () => {
    const [first, invited] = [await makePerson(system), await makePerson(system)]
    const { link, org } = await invitation(system, { email: invited.email })
    const walker = await signedInWalker(system, first.email)
    const before = await personIn(system, walker)
    const page = await walker.open(link)
    expect(page.words).toContain('You are signed in with another address than the invited one.')
    const signIn = await walker.click(await walker.click(page, 'Use another account'), 'Sign in first')
    const back = await walker.submit(signIn, 'Sign in', { email: invited.email, password: PASSWORD })
    expect(back.location?.href).toBe(link)
    await walker.submit(await walker.step(back), `Join as ${invited.name}`)
    expect(await membersOf(org)).toMatchObject([{ user_id: invited.userId }])
    expect(await personIn(system, walker)).toMatchObject({ id: invited.userId })
    // Otherwise the console would go on as the first one.
    await expect(before!.call(showProfile, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect((await first.call(showProfile, {})).id).toBe(first.userId)
  })

  test('with another address may create the account of the invited one', async () => {
    const first = await makePerson(system)
    const { link, org, email } = await invitation(system)
    const walker = await signedInWalker(system, first.email)
    const form = await walker.click(await walker.open(link), 'Use another account')
    const refused = await walker.submit(form, CREATE, { name: 'Ada', password: 'short' })
    expect(refused.status).toBe(400)
    expect((await walker.submit(refused, CREATE, account())).status).toBe(303)
    expect(await membersOf(org)).toMatchObject([{ email }])
    expect(await personIn(system, walker)).toMatchObject({ email })
  })

  test.each([
    ['the invited', true],
    ['another', false],
  ])('with %s address proves by the mailed link that it is theirs: %s', async (_whose, theirs) => {
    const person = await makePerson(mailing, { verified: false })
    const { link } = await invitation(mailing, theirs ? { email: person.email } : {})
    const walker = await signedInWalker(mailing, person.email)
    await walker.submit(await walker.open(link), `Join as ${person.name}`)
    expect(await person.call(showProfile, {})).toMatchObject({ email_verified: theirs })
  })

  test('with a link that was handed over proves nothing', async () => {
    const person = await makePerson(system, { verified: false })
    const { link } = await invitation(system, { email: person.email })
    const walker = await signedInWalker(system, person.email)
    await walker.submit(await walker.open(link), `Join as ${person.name}`)
    expect(await person.call(showProfile, {})).toMatchObject({ email_verified: false })
  })
})

test('a person of an identity provider signs in first, comes back to the invitation and joins', async () => {
  const ada = { sub: unique('ada'), email: `${unique('ada')}@people.test`, name: 'Ada Lovelace' }
  const own = await startWithProviders({ ada }, sameSecrets(system), ['google'])
  onTestFinished(() => own.stop())
  const { link, org } = await invitation(system)
  const walker = newWalker(own)
  const page = await walker.open(link)
  // Passwords are off beside a provider, so there is no account to make here.
  expect(page.forms).toEqual([])
  const back = await signInThrough(own, walker, 'google', 'ada', await walker.click(page, 'Sign in first'))
  expect(back.location?.href).toBe(link)
  await walker.submit(await walker.step(back), 'Join as Ada Lovelace')
  expect(await membersOf(org)).toMatchObject([{ name: 'Ada Lovelace', role: 'viewer' }])
})

test('where passwords are switched off, a form from before makes no account', async () => {
  const { link, org } = await invitation(system)
  const before = newWalker(system)
  const page = await before.open(link)
  const off = await startSystem({ ...sameSecrets(system), PASSWORD_SIGN_IN: 'off' })
  onTestFinished(() => off.stop())
  const walker = newWalker(off)
  walker.jar.keep(`svc_browser=${before.jar.find('svc_browser')!.value}; Path=/`, ORIGIN)
  const refused = await walker.submit(page, CREATE, account())
  expect(refused.status).toBe(403)
  expect(refused.words).toContain('Password sign-in is turned off')
  expect(await membersOf(org)).toEqual([])
})

describe('looking at a link', () => {
  /** Scanners of mail and chat programs open every link before the person does. */
  test('changes nothing, however often and by whom', async () => {
    const person = await makePerson(mailing)
    const { link, email, org } = await invitation(mailing)
    const before = await mailing.db.select().from(invitations).where(eq(invitations.orgId, org.id))
    const [signedOut, member] = [newWalker(mailing), await signedInWalker(mailing, person.email)]
    for (const walker of [signedOut, member, signedOut, member]) {
      expect((await walker.open(link)).status).toBe(200)
      expect((await walker.open(link, 'https://mail.test/')).status).toBe(200)
    }
    expect((await mailing.fetch(new URL(link).pathname, { method: 'HEAD' })).status).toBe(200)
    expect(await mailing.db.select().from(invitations).where(eq(invitations.orgId, org.id))).toEqual(before)
    expect(await membersOf(org)).toEqual([])
    expect(await mailing.db.select().from(users).where(eq(users.email, email))).toEqual([])
    expect(await personIn(mailing, signedOut)).toBeUndefined()
  })
})

describe('a dead link', () => {
  /** How it died, given a link that worked. */
  const DEATHS: [string, (link: string, org: Org, email: string) => Promise<void> | void][] = [
    [
      'used by somebody without an account',
      async (link) => {
        const walker = newWalker(system)
        await walker.submit(await walker.open(link), CREATE, account())
      },
    ],
    [
      'used by a member',
      async (link) => {
        const person = await makePerson(system)
        const walker = await signedInWalker(system, person.email)
        await walker.submit(await walker.open(link), `Join as ${person.name}`)
      },
    ],
    [
      'taken back',
      async (_link, { id, owner }) => {
        const [open] = (await owner.call(listInvitations, { org_id: id })).invitations
        await owner.call(revokeInvitation, { org_id: id, invitation_id: open!.id })
      },
    ],
    ['replaced by a newer one', async (_link, org, email) => void (await invitation(system, { org, email }))],
  ]

  const GONE = {
    status: 404,
    forms: [],
    words: expect.stringMatching(/This invitation is no longer valid .* Ask for a new one\./),
  }

  test.each(DEATHS)('%s says so, signed in or not, on opening and on joining', async (_how, die) => {
    const { link, email, org } = await invitation(system)
    const person = await makePerson(system)
    const [signedOut, member] = [newWalker(system), await signedInWalker(system, person.email)]
    const [signedOutPage, members] = [await signedOut.open(link), await member.open(link)]
    await die(link, org, email)
    const joined = await membersOf(org)
    expect(await signedOut.open(link)).toMatchObject(GONE)
    expect(await member.open(link)).toMatchObject(GONE)
    expect(await signedOut.submit(signedOutPage, CREATE, account())).toMatchObject(GONE)
    expect(await member.submit(members, `Join as ${person.name}`)).toMatchObject(GONE)
    expect(await membersOf(org)).toEqual(joined)
    expect(await personIn(system, signedOut)).toBeUndefined()
  })

  test('dies by itself after seven days', async () => {
    const own = await startSystem(PAGES)
    onTestFinished(() => own.stop())
    const { link } = await invitation(own)
    const walker = newWalker(own)
    own.clock.advance(INVITATION_SECONDS - 5)
    const page = await walker.open(link)
    expect(page.status).toBe(200)
    own.clock.advance(10)
    expect(await walker.open(link)).toMatchObject(GONE)
    expect(await walker.submit(page, CREATE, account())).toMatchObject(GONE)
  })

  test.each(['unknown', 'A'.repeat(43), 'x'.repeat(3000), '%00', '%F0%9F', '..%2f..'])(
    'nobody ever gave out (%s) looks the same',
    async (secret) => expect(await newWalker(system).open(`/auth/invitation/${secret}`)).toMatchObject(GONE),
  )

  test('of another installation is as unknown here', async () => {
    const { link } = await invitation(mailing)
    expect(await newWalker(system).open(link)).toMatchObject(GONE)
  })
})

test('of two who use a link at the same moment one gets in, and the other is told', async () => {
  const { link, org } = await invitation(system)
  const people = [await makePerson(system), await makePerson(system), await makePerson(system)]
  const entering = await Promise.all(
    people.map(async ({ email, name }) => {
      const walker = await signedInWalker(system, email)
      const page = await walker.open(link)
      return () => walker.submit(page, `Join as ${name}`)
    }),
  )
  const statuses = (await Promise.all(entering.map((enter) => enter()))).map(({ status }) => status)
  expect(statuses.toSorted((a, b) => a - b)).toEqual([303, 404, 404])
  expect(await membersOf(org)).toHaveLength(1)
})

describe('the first owner that the operator names', () => {
  async function openOrganization(where: TestSystem, email = `${unique('chief')}@people.test`) {
    const made = await where.as({ token: OPERATOR_TOKEN })(createOrganizationAsOperator, {
      name: unique('Opened'),
      admin_email: email,
    })
    return { orgId: made.id, email, waiting: made.owner!.id!, link: made.owner!.invitation_url! }
  }

  const ownersOf = async (call: NonNullable<Awaited<ReturnType<typeof personIn>>>['call'], org_id: string) =>
    (await call(listMembers, { org_id })).members.map(({ user_id, role }) => [user_id, role])

  test('takes over the account that waits, with the same id', async () => {
    const { orgId, email, waiting, link } = await openOrganization(system)
    const walker = newWalker(system)
    const joined = await walker.submit(await walker.open(link), CREATE, account('The Chief'))
    expect(joined.status).toBe(303)
    const person = await personIn(system, walker)
    expect(person).toMatchObject({ id: waiting, email, name: 'The Chief' })
    expect(await ownersOf(person!.call, orgId)).toEqual([[waiting, 'owner']])
    expect((await newWalker(system).open(link)).status).toBe(404)
  })

  test('may come with another account: that one owns, and the waiting one dissolves', async () => {
    const { orgId, waiting, link } = await openOrganization(system)
    const person = await makePerson(system)
    const walker = await signedInWalker(system, person.email)
    expect((await walker.submit(await walker.open(link), `Join as ${person.name}`)).status).toBe(303)
    expect(await ownersOf(person.call, orgId)).toEqual([[person.userId, 'owner']])
    expect(await system.db.select().from(users).where(eq(users.id, waiting))).toEqual([])
  })

  test('gets the link by mail where there is a mail server, and proves the address by it', async () => {
    const { link, email } = await openOrganization(mailing)
    expect(link).toBeUndefined()
    const mail = await mailTo(mailing, email)
    const walker = newWalker(mailing)
    await walker.submit(await walker.open(linkIn(mail.text)), CREATE, account())
    const person = await personIn(mailing, walker)
    expect(await person!.call(showProfile, {})).toMatchObject({ email, email_verified: true })
  })

  test('whose link is used twice at the same moment takes the account over once', async () => {
    const { orgId, waiting, link } = await openOrganization(system)
    const walkers = [newWalker(system), newWalker(system)]
    const pages = await Promise.all(walkers.map((walker) => walker.open(link)))
    const answers = await Promise.all(
      walkers.map((walker, at) => walker.submit(pages[at]!, CREATE, account(`Chief ${at}`))),
    )
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 404])
    const winner = walkers[answers.findIndex(({ status }) => status === 303)]!
    const person = await personIn(system, winner)
    expect(person?.id).toBe(waiting)
    expect(await ownersOf(person!.call, orgId)).toEqual([[waiting, 'owner']])
  })

  test('is nobody until then: no password opens the account that waits, and none can be asked for', async () => {
    const { email } = await openOrganization(mailing)
    await mailTo(mailing, email)
    await requestPasswordReset(mailing, email)
    await resetLink(mailing, (await makePerson(mailing)).email)
    expect(mailing.mails.filter(({ to }) => to === email)).toHaveLength(1)
    expect((await signInOnPage(newWalker(mailing), email)).status).toBe(401)
  })
})

test('each organization sees its own invitations and nobody else’s', async () => {
  const [one, two] = [await invitation(system), await invitation(system)]
  expect(await openInvitationsOf(one.org)).toEqual([one.email])
  const walker = newWalker(system)
  await walker.submit(await walker.open(one.link), CREATE, account())
  expect(await openInvitationsOf(one.org)).toEqual([])
  expect(await openInvitationsOf(two.org)).toEqual([two.email])
  expect(await membersOf(two.org)).toEqual([])
})
