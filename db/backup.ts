/** Backup and restore of the embedded databases, ours and the managed ones: one compressed tar file, written while they are closed. */
import { createReadStream, createWriteStream } from 'node:fs'
import { access, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { connect } from './connect.ts'
import {
  beforeRestoreName,
  databaseFolder,
  holdsDatabase,
  inPartialFolder,
  openDatabaseFolder,
} from './embedded.ts'
import { refuseUnknownMigrations } from './migrate.ts'
import { readMigrations } from './read-migrations.ts'
import { tarOf, untar } from './tar.ts'

/** The caller holds the lock of the data folder. Secrets lie beside the database and are not in the backup. */
export async function backupEmbedded(dataFolder: string, file: string): Promise<void> {
  const folder = databaseFolder(dataFolder)
  if (!(await holdsDatabase(folder)))
    throw new Error(`There is no database in ${dataFolder}: nothing to back up`)
  const partial = `${file}.partial-${process.pid}`
  try {
    await pipeline(
      Readable.from(tarOf(folder, await managedFolders(dataFolder))),
      createGzip(),
      createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true }),
    )
    await rename(partial, file)
  } finally {
    await rm(partial, { force: true })
  }
}

/** The folder of embedded managed databases, and its short name in a backup: a path in a tar file has at most 100 characters. */
export const managedFolder = (dataFolder: string): string => join(dataFolder, 'databases')
const MANAGED = 'm'

/** Without partial folders. */
async function managedFolders(dataFolder: string): Promise<Map<string, string>> {
  const parent = managedFolder(dataFolder)
  const entries = await readdir(parent, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const names = entries.filter((entry) => entry.isDirectory() && /^[a-z]\w*$/.test(entry.name))
  return new Map(names.map(({ name }) => [`${MANAGED}/${name}`, join(parent, name)]))
}

/**
 * The caller holds the lock of the data folder. Nothing is touched until the file has been read to its end and has
 * been opened as a database. Returns where the database that was there before is now.
 */
export async function restoreEmbedded(
  file: string,
  dataFolder: string,
  { replace = false }: { replace?: boolean } = {},
): Promise<{ keptAside: string | undefined }> {
  const folder = databaseFolder(dataFolder)
  const occupied = await holdsDatabase(folder)
  if (occupied && !replace) {
    throw new Error(`${dataFolder} already holds a database: restore into another folder, or add --replace`)
  }
  const keptAside = occupied ? beforeRestoreName(folder, new Date()) : undefined
  await inPartialFolder(folder, async (partial) => {
    try {
      await pipeline(createReadStream(file), createGunzip(), (bytes: AsyncIterable<Buffer>) =>
        untar(bytes, partial),
      )
      if (!(await holdsDatabase(partial))) throw new Error('it is empty')
      await refuseUnusable(partial)
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown reason'
      throw new Error(`${file} cannot be restored, and nothing was changed: ${reason}`, { cause: error })
    }
    if (keptAside) await rename(folder, keptAside)
    await moveManaged(dataFolder, join(partial, MANAGED))
    await rename(partial, folder)
  })
  return { keptAside }
}

/** Damaged, or of a version whose migrations this program does not have: the next start would refuse it. */
async function refuseUnusable(folder: string): Promise<void> {
  const { sql, close } = await connect({ embedded: openDatabaseFolder(folder) })
  try {
    await refuseUnknownMigrations(sql, await readMigrations())
  } finally {
    await close()
  }
}

/** The managed databases that were there belong to the old database, and are kept with it. */
async function moveManaged(dataFolder: string, restored: string): Promise<void> {
  const target = managedFolder(dataFolder)
  if (await isThere(target)) await rename(target, beforeRestoreName(target, new Date()))
  if (!(await isThere(restored))) return
  await mkdir(dataFolder, { recursive: true, mode: 0o700 })
  await rename(restored, target)
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
