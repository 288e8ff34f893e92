/** Signing in through an identity provider: out, back, and whose account it then is. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createOrganizationAsOperator, listOrganizations } from '../../src/contracts/organizations.ts'
import { showProfile } from '../../src/contracts/people.ts'
import { listSessions } from '../../src/contracts/sessions.ts'
import { HOME_TENANT, type Misbehavior, type ProviderKind } from '../support/identity-provider.ts'
import { makePerson, unique } from '../support/make.ts'
import { OPERATOR_TOKEN, ORIGIN, startSystem } from '../support/system.ts'
import {
  BUTTON,
  signInThrough,
  startWithProviders,
  walkToCallback,
  type WithProviders,
} from '../support/system-with-providers.ts'
import { newWalker, PAGES, personIn, type Walker } from '../support/walker.ts'

const KINDS = ['google', 'microsoft', 'oidc'] as const
const ACME = `${unique('acme')}.test`
/** What each provider says when it answers for an address itself. */
const VERIFIED = { email_verified: true, hd: ACME, xms_edov: true }
const OTHER_TENANT = '66666666-7777-4888-8999-000000000000'

const PEOPLE = {
  ada: { sub: unique('ada'), email: `ada@${ACME}`, name: 'Ada Lovelace', ...VERIFIED },
  unproven: { sub: unique('unproven'), email: `unproven@${ACME}`, name: 'Unproven', email_verified: false },
  nowhere: { sub: unique('nowhere'), name: 'Without Address' },
  nameless: { sub: unique('nameless'), email: `nameless@${ACME}` },
  forger: { sub: unique('forger'), email: `forger@${ACME}`, name: 'Forger\r\nBcc: all@acme.test' },
}

let system: WithProviders
beforeAll(async () => {
  system = await startWithProviders(PEOPLE)
  const asOperator = system.as({ token: OPERATOR_TOKEN })
  await asOperator(createOrganizationAsOperator, { name: unique('Acme'), domains: [ACME] })
  await asOperator(createOrganizationAsOperator, { name: unique('Rival'), domains: [`rival.${ACME}`] })
})
afterAll(() => system.stop())

function misbehave(kind: ProviderKind, how: Misbehavior): void {
  system.providers[kind].misbehave(how)
  onTestFinished(() => system.providers[kind].misbehave({}))
}

const isSignedIn = async (walker: Walker) => (await personIn(system, walker)) !== undefined

describe.each(KINDS)('%s', (kind) => {
  test('a new person gets an account and returns to the application that asked', async () => {
    const walker = newWalker(system)
    const asked = new URLSearchParams({ return_to: `${ORIGIN}/console/sign-in/done`, state: 'the state' })
    const form = await walker.open(`/auth/sign-in?${asked}`)
    const back = await signInThrough(system, walker, kind, 'ada', form)
    expect(back.status).toBe(303)
    expect(back.location?.href).toMatch(`${ORIGIN}/console/sign-in/done?code=`)
    expect(back.location?.searchParams.get('state')).toBe('the state')
    const person = await personIn(system, walker)
    expect(await person!.call(showProfile, {})).toMatchObject({
      name: 'Ada Lovelace',
      email: `ada@${ACME}`,
      email_verified: true,
      has_password: false,
      identities: [{ provider: kind, email: `ada@${ACME}` }],
    })
    const { sessions } = await person!.call(listSessions, {})
    expect(sessions.find(({ current }) => current)).toMatchObject({ signed_in_by: kind, device: 'walker' })
  })

  test('a known person is the same user again, in any browser and under a new address', async () => {
    const first = newWalker(system)
    await signInThrough(system, first, kind, 'ada')
    const moved = `ada.king@${ACME}`
    misbehave(kind, { idToken: { email: moved } })
    const second = newWalker(system)
    await signInThrough(system, second, kind, 'ada')
    const [before, after] = [await personIn(system, first), await personIn(system, second)]
    expect(after!.id).toBe(before!.id)
    // The account keeps the address it was made with; what the provider says now stands beside it.
    const profile = await after!.call(showProfile, {})
    expect(profile).toMatchObject({ email: `ada@${ACME}`, identities: [{ provider: kind, email: moved }] })
  })

  test('a verified address in the domain of an organization opens that one and no other', async () => {
    const walker = newWalker(system)
    await signInThrough(system, walker, kind, 'ada')
    const { organizations } = await (await personIn(system, walker))!.call(listOrganizations, {})
    expect(organizations).toHaveLength(1)
    expect(organizations[0]).toMatchObject({ role: 'member', name: expect.stringMatching(/^Acme/) })
  })

  test('an address nobody answers for makes an account that belongs nowhere', async () => {
    const walker = newWalker(system)
    await signInThrough(system, walker, kind, 'unproven')
    const person = await personIn(system, walker)
    expect(await person!.call(listOrganizations, {})).toMatchObject({ organizations: [] })
    expect(await person!.call(showProfile, {})).toMatchObject({ email_verified: false })
  })

  test('without an address there is no account, and the page says why', async () => {
    const walker = newWalker(system)
    const page = await signInThrough(system, walker, kind, 'nowhere')
    expect(page.status).toBe(403)
    expect(page.words).toContain('Your identity provider did not share your email address')
    expect(await isSignedIn(walker)).toBe(false)
  })

  test.each(['nameless', 'forger'] as const)('who comes %s is called by the address', async (who) => {
    const walker = newWalker(system)
    await signInThrough(system, walker, kind, who)
    expect(await personIn(system, walker)).toMatchObject({ name: `${who}@${ACME}` })
  })

  test('pressing Cancel leads to a page with a way on, and to nobody signed in', async () => {
    const walker = newWalker(system)
    misbehave(kind, { answer: 'access_denied' })
    const page = await signInThrough(system, walker, kind, 'ada')
    expect(page.status).toBe(401)
    expect(page.words).toContain('Your identity provider could not confirm who you are')
    expect(page.words).toContain('Start again from the sign-in page.')
    expect(page.words).not.toContain('access_denied')
    expect(await isSignedIn(walker)).toBe(false)
  })

  test('a provider that goes down on the way leads to a page, and the next try works', async () => {
    const walker = newWalker(system)
    const callback = await walkToCallback(system, walker, kind, 'ada')
    misbehave(kind, { outage: 'error-page' })
    const page = await walker.step(callback)
    expect(page.status).toBe(504)
    expect(page.words).toContain('Your identity provider cannot be reached')
    expect(await isSignedIn(walker)).toBe(false)
    system.providers[kind].misbehave({})
    await signInThrough(system, walker, kind, 'ada')
    expect(await isSignedIn(walker)).toBe(true)
  })

  test('a provider that is down from the start leads to a page, and the others still work', async () => {
    const own = await startWithProviders(PEOPLE)
    onTestFinished(() => own.stop())
    own.providers[kind].misbehave({ outage: 'error-page' })
    const walker = newWalker(own)
    const page = await walker.submit(await walker.open('/auth/sign-in'), BUTTON[kind])
    expect(page.status).toBe(504)
    expect(page.words).toContain('Your identity provider cannot be reached')
    expect((await walker.open('/auth/sign-in')).forms).toHaveLength(3)
    await signInThrough(own, walker, kind === 'oidc' ? 'google' : 'oidc', 'ada')
    expect(await personIn(own, walker)).toMatchObject({ email: `ada@${ACME}` })
  })

  test('what went wrong at the provider is in the log, without codes and addresses', async () => {
    const walker = newWalker(system)
    misbehave(kind, { idToken: { nonce: 'replayed' } })
    const before = system.logLines.length
    const callback = await walkToCallback(system, walker, kind, 'ada')
    await walker.step(callback)
    const lines = system.logLines.slice(before).join('')
    expect(lines).toContain('sign-in refused')
    expect(lines).toContain('nonce')
    for (const secret of [
      callback.location!.searchParams.get('code')!,
      callback.location!.searchParams.get('state')!,
    ]) {
      expect(lines).not.toContain(secret)
    }
    expect(lines).not.toContain(`ada@${ACME}`)
  })
})

