/** Loading a file in the console: upload, choose, watch, ask; by forms alone. */
import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'
import { SEEDED_LOADS } from '../../../../test/support/fake-loads.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LOAD_PART_BYTES } from '../../../contracts/limits.ts'

const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  return client
}

const FORM = '/console/data-sources/load'
const pathOf = (load: string) => `/console/data-sources/db_handbook/loads/${load}`
const textOf = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

describe('the upload', () => {
  test('offers the databases that can be written to, and a new one', async () => {
    const client = await seeded({ role: 'developer' })
    const page = await client.read(FORM)
    expect(page).toContain('enctype="multipart/form-data"')
    expect(page).toContain('<option value="handbook"')
    expect(page).toContain('<option value="tickets"')
    for (const hidden of ['value="warehouse"', 'value="drafts"']) expect(page).not.toContain(hidden)
    expect(await client.read('/console/data-sources')).toContain(FORM)
  })

  test('is not there for viewers', async () => {
    const client = await seeded({ role: 'viewer' })
    expect((await client.get(FORM)).status).toBe(403)
    expect(await client.read('/console/data-sources')).not.toContain(FORM)
  })

  test('sends the file in parts, into a new database with the name of the file', async () => {
    const client = await seeded()
    const content = `a,b\n${'1,2\n'.repeat(LOAD_PART_BYTES / 2)}`
    const answer = await client.upload(
      FORM,
      { database: '', new_name: '' },
      new File([content], 'Price List 2026.csv'),
    )
    expect(answer.status).toBe(303)
    const load = client.gateway.loads.data.loads.at(-1)!
    expect(load).toMatchObject({
      source_id: 'db_price_list_2026',
      filename: 'Price List 2026.csv',
      format: 'csv',
    })
    expect(answer.headers.get('location')).toBe(`/console/data-sources/db_price_list_2026/loads/${load.id}`)
    expect(client.gateway.loads.data.parts.map(({ offset }) => offset)).toEqual([
      0,
      LOAD_PART_BYTES,
      2 * LOAD_PART_BYTES,
    ])
  })

  test('a name that is taken gives way, unless it was chosen', async () => {
    const client = await seeded()
    const file = () => new File(['{"a":1}'], 'handbook.ndjson')
    await client.upload(FORM, { database: '', new_name: '' }, file())
    expect(client.gateway.loads.data.loads.at(-1)).toMatchObject({
      source_id: 'db_handbook_2',
      format: 'ndjson',
    })
    const refused = await client.upload(FORM, { database: '', new_name: 'handbook' }, file())
    expect(refused.status).toBe(409)
    expect(await refused.text()).toContain('already exists')
  })

  test('a conflict that is not about the name is told at once', async () => {
    const client = await seeded()
    client.gateway.sources.data.creationRefusal = new ServiceError('CONFLICT', 'Over the disk quota')
    const { seen } = client.gateway.data
    const answer = await client.upload(FORM, { database: '', new_name: '' }, new File(['a\n1'], 'fresh.csv'))
    expect(answer.status).toBe(409)
    expect(await answer.text()).toContain('Over the disk quota')
    expect(seen.filter((name) => name === 'createDatabase')).toHaveLength(1)
  })

  test('after a refused load the database that was made for it is chosen, so none is left over', async () => {
    const client = await seeded()
    client.gateway.loads.data.creationRefusal = new ServiceError('CONFLICT', 'At most ten loads')
    const file = () => new File(['a\n1'], 'fresh.csv')
    const refused = await client.upload(FORM, { database: '', new_name: '' }, file())
    const page = await refused.text()
    expect(page).toContain('At most ten loads')
    expect(page).toMatch(/<option value="fresh" selected/)
    client.gateway.loads.data.creationRefusal = undefined
    await client.upload(FORM, { database: 'fresh', new_name: '' }, file())
    expect(client.gateway.loads.data.loads.at(-1)).toMatchObject({ source_id: 'db_fresh' })
  })

  test('without a file it is shown again', async () => {
    const client = await seeded()
    const answer = await client.upload(
      FORM,
      { database: 'handbook', new_name: '' },
      new File([], 'empty.csv'),
    )
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('Choose a file that is not empty')
  })

  test('a form of another page takes no file', async () => {
    const client = await seeded()
    const answer = await client.upload(
      '/console/data-sources/new',
      {},
      new File(['x'.repeat(300 * 1024)], 'x.csv'),
    )
    expect(answer.status).toBe(413)
  })
})

