import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../test/support/console-visitor.ts'
import { furnish } from '../../../test/support/fake-gateway.ts'

const settled = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const visitor = await signedIn(options)
  furnish(visitor.gateway)
  return visitor
}

const PATH = '/console/data-sources'
const wordsOf = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

describe('the list of data sources', () => {
  test('builders see every database with its kind, its state and whether it can be searched', async () => {
    const words = wordsOf(await (await settled({ role: 'developer' })).read(PATH))
    expect(words).toContain(
      'Handbook db_handbook Embedded Exposed to viewers and above configured 2 tables, 3 filter columns',
    )
    expect(words).toContain('Support tickets db_tickets Postgres On, not exposed configured')
    expect(words).toContain('Warehouse db_warehouse Attached Postgres Off not configured')
    expect(words).toContain('Drafts db_drafts Embedded Being made not configured')
    expect(words).toContain('Exposed to admins and above')
  })

  test.each(['viewer', 'member'] as const)('a %s sees what they may ask, and no controls', async (role) => {
    const visitor = await settled({ role })
    const page = await visitor.read(PATH)
    expect(wordsOf(page)).toContain('Handbook db_handbook How we work, page by page.')
    expect(wordsOf(page)).toContain('team string')
    for (const hidden of ['Salaries', 'Warehouse', 'Support tickets', `${PATH}/new`, `${PATH}/attach`]) {
      expect(page).not.toContain(hidden)
    }
    expect(visitor.gateway.data.seen).not.toContain('dataSources.list')
  })

  test('a search narrows it, and says when nothing matches', async () => {
    const visitor = await settled()
    expect(await visitor.read(`${PATH}?search=ticket`)).not.toContain('db_handbook')
    expect(await visitor.read(`${PATH}?search=nonsense`)).toContain('No data source matches')
  })

  test('the next page keeps the search', async () => {
    const visitor = await signedIn()
    for (let number = 10; number < 70; number += 1) {
      visitor.gateway.sources.add(visitor.gateway.org.id, `clone_${number}`)
    }
    const page = await visitor.read(`${PATH}?search=clone`)
    const next = /href="([^"]+)"[^>]*>Next page/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(next).toContain('search=clone&cursor=')
    expect(await visitor.read(next)).toContain('clone_69')
  })

  test('where there is none, three steps and the command that saves a search configuration', async () => {
    const page = await (await signedIn({ role: 'developer' })).read(PATH)
    expect(page.match(/<li>\s*<h3>/g)).toHaveLength(3)
    expect(page).toContain('curl -X PUT http://localhost:4000/api/wf/data-sources/db_NAME')
    expect(page).toContain('&quot;embedding_configs&quot;')
    expect(page).not.toContain(`${PATH}/attach`)
    const viewer = await (await signedIn({ role: 'viewer' })).read(PATH)
    expect(viewer).toContain('nothing for you to ask yet')
    expect(viewer).not.toContain('curl')
  })

  test('another organization has a list of its own', async () => {
    const visitor = await settled()
    const fabrikam = visitor.gateway.data.organizations.find(({ name }) => name === 'Contoso Labs')
    visitor.gateway.sources.add(fabrikam?.id ?? '', 'secret_plans')
    expect(await visitor.read(PATH)).not.toContain('secret_plans')
    expect((await visitor.get(`${PATH}/db_secret_plans`)).status).toBe(404)
    visitor.gateway.data.chosen = fabrikam?.id ?? ''
    const theirs = await visitor.read(PATH)
    expect(theirs).toContain('secret_plans')
    expect(theirs).not.toContain('db_handbook')
  })

  test('names that are markup are shown as the text they are', async () => {
    for (const role of ['owner', 'viewer'] as const) {
      const visitor = await settled({ role })
      const source = visitor.gateway.sources.data.sources[0]!
      source.name = '<script>alert(1)</script>"\'>'
      source.description = '</p><img src=x onerror=alert(2)>'
      source.filter_schema = { '"><b>col': 'string' }
      for (const address of [PATH, `${PATH}/db_handbook`]) {
        const page = await visitor.read(address)
        expect(page).not.toMatch(/<script>alert|<img src=x|<b>col/)
        expect(page).toContain('&lt;script&gt;alert(1)')
      }
    }
  })
})

describe('a new database', () => {
  test('is made with what was typed, and its page opens', async () => {
    const visitor = await signedIn({ role: 'developer' })
    const response = await visitor.post(`${PATH}/new`, {
      name: 'articles',
      title: 'Our articles',
      description: 'What we wrote.',
    })
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toBe(`${PATH}/db_articles`)
    const page = await visitor.read(`${PATH}/db_articles`)
    expect(page).toContain('The database was made.')
    expect(page).toContain('<h1>Our articles</h1>')
  })

  test('a refused name stands in the form again, with the reason beside it', async () => {
    const visitor = await signedIn()
    const response = await visitor.post(`${PATH}/new`, { name: 'Bad <name>', title: 'Kept' })
    expect(response.status).toBe(400)
    const page = await response.text()
    expect(page).toContain('value="Bad &lt;name&gt;"')
    expect(page).toContain('value="Kept"')
    expect(page).toContain('must be a lower-case letter')
  })

  test('a name that is taken is said so', async () => {
    const visitor = await settled()
    const response = await visitor.post(`${PATH}/new`, { name: 'handbook' })
    expect(response.status).toBe(409)
    expect(await response.text()).toContain('A database named handbook exists already')
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
    const visitor = await signedIn({ role: 'admin' })
    const form = await visitor.read(`${PATH}/attach`)
    expect(form.replaceAll(/\s+/g, ' ')).toMatch(/name="url" type="password" value="" autocomplete="off"/)
    const refused = await visitor.post(`${PATH}/attach`, { name: 'stock', url: 'mysql://u:hush@h/d' })
    expect(refused.status).toBe(400)
    const page = await refused.text()
    expect(page).toContain('must begin with postgres://')
    expect(page).toContain('value="stock"')
    expect(page).not.toContain('hush')
    const attached = await visitor.post(`${PATH}/attach`, { name: 'stock', url: 'postgres://u:hush@h/d' })
    expect(attached.status).toBe(303)
    expect(await visitor.read(`${PATH}/db_stock`)).not.toContain('hush')
    expect([...visitor.cookies.values()].join()).not.toContain('hush')
  })
})
