import { describe, expect, test } from 'vitest'
import { openConsole, signedIn } from '../../test/support/console-visitor.ts'

describe('signing in', () => {
  test('a page leads to the login page with state and challenge, and back to where one was going', async () => {
    const visitor = openConsole()
    const stopped = await visitor.get('/console/members?role=admin')
    expect(stopped.headers.get('location')).toBe('/console/sign-in?next=%2Fconsole%2Fmembers%3Frole%3Dadmin')
    const begun = new URL(
      (await visitor.get(stopped.headers.get('location') ?? '')).headers.get('location') ?? '',
    )
    expect(begun.href).toContain('http://localhost:4000/auth/sign-in?')
    expect(begun.searchParams.get('return_to')).toBe('http://localhost:4000/console/sign-in/done')
    expect(begun.searchParams.get('state')).toHaveLength(43)
    expect(begun.searchParams.get('code_challenge')).toHaveLength(43)
    const done = await visitor.signIn(stopped.headers.get('location') ?? '')
    expect(done.headers.get('location')).toBe('/console/members?role=admin')
  })

  test('the session cookie is out of reach for scripts and other sites', async () => {
    const local = (await openConsole().signIn()).headers
      .getSetCookie()
      .find((cookie) => cookie.startsWith('svc_console='))
    expect(local).toMatch(/; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/)
    const https = await openConsole({
      appUrl: 'https://app.svc.example',
      signInUrl: 'https://auth.svc.example/in',
    }).signIn()
    const cookies = https.headers.getSetCookie()
    expect(
      cookies.every((cookie) => cookie.startsWith('__Host-svc_console') && cookie.includes('Secure')),
    ).toBe(true)
  })

  /** Login CSRF: a link that signs the reader in as the attacker, who later reads what was typed. */
  test.each(['', '&state=made-up'])(
    'a code without the state of this browser is refused (%s)',
    async (state) => {
      const visitor = openConsole()
      await visitor.get('/console/sign-in')
      const response = await visitor.get(`/console/sign-in/done?code=${visitor.gateway.signIn()}${state}`)
      expect(response.status).toBe(400)
      expect(await response.text()).toContain('Try again')
      expect(visitor.cookies.has('svc_console')).toBe(false)
      expect(visitor.gateway.data.seen).toEqual([])
    },
  )

  test('tabs may sign in at the same time', async () => {
    const visitor = openConsole()
    const begin = async (next: string) =>
      new URL(
        (await visitor.get(`/console/sign-in?next=${next}`)).headers.get('location') ?? '',
      ).searchParams.get('state')
    const [first, second] = [await begin('/console/members'), await begin('/console/profile')]
    const finish = (state: string | null) =>
      visitor.get(`/console/sign-in/done?code=${visitor.gateway.signIn()}&state=${state}`)
    expect((await finish(first)).headers.get('location')).toBe('/console/members')
    expect((await finish(second)).headers.get('location')).toBe('/console/profile')
    expect((await finish(second)).status).toBe(400)
  })

  test('attempts that another site provokes do not pile up in the browser', async () => {
    const visitor = openConsole()
    for (let times = 0; times < 30; times += 1) await visitor.get('/console/sign-in')
    expect(visitor.cookies.size).toBeLessThanOrEqual(9)
  })

  test('an attempt is good for ten minutes', async () => {
    const visitor = openConsole()
    const begun = await visitor.get('/console/sign-in')
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state')
    visitor.time.now = new Date(visitor.time.now.getTime() + 11 * 60_000)
    expect(
      (await visitor.get(`/console/sign-in/done?code=${visitor.gateway.signIn()}&state=${state}`)).status,
    ).toBe(400)
  })

  test('a code that is no longer good leads to a page, not to a loop', async () => {
    const visitor = openConsole()
    const begun = await visitor.get('/console/sign-in')
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state')
    const response = await visitor.get(`/console/sign-in/done?code=old&state=${state}`)
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('Try again')
  })
})

describe('staying signed in', () => {
  const later = (visitor: ReturnType<typeof openConsole>, minutes: number) => {
    visitor.time.now = new Date(visitor.time.now.getTime() + minutes * 60_000)
  }

  test('the token is swapped when it is older than fifteen minutes, on pages only', async () => {
    const visitor = await signedIn()
    const first = visitor.cookies.get('svc_console')
    later(visitor, 14)
    await visitor.get('/console')
    expect(visitor.cookies.get('svc_console')).toBe(first)
    later(visitor, 2)
    await visitor.send('/console/organization', {
      method: 'POST',
      headers: { origin: 'http://localhost:4000' },
    })
    expect(visitor.cookies.get('svc_console')).toBe(first)
    expect((await visitor.get('/console')).status).toBe(200)
    expect(visitor.cookies.get('svc_console')).not.toBe(first)
  })

  test('another tab that was faster does no harm', async () => {
    const visitor = await signedIn()
    visitor.gateway.data.rotationConflicts = true
    later(visitor, 16)
    expect((await visitor.get('/console')).status).toBe(200)
  })

  test('a session that is over leads to sign-in and back, also from a form', async () => {
    const visitor = await signedIn()
    later(visitor, 5)
    visitor.gateway.data.liveTokens.clear()
    const headers = {
      origin: 'http://localhost:4000',
      referer: 'http://localhost:4000/console/members?role=admin',
    }
    const response = await visitor.send('/console/members/leave', { method: 'POST', headers })
    expect(response.headers.get('location')).toBe('/console/sign-in?next=%2Fconsole%2Fmembers%3Frole%3Dadmin')
    expect(visitor.cookies.has('svc_console')).toBe(false)
  })

  test('a token refused a moment after sign-in ends in a page, not in a circle', async () => {
    const visitor = await signedIn()
    visitor.gateway.data.liveTokens.clear()
    const response = await visitor.get('/console')
    expect(response.status).toBe(401)
    expect(visitor.cookies.has('svc_console')).toBe(false)
  })
})

describe('signing out', () => {
  test('ends the session there and the cookie here', async () => {
    const visitor = await signedIn()
    const response = await visitor.post('/console/sign-out')
    expect(response.headers.get('location')).toBe('/console/signed-out')
    expect(visitor.cookies.has('svc_console')).toBe(false)
    expect(visitor.gateway.data.liveTokens.size).toBe(0)
    expect(await visitor.read('/console/signed-out')).toContain('Sign in again')
  })

  test('works for a session that is over already', async () => {
    const visitor = await signedIn()
    visitor.gateway.data.liveTokens.clear()
    const response = await visitor.send('/console/sign-out', {
      method: 'POST',
      headers: { origin: 'http://localhost:4000' },
    })
    expect(response.headers.get('location')).toBe('/console/signed-out')
  })

  test('works for somebody who has just lost the organization of the page', async () => {
    const visitor = await signedIn()
    const page = await visitor.read('/console')
    const form = /<form method="post" action="\/console\/sign-out"[^]*?<\/form>/.exec(page)?.[0]
    expect(form).toContain('name="form_token"')
    expect(form).not.toContain('name="organization"')
  })

  test('another site cannot sign anybody out', async () => {
    const visitor = await signedIn()
    const response = await visitor.post('/console/sign-out', {}, { origin: 'https://evil.example' })
    expect(response.status).toBe(403)
    expect(visitor.gateway.data.liveTokens.size).toBe(1)
  })

  test('everywhere means here too', async () => {
    const visitor = await signedIn()
    const response = await visitor.post('/console/profile/sessions/end-all')
    expect(response.headers.get('location')).toBe('/console/signed-out')
    expect(visitor.cookies.has('svc_console')).toBe(false)
  })
})
