/** What people try at the sign-in pages. Every test names its attack, and fails if the defense is taken away. */
import { eq } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { signInAttempts, users } from '../../db/schema.ts'
import { argon2Passwords } from '../../src/adapters/passwords/argon2.ts'
import { MAILS_PER_ADDRESS, SIGN_IN_ATTEMPT_SECONDS } from '../../src/contracts/limits.ts'
import { createOrganizationAsOperator, listOrganizations } from '../../src/contracts/organizations.ts'
import { showProfile } from '../../src/contracts/people.ts'
import type { ProviderKind } from '../support/identity-provider.ts'
import { requestPasswordReset, PATIENCE, resetLink } from '../support/links.ts'
import { makePerson, PASSWORD, unique } from '../support/make.ts'
import { OPERATOR_TOKEN, ORIGIN, startSystem } from '../support/system.ts'
import {
  BUTTON,
  signInThrough,
  startWithProviders,
  walkToCallback,
  type WithProviders,
} from '../support/system-with-providers.ts'
import { newWalker, PAGES, personIn, signInOnPage, type Page, type Walker } from '../support/walker.ts'

const EVIL = 'https://evil.test'
/** An application of the operator's, below a path of its host. */
const SHOP = 'https://shop.acme.test/app'
const DONE = `${ORIGIN}/console/sign-in/done`
const ACME = `${unique('acme')}.test`
const KINDS = ['google', 'microsoft', 'oidc'] as const

const at = (name: string) => ({ sub: unique(name), email: `${name}@${ACME}`, name })
const PEOPLE = {
  victim: { ...at('victim'), email_verified: true, xms_edov: true },
  attacker: { sub: unique('attacker'), email: `${unique('attacker')}@elsewhere.test`, name: 'Attacker' },
  says_false: { ...at('says_false'), email_verified: false },
  says_nothing: at('says_nothing'),
  says_in_words: { ...at('says_in_words'), email_verified: 'true' },
  says_one: { ...at('says_one'), email_verified: 1 },
  private_google: { ...at('private_google'), email_verified: true, hd: null },
  edov_refused: { ...at('edov_refused'), email_verified: true, xms_edov: false },
}

let system: WithProviders
beforeAll(async () => {
  system = await startWithProviders(
    PEOPLE,
    { PASSWORD_SIGN_IN: 'on', ALLOWED_REDIRECT_BASE_URLS: SHOP },
    KINDS,
    { withMail: true },
  )
})
afterAll(() => system.stop())

const isSignedIn = async (walker: Walker) => (await personIn(system, walker)) !== undefined

/** A new password account: who, and a browser that is not signed in. */
const makeVictim = async () => ({ person: await makePerson(system), walker: newWalker(system) })

describe('session fixation', () => {
  /** The attacker plants cookies they know, waits for the victim to sign in, and comes with the same cookies. */
  test.each([
    ['a password', (walker: Walker, email: string) => signInOnPage(walker, email)],
    ['a provider', (walker: Walker) => signInThrough(system, walker, 'google', 'victim')],
  ])('planted cookies never open the session that begins with %s', async (_how, signIn) => {
    const { person, walker } = await makeVictim()
    const attacker = newWalker(system)
    const planted = ['svc_auth', 'svc_browser'].map((name) => `${name}=${'A'.repeat(43)}; Path=/`)
    for (const cookie of planted) for (const browser of [walker, attacker]) browser.jar.keep(cookie, ORIGIN)
    await signIn(walker, person.email)
    expect(await isSignedIn(walker)).toBe(true)
    expect(walker.jar.find('svc_auth')?.value).not.toBe('A'.repeat(43))
    expect(await isSignedIn(attacker)).toBe(false)
  })

  /** The secret of a session is worth something only from the sign-in on, and only for that one. */
  test('every sign-in makes a new secret, and ends the session that the browser had before', async () => {
    const [{ person: first, walker }, { person: second }] = [await makeVictim(), await makeVictim()]
    await signInOnPage(walker, first.email)
    const before = walker.jar.find('svc_auth')!.value
    // Signed in already: the form is sent from a page that was open before.
    const open = newWalker(system)
    const page = await open.open('/auth/sign-in')
    walker.jar.keep(`svc_browser=${open.jar.find('svc_browser')!.value}; Path=/`, ORIGIN)
    await walker.submit(page, 'Sign in', { email: second.email, password: PASSWORD })
    expect(walker.jar.find('svc_auth')!.value).not.toBe(before)
    expect(await personIn(system, walker)).toMatchObject({ id: second.userId })
    open.jar.keep(`svc_auth=${before}; Path=/`, ORIGIN)
    expect(await personIn(system, open)).toBeUndefined()
  })

  /** A neighbor below the same domain, or on plain http, plants the attacker's own session in the victim's browser. */
  test('over https neither a sub-domain nor plain http can plant a cookie that is read', async () => {
    const own = await startSystem({ ...PAGES, APP_URL: 'https://app.acme.test' })
    onTestFinished(() => own.stop())
    const attacker = newWalker(own)
    await signInOnPage(attacker, (await makePerson(own)).email)
    const { value } = attacker.jar.find('__Host-svc_auth')!
    const victim = newWalker(own)
    const planted = [
      victim.jar.keep(`__Host-svc_auth=${value}; Path=/; Secure; Domain=acme.test`, 'https://evil.acme.test'),
      victim.jar.keep(`__Host-svc_auth=${value}; Path=/`, 'http://app.acme.test'),
      victim.jar.keep(`svc_auth=${value}; Path=/; Domain=acme.test`, 'https://evil.acme.test'),
      victim.jar.keep(`svc_auth=${value}; Path=/`, 'http://app.acme.test'),
    ]
    expect(planted).toEqual([false, false, true, true])
    expect((await victim.open('/auth/sign-in')).status).toBe(200)
  })
})

