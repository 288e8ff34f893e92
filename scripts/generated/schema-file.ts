/** db/schema.sql: the schema that all migrations together leave behind, read back from a database made for it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '../../db/connect.ts'
import { migrate } from '../../db/migrate.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import { dumpSchema } from './dump-schema.ts'

export async function schemaFile(root: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-schema-'))
  try {
    const { sql, close } = await connect({ folder })
    try {
      await migrate(sql, await readMigrations(join(root, 'db', 'migrations')))
      return await dumpSchema(sql)
    } finally {
      await close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
