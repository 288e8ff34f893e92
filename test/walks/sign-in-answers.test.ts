/** What the sign-in pages tell browsers, neighbors and the log: nothing that could be used against a person. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createOrganization } from '../../src/contracts/organizations.ts'
import { updateProfile } from '../../src/contracts/people.ts'
import { invitation, resetLink } from '../support/links.ts'
import { makePerson, PASSWORD, unique } from '../support/make.ts'
import { ORIGIN } from '../support/system.ts'
import {
  BUTTON,
  signInThrough,
  startWithProviders,
  walkToCallback,
  type WithProviders,
} from '../support/system-with-providers.ts'
import { structureOf, newWalker, signInOnPage, type Page } from '../support/walker.ts'

const EVIL = 'https://evil.test'
const DONE = `${ORIGIN}/console/sign-in/done`
const KINDS = ['google', 'microsoft', 'oidc'] as const

const PEOPLE = { victim: { sub: unique('victim'), email: `${unique('victim')}@people.test`, name: 'Victim' } }

let system: WithProviders
beforeAll(async () => {
  system = await startWithProviders(PEOPLE, { PASSWORD_SIGN_IN: 'on' }, KINDS, { withMail: true })
})
afterAll(() => system.stop())

/** A new password account: who, and a browser that is not signed in. */
const makeVictim = async () => ({ person: await makePerson(system), walker: newWalker(system) })

/** Every page and every answer of a walk through all of them. */
async function everyAnswer(): Promise<[string, Page][]> {
  const walker = newWalker(system)
  const { email } = await makePerson(system)
  const { link } = await invitation(system)
  const signIn = await walker.open(`/auth/sign-in?return_to=${DONE}`)
  const wrong = await walker.submit(signIn, 'Sign in', { email, password: 'a wrong one' })
  const invited = await walker.open(link)
  const forgot = await walker.open('/auth/forgot')
  const reset = await walker.open(await resetLink(system, email))
  return [
    ['sign-in', signIn],
    ['wrong password', wrong],
    ['unknown application', await walker.open(`/auth/sign-in?return_to=${EVIL}`)],
    ['foreign form', await walker.postFrom(EVIL, '/auth/sign-in', {})],
    ['setting out', await walker.submit(signIn, BUTTON.google)],
    ['wrong callback', await walker.open('/auth/google/callback?state=x')],
    ['invitation', invited],
    ['refused account', await walker.submit(invited, 'Create account and join', { name: '', password: '' })],
    ['dead invitation', await walker.open('/auth/invitation/none')],
    ['forgot', forgot],
    ['link on its way', await walker.submit(forgot, 'Send reset link', { email })],
    ['reset', reset],
    ['refused password', await walker.submit(reset, 'Save', { password: 'short' })],
    ['chosen password', await walker.submit(reset, 'Save', { password: PASSWORD })],
    ['dead link', await walker.submit(reset, 'Save', { password: PASSWORD })],
    ['verify', await walker.open('/auth/verify/none')],
    ['beside every page', await walker.open('/auth/google')],
    ['signed in', await walker.submit(signIn, 'Sign in', { email, password: PASSWORD })],
    ['signed in already', await walker.open(`/auth/sign-in?return_to=${DONE}`)],
    ['invitation for one signed in', await walker.open(link)],
  ]
}