test.each([
  ['http://localhost:4000', 'svc_auth', 'svc_browser', 'svc_device', false],
  ['https://app.acme.test', '__Host-svc_auth', '__Host-svc_browser', '__Host-svc_device', true],
])(
  'cookies of %s are out of reach of scripts, of other hosts and of other sites',
  async (APP_URL, auth, browserId, device, secure) => {
    const own = await startSystem({ ...PAGES, APP_URL })
    onTestFinished(() => own.stop())
    const walker = newWalker(own)
    await signInOnPage(walker, (await makePerson(own)).email)
    const strict = { httpOnly: true, sameSite: 'lax', path: '/', hostOnly: true, secure }
    expect(walker.jar.all()).toHaveLength(3)
    expect(walker.jar.find(auth)).toMatchObject(strict)
    expect(walker.jar.find(browserId)).toMatchObject(strict)
    expect(walker.jar.find(device)).toMatchObject(strict)
  },
)

describe('the way back from a provider', () => {
  const refusal = 'This sign-in was started in another browser, or it took too long'

  /** The attacker signs in at the provider as themselves, keeps the callback and has the victim open it. */
  test.each(KINDS)('the callback of somebody else’s way to %s signs nobody in', async (kind) => {
    const [attacker, victim] = [newWalker(system), newWalker(system)]
    await victim.open('/auth/sign-in')
    const callback = await walkToCallback(system, attacker, kind, 'attacker')
    const page = await victim.open(callback.location!, EVIL)
    expect(page.status).toBe(400)
    expect(page.words).toContain('This sign-in was started in another browser')
    expect(await isSignedIn(victim)).toBe(false)
    // And the victim's visit does not spend the attempt of whoever began it.
    expect((await attacker.step(callback)).status).toBe(303)
  })

  /** Somebody reads the callback in a history or a log and opens it again. */
  test.each(KINDS)('a callback of %s works once, in the very browser too', async (kind) => {
    const walker = newWalker(system)
    const callback = await walkToCallback(system, walker, kind, 'victim')
    expect((await walker.step(callback)).status).toBe(303)
    const again = await walker.step(callback)
    expect([again.status, again.headers.getSetCookie()]).toEqual([400, []])
    expect(again.words).toContain(refusal)
  })

  /** A state that was used is tried with a code the attacker injects. */
  test('a state is spent by the first answer, even by one that fails', async () => {
    const walker = newWalker(system)
    const callback = await walkToCallback(system, walker, 'google', 'victim')
    const injected = new URL(callback.location!)
    injected.searchParams.set('code', 'injected')
    expect((await walker.open(injected)).status).toBe(401)
    expect((await walker.step(callback)).words).toContain(refusal)
    expect(await isSignedIn(walker)).toBe(false)
  })

  /** Mix-up (RFC 9700, 4.4): a code of one provider is carried to another, which then knows it. */
  test.each([
    ['google', 'microsoft'],
    ['microsoft', 'google'],
    ['oidc', 'google'],
  ] as const)(
    'a code and state of %s at the callback of %s are refused, and told to nobody',
    async (kind, other) => {
      const walker = newWalker(system)
      const callback = await walkToCallback(system, walker, kind, 'victim')
      const mixed = new URL(callback.location!)
      mixed.pathname = `/auth/${other}/callback`
      const before = system.providers[other].requests.length
      const page = await walker.open(mixed)
      expect([page.status, await isSignedIn(walker)]).toEqual([400, false])
      expect(page.words).toContain(refusal)
      expect(system.providers[other].requests).toHaveLength(before)
    },
  )

  /** Mix-up again, with an honest path and the name of another issuer in the answer (RFC 9207). */
  test.each(['google', 'oidc'] as const)(
    'an answer in another issuer’s name is refused at %s',
    async (kind) => {
      const walker = newWalker(system)
      const callback = await walkToCallback(system, walker, kind, 'victim')
      const mixed = new URL(callback.location!)
      mixed.searchParams.set('iss', EVIL)
      expect((await walker.open(mixed)).status).toBe(401)
      expect(await isSignedIn(walker)).toBe(false)
    },
  )

  /** An attempt left behind on a shared machine is finished by the next person. */
  test('an attempt ends after ten minutes', async () => {
    const own = await startWithProviders(PEOPLE, {}, ['google'])
    onTestFinished(() => own.stop())
    const walker = newWalker(own)
    const callback = await walkToCallback(own, walker, 'google', 'victim')
    own.clock.advance(SIGN_IN_ATTEMPT_SECONDS + 1)
    expect((await walker.step(callback)).words).toContain(refusal)
    expect(await personIn(own, walker)).toBeUndefined()
  })

  test.each(['', 'unknown', 'a'.repeat(5000), '\0'])(
    'a state nobody gave out (%j) is refused',
    async (state) => {
      const page = await newWalker(system).open(
        `/auth/google/callback?${new URLSearchParams({ state, code: 'x' })}`,
      )
      expect(page.status).toBe(400)
      expect(page.words).toContain(refusal)
    },
  )

  /** Whoever reads the database finds no state and no browser in it that would open anything. */
  test('what waits for the way back is stored as digests', async () => {
    const walker = newWalker(system)
    const callback = await walkToCallback(system, walker, 'google', 'victim')
    const rows = JSON.stringify(await system.db.select().from(signInAttempts))
    expect(rows).not.toContain(callback.location!.searchParams.get('state')!)
    expect(rows).not.toContain(walker.jar.find('svc_browser')!.value)
  })
})

