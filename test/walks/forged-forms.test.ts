/** Forms that did not come from our pages, or that are none. Every test names its attack. */
import { and, eq } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memberships } from '../../db/schema.ts'
import { sendEmailVerification, showProfile } from '../../src/contracts/people.ts'
import { invitation, linkIn, mailTo, resetLink } from '../support/links.ts'
import { makePerson, PASSWORD, unique } from '../support/make.ts'
import { ORIGIN } from '../support/system.ts'
import { BUTTON, startWithProviders, type WithProviders } from '../support/system-with-providers.ts'
import { formOn, newWalker, personIn, signInOnPage, type Page, type Walker } from '../support/walker.ts'

const EVIL = 'https://evil.test'
const KINDS = ['google', 'microsoft', 'oidc'] as const

const PEOPLE = { victim: { sub: unique('victim'), email: `${unique('victim')}@people.test`, name: 'Victim' } }

let system: WithProviders
beforeAll(async () => {
  system = await startWithProviders(PEOPLE, { PASSWORD_SIGN_IN: 'on' }, KINDS, { withMail: true })
})
afterAll(() => system.stop())

const isSignedIn = async (walker: Walker) => (await personIn(system, walker)) !== undefined

/**
 * Every form the pages have, on a page that is open in the victim's browser. `done` tells whether what the form is
 * for has happened.
 */
type Target = {
  page: Page
  button: string
  filled: Record<string, string>
  done: (answer: Page) => Promise<boolean>
}
const FORMS: [string, (victim: Walker) => Promise<Target>][] = [
  [
    'signing in with a password',
    async (victim) => {
      const { email } = await makePerson(system)
      const page = await victim.open('/auth/sign-in')
      return {
        page,
        button: 'Sign in',
        filled: { email, password: PASSWORD },
        done: () => isSignedIn(victim),
      }
    },
  ],
  ...KINDS.map((kind): [string, (victim: Walker) => Promise<Target>] => [
    `setting out for ${kind}`,
    async (victim) => {
      const page = await victim.open('/auth/sign-in')
      return { page, button: BUTTON[kind], filled: {}, done: async ({ status }) => status === 303 }
    },
  ]),
  [
    'asking for a link',
    async (victim) => {
      const { email } = await makePerson(system)
      const page = await victim.open('/auth/forgot')
      const done = async ({ status }: Page) => {
        if (status !== 200) return false
        await mailTo(system, email)
        return system.mails.filter(({ to }) => to === email).length === 1
      }
      return { page, button: 'Send reset link', filled: { email }, done }
    },
  ],
  [
    'choosing a password',
    async (victim) => {
      const { email } = await makePerson(system)
      const password = 'chosen by somebody else'
      const page = await victim.open(await resetLink(system, email))
      const done = async () =>
        (await signInOnPage(newWalker(system), email, '/auth/sign-in', password)).status === 303
      return { page, button: 'Save', filled: { password }, done }
    },
  ],
  [
    'confirming an address',
    async (victim) => {
      const { call, email } = await makePerson(system, { verified: false })
      await call(sendEmailVerification, {})
      await signInOnPage(victim, email)
      const page = await victim.open(linkIn((await mailTo(system, email)).text))
      const done = async () => (await call(showProfile, {})).email_verified
      return { page, button: 'Confirm email address', filled: {}, done }
    },
  ],
  [
    'joining an organization',
    async (victim) => {
      const { email, userId, name } = await makePerson(system)
      await signInOnPage(victim, email)
      const { link, org } = await invitation(system)
      const page = await victim.open(link)
      const done = async () => (await membersNamed(org.id, userId)).length === 1
      return { page, button: `Join as ${name}`, filled: {}, done }
    },
  ],
  [
    'making an account',
    async (victim) => {
      const { link } = await invitation(system)
      const page = await victim.open(link)
      const filled = { name: 'Made By Another', password: PASSWORD }
      return { page, button: 'Create account and join', filled, done: () => isSignedIn(victim) }
    },
  ],
]

