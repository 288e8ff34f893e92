/** Tables, migrations and db/schema.sql tell the same story; asked on both engines. */
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api'
import { expect, test } from 'vitest'
import { dumpSchema } from '../../scripts/generated/dump-schema.ts'
import type { SqlQueries } from '../../db/connect.ts'
import { isBreaking, refuseUnknownMigrations } from '../../db/migrate.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import * as tables from '../../db/schema.ts'
import { TABLE_KINDS, type TableKind } from '../../db/table-kinds.ts'
import { testDatabase } from '../support/database.ts'
import { filesUnder, readText } from './source-tree.ts'

const MIGRATIONS = 'db/migrations'

test('the tables are what the last migration left', async () => {
  const snapshots = filesUnder(`${MIGRATIONS}/meta`).filter((path) => path.endsWith('_snapshot.json'))
  expect(snapshots, 'only the newest is needed: delete the one before it').toHaveLength(1)
  const before = JSON.parse(readText(snapshots[0]!)) as Parameters<typeof generateMigration>[0]
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

/** What takes something from a program that does not know of it: it reads, or writes no value. */
const BREAKING =
  /\bdrop\s+(table|column|view|function|type)\b|\brename\b|\balter\s+column\b.*\b(set\s+not\s+null|type)\b|\badd\s+column\b(?!.*\bdefault\b).*\bnot\s+null\b/is
const breaks = (text: string): boolean =>
  text.split('--> statement-breakpoint').some((statement) => BREAKING.test(statement))

test('a migration that the version before cannot work with is called breaking', async () => {
  const [, ...later] = await readMigrations()
  const unnamed = later.filter(({ name, statements }) => statements.some(breaks) && !isBreaking(name))
  expect(unnamed.map(({ name }) => name)).toEqual([])
})

test.each([
  ['ALTER TABLE "apps" DROP COLUMN "alias";', true],
  ['DROP TABLE "apps" CASCADE;', true],
  ['ALTER TABLE "apps" RENAME COLUMN "alias" TO "name";', true],
  ['ALTER TABLE "apps" ALTER COLUMN "alias" SET NOT NULL;', true],
  ['ALTER TABLE "apps" ALTER COLUMN "alias" SET DATA TYPE integer;', true],
  ['ALTER TABLE "apps" ADD COLUMN "kind" text NOT NULL;', true],
  ['ALTER TABLE "apps" ADD COLUMN "kind" text DEFAULT \'own\' NOT NULL;', false],
  ['ALTER TABLE "apps" ADD COLUMN "kind" text;', false],
  ['CREATE TABLE "kinds" ("id" text NOT NULL);--> statement-breakpoint\nDROP INDEX "kinds_by_id";', false],
])('%s: %s', (text, expected) => expect(breaks(text)).toBe(expected))

test('a database that a newer version has changed is refused where that is called breaking, and not where it only adds', async () => {
  const { sql } = await testDatabase()
  const ours = (
    await sql.query<{ name: string; sha256: string }>('select name, sha256 from svc_migrations order by name')
  ).map((row) => ({ ...row, statements: [] }))
  const rollBack = new Error('nothing of this stays')
  const planted = sql.transaction(async (tx) => {
    await tx.query(`insert into svc_migrations values ('9999_breaking-pets', 'of a newer one', now())`)
    await expect(refuseUnknownMigrations(tx, ours)).rejects.toThrow(
      'it holds the migration 9999_breaking-pets',
    )
    await tx.query(`update svc_migrations set name = '9999_pets' where name = '9999_breaking-pets'`)
    await refuseUnknownMigrations(tx, ours)
    throw rollBack
  })
  await expect(planted).rejects.toBe(rollBack)
})

test('db/schema.sql is the schema of a freshly migrated database', async () => {
  const { sql } = await testDatabase()
  expect(readText('db/schema.sql'), 'run: npm run generate').toBe(await dumpSchema(sql))
})

test('tables are identity or tenant, and nothing goes from one to the other', async () => {
  expect(await mixedTables((await testDatabase()).sql)).toEqual([])
})

test('a table of no kind, a unique key without org_id and a foreign key across are found', async () => {
  let found: string[] = []
  const rollBack = new Error('nothing of this stays')
  const planted = (await testDatabase()).sql.transaction(async (tx) => {
    await tx.query(`truncate apps, app_remotes, tickets;
      create table stray (id text);
      alter table apps add constraint planted unique (alias);
      create unique index planted_part on tickets (title) where status = 'open';
      alter table apps add constraint planted_key foreign key (created_by) references users (id);
      alter table apps add constraint planted_other foreign key (org_id, id) references tickets (org_id, id)`)
    found = await mixedTables(tx)
    throw rollBack
  })
  await expect(planted).rejects.toBe(rollBack)
  expect(found).toEqual([
    'stray is declared in db/table-kinds.ts as neither identity nor tenant',
    'apps is a tenant table, and its unique key planted lacks org_id',
    'tickets is a tenant table, and its unique key planted_part lacks org_id',
    'planted_key is a foreign key from apps (tenant) to users (identity)',
  ])
})

async function mixedTables(sql: SqlQueries): Promise<string[]> {
  const kinds: Record<string, TableKind> = TABLE_KINDS
  const found = await sql.query<{ name: string }>(
    // Those of a month are made later, and are of the kind of their table.
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and (not relispartition or pg_get_expr(relpartbound, oid) = 'DEFAULT') order by 1`,
  )
  const keys = await sql.query<{ name: string; table: string; has_org: boolean }>(
    `select i.indexrelid::regclass::text as name, i.indrelid::regclass::text as table,
       exists (select from pg_attribute where attrelid = i.indexrelid and attname = 'org_id') as has_org
     from pg_index i join pg_class c on c.oid = i.indrelid
     where i.indisunique and c.relnamespace = 'public'::regnamespace
       and (not c.relispartition or pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT') order by 2, 1`,
  )
  const foreign = await sql.query<{ name: string; from: string; to: string }>(
    `select conname as name, conrelid::regclass::text as from, confrelid::regclass::text as to
     from pg_constraint where contype = 'f' order by 1`,
  )
  return [
    ...found
      .filter(({ name }) => !(name in kinds))
      .map(({ name }) => `${name} is declared in db/table-kinds.ts as neither identity nor tenant`),
    ...keys
      .filter(({ table, has_org }) => kinds[table] === 'tenant' && !has_org)
      .map(({ table, name }) => `${table} is a tenant table, and its unique key ${name} lacks org_id`),
    ...foreign
      .filter(({ from, to }) => kinds[from] !== kinds[to])
      .map(
        ({ name, from, to }) =>
          `${name} is a foreign key from ${from} (${kinds[from]}) to ${to} (${kinds[to]})`,
      ),
  ]
}
