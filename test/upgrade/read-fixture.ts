/** Databases of earlier versions, as scripts/make-upgrade-fixtures.ts packs them: a header, then the database. */
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Connection } from '../../db/connect.ts'
import { databaseFolder } from '../../db/embedded.ts'
import { migrate } from '../../db/migrate.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import { untar } from '../../db/tar.ts'

/** One answer of that version. */
export type Seen = {
  readonly who: string
  readonly token: string
  readonly orgId: string
  readonly op: string
  readonly path: string
  readonly status: number
  /** Undefined where it was not JSON. */
  readonly body: unknown
}

export type Header = {
  readonly engine: 'pglite' | 'postgres'
  /** Which version made it, and when this was. */
  readonly version: string
  readonly commit: string
  readonly migrations: readonly { readonly name: string; readonly sha256: string }[]
  readonly secrets: Readonly<Record<string, string>>
  /** The time in it, by the clock of the tests. */
  readonly now: string
  readonly seen: readonly Seen[]
}

export type Fixture = { readonly header: Header; readonly body: Buffer }

const WINDOW_LOG = 27

/** The first four bytes are the length of the header. */
export function packFixture({ header, body }: Fixture): Buffer {
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(text.length)
  return zstdCompressSync(Buffer.concat([length, text, body]), {
    params: {
      [constants.ZSTD_c_compressionLevel]: 19,
      [constants.ZSTD_c_windowLog]: WINDOW_LOG,
      [constants.ZSTD_c_enableLongDistanceMatching]: 1,
    },
  })
}

export function readFixture(name: string): Fixture {
  const bytes = zstdDecompressSync(readFileSync(join(import.meta.dirname, name)), {
    params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG },
  })
  const end = 4 + bytes.readUInt32LE(0)
  return { header: JSON.parse(bytes.toString('utf8', 4, end)) as Header, body: bytes.subarray(end) }
}

/** Into a data folder, as a restore would. */
export async function unpackEmbedded({ body }: Fixture, dataFolder: string): Promise<void> {
  await mkdir(databaseFolder(dataFolder), { recursive: true, mode: 0o700 })
  await untar(Readable.from([body]), databaseFolder(dataFolder))
}

/** Into an empty database of a server: the tables by the migrations it had, then the rows. */
export async function loadRows({ header, body }: Fixture, { sql }: Connection): Promise<void> {
  const had = new Set(header.migrations.map(({ name }) => name))
  await migrate(
    sql,
    (await readMigrations()).filter(({ name }) => had.has(name)),
  )
  const { tables, sequences } = JSON.parse(body.toString('utf8')) as {
    tables: [name: string, rows: string][]
    sequences: { name: string; last: string }[]
  }
  await sql.transaction(async (tx) => {
    // Rows refer to each other in both directions, and triggers have had their say.
    await tx.query('set local session_replication_role = replica')
    for (const [name, rows] of tables) {
      const columns = await tx.query<{ name: string }>(
        `select quote_ident(attname) as name from pg_attribute
         where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
        [`"${name}"`],
      )
      const list = columns.map((column) => column.name).join(', ')
      // Migrations have written some of them.
      await tx.query(`delete from "${name}"`)
      await tx.query(
        `insert into "${name}" (${list}) overriding system value
         select ${list} from jsonb_populate_recordset(null::"${name}", $1::text::jsonb)`,
        [rows],
      )
    }
    for (const { name, last } of sequences)
      await tx.query(`select setval($1::text::regclass, $2::text::bigint)`, [`"${name}"`, last])
  })
}