const membersNamed = (orgId: string, userId: string) =>
  system.db
    .select()
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))

/** What a hostile page can make of a browser's request, given everything it might have found out. */
type Forged = { headers: Record<string, string>; form?: string; cookies?: false; type?: string }
const FROM_US = { origin: ORIGIN, 'sec-fetch-site': 'same-origin' }
const FORGERIES: [string, Forged][] = [
  // The attacker set the browser's cookie, so they know the token: only the origin can tell.
  ['another site', { headers: { origin: EVIL, 'sec-fetch-site': 'cross-site' } }],
  ['another site that hides its name', { headers: { origin: 'null', 'sec-fetch-site': 'cross-site' } }],
  [
    'another port of this host',
    { headers: { origin: 'http://localhost:4001', 'sec-fetch-site': 'same-site' } },
  ],
  ['https at this host', { headers: { origin: 'https://localhost:4000', 'sec-fetch-site': 'cross-site' } }],
  [
    'a host that begins like ours',
    { headers: { origin: `${ORIGIN}.evil.test`, 'sec-fetch-site': 'cross-site' } },
  ],
  [
    'a site that names ours second',
    { headers: { origin: `${EVIL}, ${ORIGIN}`, 'sec-fetch-site': 'cross-site' } },
  ],
  ['nowhere: neither header is there', { headers: {} }],
  ['an address bar', { headers: { 'sec-fetch-site': 'none' } }],
  ['another site with an empty origin', { headers: { origin: '', 'sec-fetch-site': 'cross-site' } }],
  // A hole that lets the origin pass: only the token can tell.
  ['us, without a token', { headers: FROM_US, form: '' }],
  ['us, with a made-up token', { headers: FROM_US, form: 'f'.repeat(64) }],
  ['us, without cookies', { headers: FROM_US, cookies: false }],
  // Types that a plain form can send besides the one we use.
  ['us, as plain text', { headers: FROM_US, type: 'text/plain' }],
  ['us, as multipart', { headers: FROM_US, type: 'multipart/form-data; boundary=x' }],
]

async function forge(victim: Walker, { page, button, filled }: Target, forged: Forged): Promise<Page> {
  const form = formOn(page, button)
  const fields = { ...form.fields, ...filled, ...(forged.form === undefined ? {} : { form: forged.form }) }
  const sent = { isCrossSite: true, isForeignPost: true, knowsSameSite: false }
  const response = await system.service(
    new Request(form.action, {
      method: 'POST',
      headers: {
        'content-type': forged.type ?? 'application/x-www-form-urlencoded',
        ...(forged.cookies === false ? {} : { cookie: victim.jar.headerFor(form.action, sent) }),
        ...forged.headers,
      },
      body: String(new URLSearchParams(fields)),
    }),
  )
  for (const cookie of response.headers.getSetCookie()) victim.jar.keep(cookie, form.action)
  const text = await response.text()
  return { ...page, status: response.status, headers: response.headers, text, words: text }
}

