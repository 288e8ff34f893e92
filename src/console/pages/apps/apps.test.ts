import { beforeEach, describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { SEEDED_TICKET } from '../../../../test/support/fake-apps.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

type Client = Awaited<ReturnType<typeof signedIn>>
let client: Client
let fake: Client['gateway']['apps']

beforeEach(async () => {
  client = await signedIn()
  seed(client.gateway)
  fake = client.gateway.apps
})

const SHOP = '/console/apps/shop'
const TICKET = `${SHOP}/tickets/${SEEDED_TICKET}`
const shop = () => fake.data.apps.find(({ alias }) => alias === 'shop')!
const ticket = () => fake.data.tickets.find(({ id }) => id === SEEDED_TICKET)!

describe('the list of apps', () => {
  test('links to each, with one’s part and what is open', async () => {
    const page = await client.read('/console/apps')
    expect(page).toContain(`href="${SHOP}"`)
    expect(page).toContain('Administrator')
    expect(page).toMatch(/data-label="Open tickets"><div class="cell">2</)
  })

  test('filters, and says so when nothing matches', async () => {
    const page = await client.read('/console/apps?search=bill')
    expect(page).toContain('Invoices and reminders')
    expect(page).not.toContain(`href="${SHOP}"`)
    expect(await client.read('/console/apps?search=nothing')).toContain('No matching apps')
    expect(await client.read('/console/apps?mine=true')).not.toContain('Invoices and reminders')
  })

  test('makes an app, and keeps what was typed when it is refused', async () => {
    const made = await client.post('/console/apps', { alias: 'intranet', name: 'Intranet' })
    expect(made.headers.get('location')).toBe('/console/apps/intranet')
    const refused = await client.post('/console/apps', { alias: 'Not An Alias', name: 'Kept' })
    expect(refused.status).toBe(400)
    const page = await refused.text()
    expect(page).toContain('value="Kept"')
    expect(page).toContain('aria-invalid="true"')
  })

  test('offers making one to developers and above only', async () => {
    for (const [role, offered] of [
      ['viewer', false],
      ['developer', true],
    ] as const) {
      const page = await (await signedIn({ role })).read('/console/apps')
      expect([role, page.includes('Create app')]).toEqual([role, offered])
    }
  })
})

describe('one app', () => {
  test('shows tickets and people; those who only look get no buttons to change it', async () => {
    expect(await client.read(SHOP)).toContain('Add to app')
    shop().my_role = null
    const page = await client.read(SHOP)
    expect(page).toContain('Edsger Dijkstra')
    for (const words of ['Add to app', 'Save name', 'Manage Edsger']) expect(page).not.toContain(words)
  })

  test('filters tickets by state', async () => {
    const page = await client.read(`${SHOP}?status=in_progress`)
    expect(page).toContain('Search finds nothing on Sundays')
    expect(page).not.toContain(TICKET)
    expect(await client.read(`${SHOP}?status=done`)).toContain('No tickets with this status')
    expect(await client.read(`${SHOP}?status=nonsense`)).toContain(TICKET)
  })

  test('puts people on it, changes their part and takes them off', async () => {
    const grace = client.gateway.data.members[1]!.user_id
    await client.post(`${SHOP}/members`, { user_id: grace, role: 'maintainer' })
    expect(shop().members.at(-1)).toMatchObject({ user_id: grace, role: 'maintainer' })
    await client.post(`${SHOP}/members/${grace}`, { role: 'builder' })
    expect(shop().members.at(-1)).toMatchObject({ role: 'builder' })
    await client.post(`${SHOP}/members/${grace}/remove`)
    expect(shop().members.some(({ user_id }) => user_id === grace)).toBe(false)
  })

  test('is renamed', async () => {
    await client.post(`${SHOP}/name`, { name: 'The store' })
    expect(await client.read(SHOP)).toContain('App renamed to The store.')
    expect((await client.post(`${SHOP}/name`, { name: '' })).status).toBe(400)
  })

  test('that does not exist is a page that says so', async () => {
    expect((await client.get('/console/apps/nothing')).status).toBe(404)
  })
})

describe('a ticket', () => {
  test('is filed, with its line breaks as they were typed', async () => {
    const filed = await client.post(`${SHOP}/tickets/new`, { title: 'It broke', body: 'One\r\ntwo' })
    expect(filed.status).toBe(303)
    expect(fake.data.tickets[0]).toMatchObject({ title: 'It broke', body: 'One\ntwo' })
    const refused = await client.post(`${SHOP}/tickets/new`, { title: '', body: 'Kept' })
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('Kept</textarea>')
  })

  test('shows what was said in its order, and marks notes', async () => {
    const page = await client.read(TICKET)
    expect(page.indexOf('Which browser')).toBeLessThan(page.indexOf('The one on the tablet'))
    expect(page).toMatch(/message-note[\s\S]*Looks like the cookie/)
  })

  test('is answered aloud or by a note', async () => {
    await client.post(TICKET, { body: 'Repaired.' })
    await client.post(TICKET, { body: 'Hm.', internal: 'yes' })
    expect(ticket().replies.slice(-2)).toMatchObject([
      { body: 'Repaired.', internal: false },
      { body: 'Hm.', internal: true },
    ])
    expect((await client.post(TICKET, { body: ' ' })).status).toBe(400)
  })

  test('offers notes and taking it in progress only to those who work on the app', async () => {
    expect(await client.read(TICKET)).toContain('Start progress')
    shop().my_role = null
    const page = await client.read(TICKET)
    for (const words of ['Start progress', 'name="internal"']) expect(page).not.toContain(words)
    expect(page).toContain('Mark as done')
  })

  test('moves', async () => {
    await client.post(`${TICKET}/status`, { status: 'done' })
    expect(ticket().status).toBe('done')
    expect(await client.read(TICKET)).toContain('Reopen')
  })
})
