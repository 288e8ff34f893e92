/** Backup and restore of the embedded databases, ours and the managed ones: one compressed tar file, written while they are closed. */
import { randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { connect } from './connect.ts'
import { beforeRestoreName, databaseFolder, holdsDatabase, openDatabaseFolder } from './embedded.ts'
import { exchangeFolders, finishRestore, isThere, type Move } from './finish-restore.ts'
import { refuseUnknownMigrations } from './migrate.ts'
import { readMigrations } from './read-migrations.ts'
import { tarOf, untar } from './tar.ts'

/**
 * The caller holds the lock of the data folder. Secrets lie beside the database and are not in the backup. A file that is
 * there stays as it is, unless it may be replaced.
 */
export async function backupEmbedded(
  dataFolder: string,
  file: string,
  { replace = false }: { replace?: boolean } = {},
): Promise<void> {
  await finishRestore(dataFolder)
  const folder = databaseFolder(dataFolder)
  if (!(await holdsDatabase(folder)))
    throw new Error(`There is no database in ${dataFolder}: nothing to back up`)
  const refuseExisting = async () => {
    if (!replace && (await isThere(file)))
      throw new Error(`${file} exists already: choose another name, or add --force to replace it`)
  }
  await refuseExisting()
  const partial = `${file}.partial-${process.pid}`
  try {
    await pipeline(
      Readable.from(tarOf(folder, await managedFolders(dataFolder))),
      createGzip(),
      createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true }),
    )
    // It may have come meanwhile.
    await refuseExisting()
    await rename(partial, file)
  } catch (error) {
    throw unwritable(file, error)
  } finally {
    await rm(partial, { force: true })
  }
}

/** In the words of whoever named the file: they know nothing of a partial one. */
function unwritable(file: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  const reasons = new Map([
    ['ENOENT', `there is no folder ${dirname(file)}`],
    ['ENOTDIR', `${dirname(file)} is not a folder`],
    ['EACCES', `${dirname(file)} may not be written to`],
    ['EROFS', `${dirname(file)} is read-only`],
    ['ENOSPC', 'the disk is full'],
  ])
  const reason = reasons.get(String(code))
  return reason === undefined ? error : new Error(`${file} cannot be written: ${reason}`, { cause: error })
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
 * been opened as a database. Returns where the folders that were there before are now.
 */
export async function restoreEmbedded(
  file: string,
  dataFolder: string,
  { replace = false }: { replace?: boolean } = {},
): Promise<{ keptAside: readonly string[] }> {
  await finishRestore(dataFolder)
  const folder = databaseFolder(dataFolder)
  const occupied = await holdsDatabase(folder)
  if (occupied && !replace) {
    throw new Error(`${dataFolder} already holds a database: restore into another folder, or add --replace`)
  }
  const partial = `${folder}.partial-${randomBytes(6).toString('hex')}`
  await mkdir(partial, { recursive: true, mode: 0o700 })
  try {
    await pipeline(createReadStream(file), createGunzip(), (bytes: AsyncIterable<Buffer>) =>
      untar(bytes, partial),
    )
    if (!(await holdsDatabase(partial))) throw new Error('it is empty')
    await refuseUnusable(partial)
    // A folder without anything in it is no database, and must not be in the way.
    if (!occupied) await rm(folder, { recursive: true, force: true })
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    const reason = unreadable(error) ?? (error instanceof Error ? error.message : 'unknown reason')
    throw new Error(`${file} cannot be restored, and nothing was changed: ${reason}`, { cause: error })
  }
  // The managed databases that were there belong to the old database, and are kept with it.
  const old = [...(occupied ? [folder] : []), managedFolder(dataFolder)]
  const now = new Date()
  const aside: Move[] = []
  for (const one of old) {
    if (await isThere(one)) aside.push({ from: basename(one), to: basename(beforeRestoreName(one, now)) })
  }
  await exchangeFolders(dataFolder, [
    ...aside,
    { from: join(basename(partial), MANAGED), to: basename(managedFolder(dataFolder)) },
    { from: basename(partial), to: basename(folder) },
  ])
  return { keptAside: aside.map(({ to }) => join(dataFolder, to)) }
}

function unreadable(error: unknown): string | undefined {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EISDIR') return 'it is a folder'
  if (code === 'Z_BUF_ERROR') return 'it ends too early'
  return code?.startsWith('Z_') ? 'it is damaged, or was not made by a backup of svc' : undefined
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