describe('what every answer says to the browser', () => {
  let answers: [string, Page][]
  beforeAll(async () => {
    answers = await everyAnswer()
  })
  const each = (check: (page: Page) => unknown) =>
    Object.fromEntries(answers.map(([what, page]) => [what, check(page)]))
  const all = (value: unknown) => Object.fromEntries(answers.map(([what]) => [what, value]))
  const isPage = (page: Page) => page.location === undefined

  /** The walk meets what it names: otherwise the tests below would look at the wrong pages. */
  test('the walk sees every kind of answer', () => {
    expect(each(({ status }) => status)).toMatchInlineSnapshot(`
      {
        "beside every page": 404,
        "chosen password": 200,
        "dead invitation": 404,
        "dead link": 404,
        "foreign form": 403,
        "forgot": 200,
        "invitation": 200,
        "invitation for one signed in": 200,
        "link on its way": 200,
        "refused account": 400,
        "refused password": 400,
        "reset": 200,
        "setting out": 303,
        "sign-in": 200,
        "signed in": 303,
        "signed in already": 303,
        "unknown application": 400,
        "verify": 200,
        "wrong callback": 400,
        "wrong password": 401,
      }
    `)
  })

  /** The back button, or a proxy in between, shows the next person a form, a link or a code. */
  test('nothing is kept: cache-control no-store', () => {
    expect(each(({ headers }) => headers.get('cache-control'))).toEqual(all('no-store'))
  })

  /** Clickjacking: our page lies invisible over a hostile one and catches the victim's clicks. */
  test('no page is shown in a frame, and none runs or loads anything foreign', () => {
    const policy =
      "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'"
    for (const [what, page] of answers.filter(([, page]) => isPage(page))) {
      expect([what, page.headers.get('content-security-policy')]).toEqual([what, policy])
      expect([what, page.text.includes('<script')]).toEqual([what, false])
    }
  })

  /**
   * Two traps of real browsers: `form-action` stops the redirect behind a form, and an opener policy cuts an
   * application off from the pop-up it opened.
   */
  test('the way back is not barred by our own headers', () => {
    expect(
      each(({ headers }) => headers.get('content-security-policy')?.includes('form-action') ?? false),
    ).toEqual(all(false))
    expect(each(({ headers }) => headers.get('cross-origin-opener-policy'))).toEqual(all(null))
  })

  /** An answer read as something else than it is becomes a script. */
  test('no answer is guessed at', () => {
    expect(each(({ headers }) => headers.get('x-content-type-options'))).toEqual(all('nosniff'))
    for (const [, page] of answers.filter(([, page]) => isPage(page))) {
      expect(page.headers.get('content-type')).toBe('text/html; charset=UTF-8')
    }
  })

  /** The secret of a link, or a code, travels on in the Referer header to whoever is next. */
  test('pages tell their address to nobody else, and a redirect with a code to nobody at all', () => {
    for (const [what, page] of answers) {
      const withCode = page.location?.searchParams.has('code') ?? false
      const expected = withCode
        ? 'no-referrer'
        : isPage(page)
          ? 'same-origin'
          : page.headers.get('referrer-policy')
      expect([what, page.headers.get('referrer-policy')]).toEqual([what, expected])
    }
  })
})

/** The same once more as it happens: what a provider and an application really get to see. */
test('neither provider nor application learns where the person came from, nor gets a cookie of ours', async () => {
  const seen: { url: string; headers: Record<string, unknown> }[] = []
  const application = createServer((request, response) => {
    seen.push({ url: request.url ?? '', headers: request.headers })
    response.end('welcome')
  }).listen(0, '127.0.0.1')
  await once(application, 'listening')
  onTestFinished(() => void application.close())
  const base = `http://127.0.0.1:${(application.address() as AddressInfo).port}/app`
  const own = await startWithProviders(PEOPLE, { ALLOWED_REDIRECT_BASE_URLS: base }, ['google'])
  onTestFinished(() => own.stop())
  const walker = newWalker(own)
  const form = await walker.open(
    `/auth/sign-in?${new URLSearchParams({ return_to: base, state: 'my-state' })}`,
  )
  const landed = await walker.follow(await walker.submit(form, BUTTON.google))
  expect([landed.words, seen.length]).toEqual(['welcome', 1])
  expect(seen[0]?.url).toMatch(/^\/app\?code=[\w-]{43}&state=my-state$/)
  const abroad = walker.trail.filter(({ url }) => url.origin !== ORIGIN)
  expect(abroad.length).toBeGreaterThan(3)
  for (const { headers } of abroad) {
    expect(headers.get('referer')).toBeNull()
    expect(headers.get('cookie') ?? '').not.toContain('svc_')
  }
})

