/** Signing in, staying signed in, signing out; and what guessers, thieves and the curious meet instead. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { passwords, sessions } from '../../db/schema.ts'
import { argon2Passwords } from '../../src/adapters/passwords/argon2.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import {
  SESSION_ROTATION_GRACE_SECONDS,
  SESSION_SECONDS,
  SIGN_IN_CODE_SECONDS,
  SIGN_IN_FAILURES_PER_ADDRESS,
  SIGN_IN_FAILURES_PER_EMAIL,
  USER_TOKEN_SECONDS,
} from '../../src/contracts/limits.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { createOrganization, switchOrganization } from '../../src/contracts/organizations.ts'
import { changePassword, whoAmI } from '../../src/contracts/people.ts'
import {
  exchangeSignInCode,
  listSessions,
  rotateSession,
  signInWithPassword,
  signOut,
  signOutEverywhere,
} from '../../src/contracts/sessions.ts'
import { findSession } from '../../src/cores/identity/index.ts'
import { lockAuthor } from '../../src/cores/lock-author.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { answerTo } from '../support/answers.ts'
import { goBack } from '../support/go-back.ts'
import { makeApiToken, makeOrganization, makePerson, PASSWORD, signedIn, unique } from '../support/make.ts'
import { ORIGIN, startSystem, type TestSystem } from '../support/system.ts'
import { newWalker, signInOnPage } from '../support/walker.ts'

const UNAUTHENTICATED = { code: 'UNAUTHENTICATED' }

let system: TestSystem
const checks = { verified: 0, nothing: 0 }

beforeAll(async () => {
  const real = argon2Passwords({ memoryKib: 64, passes: 1 })
  system = await startSystem(
    { SVC_SERVICES: 'api-gateway,auth-service' },
    {
      passwords: {
        ...real,
        async verify(hash, password) {
          checks.verified++
          return real.verify(hash, password)
        },
        async verifyNothing(password) {
          checks.nothing++
          return real.verifyNothing(password)
        },
      },
    },
  )
})

afterAll(() => system.stop())

const outsider = () => `${unique('nobody')}@people.test`
const address = () => unique('address')
const tryPassword = (email: string, password: string, from = address()) =>
  answerTo(system, { address: from }, signInWithPassword, { email, password })

describe('signing in with a password', () => {
  test('answers a token that says who it is, in the organization the person works in', async () => {
    const org = await makeOrganization(system)
    const signIn = system.as({ address: address() })
    const session = await signIn(signInWithPassword, {
      email: ` ${org.owner.email.toUpperCase()} `,
      password: PASSWORD,
    })
    expect(session).toMatchObject({
      user: { id: org.owner.userId, email: org.owner.email, name: org.owner.name },
      organization: { id: org.id, slug: org.slug, role: 'owner' },
    })
    const lifetime = (new Date(session.expires_at).getTime() - system.clock.now().getTime()) / 1000
    expect(lifetime).toBeLessThanOrEqual(USER_TOKEN_SECONDS)
    const me = await system.as({ token: session.token })(whoAmI, {})
    expect(me).toMatchObject({
      kind: 'user',
      user: session.user,
      organization: { id: org.id },
      scopes: null,
      audiences: ['api'],
    })
  })

  test('an unknown address and a wrong password are one answer, and cost the same work', async () => {
    const { email } = await makePerson(system)
    const before = { ...checks }
    const wrong = await tryPassword(email, 'not the password at all')
    expect(checks).toEqual({ verified: before.verified + 1, nothing: before.nothing })
    const unknown = await tryPassword(outsider(), 'not the password at all')
    expect(checks).toEqual({ verified: before.verified + 1, nothing: before.nothing + 1 })
    expect(unknown.status).toBe(401)
    expect({ status: unknown.status, text: unknown.text }).toEqual({ status: wrong.status, text: wrong.text })
    const names = (headers: Headers) => [...headers.keys()].toSorted()
    expect(names(unknown.headers)).toEqual(names(wrong.headers))
  })

  test('is off where an identity provider is configured, unless it is switched on', async () => {
    const { email } = await makePerson(system)
    const provider = { OIDC_ISSUER: 'https://id.test', OIDC_CLIENT_ID: 'svc', OIDC_CLIENT_SECRET: 'shared' }
    for (const [env, status] of [
      [provider, 403],
      [{ ...provider, PASSWORD_SIGN_IN: 'on' }, 201],
    ] as const) {
      const other = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service', ...env })
      const { status: answered } = await answerTo(other, { address: address() }, signInWithPassword, {
        email,
        password: PASSWORD,
      })
      expect(answered).toBe(status)
      await other.stop()
    }
  })
})

describe('guessing passwords', () => {
  const guessFor = async (email: string) => {
    for (let n = 0; n < SIGN_IN_FAILURES_PER_EMAIL.count; n++) {
      expect((await tryPassword(email, 'a guess')).status).toBe(401)
    }
  }

  test('for one address ends in 429 with Retry-After, wherever the guesses come from; time heals it', async () => {
    const { email } = await makePerson(system)
    const neighbor = await makePerson(system)
    await guessFor(email)
    const refused = await tryPassword(email, PASSWORD)
    expect(refused.status).toBe(429)
    const wait = Number(refused.headers.get('retry-after'))
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(SIGN_IN_FAILURES_PER_EMAIL.seconds / SIGN_IN_FAILURES_PER_EMAIL.count)
    expect((await tryPassword(neighbor.email, PASSWORD)).status).toBe(201)
    system.clock.advance(wait)
    expect((await tryPassword(email, PASSWORD)).status).toBe(201)
  })

  test('attempts while throttled do not prolong the wait', async () => {
    const email = outsider()
    await guessFor(email)
    const first = Number((await tryPassword(email, 'a guess')).headers.get('retry-after'))
    for (let n = 0; n < 5; n++) expect((await tryPassword(email, 'a guess')).status).toBe(429)
    system.clock.advance(first)
    expect((await tryPassword(email, 'a guess')).status).toBe(401)
  })

  test('an address nobody has is counted like any other', async () => {
    const email = outsider()
    await guessFor(email)
    expect((await tryPassword(email, 'a guess')).status).toBe(429)
  })

  test('a success forgets the failures before it', async () => {
    const { email } = await makePerson(system)
    for (let round = 0; round < 2; round++) {
      for (let n = 1; n < SIGN_IN_FAILURES_PER_EMAIL.count; n++) await tryPassword(email, 'a typing error')
      expect((await tryPassword(email, PASSWORD)).status).toBe(201)
    }
  })

  test('from one network address ends in 429 for that address only; time heals it', async () => {
    const from = address()
    const { email } = await makePerson(system)
    let guesses = 0
    while ((await tryPassword(outsider(), 'a guess', from)).status === 401) {
      guesses++
      // Signing in to an account of one's own in between does not wipe the count.
      if (guesses === 25) expect((await tryPassword(email, PASSWORD, from)).status).toBe(201)
    }
    expect(guesses).toBe(SIGN_IN_FAILURES_PER_ADDRESS.count)
    const refused = await tryPassword(email, PASSWORD, from)
    expect(refused.status).toBe(429)
    expect((await tryPassword(email, PASSWORD)).status).toBe(201)
    system.clock.advance(Number(refused.headers.get('retry-after')))
    expect((await tryPassword(email, PASSWORD, from)).status).toBe(201)
  })

  test.runIf(inject('everyCase'))(
    'an office behind one network address signs in as often as it likes',
    async () => {
      const from = address()
      const { email } = await makePerson(system)
      for (let n = 0; n <= SIGN_IN_FAILURES_PER_ADDRESS.count; n++) {
        expect((await tryPassword(email, PASSWORD, from)).status).toBe(201)
      }
    },
  )

  test('at an open browser’s "change password" is counted too', async () => {
    const person = await makePerson(system)
    const change = (current_password: string) =>
      person.call(changePassword, { current_password, new_password: 'another few words here' })
    for (let n = 0; n < SIGN_IN_FAILURES_PER_EMAIL.count; n++) {
      await expect(change('a guess')).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    }
    await expect(change(PASSWORD)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  })

  test('is refused to whoever has none', async () => {
    const person = await makePerson(system)
    await system.db.delete(passwords).where(eq(passwords.userId, person.userId))
    const changed = person.call(changePassword, {
      current_password: PASSWORD,
      new_password: 'another few words here',
    })
    await expect(changed).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('no password'),
    })
  })
})

describe('renewing a session', () => {
  test('the old token works for the moment a tab needs, and the fresh one takes over', async () => {
    const org = await makeOrganization(system)
    const fresh = await org.owner.call(rotateSession, {})
    expect(fresh.organization).toMatchObject({ id: org.id, role: 'owner' })
    system.clock.advance(SESSION_ROTATION_GRACE_SECONDS / 2)
    expect((await org.owner.call(whoAmI, {})).user.id).toBe(org.owner.userId)
    system.clock.advance(SESSION_ROTATION_GRACE_SECONDS)
    const call = system.as({ token: fresh.token })
    expect((await call(whoAmI, {})).user.id).toBe(org.owner.userId)
    expect((await call(listSessions, {})).sessions).toHaveLength(1)
  })

  test('an old token after that is in two hands: the session ends, and the audit trail says so', async () => {
    const org = await makeOrganization(system)
    const { token } = await org.owner.call(rotateSession, {})
    system.clock.advance(SESSION_ROTATION_GRACE_SECONDS + 1)
    await expect(org.owner.call(whoAmI, {})).rejects.toMatchObject(UNAUTHENTICATED)
    await expect(system.as({ token })(whoAmI, {})).rejects.toMatchObject(UNAUTHENTICATED)
    const again = await signedIn(system, org.owner.email)
    const { audit } = await again.call(listAudit, { org_id: org.id, action: 'session.reused' })
    expect(audit).toMatchObject([{ actor: { kind: 'user', id: org.owner.userId } }])
  })

  test('of two tabs that renew at the same moment one does, and the other keeps what it has', async () => {
    const { call } = await makePerson(system)
    const both = await Promise.allSettled([call(rotateSession, {}), call(rotateSession, {})])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'CONFLICT' } })
    expect((await call(whoAmI, {})).kind).toBe('user')
  })

  test('that was lost with the database’s tail: all tabs go on with the token they have, at once', async () => {
    const { db, clock } = system
    const owners = [(await makeOrganization(system)).owner, (await makeOrganization(system)).owner]
    const saved = await Promise.all(
      owners.map(
        async ({ userId }) => (await db.select().from(sessions).where(eq(sessions.userId, userId)))[0]!,
      ),
    )
    const aliveAt = clock.now().getTime()
    const tokens = await Promise.all(owners.map(async ({ call }) => (await call(rotateSession, {})).token))
    for (const { id, generation, rotatedAt } of saved)
      await db.update(sessions).set({ generation, rotatedAt }).where(eq(sessions.id, id))
    await goBack(system, aliveAt)
    const ask = (token: string) => answerTo(system, { token, address: address() }, whoAmI, {})
    const tabs = await Promise.all(tokens.flatMap((token) => Array.from({ length: 8 }, () => ask(token))))
    expect(tabs.map(({ status }) => status)).toEqual(tabs.map(() => 200))
    // Whoever has the one before is held to it as ever.
    clock.advance(SESSION_ROTATION_GRACE_SECONDS + 1)
    await expect(owners[0]!.call(whoAmI, {})).rejects.toMatchObject(UNAUTHENTICATED)
    expect((await Promise.all(tokens.map(ask))).map(({ status }) => status)).toEqual([401, 200])
  })

  test('is for people: an API token has no session', async () => {
    const org = await makeOrganization(system)
    const { call } = await makeApiToken(system, org, org.owner)
    await expect(call(rotateSession, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(call(signOut, { session_id: 'current' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})

describe('the end of a session', () => {
  test('comes before what would have been written with it, also where it was live a moment before', async () => {
    const [org, other] = [await makeOrganization(system), await makeOrganization(system)]
    const write = async ({ id: orgId, owner: { userId } }: typeof org) => {
      const [session] = await system.db.select().from(sessions).where(eq(sessions.userId, userId))
      const author = { orgId, userId, role: 'owner', sessionId: session!.id } as const
      return withTransaction(system.db, (tx) => lockAuthor(tx, () => system.clock.now(), author, 'viewer'))
    }
    await write(org)
    await system.as({ token: org.owner.token })(signOutEverywhere, {})
    await expect(write(org)).rejects.toMatchObject(UNAUTHENTICATED)
    expect(await write(other)).toMatchObject({ role: 'owner' })
  })

  test('a token ends after half a day, a session after thirty', async () => {
    const first = await makePerson(system)
    system.clock.advance(USER_TOKEN_SECONDS + 1)
    await expect(first.call(whoAmI, {})).rejects.toMatchObject(UNAUTHENTICATED)

    const second = await makePerson(system)
    let { token } = second
    for (let passed = 0; passed < SESSION_SECONDS - USER_TOKEN_SECONDS; passed += USER_TOKEN_SECONDS / 2) {
      ;({ token } = await system.as({ token })(rotateSession, {}))
      system.clock.advance(USER_TOKEN_SECONDS / 2)
    }
    const last = await system.as({ token })(rotateSession, {})
    expect(new Date(last.expires_at).getTime() - system.clock.now().getTime()).toBeLessThanOrEqual(
      USER_TOKEN_SECONDS * 1000,
    )
    system.clock.advance(USER_TOKEN_SECONDS)
    await expect(system.as({ token: last.token })(rotateSession, {})).rejects.toMatchObject(UNAUTHENTICATED)
  })

  /** Behind the consent page: whoever approves there does so by the session itself, and shows no token of it. */
  test('an expired session is nobody’s any more, whoever names it', async () => {
    const { token } = await signedIn(system, (await makePerson(system)).email)
    const { session_id } = await system.as({ token })(whoAmI, {})
    const deps = system.system.auth!
    expect(await findSession(deps, session_id!)).toMatchObject({ sessionId: session_id })
    system.clock.advance(SESSION_SECONDS + 1)
    expect(await findSession(deps, session_id!)).toBeUndefined()
  })

  test('signing out ends this session and no other', async () => {
    const here = await makePerson(system)
    const there = await signedIn(system, here.email)
    await here.call(signOut, { session_id: 'current' })
    await expect(here.call(whoAmI, {})).rejects.toMatchObject(UNAUTHENTICATED)
    expect((await there.call(whoAmI, {})).user.id).toBe(here.userId)
  })

  test('is in the audit trail of the organization that the ended session worked in', async () => {
    const person = await makePerson(system)
    const [here, there] = [await makeOrganization(system, person), await makeOrganization(system, person)]
    const ended = await signedIn(system, person.email)
    const { session_id } = await ended.call(whoAmI, {})
    await ended.call(switchOrganization, { org_id: there.id })
    await person.call(signOut, { session_id: session_id! })
    const told = await Promise.all(
      [here, there].map(({ id }) =>
        system.as({ token: person.token, organization: id })(listAudit, {
          org_id: id,
          action: 'session.ended',
        }),
      ),
    )
    expect(told.map(({ audit }) => audit.length)).toEqual([0, 1])
  })

  test('another session of one’s own can be ended by its id', async () => {
    const here = await makePerson(system)
    const there = await signedIn(system, here.email)
    const { sessions } = await here.call(listSessions, {})
    expect(sessions.map(({ current }) => current)).toEqual([false, true])
    await here.call(signOut, { session_id: sessions[0]!.id })
    await expect(there.call(whoAmI, {})).rejects.toMatchObject(UNAUTHENTICATED)
    expect((await here.call(listSessions, {})).sessions).toMatchObject([{ current: true }])
  })

  test('signing out everywhere ends all of them, API tokens stay', async () => {
    const org = await makeOrganization(system)
    const there = await signedIn(system, org.owner.email)
    const token = await makeApiToken(system, org, org.owner)
    expect(await org.owner.call(signOutEverywhere, {})).toEqual({ ended: 2 })
    for (const { call } of [org.owner, there])
      await expect(call(whoAmI, {})).rejects.toMatchObject(UNAUTHENTICATED)
    expect((await token.call(whoAmI, {})).kind).toBe('api_token')
  })

  test('another person’s session is as unknown as one that never was', async () => {
    const [mine, theirs] = [await makePerson(system), await makePerson(system)]
    const { sessions } = await theirs.call(listSessions, {})
    const end = (session_id: string) => answerTo(system, { token: mine.token }, signOut, { session_id })
    const [foreign, unknown] = [await end(sessions[0]!.id), await end(makeId('ses', 0))]
    expect(foreign.status).toBe(404)
    expect(foreign.text).toBe(unknown.text)
    expect((await theirs.call(whoAmI, {})).kind).toBe('user')
  })

  test('a changed password ends every session but the one it was changed in', async () => {
    const here = await makePerson(system)
    const there = await signedIn(system, here.email)
    await here.call(changePassword, { current_password: PASSWORD, new_password: 'another few words here' })
    await expect(there.call(whoAmI, {})).rejects.toMatchObject(UNAUTHENTICATED)
    expect((await here.call(whoAmI, {})).kind).toBe('user')
    expect((await tryPassword(here.email, PASSWORD)).status).toBe(401)
    expect((await tryPassword(here.email, 'another few words here')).status).toBe(201)
  })
})

