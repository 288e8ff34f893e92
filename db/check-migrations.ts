/** What `migrate` would do, and about how long. Reads only. */
import type { Sql } from './connect.ts'
import { isBreaking, newerThan, refuseUnknownMigrations } from './migrate.ts'
import type { Migration } from './read-migrations.ts'

export type PendingMigration = {
  readonly name: string
  readonly seconds: number
  /** Programs of before do not start over the database afterwards. */
  readonly isBreaking: boolean
  /** Whoever writes, or reads, waits until it is over. */
  readonly locksTables: boolean
}

export type MigrationCheck = {
  /** The newest that was applied; none in an empty database. */
  readonly newest: { readonly name: string; readonly day: string } | undefined
  readonly applied: number
  readonly pending: readonly PendingMigration[]
  /** Of a newer program. */
  readonly newer: readonly string[]
}

/** As `migrate` would, it throws where this program cannot use the database. */
export async function checkMigrations(sql: Sql, migrations: readonly Migration[]): Promise<MigrationCheck> {
  const recorded = await refuseUnknownMigrations(sql, migrations)
  const bytesOf = await tableSizes(sql)
  const last = [...recorded].at(-1)
  return {
    newest: last && { name: last[0], day: last[1].day },
    applied: recorded.size,
    pending: migrations
      .filter(({ name }) => !recorded.has(name))
      .map(({ name, statements }) => ({
        name,
        seconds: secondsOf(statements, bytesOf),
        isBreaking: isBreaking(name),
        locksTables: statements.some((statement) => LOCKS.test(bare(statement))),
      })),
    newer: newerThan(migrations, recorded),
  }
}

type Sizes = ReadonlyMap<string, number>

async function tableSizes(sql: Sql): Promise<Sizes> {
  const rows = await sql.query<{ name: string; bytes: string }>(
    // Those of partitions under the name of their table.
    `select coalesce(p.relname, c.relname) as name, sum(pg_table_size(c.oid))::text as bytes from pg_class c
     left join pg_class p on c.relispartition and p.oid = pg_partition_root(c.oid)
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace group by 1`,
  )
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]))
}

/** Measured on a slow core with rows that were in memory: within a factor of two there. */
const SECONDS_A_STATEMENT = 0.005
const BYTES_A_SECOND = 20_000_000

/** Those that go through rows: everything else only changes the catalog. */
const READS_ROWS =
  /^(?:insert|update|delete|create (?:unique )?index|alter table .*(?:set not null|add constraint|alter column .* type))/is
const LOCKS = /^lock table/i
const RENAMES = /^alter table "(\w+)" rename to "(\w+)"/i

const bare = (statement: string): string => statement.replaceAll(/^\s*--.*$/gm, '').trim()

function secondsOf(statements: readonly string[], sizes: Sizes): number {
  const bytesOf = new Map(sizes)
  let bytes = 0
  for (const statement of statements) {
    const text = bare(statement)
    const [, from, to] = RENAMES.exec(text) ?? []
    if (from !== undefined && to !== undefined) {
      // What gets the old name next is another table.
      bytesOf.set(to, bytesOf.get(from) ?? 0)
      bytesOf.delete(from)
    }
    if (!READS_ROWS.test(text)) continue
    const names = new Set([...text.matchAll(/"(\w+)"/g)].map(([, name]) => name!))
    for (const name of names) bytes += bytesOf.get(name) ?? 0
  }
  return statements.length * SECONDS_A_STATEMENT + bytes / BYTES_A_SECOND
}