test('the same address at three providers and with a password is four people', async () => {
  const forPasswords = await startSystem(PAGES)
  onTestFinished(() => forPasswords.stop())
  const withPassword = await makePerson(forPasswords, { email: `ada@${ACME}` })
  const ids = [withPassword.userId]
  for (const kind of KINDS) {
    const walker = newWalker(system)
    await signInThrough(system, walker, kind, 'ada')
    ids.push((await personIn(system, walker))!.id)
  }
  expect(new Set(ids).size).toBe(4)
})

test('one Microsoft tenant may be allowed and every other refused', async () => {
  const people = {
    colleague: { email: `colleague@${ACME}`, xms_edov: true },
    outsider: { email: `outsider@${ACME}`, xms_edov: true, tid: OTHER_TENANT },
  }
  const own = await startWithProviders(people, { MICROSOFT_TENANT_ID: HOME_TENANT }, ['microsoft'])
  onTestFinished(() => own.stop())
  const [inside, outside] = [newWalker(own), newWalker(own)]
  await signInThrough(own, inside, 'microsoft', 'colleague')
  expect(await personIn(own, inside)).toMatchObject({ email: `colleague@${ACME}` })
  const page = await signInThrough(own, outside, 'microsoft', 'outsider')
  expect(page.status).toBe(401)
  expect(await personIn(own, outside)).toBeUndefined()
})

describe('the page', () => {
  test('offers the providers in their order, and no password beside them', async () => {
    const page = await newWalker(system).open('/auth/sign-in')
    expect(page.forms.map(({ button }) => button)).toEqual(KINDS.map((kind) => BUTTON[kind]))
    expect(page.text).not.toContain('type="password"')
  })

  test('offers a password too where that is switched on', async () => {
    const own = await startWithProviders(PEOPLE, { PASSWORD_SIGN_IN: 'on' }, ['google'])
    onTestFinished(() => own.stop())
    const page = await newWalker(own).open('/auth/sign-in')
    expect(page.forms.map(({ button }) => button)).toEqual([BUTTON.google, 'Sign in'])
  })

  test('has no path for a provider that is not configured', async () => {
    const own = await startWithProviders(PEOPLE, {}, ['google'])
    onTestFinished(() => own.stop())
    const walker = newWalker(own)
    expect((await walker.open('/auth/microsoft/callback?code=x&state=y')).status).toBe(404)
    expect((await walker.postFrom(ORIGIN, '/auth/microsoft', {})).status).toBe(404)
  })

  test('setting out signs nobody in', async () => {
    const walker = newWalker(system)
    await walkToCallback(system, walker, 'google', 'ada')
    expect(await isSignedIn(walker)).toBe(false)
  })
})
