import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../test/support/console-client.ts'
import { seed } from '../../../test/support/fake-gateway.ts'

const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  return client
}

const formsOf = (page: string): string[] =>
  [...page.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, action]) => action ?? '')

/** Forms everybody has: the header's. */
const own = (actions: string[]) =>
  actions.filter((action) => !/\/(organization|sign-out)$/.test(action) || action.includes('settings'))

describe('controls follow the role', () => {
  test('a viewer sees members and settings, and may only leave', async () => {
    const client = await seeded({ role: 'viewer' })
    expect(own(formsOf(await client.read('/console/members')))).toEqual(['/console/members/leave'])
    expect(own(formsOf(await client.read('/console/settings/organization')))).toEqual([])
    expect(own(formsOf(await client.read('/console/settings/security')))).toEqual([])
    expect(await client.read('/console')).not.toContain('/console/audit')
    expect((await client.get('/console/audit')).status).toBe(403)
    expect(client.gateway.data.seen).not.toContain('listInvitations')
  })

  test('an admin manages everybody up to admin, and grants no more than admin', async () => {
    const client = await seeded({ role: 'admin' })
    const owner = client.gateway.addMember('Olga', 'olga@northwind.example', 'owner')
    const page = await client.read('/console/members')
    expect(page).not.toContain(`/console/members/${owner.user_id}/`)
    expect(formsOf(page).filter((action) => action.endsWith('/role'))).toHaveLength(5)
    const forms = page.slice(page.indexOf('<table'))
    expect(forms).toContain('value="admin"')
    expect(forms).not.toContain('value="owner"')
  })

  test('invitations are for owners, and for admins where the owners allow it', async () => {
    const client = await seeded({ role: 'admin' })
    expect(await client.read('/console/members')).not.toContain('/console/members/invitations')
    client.gateway.org.admins_may_invite = true
    expect(await client.read('/console/members')).toContain('/console/members/invitations')
    const settings = await client.read('/console/settings/organization')
    expect(settings).not.toContain('/console/settings/organization/invitations')
  })

  test('an owner’s invitation has no button for admins', async () => {
    const revokes = async (role: 'admin' | 'owner') => {
      const client = await seeded({ role })
      client.gateway.org.admins_may_invite = true
      const [invitation] = client.gateway.data.invitations
      const count = async () =>
        formsOf(await client.read('/console/members')).filter((action) => action.endsWith('/revoke')).length
      const before = await count()
      invitation!.by_owner = true
      return [before, await count()]
    }
    expect([await revokes('admin'), await revokes('owner')]).toEqual([
      [1, 0],
      [1, 1],
    ])
  })

  test('only admins can ask for everybody’s tokens', async () => {
    const viewer = await seeded({ role: 'viewer' })
    const page = await viewer.read('/console/settings/tokens?all=true')
    expect(page).toContain('Nightly report')
    expect(page).not.toContain('Deploy check')
    const admin = await seeded({ role: 'admin' })
    expect(await admin.read('/console/settings/tokens?all=true')).toContain('Deploy check')
  })
})

describe('tokens', () => {
  const fields = { name: 'CI', role_cap: 'viewer', access: 'role', audiences: ['api'], ends: '30' }

  test('the value stands in the answer to the form and nowhere else', async () => {
    const client = await seeded()
    const response = await client.post('/console/settings/tokens/new', fields)
    expect(response.status).toBe(201)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('set-cookie')).toBeNull()
    const value = /svc_[0-9A-Za-z]{40,}/.exec(await response.text())?.[0] ?? 'none'
    expect(value).not.toBe('none')
    expect(await client.read('/console/settings/tokens')).not.toContain(value)
    expect([...client.cookies.values()].join()).not.toContain(value)
  })

  /** Nothing ticked must not become "everything". */
  test('a scoped token without scopes is refused', async () => {
    const client = await seeded()
    const before = client.gateway.data.tokens.length
    const response = await client.post('/console/settings/tokens/new', { ...fields, access: 'scopes' })
    expect(response.status).toBe(400)
    expect(client.gateway.data.tokens).toHaveLength(before)
  })

  /** Even if somebody writes the form by hand. */
  test('a scope that does not exist is not "everything" either', async () => {
    const client = await seeded()
    const response = await client.post('/console/settings/tokens/new', {
      ...fields,
      access: 'scopes',
      scopes: 'made:up',
    })
    expect(response.status).toBe(400)
  })

  test('scopes, audiences and the end arrive as chosen', async () => {
    const client = await seeded()
    await client.post('/console/settings/tokens/new', {
      ...fields,
      access: 'scopes',
      scopes: ['data:read', 'notifications:read'],
      ends: '',
    })
    expect(client.gateway.data.tokens[0]).toMatchObject({
      scopes: ['data:read', 'notifications:read'],
      audiences: ['api'],
      expires_at: null,
    })
  })

  test('a revoked token is gone from the list', async () => {
    const client = await seeded()
    const token = client.gateway.data.tokens[0]
    await client.post(`/console/settings/tokens/${token?.id}/revoke`)
    expect(await client.read('/console/settings/tokens')).not.toContain(token?.starts_with)
  })
})

