import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  return client
}

const PATH = '/console/data-sources'
const textOf = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

describe('the list of data sources', () => {
  test('builders see every database with its kind, its state and whether it can be searched', async () => {
    const words = textOf(await (await seeded({ role: 'developer' })).read(PATH))
    expect(words).toContain(
      'Handbook db_handbook Embedded Exposed to viewers and above Not checked Configured 2 tables, 3 filter columns',
    )
    expect(words).toContain('Support tickets db_tickets Postgres On, not exposed Not checked Configured')
    expect(words).toContain('Warehouse db_warehouse Attached Postgres Off Not checked Not configured')
    expect(words).toContain('Drafts db_drafts Embedded Creating Not checked Not configured')
    expect(words).toContain('Exposed to admins and above')
  })

  test.each(['viewer', 'member'] as const)('a %s sees what they may ask, and no controls', async (role) => {
    const client = await seeded({ role })
    const page = await client.read(PATH)
    expect(textOf(page)).toContain('Handbook db_handbook How we work, page by page.')
    expect(textOf(page)).toContain('team string')
    for (const hidden of ['Salaries', 'Warehouse', 'Support tickets', `${PATH}/new`, `${PATH}/attach`]) {
      expect(page).not.toContain(hidden)
    }
    expect(client.gateway.data.seen).not.toContain('listDataSources')
  })

  test('a search narrows it, and says when nothing matches', async () => {
    const client = await seeded()
    expect(await client.read(`${PATH}?search=ticket`)).not.toContain('db_handbook')
    expect(await client.read(`${PATH}?search=nonsense`)).toContain('No matching data sources')
  })

  test('the next page keeps the search', async () => {
    const client = await signedIn()
    for (let number = 10; number < 70; number += 1) {
      client.gateway.sources.add(client.gateway.org.id, `clone_${number}`)
    }
    const page = await client.read(`${PATH}?search=clone`)
    const next = /href="([^"]+)"[^>]*>Next page/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(next).toContain('search=clone&cursor=')
    expect(await client.read(next)).toContain('clone_69')
  })

  test('where there is none, three steps and the command that saves a search configuration', async () => {
    const page = await (await signedIn({ role: 'developer' })).read(PATH)
    expect(page.match(/<li>\s*<h3>/g)).toHaveLength(3)
    expect(page).toContain('curl -X PUT http://localhost:4000/api/wf/data-sources/db_NAME')
    expect(page).toContain('&quot;embedding_configs&quot;')
    expect(page).not.toContain(`${PATH}/attach`)
    const viewer = await (await signedIn({ role: 'viewer' })).read(PATH)
    expect(viewer).toContain('No data sources yet')
    expect(viewer).not.toContain('curl')
  })

  test('another organization has a list of its own', async () => {
    const client = await seeded()
    const fabrikam = client.gateway.data.organizations.find(({ name }) => name === 'Contoso Labs')
    client.gateway.sources.add(fabrikam?.id ?? '', 'secret_plans')
    expect(await client.read(PATH)).not.toContain('secret_plans')
    expect((await client.get(`${PATH}/db_secret_plans`)).status).toBe(404)
    client.gateway.data.chosen = fabrikam?.id ?? ''
    const theirs = await client.read(PATH)
    expect(theirs).toContain('secret_plans')
    expect(theirs).not.toContain('db_handbook')
  })

  test('names that are markup are shown as the text they are', async () => {
    for (const role of ['owner', 'viewer'] as const) {
      const client = await seeded({ role })
      const source = client.gateway.sources.data.sources[0]!
      source.name = '<script>alert(1)</script>"\'>'
      source.description = '</p><img src=x onerror=alert(2)>'
      source.filter_schema = { '"><b>col': 'string' }
      for (const address of [PATH, `${PATH}/db_handbook`]) {
        const page = await client.read(address)
        expect(page).not.toMatch(/<script>alert|<img src=x|<b>col/)
        expect(page).toContain('&lt;script&gt;alert(1)')
      }
    }
  })
})

describe('a new database', () => {
  test('is made with what was typed, and its page opens', async () => {
    const client = await signedIn({ role: 'developer' })
    const response = await client.post(`${PATH}/new`, {
      name: 'articles',
      title: 'Our articles',
      description: 'What we wrote.',
    })
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toBe(`${PATH}/db_articles`)
    const page = await client.read(`${PATH}/db_articles`)
    expect(page).toContain('Database created.')
    expect(page).toContain('<h1>Our articles</h1>')
  })

  test('a refused name stands in the form again, with the reason beside it', async () => {
    const client = await signedIn()
    const response = await client.post(`${PATH}/new`, { name: 'Bad <name>', title: 'Kept' })
    expect(response.status).toBe(400)
    const page = await response.text()
    expect(page).toContain('value="Bad &lt;name&gt;"')
    expect(page).toContain('value="Kept"')
    expect(page).toContain('must be a lowercase letter')
  })

  test('a name that is taken is said so', async () => {
    const client = await seeded()
    const response = await client.post(`${PATH}/new`, { name: 'handbook' })
    expect(response.status).toBe(409)
    expect(await response.text()).toContain('A database named handbook already exists')
  })

  test('viewers make none, and only owners and admins attach one', async () => {
    const viewer = await signedIn({ role: 'viewer' })
    expect((await viewer.get(`${PATH}/new`)).status).toBe(403)
    expect((await viewer.post(`${PATH}/new`, { name: 'mine' })).status).toBe(403)
    const developer = await signedIn({ role: 'developer' })
    expect((await developer.get(`${PATH}/attach`)).status).toBe(403)
    const attached = await developer.post(`${PATH}/attach`, { name: 'mine', url: 'postgres://a@b/c' })
    expect(attached.status).toBe(403)
    expect(developer.gateway.sources.data.sources).toEqual([])
  })

  /** The connection string holds a password: it is typed unseen and never sent back. */
  test('a connection string comes back neither in the form nor in a cookie', async () => {
    const client = await signedIn({ role: 'admin' })
    const form = await client.read(`${PATH}/attach`)
    expect(form.replaceAll(/\s+/g, ' ')).toMatch(/name="url" type="password" value="" autocomplete="off"/)
    const refused = await client.post(`${PATH}/attach`, { name: 'stock', url: 'mysql://u:hush@h/d' })
    expect(refused.status).toBe(400)
    const page = await refused.text()
    expect(page).toContain('must begin with postgres://')
    expect(page).toContain('value="stock"')
    expect(page).not.toContain('hush')
    const attached = await client.post(`${PATH}/attach`, { name: 'stock', url: 'postgres://u:hush@h/d' })
    expect(attached.status).toBe(303)
    expect(await client.read(`${PATH}/db_stock`)).not.toContain('hush')
    expect([...client.cookies.values()].join()).not.toContain('hush')
  })
})
