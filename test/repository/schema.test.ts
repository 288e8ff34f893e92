/** Tables, migrations and db/schema.sql tell the same story; asked on both engines. */
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api'
import { expect, test } from 'vitest'
import { schemaText } from '../../db/schema-text.ts'
import * as tables from '../../db/schema.ts'
import { testDatabase } from '../support/database.ts'
import { filesUnder, readText } from './source-tree.ts'

const MIGRATIONS = 'db/migrations'

test('the tables are what the last migration left', async () => {
  const last = filesUnder(`${MIGRATIONS}/meta`).findLast((path) => path.endsWith('_snapshot.json'))
  const before = JSON.parse(readText(last ?? '')) as Parameters<typeof generateMigration>[0]
  const statements = await generateMigration(before, generateDrizzleJson(tables, before.id))
  expect(statements, 'run: npx drizzle-kit generate --name=what-it-does').toEqual([])
})

test('migrations are numbered without gaps, named by what they do, and all in the journal', () => {
  const names = filesUnder(MIGRATIONS).flatMap(
    (path) => /^db\/migrations\/([^/]+)\.sql$/.exec(path)?.[1] ?? [],
  )
  const journal = JSON.parse(readText(`${MIGRATIONS}/meta/_journal.json`)) as { entries: { tag: string }[] }
  expect(journal.entries.map(({ tag }) => tag)).toEqual(names)
  expect(names.map((name) => name.slice(0, 5))).toEqual(names.map((_, n) => `${String(n).padStart(4, '0')}_`))
})

test('db/schema.sql is the schema of a freshly migrated database', async () => {
  const { sql } = await testDatabase()
  expect(readText('db/schema.sql'), 'run: npm run generate').toBe(await schemaText(sql))
})
