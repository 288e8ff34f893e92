/** Signing in with a password, as the console and its reader see it. */
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  SESSION_SECONDS,
  SIGN_IN_CODE_SECONDS,
  SIGN_IN_FAILURES_PER_ADDRESS,
  SIGN_IN_FAILURES_PER_EMAIL,
} from '../../src/contracts/limits.ts'
import { changePassword, whoAmI } from '../../src/contracts/people.ts'
import { exchangeSignInCode, listSessions, signOutEverywhere } from '../../src/contracts/sessions.ts'
import { findKnownDevice, rememberDevice } from '../../src/cores/identity/index.ts'
import { makeOrganization, makePerson, PASSWORD, signedIn, unique, type Person } from '../support/make.ts'
import { ORIGIN, startSystem, type TestSystem } from '../support/system.ts'
import { newWalker, PAGES, sameSecrets, signInOnPage, type Page } from '../support/walker.ts'

const DONE = `${ORIGIN}/console/sign-in/done`

let system: TestSystem
beforeAll(async () => {
  system = await startSystem(PAGES)
})
afterAll(() => system.stop())

/** How an application asks: PKCE, and a state to recognize the answer by. */
function ask() {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  const code_challenge = createHash('sha256').update(verifier).digest('base64url')
  const path = `/auth/sign-in?${new URLSearchParams({ return_to: DONE, state, code_challenge })}`
  return { verifier, state, path }
}

const codeOf = (page: Page): string => page.location?.searchParams.get('code') ?? ''
const exchange = (code: string, code_verifier?: string) =>
  system.as()(exchangeSignInCode, { code, code_verifier })
const refused = { code: 'UNAUTHENTICATED' }

describe('the way back', () => {
  test('a person signs in and returns with a code and the state, and the code becomes a token', async () => {
    const person = await makePerson(system)
    const { verifier, state, path } = ask()
    const back = await signInOnPage(newWalker(system), person.email, path)
    expect(back.status).toBe(303)
    expect(back.location?.href.split('?')[0]).toBe(DONE)
    expect(Object.fromEntries(back.location!.searchParams)).toEqual({ code: codeOf(back), state })
    const { token, user } = await exchange(codeOf(back), verifier)
    expect(user).toEqual({ id: person.userId, email: person.email, name: person.name })
    expect(await system.as({ token })(whoAmI, {})).toMatchObject({
      kind: 'user',
      user: { id: person.userId },
    })
  })

  test('the whole way round: the console asks, the person signs in, the console opens', async () => {
    const { owner, name } = await makeOrganization(system)
    const walker = newWalker(system)
    const form = await walker.follow(await walker.open('/console'))
    expect(form.url.pathname).toBe('/auth/sign-in')
    const home = await walker.follow(
      await walker.submit(form, 'Sign in', { email: owner.email, password: PASSWORD }),
    )
    expect([home.status, home.url.href]).toEqual([200, `${ORIGIN}/console`])
    expect(home.words).toContain(name)
  })

  test('a code works once', async () => {
    const { email } = await makePerson(system)
    const { verifier, path } = ask()
    const code = codeOf(await signInOnPage(newWalker(system), email, path))
    await exchange(code, verifier)
    await expect(exchange(code, verifier)).rejects.toMatchObject(refused)
  })

  test('a code works for sixty seconds', async () => {
    const own = await startSystem(PAGES)
    const { email } = await makePerson(own)
    const { verifier, path } = ask()
    const code = codeOf(await signInOnPage(newWalker(own), email, path))
    own.clock.advance(SIGN_IN_CODE_SECONDS + 1)
    await expect(own.as()(exchangeSignInCode, { code, code_verifier: verifier })).rejects.toMatchObject(
      refused,
    )
    await own.stop()
  })

  test.each([
    ['without', undefined],
    ['with another', randomBytes(32).toString('base64url')],
  ])('a code %s verifier is refused, and is spent by the try', async (_how, wrong) => {
    const { email } = await makePerson(system)
    const { verifier, path } = ask()
    const code = codeOf(await signInOnPage(newWalker(system), email, path))
    await expect(exchange(code, wrong)).rejects.toMatchObject(refused)
    await expect(exchange(code, verifier)).rejects.toMatchObject(refused)
  })

  test('a code from a sign-in that has ended meanwhile is refused', async () => {
    const person = await makePerson(system)
    const { verifier, path } = ask()
    const code = codeOf(await signInOnPage(newWalker(system), person.email, path))
    await person.call(signOutEverywhere, {})
    await expect(exchange(code, verifier)).rejects.toMatchObject(refused)
  })

  test('whoever is signed in already goes straight back, in the session that is there', async () => {
    const person = await makePerson(system)
    const walker = newWalker(system)
    const [first, second] = [ask(), ask()]
    const back = await signInOnPage(walker, person.email, first.path)
    const again = await walker.open(second.path)
    expect([again.status, again.location?.searchParams.get('state')]).toEqual([303, second.state])
    const tokens = [
      await exchange(codeOf(back), first.verifier),
      await exchange(codeOf(again), second.verifier),
    ]
    const current = await Promise.all(
      tokens.map(async ({ token }) => {
        const { sessions } = await system.as({ token })(listSessions, {})
        return sessions.find((session) => session.current)?.id
      }),
    )
    expect(current[0]).toMatch(/^ses_/)
    expect(current[1]).toBe(current[0])
  })

  test('nobody asked: the sign-in ends at the console', async () => {
    const { email } = await makePerson(system)
    const walker = newWalker(system)
    const back = await signInOnPage(walker, email)
    expect(back.location?.href).toBe(`${ORIGIN}/console`)
    expect((await walker.open('/auth/sign-in')).location?.href).toBe(`${ORIGIN}/console`)
  })

  test('an application that is not known is told to the person, and nothing is sent there', async () => {
    const walker = newWalker(system)
    const page = await walker.open('/auth/sign-in?return_to=https://elsewhere.test/')
    expect(page).toMatchObject({ status: 400, location: undefined, forms: [] })
    expect(page.words).toContain('The application that sent you here is unknown')
  })
})