describe('an address nobody answers for', () => {
  let orgId: string
  beforeAll(async () => {
    const made = await system.as({ token: OPERATOR_TOKEN })(createOrganizationAsOperator, {
      name: unique('Acme'),
      domains: [ACME],
    })
    orgId = made.id
  })

  /** Anybody types ada@acme.test into an account of their own and is let into Acme by its domain. */
  test.each<[ProviderKind, keyof typeof PEOPLE, string]>([
    ['google', 'says_false', 'Google says it is not verified'],
    ['google', 'says_nothing', 'Google says nothing'],
    ['google', 'says_in_words', 'a verdict in words'],
    ['google', 'private_google', 'a private account opened on a company’s address'],
    ['microsoft', 'says_nothing', 'the free email claim of any tenant'],
    ['microsoft', 'says_in_words', 'email_verified, which Microsoft does not send'],
    ['microsoft', 'edov_refused', 'the domain’s owner did not verify it'],
    ['oidc', 'says_false', 'not verified'],
    ['oidc', 'says_nothing', 'no verdict'],
    ['oidc', 'says_in_words', 'a verdict in words'],
    ['oidc', 'says_one', 'a verdict as a number'],
  ])('at %s opens no domain: %s (%s)', async (kind, who) => {
    const walker = newWalker(system)
    await signInThrough(system, walker, kind, who)
    const person = await personIn(system, walker)
    expect(person?.email).toBe(PEOPLE[who].email)
    expect(await person!.call(listOrganizations, {})).toMatchObject({ organizations: [] })
    expect(await person!.call(showProfile, {})).toMatchObject({ email_verified: false })
  })

  test.each(KINDS)('the same domain opens for whom %s answers', async (kind) => {
    const walker = newWalker(system)
    await signInThrough(system, walker, kind, 'victim')
    const { organizations } = await (await personIn(system, walker))!.call(listOrganizations, {})
    expect(organizations.map(({ id }) => id)).toEqual([orgId])
  })
})