describe('invitations', () => {
  test('without a mail server the link is shown once, in the answer itself', async () => {
    const client = await seeded()
    const response = await client.post('/console/members/invitations', {
      email: 'new@northwind.example',
      role: 'viewer',
    })
    expect(await response.text()).toContain('/auth/invitation#')
    expect(await client.read('/console/members')).not.toContain('/auth/invitation#')
  })

  test('with one, it goes by mail', async () => {
    const client = await seeded({ sendsMail: true })
    const response = await client.post('/console/members/invitations', {
      email: 'new@northwind.example',
      role: 'viewer',
    })
    expect(response.status).toBe(303)
    expect(await client.read('/console/members')).toContain('Invitation sent to new@northwind.example')
  })
})

describe('lists', () => {
  test('the next page keeps the filters', async () => {
    const client = await signedIn()
    for (let number = 0; number < 60; number += 1)
      client.gateway.addMember(`Clone ${number}`, `c${number}@x.example`, 'viewer')
    const page = await client.read('/console/members?role=viewer&search=clone')
    const next = /href="([^"]+)"[^>]*>Next page/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(next).toContain('role=viewer&search=clone&cursor=')
    const second = await client.read(next)
    expect(second).toContain('Clone 59')
    expect(second).not.toContain('Clone 10')
    expect(second).toContain('Previous page')
    expect(second).not.toContain('Next page')
  })

  test('the audit trail is filtered by action, person and day; nonsense in the address is left out', async () => {
    const client = await seeded()
    const filtered = await client.read(
      '/console/audit?action=invitation.created&from=2026-11-10&to=2026-11-15',
    )
    expect(filtered).toContain('alan@northwind.example as developer')
    expect(filtered).not.toContain('Old laptop')
    expect((await client.get('/console/audit?action=x&person=y&from=z&to=2026-99-99')).status).toBe(200)
    expect(await client.read('/console/audit?from=2027-01-01')).toContain('No entries found')
  })
})

describe('organizations', () => {
  test('somebody without one is told what to do, and finds only what needs none', async () => {
    const client = await signedIn()
    client.gateway.data.organizations.length = 0
    const page = await client.read('/console')
    expect(page).toContain('/console/organizations/new')
    expect(page).not.toContain('href="/console/members"')
    expect((await client.get('/console/members')).headers.get('location')).toBe('/console')
    expect((await client.get('/console/profile')).status).toBe(200)
  })

  test('a new one is chosen at once', async () => {
    const client = await signedIn()
    await client.post('/console/organizations/new', { name: 'Initech' })
    expect(await client.read('/console')).toContain('<h1>Initech</h1>')
  })

  test('the switch in the header works without scripts', async () => {
    const client = await seeded()
    const fabrikam = client.gateway.data.organizations.find(({ name }) => name === 'Fabrikam')
    await client.post('/console/organization', { org_id: fabrikam?.id ?? '' })
    expect(await client.read('/console')).toContain('<h1>Fabrikam</h1>')
  })

  test('agents are switched off and on', async () => {
    const client = await seeded()
    await client.post('/console/settings/security/agents', { agents: 'off' })
    expect(client.gateway.org.agents_enabled).toBe(false)
    expect(await client.read('/console/settings/security')).toContain('Assistants have no access')
  })

  test('registered clients are refused and allowed again', async () => {
    const client = await seeded()
    const path = '/console/settings/security/registered-clients'
    await client.post(path, { registered_clients: 'refused' })
    expect(client.gateway.org.registered_clients).toBe('refused')
    expect(await client.read('/console/settings/security')).toContain('Allow registered clients')
    await client.post(path, { registered_clients: 'allowed' })
    expect(client.gateway.org.registered_clients).toBe('allowed')
    expect(await client.read('/console/settings/security')).toContain('Refuse registered clients')
  })
})

describe('an email address that is not verified', () => {
  const withProfile = async (change: object) => {
    const client = await seeded()
    Object.assign(client.gateway.data.profile, change)
    return client
  }

  test('is to be verified; the form on the profile names it', async () => {
    const client = await seeded()
    expect(await client.read('/console')).toContain('Verify your email address')
    const { email } = client.gateway.data.profile
    expect(await client.read('/console/profile')).toMatch(new RegExp(`name="email"[^>]*value="${email}"`))
  })

  test('and gets no mail is to be replaced; without a mail server the page says what is missing', async () => {
    const lost = { email: 'owner@svc.localhost', receives_mail: false }
    const client = await withProfile(lost)
    expect(await client.read('/console')).toContain('Add your email address')
    expect(await client.read('/console/profile')).toMatch(/name="email"[^>]*value=""/)
    const mailless = await withProfile({ ...lost, can_verify_email: false })
    expect(await mailless.read('/console')).toContain('Once the operator has set up a mail server')
    expect(formsOf(await mailless.read('/console/profile'))).not.toContain('/console/profile/verify')
  })

  test('that is verified is neither asked for nor changed', async () => {
    const client = await withProfile({ email_verified: true })
    expect(await client.read('/console')).not.toContain('Verify your email address')
    expect(formsOf(await client.read('/console/profile'))).not.toContain('/console/profile/verify')
  })

  test('that is none is shown again with what was typed', async () => {
    const client = await seeded()
    const response = await client.post('/console/profile/verify', { email: 'no address' })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('value="no address"')
  })
})