describe('HTML injection', () => {
  const HOSTILE = `"'><img src=x onerror=alert(1)><script>alert(1)</script><!--`
  const HARMLESS = 'a few plain words'

  const said = (page: Page) => page.words
  const field = (name: string) => (page: Page) => page.forms.at(-1)?.fields[name] ?? ''

  /** Where a page shows what somebody wrote: how to get it there, and where it then stands. */
  const PLACES: [string, (text: string) => Promise<Page>, (page: Page) => string][] = [
    ['the email address of a sign-in', (text) => signInOnPage(newWalker(system), text), field('email')],
    [
      'state',
      (state) => newWalker(system).open(`/auth/sign-in?${new URLSearchParams({ return_to: DONE, state })}`),
      field('state'),
    ],
    [
      'the name of an organization',
      async (text) => {
        const owner = await makePerson(system)
        const org = await owner.call(createOrganization, { name: `${unique('org')} ${text}` })
        return newWalker(system).open((await invitation(system, { org: { ...org, owner } })).link)
      },
      said,
    ],
    [
      'the name of a person',
      async (name) => {
        const { person, walker } = await makeVictim()
        await person.call(updateProfile, { name })
        await signInOnPage(walker, person.email)
        return walker.open((await invitation(system)).link)
      },
      said,
    ],
    [
      'a name that was refused',
      async (name) => {
        const walker = newWalker(system)
        const page = await walker.open((await invitation(system)).link)
        return walker.submit(page, 'Create account and join', { name, password: 'short' })
      },
      field('name'),
    ],
  ]

  /** The page has the same structure whatever was written, and shows it as text. */
  test.each(PLACES)('through %s', async (_what, show, where) => {
    const [hostile, harmless] = [await show(HOSTILE), await show(HARMLESS)]
    expect(where(harmless)).toContain(HARMLESS)
    expect(where(hostile)).toContain(HOSTILE)
    expect(structureOf(hostile.text)).toEqual(structureOf(harmless.text))
    expect(hostile.text).not.toContain('<img')
  })

  test('through return_to', async () => {
    // Spaces are not taken, and of the rest URL leaves nothing that HTML could read.
    const open = (text: string) =>
      newWalker(system).open(`/auth/sign-in?${new URLSearchParams({ return_to: `${DONE}?x=${text}` })}`)
    const [hostile, harmless] = [await open(HOSTILE.replaceAll(' ', '/')), await open('plain')]
    expect([hostile.status, harmless.status]).toEqual([200, 200])
    expect(structureOf(hostile.text)).toEqual(structureOf(harmless.text))
  })

  test.each(KINDS)('through what %s is said to have answered', async (kind) => {
    const walker = newWalker(system)
    const callback = await walkToCallback(system, walker, kind, 'victim')
    const forged = new URL(callback.location!)
    for (const name of ['error', 'error_description', 'error_uri']) forged.searchParams.set(name, HOSTILE)
    forged.searchParams.delete('code')
    const page = await walker.open(forged)
    expect([page.status, page.text.includes('alert(1)')]).toEqual([401, false])
  })

  test.each(['/auth/invitation/', '/auth/reset/', '/auth/verify/', '/auth/google/callback?state='])(
    'through the address %s',
    async (path) => {
      const page = await newWalker(system).open(path + encodeURIComponent(HOSTILE))
      expect(page.text).not.toContain('alert(1)')
    },
  )

  test('through the id of a request', async () => {
    const headers = { 'x-request-id': '<img/src=x>' }
    const response = await system.fetch('/auth/invitation/none', { headers })
    const text = await response.text()
    expect(text).toMatch(/Request req_\w+/)
    expect(text).not.toContain('<img')
  })
})

/** Whoever may read the log must not be able to act as the people in it. */
test('a walk through everything leaves no secret in the log', async () => {
  const before = system.logLines.length
  const walker = newWalker(system)
  const { email } = await makePerson(system)
  const { link } = await invitation(system)
  await walker.open(link)
  const reset = await walker.open(await resetLink(system, email))
  await walker.submit(reset, 'Save', { password: 'chosen with great care' })
  const back = await signInOnPage(
    walker,
    email,
    `/auth/sign-in?return_to=${DONE}&state=own`,
    'chosen with great care',
  )
  await signInThrough(system, newWalker(system), 'oidc', 'victim')
  const lines = system.logLines.slice(before).join('')
  expect(lines).toContain('/auth/reset/:secret')
  const secrets = {
    password: 'chosen with great care',
    session: walker.jar.find('svc_auth')!.value,
    browserId: walker.jar.find('svc_browser')!.value,
    token: reset.forms[0]!.fields['form']!,
    code: back.location!.searchParams.get('code')!,
    invitation: link.split('/').at(-1)!,
    reset: reset.url.pathname.split('/').at(-1)!,
    address: email,
  }
  for (const [what, secret] of Object.entries(secrets))
    expect([what, lines.includes(secret)]).toEqual([what, false])
})
