/** What is committed as db/template.zst, against databases that are made anew with the engine and the migrations of today. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { expect, onTestFinished, test } from 'vitest'
import { dumpSchema } from '../scripts/generated/dump-schema.ts'
import { makeTemplateFolders } from '../scripts/generated/template.ts'
import { connect } from './connect.ts'
import { openEmbedded } from './embedded.ts'
import { migrate } from './migrate.ts'
import { readMigrations } from './read-migrations.ts'
import { readTemplate, unpackControlTemplate, unpackManagedTemplate } from './template.ts'

/** Making databases anew takes 20 s of a processor, and this machine may have other things to do. */
const SLOW = { timeout: 240_000 }

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-template-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

test(
  'the template holds the databases that migrations and engine of today make, file by file and row by row',
  SLOW,
  async () => {
    const migrations = await readMigrations()
    const parent = newFolder()
    const [unpackedControl, unpackedManaged] = [
      join(parent, 'unpacked-control'),
      join(parent, 'unpacked-managed'),
    ]
    await mkdir(unpackedControl)
    await mkdir(unpackedManaged)
    expect([
      unpackControlTemplate(unpackedControl, migrations),
      await unpackManagedTemplate(unpackedManaged),
    ]).toEqual([true, true])
    const made = await makeTemplateFolders(parent, migrations)
    for (const [unpacked, anew] of [
      [unpackedControl, made.control],
      [unpackedManaged, made.managed],
    ] as const) {
      expect(pathsIn(unpacked), 'run: npm run generate -- --template').toEqual(pathsIn(anew))
      expect(await contentsOf(unpacked), 'run: npm run generate -- --template').toEqual(
        await contentsOf(anew),
      )
    }
  },
)

test('a database from the template gets the migrations that the template lacks', SLOW, async () => {
  const folder = newFolder()
  const migrations = [
    ...(await readMigrations()),
    { name: '9999_toys', sha256: 'x', statements: ['create table toys (id int)'] },
  ]
  const { sql, close } = await connect({ embedded: openEmbedded(folder, { migrations }) })
  expect((await migrate(sql, migrations)).applied).toEqual(['9999_toys'])
  await close()
})

test('where a migration of the template has changed, the database is made the long way', SLOW, async () => {
  const folder = newFolder()
  const migrations = [{ name: '0000_initial', sha256: 'other', statements: ['create table toys (id int)'] }]
  const { sql, close } = await connect({ embedded: openEmbedded(folder, { migrations }) })
  expect((await migrate(sql, migrations)).applied).toEqual(['0000_initial'])
  expect(await sql.query(`select to_regclass('users') as users`)).toEqual([{ users: null }])
  await close()
})

test('it names no folder of the machine that made it', () => {
  const { contents } = readTemplate()!
  for (const place of ['svc-template', import.meta.dirname, process.cwd()])
    expect(contents.includes(place)).toBe(false)
})

/** Log files are numbered by how much was written, and not compared. */
const pathsIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/^pg_wal\/|\.pid$/.test(path))
    .toSorted()

async function contentsOf(folder: string): Promise<object> {
  const database = await PGlite.create(folder, { extensions: { vector } })
  const rowsOf = async (text: string) => (await database.query(text)).rows
  const tables = (await rowsOf(
    `select relname as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where nspname = 'public' and relkind in ('r', 'p') order by 1`,
  )) as { name: string }[]
  const rows = []
  for (const { name } of tables)
    rows.push([name, await rowsOf(`select to_jsonb(t) - 'applied_at' as row from "${name}" t`)])
  const settings = await rowsOf(
    `select name, setting from pg_settings where source = 'configuration file' order by 1`,
  )
  const extensions = await rowsOf('select extname, extversion from pg_extension order by 1')
  const schema = await dumpSchema({
    query: async <Row extends object>(text: string) => (await database.query<Row>(text)).rows,
  })
  await database.close()
  return { rows, settings, extensions, schema }
}
