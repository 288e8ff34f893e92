import { beforeEach, describe, expect, test } from 'vitest'
import { signedIn } from '../../../test/support/console-visitor.ts'
import { furnish } from '../../../test/support/fake-gateway.ts'

type Visitor = Awaited<ReturnType<typeof signedIn>>
let visitor: Visitor
let fake: Visitor['gateway']['apps']

beforeEach(async () => {
  visitor = await signedIn()
  fake = visitor.gateway.apps
})

const SETTINGS = '/console/settings/organization'

describe('the owners', () => {
  test('see who came and why, end it, and switch support access off and on', async () => {
    const { id } = fake.addSession()
    expect(await visitor.read(SETTINGS)).toContain('Ticket 4711')
    await visitor.post(`${SETTINGS}/support/${id}/end`)
    expect(fake.data.sessions[0]?.live).toBe(false)
    await visitor.post(`${SETTINGS}/support`, { support: 'off' })
    expect(visitor.gateway.org.support_access_enabled).toBe(false)
    await visitor.post(`${SETTINGS}/support`, { support: 'on' })
    expect(visitor.gateway.org.support_access_enabled).toBe(true)
  })

  test('and nobody else is offered to', async () => {
    visitor.gateway.org.role = 'admin'
    fake.addSession()
    const page = await visitor.read(SETTINGS)
    expect(page).toContain('Ticket 4711')
    for (const words of ['Switch support access', 'End the visit']) expect(page).not.toContain(words)
  })

  test('page through visits', async () => {
    for (let n = 0; n < 51; n++) fake.addSession()
    const page = await visitor.read(SETTINGS)
    const next = /href="([^"]*visits=[^"]*)"/.exec(page)?.[1] ?? ''
    expect((await visitor.read(next)).match(/End the visit of/g)).toHaveLength(1)
  })
})

test('the time zone is set by admins, typed, and refused at its field', async () => {
  await visitor.post(`${SETTINGS}/timezone`, { timezone: 'America/New_York' })
  expect(visitor.gateway.org.timezone).toBe('America/New_York')
  const refused = await visitor.post(`${SETTINGS}/timezone`, { timezone: 'Nowhere' })
  expect(refused.status).toBe(400)
  const page = await refused.text()
  expect(page).toContain('value="Nowhere"')
  expect(page).toContain('must be a time zone such as Europe/Vienna or UTC')
  visitor.gateway.org.role = 'viewer'
  expect(await visitor.read(SETTINGS)).not.toContain('Save time zone')
})

test('the audit trail marks what was done during a visit', async () => {
  furnish(visitor.gateway)
  expect(await visitor.read('/console/audit')).not.toContain('support visit')
  Object.assign(visitor.gateway.data.audit[0]!, { support_session_id: visitor.gateway.id('sup') })
  expect((await visitor.read('/console/audit')).match(/support visit/g)).toHaveLength(1)
})

describe('the visitor', () => {
  const BANNER = 'as support staff</strong>'
  let org: Visitor['gateway']['org']

  beforeEach(() => {
    const { data, addOrganization } = visitor.gateway
    org = addOrganization('Fabrikam', 'viewer')
    data.organizations.pop()
    data.elsewhere.push(org)
  })

  const goThere = async () => {
    const visit = fake.addVisit({ id: org.id, name: org.name, slug: org.slug })
    const entered = await visitor.post('/console/support-visit', { org_id: org.id, organization: '' })
    expect(entered.status).toBe(303)
    return visit
  }

  test('finds the way in on the list of organizations, where there is one', async () => {
    expect(await visitor.read('/console/organizations')).not.toContain('Support visits')
    fake.addVisit({ id: org.id, name: org.name, slug: org.slug })
    expect(await visitor.read('/console/organizations')).toContain('Visit Fabrikam')
    expect(await visitor.read('/console')).not.toContain(BANNER)
  })

  test('is told on every page where they are, and works there', async () => {
    await goThere()
    for (const path of ['/console', '/console/members', SETTINGS]) {
      const page = await visitor.read(path)
      expect(page).toContain(`You are visiting Fabrikam ${BANNER}`)
      expect(page).toContain('reading only')
    }
  })

  test('cannot walk in where they were not let in', async () => {
    const refused = await visitor.post('/console/support-visit', { org_id: org.id, organization: '' })
    expect(refused.status).toBe(404)
    expect(await visitor.read('/console')).not.toContain(BANNER)
  })

  test('raises it with a reason', async () => {
    await goThere()
    await visitor.post('/console/support-visit/raise', { organization: org.id, reason: 'To repair it' })
    expect(fake.data.visits[0]?.level).toBe('admin')
    expect(await visitor.read('/console')).toContain('reading and writing')
  })

  test('ends it, or goes home and leaves it open', async () => {
    await goThere()
    await visitor.post('/console/support-visit/leave', { organization: '' })
    expect(await visitor.read('/console')).not.toContain(BANNER)
    expect(fake.data.visits).toHaveLength(1)
    await visitor.post('/console/support-visit', { org_id: org.id, organization: '' })
    await visitor.post('/console/support-visit/end', { organization: org.id })
    expect(fake.data.visits).toEqual([])
    expect(await visitor.read('/console')).toContain('The visit has ended.')
  })

  test('hears that it ended, once, and is at home again', async () => {
    await goThere()
    fake.data.visits = []
    const response = await visitor.get('/console/members')
    expect([response.status, response.headers.get('location')]).toEqual([303, '/console'])
    const page = await visitor.read('/console')
    expect(page).toContain('Your visit as support staff has ended.')
    expect(page).toContain('Northwind Traders')
    expect((await visitor.get('/console/members')).status).toBe(200)
  })

  test('a form of a visit that ended does nothing, and signing out still works', async () => {
    await goThere()
    const form_token = /name="form_token" value="([^"]*)"/.exec(await visitor.read('/console'))![1]!
    fake.data.visits = []
    const body = new URLSearchParams({ form_token, organization: org.id, name: 'Mine' })
    const headers = { origin: 'http://localhost:4000' }
    const response = await visitor.send(SETTINGS, { method: 'POST', body, headers })
    expect(response.status).toBe(403)
    expect(org.name).toBe('Fabrikam')
    await goThere()
    fake.data.visits = []
    const out = await visitor.send('/console/sign-out', {
      method: 'POST',
      body: new URLSearchParams({ form_token }),
      headers,
    })
    expect(out.headers.get('location')).toBe('/console/signed-out')
    expect([...visitor.cookies.keys()]).toEqual([])
  })

  test('choosing one’s own organization ends nothing and leads home', async () => {
    await goThere()
    await visitor.post('/console/organization', { org_id: visitor.gateway.org.id, organization: '' })
    expect(await visitor.read('/console')).not.toContain(BANNER)
    expect(fake.data.visits).toHaveLength(1)
  })
})