describe('staying signed in', () => {
  test('signing out everywhere also ends the session of the browser', async () => {
    const { email } = await makePerson(system)
    const walker = newWalker(system)
    await signInOnPage(walker, email)
    const { call } = await signedIn(system, email)
    await call(signOutEverywhere, {})
    expect((await walker.open('/auth/sign-in')).status).toBe(200)
  })

  test('after thirty days the page asks again, whatever the browser still holds', async () => {
    const own = await startSystem(PAGES)
    const { email } = await makePerson(own)
    const walker = newWalker(own)
    await signInOnPage(walker, email)
    const cookie = walker.jar.find('svc_auth')!
    own.clock.advance(SESSION_SECONDS + 1)
    expect(walker.jar.find('svc_auth')).toBeUndefined()
    walker.jar.keep(`svc_auth=${cookie.value}; Path=/`, ORIGIN)
    expect((await walker.open('/auth/sign-in')).status).toBe(200)
    await own.stop()
  })
})

describe('a wrong password', () => {
  test('is said on the page, which keeps the address and forgets the password', async () => {
    const { email } = await makePerson(system)
    const { path, state } = ask()
    const walker = newWalker(system)
    const page = await signInOnPage(walker, email, path, 'not the words of this person')
    expect([page.status, page.location, walker.jar.find('svc_auth')]).toEqual([401, undefined, undefined])
    expect(page.words).toContain('Email or password is wrong')
    expect(page.text).not.toContain('not the words of this person')
    expect(page.forms[0]?.fields).toMatchObject({ email, password: '', return_to: DONE, state })
    const back = await walker.submit(page, 'Sign in', { password: PASSWORD })
    expect(back.location?.searchParams.get('state')).toBe(state)
  })

  test.each([
    ['no email address', { email: 'nobody', password: PASSWORD }],
    ['an empty password', { email: 'nobody@people.test', password: '' }],
    ['a password of a thousand characters', { email: 'nobody@people.test', password: 'x'.repeat(1000) }],
  ])('%s is as wrong as any', async (_what, filled) => {
    const walker = newWalker(system)
    const page = await walker.submit(await walker.open('/auth/sign-in'), 'Sign in', filled)
    expect(page.status).toBe(401)
    expect(page.words).toContain('Email or password is wrong')
  })

  test('the address is compared without case and without spaces around it', async () => {
    const name = unique('mixed')
    await makePerson(system, { email: `${name}@people.test` })
    expect((await signInOnPage(newWalker(system), ` ${name.toUpperCase()}@People.Test `)).status).toBe(303)
  })

  test('ten times: even the right one must wait, the page says how long, and then it works', async () => {
    const own = await startSystem(PAGES)
    const { email } = await makePerson(own)
    // From everywhere: the count belongs to the account.
    const wrong = () => signInOnPage(newWalker(own), email, '/auth/sign-in', 'a wrong one')
    for (let time = 0; time < SIGN_IN_FAILURES_PER_EMAIL.count; time++) {
      expect((await wrong()).status).toBe(401)
    }
    own.clock.advance(10)
    const page = await signInOnPage(newWalker(own), email)
    expect(page.status).toBe(429)
    const seconds = Number(page.headers.get('retry-after'))
    expect(page.words).toContain(`Try again in ${seconds} seconds.`)
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(SIGN_IN_FAILURES_PER_EMAIL.seconds / SIGN_IN_FAILURES_PER_EMAIL.count)
    expect(page.forms[0]?.fields).toMatchObject({ email, password: '' })
    own.clock.advance(seconds)
    expect((await signInOnPage(newWalker(own), email)).status).toBe(303)
    await own.stop()
  })

  describe('of others, ten times', () => {
    const fail = (own: TestSystem, email: string) =>
      signInOnPage(newWalker(own), email, '/auth/sign-in', 'a wrong one')
    const lockOut = async (own: TestSystem, email: string) => {
      for (let time = 0; time < SIGN_IN_FAILURES_PER_EMAIL.count; time++) await fail(own, email)
      expect((await fail(own, email)).status).toBe(429)
    }
    /** Signed in once, and out again: only the cookie of the device is left. */
    const knownDevice = async (email: string) => {
      const walker = newWalker(system)
      await signInOnPage(walker, email)
      walker.jar.keep('svc_auth=; Path=/; Max-Age=0', ORIGIN)
      return walker
    }

    test('does not keep out a device that has signed in before, and an unknown one still waits', async () => {
      const { email } = await makePerson(system)
      const device = await knownDevice(email)
      await lockOut(system, email)
      expect((await signInOnPage(device, email)).status).toBe(303)
      // Its success does not give the others their tries back.
      expect((await fail(system, email)).status).toBe(429)
    })

    test('does not help one that knows another address, or whose cookie is made up', async () => {
      const [{ email }, other] = [await makePerson(system), await makePerson(system)]
      const device = await knownDevice(other.email)
      await lockOut(system, email)
      expect((await signInOnPage(device, email)).status).toBe(429)
      const { value } = device.jar.find('svc_device')!
      for (const made of [value.slice(0, -1), `${'A'.repeat(43)}.${'b'.repeat(43)}`, '~~..~', 'x']) {
        device.jar.keep(`svc_device=${made}; Path=/`, ORIGIN)
        expect((await signInOnPage(device, email)).status).toBe(429)
      }
    })

    test('a known device has as many tries as anybody, in a bucket of its own', async () => {
      const { email } = await makePerson(system)
      const device = await knownDevice(email)
      const guess = () => signInOnPage(device, email, '/auth/sign-in', 'a wrong one')
      for (let time = 0; time < SIGN_IN_FAILURES_PER_EMAIL.count; time++)
        expect((await guess()).status).toBe(401)
      expect((await signInOnPage(device, email)).status).toBe(429)
      expect((await signInOnPage(newWalker(system), email)).status).toBe(303)
    })

    /** Somebody who could once sign in has kept the cookies of many devices: together they have the tries of an address. */
    test('all known devices of an address have so many tries together', async () => {
      const { email } = await makePerson(system)
      const { count: together } = SIGN_IN_FAILURES_PER_ADDRESS
      const { count: each } = SIGN_IN_FAILURES_PER_EMAIL
      const devices = []
      for (let made = 0; made <= together / (each - 1); made += 1) devices.push(await knownDevice(email))
      const statuses: number[] = []
      for (const device of devices) {
        for (let tries = 1; tries < each; tries += 1)
          statuses.push((await signInOnPage(device, email, '/auth/sign-in', 'a wrong one')).status)
      }
      const refused = statuses.length - together
      expect(refused).toBeGreaterThan(0)
      expect(statuses).toEqual([...Array<number>(together).fill(401), ...Array<number>(refused).fill(429)])
    })

    test('a device remembers several people', async () => {
      const people = [await makePerson(system), await makePerson(system)]
      const device = newWalker(system)
      for (const { email } of people) {
        await signInOnPage(device, email)
        device.jar.keep('svc_auth=; Path=/; Max-Age=0', ORIGIN)
      }
      for (const { email } of people) {
        await lockOut(system, email)
        expect((await signInOnPage(device, email)).status).toBe(303)
        device.jar.keep('svc_auth=; Path=/; Max-Age=0', ORIGIN)
      }
    })

    test('a device remembers those who signed in last, whatever it held before', () => {
      const deps = system.system.auth!
      const emails = Array.from({ length: 8 }, () => `${unique('person')}@people.test`)
      let cookie: string | undefined
      for (const email of emails) cookie = rememberDevice(deps, email, cookie)
      const known = emails.map((email) => findKnownDevice(deps, email, cookie) !== undefined)
      expect(known).toEqual([false, false, false, true, true, true, true, true])
    })

    test('does not keep the person who is in from changing the password', async () => {
      const { email, call } = await makePerson(system)
      await lockOut(system, email)
      const change = { current_password: PASSWORD, new_password: 'another few words here' }
      await expect(call(changePassword, change)).resolves.toEqual({})
    })
  })

  test('for the password of now counts for its person, in whichever session they guess', async () => {
    const [{ email, call }, other] = [await makePerson(system), await makePerson(system)]
    const second = await signedIn(system, email)
    const guess = (by: Person['call']) =>
      by(changePassword, { current_password: 'a wrong one', new_password: 'another few words here' })
    for (let time = 0; time < SIGN_IN_FAILURES_PER_EMAIL.count; time++)
      await expect(guess(time % 2 === 0 ? call : second.call)).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
      })
    await expect(guess(second.call)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    await expect(guess(other.call)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  })

  test('a success gives the tries back', async () => {
    const { email } = await makePerson(system)
    const enter = (password?: string) => signInOnPage(newWalker(system), email, '/auth/sign-in', password)
    const nine = Array.from({ length: SIGN_IN_FAILURES_PER_EMAIL.count - 1 }, () => 'a wrong one')
    for (const password of nine) await enter(password)
    expect((await enter()).status).toBe(303)
    for (const password of nine) expect((await enter(password)).status).toBe(401)
    expect((await enter()).status).toBe(303)
  })

  test('fifty from one network address: it must wait, and other addresses need not', async () => {
    const own = await startSystem(PAGES)
    const one = newWalker(own)
    const { email } = await makePerson(own)
    for (let time = 0; time < SIGN_IN_FAILURES_PER_ADDRESS.count; time++) {
      const page = await signInOnPage(one, `${unique('nobody')}@people.test`)
      expect(page.status).toBe(401)
    }
    expect((await signInOnPage(one, email)).status).toBe(429)
    expect((await signInOnPage(newWalker(own), email)).status).toBe(303)
    await own.stop()
  })
})

test('where passwords are switched off there is no form for them, and a form from before is refused', async () => {
  const person = await makePerson(system)
  const walker = newWalker(system)
  const page = await walker.open('/auth/sign-in')
  const off = await startSystem({ ...sameSecrets(system), PASSWORD_SIGN_IN: 'off' })
  const there = newWalker(off)
  expect((await there.open('/auth/sign-in')).forms).toEqual([])
  there.jar.keep(`svc_browser=${walker.jar.find('svc_browser')!.value}; Path=/`, ORIGIN)
  const refusal = await there.submit(page, 'Sign in', { email: person.email, password: PASSWORD })
  expect(refusal.status).toBe(403)
  expect(refusal.words).toContain('Password sign-in is turned off')
  await off.stop()
})