describe('cross-site request forgery, login included', () => {
  /** A hostile page sends our form from the victim's browser, to act as them or to sign them in as somebody else. */
  test.each(FORMS)('%s happens from our own page only', async (_what, prepare) => {
    const victim = newWalker(system)
    const target = await prepare(victim)
    for (const [from, forged] of FORGERIES) {
      const answer = await forge(victim, target, forged)
      expect([from, answer.status, answer.headers.get('location')]).toEqual([from, 403, null])
      expect(answer.text).toContain('This form has expired or was not sent from our page')
    }
    expect(await target.done({ ...target.page, status: 403 })).toBe(false)
    const honest = await victim.submit(target.page, target.button, target.filled)
    expect(honest.status).toBeLessThan(400)
    expect(await target.done(honest)).toBe(true)
  })

  /** The token of a form the attacker got for themselves. */
  test('the token of another browser is worth nothing', async () => {
    const victim = newWalker(system)
    const target = await FORMS[0]![1](victim)
    const foreign = formOn(await newWalker(system).open('/auth/sign-in'), 'Sign in').fields['form']!
    const answer = await forge(victim, target, { headers: FROM_US, form: foreign })
    expect([answer.status, await isSignedIn(victim)]).toEqual([403, false])
  })

  test('a browser that keeps its origin to itself on our own page is let in', async () => {
    const victim = newWalker(system)
    const target = await FORMS[0]![1](victim)
    const answer = await forge(victim, target, {
      headers: { origin: 'null', 'sec-fetch-site': 'same-origin' },
    })
    expect([answer.status, await isSignedIn(victim)]).toEqual([303, true])
  })

  /** A browser that knows SameSite does not even send the cookies along: the third lock. */
  test('a foreign form arrives without cookies', async () => {
    const victim = newWalker(system)
    await victim.open('/auth/sign-in')
    await victim.postFrom(EVIL, '/auth/sign-in', {})
    expect(victim.trail.at(-1)?.headers.has('cookie')).toBe(false)
    const old = newWalker(system, { knowsSameSite: false })
    await old.open('/auth/sign-in')
    await old.postFrom(EVIL, '/auth/sign-in', {})
    expect(old.trail.at(-1)?.headers.has('cookie')).toBe(true)
  })
})

describe('forms that are none', () => {
  const post = async (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) => {
    const walker = newWalker(system)
    const { fields, action } = formOn(await walker.open('/auth/sign-in'), 'Sign in')
    const all = { isCrossSite: false, isForeignPost: false, knowsSameSite: true }
    const token = `form=${fields['form']}&`
    const response = await system.service(
      new Request(action, {
        method: 'POST',
        headers: {
          ...FROM_US,
          'content-type': 'application/x-www-form-urlencoded',
          cookie: walker.jar.headerFor(action, all),
          ...headers,
        },
        body: typeof body === 'string' ? token + body : Buffer.concat([Buffer.from(token), body]),
      }),
    )
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      text: await response.text(),
    }
  }

  /** Broken input must not reach the database, the log or a stack trace: a person reads a page. */
  test.each<[string, string | Uint8Array<ArrayBuffer>, number]>([
    ['too large', `email=${'x'.repeat(70_000)}`, 413],
    ['empty', '', 401],
    ['broken percent signs', 'email=%zz&password=%', 401],
    ['a NUL', 'email=a%00b@people.test&password=%00%00', 401],
    ['a NUL inside percent signs', 'email=a%%0000b@people.test&password=%%0000', 401],
    ['a NUL as it is', 'email=a\0b@people.test&password=\0', 401],
    ['bytes that are no text', new Uint8Array([0xff, 0xfe, 0x3d, 0xc3]), 401],
    ['half a character', 'email=%F0%9F&password=%ED%A0%80', 401],
    ['names of our own objects', '__proto__=x&constructor=y&toString=z&email=a@people.test', 401],
    ['every field twice', 'email=a@people.test&email=b@people.test&password=x&password=y', 401],
    ['a token twice', 'form=other', 403],
    ['ten thousand fields', Array.from({ length: 10_000 }, (_, at) => `${at}=`).join('&'), 401],
  ])('%s', async (_what, body, status) => {
    const answer = await post(body)
    expect(answer.status).toBe(status)
    expect(answer.type).toMatch('text/html')
    expect(answer.text).toContain('</html>')
  })

  test('a name with a NUL in it makes no account and no failure of ours', async () => {
    const walker = newWalker(system)
    const page = await walker.open((await invitation(system)).link)
    const answer = await walker.submit(page, 'Create account and join', {
      name: 'A\0B %00',
      password: 'short\0',
    })
    expect(answer.status).toBe(400)
  })
})
