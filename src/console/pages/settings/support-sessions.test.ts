import { beforeEach, describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

type Client = Awaited<ReturnType<typeof signedIn>>
let client: Client
let fake: Client['gateway']['apps']

beforeEach(async () => {
  client = await signedIn()
  fake = client.gateway.apps
})

const SETTINGS = '/console/settings/organization'

describe('the owners', () => {
  test('see who has access and why, end it, and turn support access off and on', async () => {
    const { id } = fake.addSession()
    expect(await client.read(SETTINGS)).toContain('Ticket 4711')
    await client.post(`${SETTINGS}/support/${id}/end`)
    expect(fake.data.sessions[0]?.live).toBe(false)
    await client.post(`${SETTINGS}/support`, { support: 'off' })
    expect(client.gateway.org.support_access_enabled).toBe(false)
    await client.post(`${SETTINGS}/support`, { support: 'on' })
    expect(client.gateway.org.support_access_enabled).toBe(true)
  })

  test('and nobody else is offered to', async () => {
    client.gateway.org.role = 'admin'
    fake.addSession()
    const page = await client.read(SETTINGS)
    expect(page).toContain('Ticket 4711')
    for (const words of ['Turn off support access', 'End session']) expect(page).not.toContain(words)
  })

  test('page through support sessions', async () => {
    for (let n = 0; n < 51; n++) fake.addSession()
    const page = await client.read(SETTINGS)
    const next = /href="([^"]*support_sessions=[^"]*)"/.exec(page)?.[1] ?? ''
    expect((await client.read(next)).match(/End the support session of/g)).toHaveLength(1)
  })
})

test('the time zone is set by admins, typed, and refused at its field', async () => {
  await client.post(`${SETTINGS}/timezone`, { timezone: 'America/New_York' })
  expect(client.gateway.org.timezone).toBe('America/New_York')
  const refused = await client.post(`${SETTINGS}/timezone`, { timezone: 'Nowhere' })
  expect(refused.status).toBe(400)
  const page = await refused.text()
  expect(page).toContain('value="Nowhere"')
  expect(page).toContain('must be a time zone such as Europe/Vienna or UTC')
  client.gateway.org.role = 'viewer'
  expect(await client.read(SETTINGS)).not.toContain('Save time zone')
})

test('the audit trail marks what was done during a support session', async () => {
  seed(client.gateway)
  expect(await client.read('/console/audit')).not.toContain('>support session</span>')
  Object.assign(client.gateway.data.audit[0]!, { support_session_id: client.gateway.id('sup') })
  expect((await client.read('/console/audit')).match(/>support session<\/span>/g)).toHaveLength(1)
})

describe('support staff', () => {
  const BANNER = 'Support session in'
  let org: Client['gateway']['org']

  beforeEach(() => {
    const { data, addOrganization } = client.gateway
    org = addOrganization('Fabrikam', 'viewer')
    data.organizations.pop()
    data.elsewhere.push(org)
  })

  const openSession = async () => {
    const support = fake.addMySupportSession({ id: org.id, name: org.name, slug: org.slug })
    const entered = await client.post('/console/support-session', { org_id: org.id, organization: '' })
    expect(entered.status).toBe(303)
    return support
  }

  test('find their support sessions on the list of organizations', async () => {
    expect(await client.read('/console/organizations')).not.toContain('Support sessions')
    fake.addMySupportSession({ id: org.id, name: org.name, slug: org.slug })
    expect(await client.read('/console/organizations')).toContain('Open Fabrikam')
    expect(await client.read('/console')).not.toContain(BANNER)
  })

  test('see on every page where they are, and work there', async () => {
    await openSession()
    for (const path of ['/console', '/console/members', SETTINGS]) {
      const page = await client.read(path)
      expect(page).toContain(`${BANNER} Fabrikam`)
      expect(page).toContain('read only')
    }
  })

  test('cannot open an organization without a support session', async () => {
    const refused = await client.post('/console/support-session', { org_id: org.id, organization: '' })
    expect(refused.status).toBe(404)
    expect(await client.read('/console')).not.toContain(BANNER)
  })

  test('gets write access with a reason', async () => {
    await openSession()
    await client.post('/console/support-session/elevate', { organization: org.id, reason: 'To repair it' })
    expect(fake.data.mySupportSessions[0]?.level).toBe('admin')
    expect(await client.read('/console')).toContain('read and write')
  })

  test('ends it, or leaves without ending it', async () => {
    await openSession()
    await client.post('/console/support-session/leave', { organization: '' })
    expect(await client.read('/console')).not.toContain(BANNER)
    expect(fake.data.mySupportSessions).toHaveLength(1)
    await client.post('/console/support-session', { org_id: org.id, organization: '' })
    await client.post('/console/support-session/end', { organization: org.id })
    expect(fake.data.mySupportSessions).toEqual([])
    expect(await client.read('/console')).toContain('Support session ended.')
  })

  test('is told once that it ended, and is back in their own organization', async () => {
    await openSession()
    fake.data.mySupportSessions = []
    const response = await client.get('/console/members')
    expect([response.status, response.headers.get('location')]).toEqual([303, '/console'])
    const page = await client.read('/console')
    expect(page).toContain('Your support session has ended.')
    expect(page).toContain('Northwind Traders')
    expect((await client.get('/console/members')).status).toBe(200)
  })

  test('a form of a support session that ended does nothing, and signing out still works', async () => {
    await openSession()
    const form_token = /name="form_token" value="([^"]*)"/.exec(await client.read('/console'))![1]!
    fake.data.mySupportSessions = []
    const body = new URLSearchParams({ form_token, organization: org.id, name: 'Mine' })
    const headers = { origin: 'http://localhost:4000' }
    const response = await client.send(SETTINGS, { method: 'POST', body, headers })
    expect(response.status).toBe(403)
    expect(org.name).toBe('Fabrikam')
    await openSession()
    fake.data.mySupportSessions = []
    const out = await client.send('/console/sign-out', {
      method: 'POST',
      body: new URLSearchParams({ form_token }),
      headers,
    })
    expect(out.headers.get('location')).toBe('/console/signed-out')
    expect([...client.cookies.keys()]).toEqual([])
  })

  test('choosing one’s own organization leaves the session without ending it', async () => {
    await openSession()
    await client.post('/console/organization', { org_id: client.gateway.org.id, organization: '' })
    expect(await client.read('/console')).not.toContain(BANNER)
    expect(fake.data.mySupportSessions).toHaveLength(1)
  })
})
