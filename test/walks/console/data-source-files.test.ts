/** The pages that take files for data sources: documents in an archive, and a table of a file. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  setDataSourceExposure,
  setDataSourceState,
  showDataSource,
} from '../../../src/contracts/data-sources.ts'
import { showDocuments } from '../../../src/contracts/documents.ts'
import { BUILT_IN_MODEL } from '../../../src/contracts/embedding-settings.ts'
import { LOAD_PART_BYTES } from '../../../src/contracts/limits.ts'
import { listLoads, showLoad } from '../../../src/contracts/loads.ts'
import { openConsole, type Console } from '../../support/console.ts'
import {
  configurationOf,
  entry,
  inDatabase,
  insertSource,
  makeSource,
  startWithDatabases,
  type SystemWithDatabases,
  toyModels,
} from '../../support/data-sources.ts'
import { makeZip } from '../../support/document-files.ts'
import { takeLoadSteps, uploadFile } from '../../support/loads.ts'
import { makeXlsx } from '../../support/table-files.ts'
import { makeMember, makeOrganization, unique, type Org } from '../../support/make.ts'
import { PAGES } from '../../support/walker.ts'

const PATH = '/console/data-sources'
const HANDBOOK = `${PATH}/db_handbook`

let system: SystemWithDatabases
let org: Org
let [owner, developer, viewer]: Console[] = []
beforeAll(async () => {
  const toys = toyModels()
  system = await startWithDatabases(
    { ...PAGES },
    {
      models: {
        ...toys,
        // The model that a file is loaded with, without its seconds.
        embed: async (asker, model, question) =>
          model === BUILT_IN_MODEL.name
            ? Array.from({ length: BUILT_IN_MODEL.dimensions }, (_, at) => (at === 0 ? 1 : 0))
            : toys.embed(asker, model, question),
      },
    },
  )
  org = await makeOrganization(system)
  owner = await openConsole(system, org.owner)
  developer = await openConsole(system, await makeMember(system, org, 'developer'))
  viewer = await openConsole(system, await makeMember(system, org, 'viewer'))
  await makeSource(org, {
    name: 'handbook',
    sql: `create table pages (id int primary key, title text, embedding vector(3));
      insert into pages values (42, 'How we plan holidays', '[1,0,0]'); create table notes (id int primary key, title text)`,
    configuration: configurationOf([entry('pages')]),
  })
  await insertSource(system, org, { name: 'warehouse', title: 'Warehouse', kind: 'attached' })
}, 120_000)
afterAll(() => system.stop())

const source = (name: string) => org.owner.call(showDataSource, { source_id: `db_${name}` })
const setExposed = (name: string, exposed: boolean) =>
  org.owner.call(setDataSourceExposure, { source_id: `db_${name}`, exposed })

describe('documents', () => {
  const DOCUMENTS = `${PATH}/db_manual/documents`
  const zip = (files: Record<string, string>, flags = 0) =>
    new File([new Uint8Array(makeZip(files, flags))], 'manual.zip')
  const refuses = async (file: File) => {
    const page = await (await developer!.open(DOCUMENTS)).form('Upload').with({ files: file }).submit()
    expect(page.status).toBe(400)
    return page.text
  }

  test('are created, uploaded as an archive, asked, opened at the passage, and undone', async () => {
    expect((await viewer!.open(`${PATH}/new-documents`)).status).toBe(403)
    const created = await (
      await owner!.open(`${PATH}/new-documents`)
    )
      .form('Create')
      .with({ name: 'manual', title: 'Manual' })
      .submit()
    expect(created.path).toBe(DOCUMENTS)
    const uploaded = await created
      .form('Upload')
      .with({
        files: zip({
          'manual/pump.md': '# Pump\n\nOil it weekly.\n\n## <b>Leaks</b>\n\nClose the valve at leaks.',
          'manual/photo.png': 'not a document',
          '__MACOSX/manual/._pump.md': 'not for readers',
        }),
      })
      .submit()
    expect(uploaded.status).toBe(200)
    expect(uploaded.text).toContain('1 file left out.')
    expect(uploaded.text).toContain('photo.png : Only .md')
    expect(uploaded.html).toContain('data-live=')
    await takeLoadSteps(system)
    await org.owner.call(setDataSourceState, { source_id: 'db_manual', enabled: true })
    await setExposed('manual', true)

    const asked = await (
      await viewer!.open(`${PATH}/db_manual`)
    )
      .form('Ask')
      .with({ query: 'a leak' })
      .submit()
    expect(asked.text).toContain('pump.md')
    // The words of the question are marked, and markup of a document is text.
    expect(asked.html).toContain('<mark>leaks</mark>')
    expect(asked.html).not.toContain('<b>Leaks</b>')
    const link = /href="([^"]+\/db_manual\/rows\/[^"]+)"[^>]*>Pump</.exec(asked.html)![1]!
    const address = new URL(link).pathname
    const opened = await viewer!.open(address)
    expect(opened.status).toBe(200)
    expect(opened.html).toMatch(/passage-found[^>]*>(Close the valve at leaks|Oil it weekly)\./)
    expect(opened.text).toContain('SHA-256 of the file')
    expect(opened.text).toContain('Oil it weekly.')
    expect((await viewer!.open(`${address}?document=true`)).text).toContain('Document')

    // Whoever may not ask it, a changed link, and a row that is gone are alike.
    const outsider = await openConsole(system, (await makeOrganization(system)).owner)
    const missing = await outsider.open(address)
    expect([missing.status, (await viewer!.open(`${address}x`)).status]).toEqual([404, 404])
    await setExposed('manual', false)
    expect((await viewer!.open(address)).status).toBe(404)
    await setExposed('manual', true)

    const second = await (
      await developer!.open(DOCUMENTS)
    )
      .form('Upload')
      .with({ files: new File(['Another one.'], 'more.txt'), keep: false })
      .submit()
    expect(second.path).toBe(DOCUMENTS)
    await takeLoadSteps(system)
    expect((await viewer!.open(address)).status).toBe(404)
    const undone = await (await developer!.open(DOCUMENTS)).form('Undo').submit()
    expect(undone.text).toContain('Version 2 was undone.')
    expect((await viewer!.open(address)).status).toBe(200)
    expect((await owner!.open(`${PATH}/db_handbook/documents`)).status).toBe(404)
    expect((await developer!.open(`${PATH}/db_manual/database`)).text).toContain('no connection string')
  })

  test('in an archive that is not to be trusted are refused as a whole, with a sentence', async () => {
    expect(await refuses(zip({ '../out.md': 'x', 'in.md': 'y' }))).toContain('contains the segment ".."')
    expect(await refuses(zip({ '/etc/motd.txt': 'x' }))).toContain('is absolute')
    expect(await refuses(zip({ 'a.md': 'x' }, 1))).toContain('is protected by a password')
    expect(await refuses(zip({ 'bomb.txt': '0'.repeat(30 * 1024 * 1024) }))).toContain('becomes too large')
    expect(await refuses(new File(['no archive'], 'a.zip'))).toContain('is not a zip archive, or damaged')
    expect(await refuses(zip({ 'a.png': 'x' }))).toContain('There are no documents among the files')
    const damaged = makeZip({ 'a.md': 'some text that is long enough to be damaged' })
    damaged.fill(0xff, 36, 50)
    expect(await refuses(new File([new Uint8Array(damaged)], 'a.zip'))).toContain('is damaged')
    expect(await org.owner.call(showDocuments, { name: 'manual' })).toMatchObject({
      version: 3,
      documents: 1,
    })
  })

  test('of a folder that says who sees it stay in that folder, whatever the archive is', async () => {
    const upload = async (person: typeof owner, files: Record<string, string>) => {
      const page = await (
        await person!.open(DOCUMENTS)
      )
        .form('Upload')
        .with({ files: zip(files) })
        .submit()
      expect(page.path).toBe(DOCUMENTS)
      await takeLoadSteps(system)
    }
    const asked = async (person: typeof owner) => {
      const page = await person!.open(`${PATH}/db_manual`)
      return (await page.form('Ask').with({ query: 'minutes' }).submit()).text
    }
    await upload(owner, { 'board/access.yaml': 'access: [role:owner]', 'board/first.md': 'First minutes.' })
    await upload(developer, { 'board/later.md': 'Later minutes.' })
    expect(await org.owner.call(showDocuments, { name: 'manual' })).toMatchObject({
      documents: 3,
      folders: ['board'],
    })
    const [seen, hidden] = [await asked(owner), await asked(viewer)]
    for (const text of ['board/first.md', 'board/later.md']) {
      expect(seen).toContain(text)
      expect(hidden).not.toContain(text)
    }
    expect(hidden).toContain('pump.md')
    for (const name of ['access.yml', 'Access.yaml']) {
      const told = await refuses(zip({ [`staff/${name}`]: 'access: [role:owner]', 'staff/a.md': 'x' }))
      expect(told).toContain('would say who sees its folder, and cannot be read')
    }
  })
})

describe('a file', { timeout: 60_000 }, () => {
  const FORM = `${PATH}/load`
  const CSV = 'sku,name,description\n1,Stove,<b>=cmd|calc</b> burns wood\n2,Lamp,gives light\n'

  test('is uploaded in parts into a new database, its columns are chosen, and it is loaded and asked', async () => {
    expect((await viewer!.open(FORM)).status).toBe(403)
    const page = await owner!.open(FORM)
    const form = page.form('Upload')
    expect(form.choices('database')).toEqual(expect.arrayContaining(['', 'handbook']))
    expect(form.choices('database')).not.toContain('warehouse')
    const empty = await form.with({ file: new File([], 'empty.csv') }).submit()
    expect([empty.status, empty.text]).toEqual([
      400,
      expect.stringContaining('Choose a file that is not empty'),
    ])
    const uploaded = await form.with({ file: new File([CSV], 'Price List 2026.csv') }).submit()
    expect(uploaded.path).toMatch(/^\/console\/data-sources\/db_price_list_2026\/loads\/lod_/)
    const taken = await form.with({ file: new File([CSV], 'handbook.csv'), new_name: 'handbook' }).submit()
    expect(taken.status).toBe(409)
    const carets = CSV.replaceAll(',', '^')
    const other = await form.with({ file: new File([carets], 'handbook.csv') }).submit()
    expect(other.path).toContain('/db_handbook_2/')
    expect((await owner!.open(`${other.path}?delimiter=%22`)).text).toContain('It must be one character')
    const again = await owner!.open(`${other.path}?delimiter=%5E`)
    expect(again.form('Load').choices('title_column')).toEqual(['sku', 'name', 'description'])
    await again.form('Load').with({ title_column: 'name' }).submit()
    expect(uploaded.text).toContain('<b>=cmd|calc</b> burns wood')
    const columns = uploaded.form('Load')
    expect(columns.values()).toMatchObject({ expose: true })
    const refused = await columns.with({ table: 'Not a table' }).submit()
    expect(refused.status).toBe(400)
    expect(refused.form('Load').value('table')).toBe('Not a table')
    const started = await refused
      .form('Load')
      .with({ table: 'products', embed_columns: ['description'], title_column: 'name' })
      .submit()
    expect(started.path).toBe(uploaded.path)
    expect(started.html).toContain('<progress')
    const live = /data-live="([^"]+)"/.exec(started.html)![1]!.replaceAll('&amp;', '&')
    expect(JSON.parse((await owner!.open(live)).html)).toMatchObject({ ended: false })
    await takeLoadSteps(system)
    const done = await owner!.open(uploaded.path)
    expect(await org.owner.call(showLoad, { load_id: uploaded.path.split('/').at(-1)! })).toMatchObject({
      state: 'succeeded',
    })
    expect(await org.owner.call(showLoad, { load_id: other.path.split('/').at(-1)! })).toMatchObject({
      state: 'succeeded',
      choices: { delimiter: '^', title_column: 'name' },
    })
    expect((await done.form('Ask').with({ query: 'wood' }).submit()).text).toContain('Stove')
    expect((await owner!.open(`${PATH}/db_price_list_2026/database`)).html).toContain(uploaded.path)
    expect(await source('price_list_2026')).toMatchObject({ exposed: true, enabled: true })
  })

  test('of a workbook: its sheet and its types are chosen; then it is compared, changed, replaced and undone', async () => {
    const upload = async (rows: readonly (readonly (string | number)[])[]) => {
      const content = makeXlsx({ Notes: [['text'], ['no']], Staff: [['nr', 'name', 'since'], ...rows] })
      const form = (await owner!.open(FORM)).form('Upload')
      const chosen = (await source('crew').catch(() => null)) ? { database: 'crew' } : { new_name: 'crew' }
      const file = new File([new Uint8Array(content)], 'crew.xlsx')
      const { path } = await form.with({ file, ...chosen }).submit()
      const page = await owner!.open(`${path}?sheet=Staff`)
      return { path, page, form: page.form('Load') }
    }
    const load = async (
      rows: readonly (readonly (string | number)[])[],
      choices: Readonly<Record<string, string | boolean | readonly string[]>> = {},
    ) => {
      const { path, form } = await upload(rows)
      const plan = {
        table: 'crew',
        id_column: 'nr',
        title_column: 'name',
        embed_columns: [],
        type_since: 'date_mdy',
      }
      await form.with({ ...plan, ...choices }).submit()
      await takeLoadSteps(system)
      return owner!.open(path)
    }
    const crew = async () => [
      ...(await inDatabase(
        org,
        'crew',
        (sql) => sql`select nr, name, since::text as since from crew order by nr`,
      )),
    ]
    const [ann, bo] = [
      [1, 'Ann', '01/02/2026'],
      [2, 'Bo', '03/04/2026'],
    ] as const
    const { page } = await upload([ann, bo])
    expect(page.text).toContain('Notes')
    expect(page.text).toContain('Its values can be meant in two ways.')
    const loaded = await load([ann, bo])
    expect(loaded.text).toContain('2 rows loaded')
    const before = [
      { nr: '1', name: 'Ann', since: '2026-01-02' },
      { nr: '2', name: 'Bo', since: '2026-03-04' },
    ]
    expect(await crew()).toEqual(before)
    const hit = await loaded.form('Ask').with({ query: 'ann' }).submit()
    expect(hit.text).toContain('2026-01-02')

    const changed = [[1, 'Anna', '01/02/2026'] as const, [3, 'Cy', '05/06/2026'] as const]
    const upsert = { upsert: true, delete_missing: true }
    const compared = await load(changed, { ...upsert, dry_run: true })
    expect(compared.text).toContain('1 new, 1 changed, 1 gone')
    expect(await crew()).toEqual(before)
    const done = await load(changed, upsert)
    expect(await crew()).toMatchObject([{ name: 'Anna' }, { name: 'Cy' }])
    const undone = await done.form('Undo this load').submit()
    expect(undone.notices).toContain('Load undone.')
    expect(await crew()).toEqual(before)
    const replaced = await load([[9, 'Di', '07/08/2026']], { replace: true })
    expect(await crew()).toMatchObject([{ nr: '9' }])
    const back = await replaced.form('Undo this load').submit()
    expect(await crew()).toEqual(before)
    expect((await back.form('Bring the load back').submit()).notices).toContain('Load brought back.')
    expect(await crew()).toMatchObject([{ nr: '9' }])
  })

  test('of more than a part arrives whole; one that fails lists every line; one is canceled', async () => {
    const name = unique('bulk').replace('-', '_')
    const content = `a,b\n${'1,2\n'.repeat(LOAD_PART_BYTES / 4)}3\n`
    const form = (await developer!.open(FORM)).form('Upload')
    const uploaded = await form.with({ file: new File([content], 'x.csv'), new_name: name }).submit()
    const [load] = (await org.owner.call(listLoads, { name })).loads
    expect(load).toMatchObject({ bytes: content.length, received: content.length })
    // Developers are not offered to expose it.
    expect(uploaded.form('Load').has('expose')).toBe(false)
    await uploaded
      .form('Load')
      .with({ embed_columns: ['a'] })
      .submit()
    const canceled = await (await developer!.open(uploaded.path)).form('Cancel load').submit()
    expect(canceled.notices).toEqual(['Load canceled.'])
    expect((await developer!.open(uploaded.path)).text).toContain('Nothing was loaded')
    const broken = await uploadFile(org.owner.call, name, 'a,b\n1,2\n3\n')
    const path = `${PATH}/db_${name}/loads/${broken.id}`
    await (
      await owner!.open(path)
    )
      .form('Load')
      .with({ embed_columns: ['a'] })
      .submit()
    await takeLoadSteps(system)
    expect((await owner!.open(path)).text).toContain('line 3: the row has 1 value, and the header has 2')
    for (const wrong of [`${PATH}/db_handbook/loads/${broken.id}`, `${PATH}/db_${name}/loads/lod_x`]) {
      expect((await owner!.open(wrong)).status).toBe(404)
    }
  })

  test('into a source that has tables never exposes them: that is asked by itself, when all is loaded', async () => {
    await setExposed('handbook', false)
    const { id } = await uploadFile(org.owner.call, 'handbook', CSV)
    const path = `${HANDBOOK}/loads/${id}`
    const columns = (await owner!.open(path)).form('Load')
    expect(columns.has('expose')).toBe(false)
    await columns.with({ table: 'products', embed_columns: ['description'] }).submit()
    await takeLoadSteps(system)
    const done = await owner!.open(path)
    expect(done.text).toContain('Nobody can ask it yet')
    const label = done.forms.find(({ action }) => action.pathname.endsWith('/expose'))!.presses[0]!.label
    const exposed = await done.form(label).submit()
    expect(exposed.path).toBe(path)
    expect(await source('handbook')).toMatchObject({ exposed: true, enabled: true })
    expect(exposed.offers('Ask')).toBe(true)
    expect(await inDatabase(org, 'handbook', (sql) => sql`select count(*)::int as n from products`)).toEqual([
      { n: 2 },
    ])
  })

  test('is taken by the form for files, and by no other', async () => {
    const from = await owner!.walker.open(`${PATH}/new`)
    const body = new FormData()
    body.append('file', new File(['x'.repeat(300 * 1024)], 'x.csv'))
    expect((await owner!.walker.postFrom(from, `${PATH}/new`, body)).status).toBe(413)
  })
})
