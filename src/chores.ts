/** What needs the database to itself: backup, restore, migrations. Subcommands of the server, never of the client. */
import { fileURLToPath } from 'node:url'
import { backupEmbedded, restoreEmbedded } from '../db/backup.ts'
import { connect } from '../db/connect.ts'
import { lockDataFolder } from '../db/data-folder-lock.ts'
import { migrate, readMigrations } from '../db/migrate.ts'
import type { Config } from './config.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

export async function backup(config: Config, file: string): Promise<void> {
  await withEmbedded(config, 'backup', async (folder) => {
    await backupEmbedded(folder, file)
    say(`The databases are in ${file}. Keep ${folder}/secrets.json with it, but apart: tokens need both.`)
  })
}

export async function restore(config: Config, file: string, replace: boolean): Promise<void> {
  await withEmbedded(config, 'restore', async (folder) => {
    const { keptAside } = await restoreEmbedded(file, folder, { replace })
    say(`The databases of ${file} are in ${folder}.`)
    if (keptAside !== undefined) say(`The one that was there before is in ${keptAside}.`)
  })
}

export async function migrateOnly(config: Config): Promise<void> {
  const migrations = await readMigrations(fileURLToPath(new URL('../db/migrations', import.meta.url)))
  const run = async (where: Parameters<typeof connect>[0]) => {
    const connection = await connect(where)
    try {
      const applied = await migrate(connection.sql, migrations)
      say(applied.length === 0 ? 'Nothing to apply.' : `Applied: ${applied.join(', ')}`)
    } finally {
      await connection.close()
    }
  }
  if (config.DATABASE_URL !== undefined) return run({ url: config.DATABASE_URL })
  return withEmbedded(config, 'migrate', (folder) => run({ folder }))
}

/** The lock tells a running server apart from a stopped one: a copy of a database in motion is worth nothing. */
async function withEmbedded(
  config: Config,
  chore: string,
  work: (folder: string) => Promise<void>,
): Promise<void> {
  if (config.DATABASE_URL !== undefined) {
    throw new Error(`${chore} is for the embedded database; for Postgres use pg_dump and pg_restore.`)
  }
  const lock = lockDataFolder(config.SVC_DATA_DIR)
  try {
    await work(config.SVC_DATA_DIR)
  } finally {
    lock.release()
  }
}