describe('the columns', () => {
  test('are suggested, beside the first rows, whose text is text', async () => {
    const page = await (await seeded()).read(pathOf(SEEDED_LOADS.uploaded))
    expect(textOf(page)).toContain('SKU (sku)')
    expect(page).toMatch(/value="description" checked/)
    expect(page).toContain('&lt;b&gt;=cmd|calc&lt;/b&gt; burns wood')
  })

  const handbookOf = ({ gateway }: Awaited<ReturnType<typeof seeded>>) =>
    gateway.sources.data.sources.find(({ source_id }) => source_id === 'db_handbook')!

  test('start the load, which saves its configuration, and expose the source where asked', async () => {
    const client = await seeded()
    const { gateway } = client
    Object.assign(handbookOf(client), { exposed: false, connection_config: null })
    const path = pathOf(SEEDED_LOADS.uploaded)
    expect(await client.read(path)).toMatch(/name="expose" value="true" checked/)
    const answer = await client.post(path, {
      embed_columns: 'description',
      title_column: 'name',
      id_column: '',
      table: 'products',
      expose: 'true',
    })
    expect(answer.headers.get('location')).toBe(path)
    expect(gateway.loads.data.started).toMatchObject([
      { embed_columns: ['description'], table: 'products', save_configuration: true, append: false },
    ])
    expect(gateway.loads.data.started[0]).not.toHaveProperty('id_column')
    expect(gateway.data.seen).toContain('setDataSourceExposure')
  })

  test('never expose the tables that a source has already: that is asked by itself, when all is loaded', async () => {
    const client = await seeded()
    const { gateway } = client
    Object.assign(handbookOf(client), { exposed: false, enabled: false })
    const path = pathOf(SEEDED_LOADS.uploaded)
    expect(await client.read(path)).not.toContain('name="expose"')
    // Of a page from before it was configured.
    await client.post(path, { embed_columns: 'description', table: 'products', expose: 'true' })
    expect(gateway.loads.data.started).toHaveLength(1)
    expect(gateway.data.seen).not.toContain('setDataSourceExposure')
    const done = pathOf(SEEDED_LOADS.succeeded)
    const page = await client.read(done)
    expect(textOf(page)).toContain('Nobody can ask it yet')
    expect(page).toContain(`action="${done}/expose"`)
    const answer = await client.post(`${done}/expose`)
    expect(answer.headers.get('location')).toBe(done)
    expect(handbookOf(client)).toMatchObject({ exposed: true, enabled: true })
    expect(await client.read(done)).toContain('/console/data-sources/db_handbook/ask')
  })

  test('of a load that failed: whoever exposed the source for it is told that it still is', async () => {
    const client = await seeded()
    const path = pathOf(SEEDED_LOADS.failed)
    expect(await client.read(path)).not.toContain('hide it')
    handbookOf(client).connection_config = null
    expect(await client.read(path)).toContain('hide it')
  })

  test('developers are not offered to expose it', async () => {
    const client = await seeded({ role: 'developer' })
    client.gateway.sources.data.sources.find(({ source_id }) => source_id === 'db_handbook')!.exposed = false
    expect(await client.read(pathOf(SEEDED_LOADS.uploaded))).not.toContain('name="expose"')
  })

  test('what is refused is shown with what was chosen', async () => {
    const client = await seeded()
    client.gateway.loads.data.refusal = new ServiceError('CONFLICT', 'Table products cannot take this file', {
      problems: ['a table, view or index of that name exists already'],
    })
    const answer = await client.post(pathOf(SEEDED_LOADS.uploaded), {
      embed_columns: 'name',
      table: 'products',
    })
    expect(answer.status).toBe(409)
    const page = await answer.text()
    expect(page).toContain('exists already')
    expect(page).toMatch(/value="name" checked/)
    expect(page).not.toMatch(/value="description" checked/)
  })
})

describe('a load', () => {
  test('that runs shows how far it is, and is followed without a script by a link', async () => {
    const client = await seeded()
    const page = await client.read(pathOf(SEEDED_LOADS.running))
    expect(textOf(page)).toContain('30 %: 1,250 of ')
    expect(page).toContain('<progress')
    expect(page).toContain(`<a href="${pathOf(SEEDED_LOADS.running)}">Refresh</a>`)
    const live = /data-live="([^"]+)"/.exec(page)![1]!.replaceAll('&amp;', '&')
    expect(await (await client.get(live)).json()).toMatchObject({ ended: false })
    client.gateway.loads.data.loads.find(({ id }) => id === SEEDED_LOADS.running)!.state = 'succeeded'
    expect(await (await client.get(live)).json()).toMatchObject({ ended: true })
  })

  test('that waits says for what', async () => {
    const client = await seeded()
    Object.assign(
      client.gateway.loads.data.loads.find(({ id }) => id === SEEDED_LOADS.running)!,
      {
        waits_for: 'Today’s embedding tokens of the organization are used up.',
        waits_until: '2026-11-17T00:00:00.000Z',
      },
    )
    expect(textOf(await client.read(pathOf(SEEDED_LOADS.running)))).toContain(
      'tokens of the organization are used up.',
    )
  })

  test('that failed lists every problem with its line', async () => {
    const page = textOf(await (await seeded()).read(pathOf(SEEDED_LOADS.failed)))
    expect(page).toContain('line 3: the row has 2 values, and the header has 3')
    expect(page).toContain('And 118 more.')
  })

  test('that is done can be asked there', async () => {
    const client = await seeded()
    expect(await client.read(pathOf(SEEDED_LOADS.succeeded))).toContain(
      '/console/data-sources/db_handbook/ask',
    )
    client.gateway.sources.data.sources.find(({ source_id }) => source_id === 'db_handbook')!.exposed = false
    expect(await client.read(pathOf(SEEDED_LOADS.succeeded))).toContain('Nobody can ask it yet')
  })

  test('is found again beside its database, and nowhere at an attached one', async () => {
    const client = await seeded()
    expect(await client.read('/console/data-sources/db_handbook/database')).toContain(
      pathOf(SEEDED_LOADS.running),
    )
    for (const tab of ['', '/database']) {
      const attached = await client.get(`/console/data-sources/db_warehouse${tab}`)
      expect(attached.status).toBe(200)
      expect(await attached.text()).not.toContain(FORM)
    }
  })

  test('can be canceled', async () => {
    const client = await seeded()
    await client.post(`${pathOf(SEEDED_LOADS.running)}/cancel`, {})
    expect(await client.read(pathOf(SEEDED_LOADS.running))).toContain('Nothing was loaded')
  })

  test('of another database or with another id is not found', async () => {
    const client = await seeded()
    for (const path of [
      `/console/data-sources/db_tickets/loads/${SEEDED_LOADS.running}`,
      pathOf('lod_x'),
      pathOf(`lod_${'0'.repeat(25)}`),
    ]) {
      expect((await client.get(path)).status).toBe(404)
    }
  })
})
