import { describe, expect, test } from 'vitest'
import { openConsole, signedIn } from '../../test/support/console-client.ts'

describe('signing in', () => {
  test('a page leads to the login page with state and challenge, and back to where one was going', async () => {
    const client = openConsole()
    const stopped = await client.get('/console/members?role=admin')
    expect(stopped.headers.get('location')).toBe('/console/sign-in?next=%2Fconsole%2Fmembers%3Frole%3Dadmin')
    const begun = new URL(
      (await client.get(stopped.headers.get('location') ?? '')).headers.get('location') ?? '',
    )
    expect(begun.href).toContain('http://localhost:4000/auth/sign-in?')
    expect(begun.searchParams.get('return_to')).toBe('http://localhost:4000/console/sign-in/done')
    expect(begun.searchParams.get('state')).toHaveLength(43)
    expect(begun.searchParams.get('code_challenge')).toHaveLength(43)
    const done = await client.signIn(stopped.headers.get('location') ?? '')
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
      const client = openConsole()
      await client.get('/console/sign-in')
      const response = await client.get(`/console/sign-in/done?code=${client.gateway.signIn()}${state}`)
      expect(response.status).toBe(400)
      expect(await response.text()).toContain('Try again')
      expect(client.cookies.has('svc_console')).toBe(false)
      expect(client.gateway.data.seen).toEqual([])
    },
  )

  test('tabs may sign in at the same time', async () => {
    const client = openConsole()
    const begin = async (next: string) =>
      new URL(
        (await client.get(`/console/sign-in?next=${next}`)).headers.get('location') ?? '',
      ).searchParams.get('state')
    const [first, second] = [await begin('/console/members'), await begin('/console/profile')]
    const finish = (state: string | null) =>
      client.get(`/console/sign-in/done?code=${client.gateway.signIn()}&state=${state}`)
    expect((await finish(first)).headers.get('location')).toBe('/console/members')
    expect((await finish(second)).headers.get('location')).toBe('/console/profile')
    expect((await finish(second)).status).toBe(400)
  })

  test('attempts that another site provokes do not pile up in the browser', async () => {
    const client = openConsole()
    for (let times = 0; times < 30; times += 1) await client.get('/console/sign-in')
    expect(client.cookies.size).toBeLessThanOrEqual(9)
  })

  test('an attempt is good for ten minutes', async () => {
    const client = openConsole()
    const begun = await client.get('/console/sign-in')
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state')
    client.time.now = new Date(client.time.now.getTime() + 11 * 60_000)
    expect(
      (await client.get(`/console/sign-in/done?code=${client.gateway.signIn()}&state=${state}`)).status,
    ).toBe(400)
  })

  test('a code that is no longer good leads to a page, not to a loop', async () => {
    const client = openConsole()
    const begun = await client.get('/console/sign-in')
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state')
    const response = await client.get(`/console/sign-in/done?code=old&state=${state}`)
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('Try again')
  })
})

describe('staying signed in', () => {
  const later = (client: ReturnType<typeof openConsole>, minutes: number) => {
    client.time.now = new Date(client.time.now.getTime() + minutes * 60_000)
  }

  test('the token is swapped when it is older than fifteen minutes, on pages only', async () => {
    const client = await signedIn()
    const first = client.cookies.get('svc_console')
    later(client, 14)
    await client.get('/console')
    expect(client.cookies.get('svc_console')).toBe(first)
    later(client, 2)
    await client.send('/console/organization', {
      method: 'POST',
      headers: { origin: 'http://localhost:4000' },
    })
    expect(client.cookies.get('svc_console')).toBe(first)
    expect((await client.get('/console')).status).toBe(200)
    expect(client.cookies.get('svc_console')).not.toBe(first)
  })

  test('another tab that was faster does no harm', async () => {
    const client = await signedIn()
    client.gateway.data.rotationConflicts = true
    later(client, 16)
    expect((await client.get('/console')).status).toBe(200)
  })

  test('a session that is over leads to sign-in and back, also from a form', async () => {
    const client = await signedIn()
    later(client, 5)
    client.gateway.data.liveTokens.clear()
    const headers = {
      origin: 'http://localhost:4000',
      referer: 'http://localhost:4000/console/members?role=admin',
    }
    const response = await client.send('/console/members/leave', { method: 'POST', headers })
    expect(response.headers.get('location')).toBe('/console/sign-in?next=%2Fconsole%2Fmembers%3Frole%3Dadmin')
    expect(client.cookies.has('svc_console')).toBe(false)
  })

  test('a token refused a moment after sign-in ends in a page, not in a circle', async () => {
    const client = await signedIn()
    client.gateway.data.liveTokens.clear()
    const response = await client.get('/console')
    expect(response.status).toBe(401)
    expect(client.cookies.has('svc_console')).toBe(false)
  })
})

describe('signing out', () => {
  test('ends the session there and the cookie here', async () => {
    const client = await signedIn()
    const response = await client.post('/console/sign-out')
    expect(response.headers.get('location')).toBe('/console/signed-out')
    expect(client.cookies.has('svc_console')).toBe(false)
    expect(client.gateway.data.liveTokens.size).toBe(0)
    expect(await client.read('/console/signed-out')).toContain('Sign in again')
  })

  test('works for a session that is over already', async () => {
    const client = await signedIn()
    client.gateway.data.liveTokens.clear()
    const response = await client.send('/console/sign-out', {
      method: 'POST',
      headers: { origin: 'http://localhost:4000' },
    })
    expect(response.headers.get('location')).toBe('/console/signed-out')
  })

  test('works for somebody who has just lost the organization of the page', async () => {
    const client = await signedIn()
    const page = await client.read('/console')
    const form = /<form method="post" action="\/console\/sign-out"[^]*?<\/form>/.exec(page)?.[0]
    expect(form).toContain('name="form_token"')
    expect(form).not.toContain('name="organization"')
  })

  test('another site cannot sign anybody out', async () => {
    const client = await signedIn()
    const response = await client.post('/console/sign-out', {}, { origin: 'https://evil.example' })
    expect(response.status).toBe(403)
    expect(client.gateway.data.liveTokens.size).toBe(1)
  })

  test('everywhere means here too', async () => {
    const client = await signedIn()
    const response = await client.post('/console/profile/sessions/end-all')
    expect(response.headers.get('location')).toBe('/console/signed-out')
    expect(client.cookies.has('svc_console')).toBe(false)
  })
})