describe('open redirect', () => {
  const HOSTILE = [
    '//evil.test/',
    '\\\\evil.test/',
    '/\\evil.test/',
    'https://evil.test/',
    'https:evil.test',
    'http://localhost:4000@evil.test/',
    'http://localhost:4000:pass@evil.test/',
    'http://user@localhost:4000/',
    'http://localhost:4000.evil.test/',
    'http://localhost.evil.test:4000/',
    'http://evil.test/http://localhost:4000/',
    'http://evil.test#http://localhost:4000/',
    'http://evil.test\\@localhost:4000/',
    'http://localhost:4001/',
    'http://localhost:40001/',
    'http://localhost/',
    'https://localhost:4000/',
    'ftp://localhost:4000/',
    'ws://localhost:4000/',
    'javascript:alert(1)',
    'javascript://localhost:4000/%0aalert(1)',
    'java\tscript:alert(1)',
    'data:text/html,hello',
    'blob:http://localhost:4000/console',
    'http://localhost:4000/#code',
    'http://localhost:4000/\t',
    'http://localhost:4000/\r\nLocation: https://evil.test',
    ' http://localhost:4000/',
    'http://lосalhost:4000/',
    'http://xn--lalhost-4fg:4000/',
    'http://localhost.:4000/',
    'http://127.0.0.1:4000/',
    'http://[::1]:4000/',
    'http://0x7f000001:4000/',
    'https://shop.acme.test.evil.test/app',
    'https://shop.acme.testevil.test/app',
    'https://evil-shop.acme.test/app',
    'https://shop.acme.test:8443/app',
    'http://shop.acme.test/app',
    'https://shop.acme.test/',
    'https://shop.acme.test/apple',
    'https://shop.acme.test/app/../admin',
    'https://shop.acme.test/app/%2e%2e/admin',
    '/console',
    '',
    `http://localhost:4000/${'x'.repeat(2000)}`,
  ]

  let email: string
  let signedIn: Walker
  beforeAll(async () => {
    const { person, walker } = await makeVictim()
    await signInOnPage(walker, person.email)
    email = person.email
    signedIn = walker
  })

  /** A link to our own sign-in page carries the victim, and the code, to the attacker. */
  test.each(HOSTILE)('nobody is sent to %j', async (return_to) => {
    const walker = newWalker(system)
    const asked = `/auth/sign-in?${new URLSearchParams({ return_to, state: 's' })}`
    const stopped = (page: Page) => {
      expect([page.status, page.location]).toEqual([400, undefined])
      expect(page.words).toContain('The application that sent you here is unknown')
    }
    // Before signing in, in the form, on the way to a provider, and when signed in already.
    stopped(await walker.open(asked))
    const page = await walker.open(`/auth/sign-in?return_to=${DONE}`)
    stopped(await walker.submit(page, 'Sign in', { email, password: PASSWORD, return_to }))
    expect(await isSignedIn(walker)).toBe(false)
    stopped(await walker.submit(page, BUTTON.google, { return_to }))
    stopped(await signedIn.open(asked))
  })

  test('everybody is sent where the operator allows it', async () => {
    for (const return_to of [DONE, SHOP, `${SHOP}/done?x=1`]) {
      const page = await signedIn.open(`/auth/sign-in?${new URLSearchParams({ return_to })}`)
      expect([page.status, page.location?.href.startsWith(return_to)]).toEqual([303, true])
    }
  })

  test('of two addresses in one question none is mixed with the other', async () => {
    for (const [first, second] of [
      [DONE, EVIL],
      [EVIL, DONE],
    ] as const) {
      const query = new URLSearchParams([
        ['return_to', first],
        ['return_to', second],
      ])
      const page = await signedIn.open(`/auth/sign-in?${query}`)
      expect(page.location?.origin ?? ORIGIN).toBe(ORIGIN)
    }
  })

  /** A code for one of our own pages would stand in its address, its log and its history for nothing. */
  test('our own pages get no code', async () => {
    const { person, walker } = await makeVictim()
    const page = await signInOnPage(walker, person.email, `/auth/sign-in?return_to=${ORIGIN}/auth/forgot`)
    expect(page.location?.href).toBe(`${ORIGIN}/auth/forgot`)
  })
})
describe('finding out who has an account', () => {
  const counting = () => {
    const real = argon2Passwords({ memoryKib: 64, passes: 1 })
    const calls: string[] = []
    const passwords: typeof real = {
      hash: (password) => real.hash(password),
      verify(...given) {
        calls.push('verify')
        return real.verify(...given)
      },
      verifyNothing(password) {
        calls.push('verifyNothing')
        return real.verifyNothing(password)
      },
    }
    return { passwords, calls }
  }

  /** Everything but the request's own id and the address that was typed. */
  const shown = ({ status, headers, text }: Page, email: string) => ({
    status,
    headers: [...headers].filter(([name]) => name !== 'x-request-id'),
    text: text.replaceAll(email, 'THE ADDRESS').replaceAll(/req_\w+/g, 'THE REQUEST'),
  })

  /** A list of addresses is tried out; any difference sorts it. Timing: an unknown one must cost a hash as well. */
  test('a wrong password and an unknown address get the same answer for the same work', async () => {
    const { passwords, calls } = counting()
    const own = await startSystem(PAGES, { passwords })
    onTestFinished(() => own.stop())
    const known = await makePerson(own)
    const unknown = `${unique('person')}@people.test`
    const walker = newWalker(own)
    calls.length = 0
    const answers = []
    for (const email of [known.email, unknown]) {
      for (let time = 0; time < 12; time++) {
        answers.push(shown(await signInOnPage(walker, email, '/auth/sign-in', 'a wrong one'), email))
      }
    }
    expect(answers.slice(0, 12).map(({ status }) => status)).toEqual([...Array(10).fill(401), 429, 429])
    expect(answers.slice(12)).toEqual(answers.slice(0, 12))
    expect(calls).toEqual([...Array(10).fill('verify'), ...Array(10).fill('verifyNothing')])
  })

  test('an account without a password answers like no account', async () => {
    const walker = newWalker(system)
    await signInThrough(system, newWalker(system), 'google', 'victim')
    const [there, nowhere] = [PEOPLE.victim.email, `nobody@${ACME}`]
    const one = shown(await signInOnPage(walker, there), there)
    expect(one).toEqual(shown(await signInOnPage(walker, nowhere), nowhere))
  })

  /** The same through "forgot": also when the known address has had all the mails it may get. */
  test('asking for a link answers the same for every address, however often', async () => {
    const { email: known } = await makePerson(system)
    const unknown = `${unique('person')}@people.test`
    const walker = newWalker(system)
    const answers = []
    // The known one last: when its mails are there, any for the others would be.
    for (const email of [unknown, 'no address at all', known]) {
      for (let time = 0; time <= MAILS_PER_ADDRESS.count; time++) {
        const page = await walker.submit(await walker.open('/auth/forgot'), 'Send reset link', { email })
        answers.push(shown(page, email))
      }
    }
    expect(answers[0]?.status).toBe(200)
    for (const answer of answers) expect(answer).toEqual(answers[0])
    await vi.waitFor(
      () => expect(system.mails.filter(({ to }) => to === known)).toHaveLength(MAILS_PER_ADDRESS.count),
      PATIENCE,
    )
    expect(system.mails.filter(({ to }) => to === unknown)).toEqual([])
  })
})
/** A password is “reset” for somebody who never had one, and opens their account beside the provider. */
test('an account made at a provider cannot be entered by a password that was never set', async () => {
  await signInThrough(system, newWalker(system), 'google', 'victim')
  const [row] = await system.db.select().from(users).where(eq(users.email, PEOPLE.victim.email))
  expect(row).toBeDefined()
  await requestPasswordReset(system, PEOPLE.victim.email)
  // A mail that was asked for later is there: the earlier one will not come any more.
  await resetLink(system, (await makePerson(system)).email)
  expect(system.mails.filter(({ to }) => to === PEOPLE.victim.email)).toEqual([])
  expect((await signInOnPage(newWalker(system), PEOPLE.victim.email, '/auth/sign-in', '')).status).toBe(401)
})
