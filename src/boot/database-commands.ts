/** Backup, restore, migrations and the end of app tokens: with the embedded database they need the database to themselves, so the server must not run. */
import { fileURLToPath } from 'node:url'
import { backupEmbedded, restoreEmbedded } from '../../db/backup.ts'
import { checkMigrations, type MigrationCheck } from '../../db/check-migrations.ts'
import { connect, type Connection } from '../../db/connect.ts'
import { lockDataFolder } from '../../db/data-folder-lock.ts'
import { databaseFolder, holdsDatabase } from '../../db/embedded.ts'
import { migrate } from '../../db/migrate.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import type { Log } from '../cores/dependencies.ts'
import { recordRestore, watchTimeline } from '../cores/endings/index.ts'
import { endInstallationEpoch } from '../cores/key-epoch.ts'
import type { Config } from './config.ts'
import { openJournal } from './open-journal.ts'

const print = (text: string): void => void process.stdout.write(`${text}\n`)

export async function backup(config: Config, file: string, replace: boolean): Promise<void> {
  await withDataFolder(config, 'backup', async (folder) => {
    await backupEmbedded(folder, file, { replace })
    print(
      `Backed up the databases to ${file}. Keep a copy of ${folder}/secrets.json in another place: tokens need both.`,
    )
  })
}

export async function restore(config: Config, file: string, replace: boolean): Promise<void> {
  await withDataFolder(config, 'restore', async (folder) => {
    const { keptAside } = await restoreEmbedded(file, folder, { replace })
    print(`Restored ${file} to ${folder}.`)
    if (keptAside.length > 0)
      print(
        `What was there before is kept in ${keptAside.join(' and ')}. Delete it when you no longer need it.`,
      )
  })
}

const ownMigrations = () => readMigrations(fileURLToPath(new URL('../../db/migrations', import.meta.url)))

export async function migrateOnly(config: Config): Promise<void> {
  const migrations = await ownMigrations()
  await onDatabase(config, 'migrate', async ({ sql }) => {
    const { applied, newer } = await migrate(sql, migrations)
    print(applied.length === 0 ? 'No pending migrations.' : `Applied: ${applied.join(', ')}`)
    if (newer.length > 0) print(`This database is newer than this program: ${newer.join(', ')}.`)
  })
}

/** Changes nothing, and makes nothing where there is no database yet. */
export async function migrateCheck(config: Config): Promise<void> {
  const migrations = await ownMigrations()
  if (config.DATABASE_URL === undefined && !(await holdsDatabase(databaseFolder(config.SVC_DATA_DIR)))) {
    print(`There is no database in ${config.SVC_DATA_DIR}: the first start makes one.`)
    return
  }
  await onDatabase(config, 'migrate', async ({ sql }) => {
    print(checkText(await checkMigrations(sql, migrations)))
  })
}

function checkText({ newest, applied, pending, newer }: MigrationCheck): string {
  const found = newest
    ? `Found a database of svc with ${applied} migrations, the newest ${newest.name}, applied on ${newest.day}.`
    : 'Found an empty database.'
  const ahead = newer.length > 0 ? [`It is newer than this program: ${newer.join(', ')}.`] : []
  if (pending.length === 0) return [found, ...ahead, 'No pending migrations.'].join('\n')
  const width = Math.max(...pending.map(({ name }) => name.length))
  return [
    found,
    ...ahead,
    `migrate, or the next start, applies ${pending.length}:`,
    ...pending.map(({ name, seconds }) => `  ${name.padEnd(width)}  ${about(seconds)}`),
    `Together ${about(pending.reduce((sum, { seconds }) => sum + seconds, 0))}, and longer on a slow disk or under load.`,
    ...(pending.some(({ isBreaking }) => isBreaking)
      ? [
          'Stop every older process first: they cannot use the database afterwards. To go back, restore the backup.',
        ]
      : ['Older processes can go on running meanwhile.']),
    ...pending
      .filter(({ locksTables }) => locksTables)
      .map(({ name }) => `While ${name} runs, writes to its tables wait.`),
    'Nothing was changed.',
  ].join('\n')
}

function about(seconds: number): string {
  if (seconds < 1) return 'less than a second'
  return seconds < 90 ? `about ${Math.ceil(seconds)} s` : `about ${Math.ceil(seconds / 60)} minutes`
}

/** Where no secret of this installation stands behind them: the vendor has those. */
export async function endAppTokens(config: Config, { log }: Log): Promise<void> {
  if (config.AUTH_MODE !== 'hosted')
    throw new Error('end-app-tokens is for hosted auth. Otherwise rotate JWT_SECRET, which ends every token.')
  await onDatabase(config, 'end-app-tokens', (connection) =>
    keepingEndings(config, connection, { log }, () => endInstallationEpoch(connection.db)),
  )
  print('Every app token has ended. Create new ones on the pages of the apps.')
}

/** Somebody has restored Postgres to an earlier time on purpose: what was ended since is not ended again. */
export async function recordRestoreCommand(config: Config): Promise<void> {
  if (config.DATABASE_URL === undefined)
    throw new Error('record-restore is for a Postgres server. The embedded database needs nothing of it.')
  await onDatabase(config, 'record-restore', ({ db }) => recordRestore(db, new Date()))
  print('Recorded. The journal of endings from before the restore is not applied to this database.')
}

/** As every process that ends something: a failover must not undo it. */
async function keepingEndings(
  config: Config,
  { db, server }: Connection,
  { log }: Log,
  work: () => Promise<void>,
): Promise<void> {
  const clock = () => new Date()
  const journal = await openJournal(config, { clock, log })
  if (!journal || !server) return work()
  try {
    const timeline = await watchTimeline({ connection: { db, server }, clock, log, journal })
    try {
      await work()
    } finally {
      await timeline.close()
    }
  } finally {
    await journal.close()
  }
}

async function onDatabase(
  config: Config,
  command: string,
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  const run = async (where: Parameters<typeof connect>[0]) => {
    // Nothing is asked twice, and a job that applies migrations may not know of the pooler in between.
    const connection = await connect(where, { poolSize: 1, prepare: false })
    try {
      await work(connection)
    } finally {
      await connection.close()
    }
  }
  if (config.DATABASE_URL !== undefined) return run({ url: config.DATABASE_URL })
  return withDataFolder(config, command, (folder) => run({ folder }))
}

/** The lock proves that no server is running: a copy of a database in use is worthless. */
async function withDataFolder(
  config: Config,
  command: string,
  work: (folder: string) => Promise<void>,
): Promise<void> {
  if (config.DATABASE_URL !== undefined) {
    throw new Error(`${command} is for the embedded database. For Postgres, use pg_dump and pg_restore.`)
  }
  const lock = lockDataFolder(config.SVC_DATA_DIR)
  try {
    await work(config.SVC_DATA_DIR)
  } finally {
    lock.release()
  }
}
