/** Backup and restore of the embedded database: one compressed tar file of its folder, made while nobody has it open. */
import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { asideName, databaseFolder, holdsDatabase, inPartialFolder, proveDatabase } from './embedded.ts'
import { tarOf, untar } from './tar.ts'

/** The caller holds the lock of the data folder. Secrets lie beside the database and are not in the backup. */
export async function backupEmbedded(dataFolder: string, file: string): Promise<void> {
  const folder = databaseFolder(dataFolder)
  if (!(await holdsDatabase(folder)))
    throw new Error(`There is no database in ${dataFolder}: nothing to back up`)
  const partial = `${file}.partial-${process.pid}`
  try {
    await pipeline(
      Readable.from(tarOf(folder)),
      createGzip(),
      createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true }),
    )
    await rename(partial, file)
  } finally {
    await rm(partial, { force: true })
  }
}

/**
 * The caller holds the lock of the data folder. Nothing is touched until the file has been read to its end and has
 * been opened as a database. Returns where the database that was there before lies now.
 */
export async function restoreEmbedded(
  file: string,
  dataFolder: string,
  { replace = false }: { replace?: boolean } = {},
): Promise<{ keptAside: string | undefined }> {
  const folder = databaseFolder(dataFolder)
  const occupied = await holdsDatabase(folder)
  if (occupied && !replace) {
    throw new Error(
      `${dataFolder} already holds a database: restore into another folder, or say that it is to be replaced`,
    )
  }
  const keptAside = occupied ? asideName(folder, new Date()) : undefined
  await inPartialFolder(folder, async (partial) => {
    try {
      await pipeline(createReadStream(file), createGunzip(), (bytes: AsyncIterable<Buffer>) =>
        untar(bytes, partial),
      )
      if (!(await holdsDatabase(partial))) throw new Error('it is empty')
      await proveDatabase(partial)
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown reason'
      throw new Error(
        `${file} is not a sound backup of an embedded database, nothing was changed: ${reason}`,
        { cause: error },
      )
    }
    if (keptAside) await rename(folder, keptAside)
    await rename(partial, folder)
  })
  return { keptAside }
}