describe('the code a person returns with', () => {
  const verifier = 'v'.repeat(43)
  const challenge = createHash('sha256').update(verifier).digest('base64url')

  const codeFor = async (email: string, query: Record<string, string> = {}): Promise<string> => {
    const asked = new URLSearchParams({ return_to: `${ORIGIN}/console`, ...query })
    const back = await signInOnPage(newWalker(system), email, `/auth/sign-in?${asked}`)
    return back.location?.searchParams.get('code') ?? ''
  }
  const swap = (code: string, code_verifier?: string) =>
    system.as()(exchangeSignInCode, { code, code_verifier })

  test('becomes a token, once', async () => {
    const { email, userId } = await makePerson(system)
    const code = await codeFor(email)
    const session = await swap(code)
    expect((await system.as({ token: session.token })(whoAmI, {})).user.id).toBe(userId)
    await expect(swap(code)).rejects.toMatchObject(UNAUTHENTICATED)
  })

  test('of two who swap it at the same moment, one gets a token', async () => {
    const { email } = await makePerson(system)
    const code = await codeFor(email)
    const both = await Promise.allSettled([swap(code), swap(code)])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  test('is worth nothing after a minute', async () => {
    const { email } = await makePerson(system)
    const code = await codeFor(email)
    system.clock.advance(SIGN_IN_CODE_SECONDS)
    await expect(swap(code)).rejects.toMatchObject(UNAUTHENTICATED)
  })

  test('with a challenge belongs to whoever holds the verifier', async () => {
    const { email } = await makePerson(system)
    expect((await swap(await codeFor(email, { code_challenge: challenge }), verifier)).user.email).toBe(email)
  })

  /** RFC 9700, 4.8.2: PKCE downgrade; whoever has a verifier did not get this code for it. */
  test('without a challenge is not for whoever brings a verifier, and is burnt by it', async () => {
    const { email } = await makePerson(system)
    const code = await codeFor(email)
    await expect(swap(code, verifier)).rejects.toMatchObject(UNAUTHENTICATED)
    await expect(swap(code)).rejects.toMatchObject(UNAUTHENTICATED)
  })

  test.each([
    ['a wrong verifier', 'w'.repeat(43)],
    ['no verifier', undefined],
  ])('with %s is burnt: the right one comes too late', async (_what, wrong) => {
    const { email } = await makePerson(system)
    const code = await codeFor(email, { code_challenge: challenge })
    await expect(swap(code, wrong)).rejects.toMatchObject(UNAUTHENTICATED)
    await expect(swap(code, verifier)).rejects.toMatchObject(UNAUTHENTICATED)
  })
})

test('a session that began before the first organization works in it as soon as there is one', async () => {
  const person = await makePerson(system)
  expect((await person.call(whoAmI, {})).organization).toBeNull()
  const org = await person.call(createOrganization, { name: unique('Late') })
  expect((await person.call(whoAmI, {})).organization?.id).toBe(org.id)
  expect((await person.call(rotateSession, {})).organization?.id).toBe(org.id)
})
