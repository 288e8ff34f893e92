/** Reads a downloaded revision, and writes it into an empty folder. The archive is read as if anybody could have made it. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { readTar, type ArchivedFile } from '../../contracts/read-tar.ts'

/** Twice what a revision may have, because each file has a header. */
const UNPACKED_MAX_BYTES = 128 * 1024 * 1024

export async function readRevisionArchive(archive: Uint8Array): Promise<readonly ArchivedFile[]> {
  const tar = await promisify(gunzip)(archive, { maxOutputLength: UNPACKED_MAX_BYTES })
  const { files, problems } = readTar(tar)
  if (problems.length > 0) throw new Error(problems.join('; '))
  return files
}

export async function unpackRevision(archive: Uint8Array, folder: string): Promise<void> {
  for (const { path, content, isExecutable } of await readRevisionArchive(archive)) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    // Never through something that is there already.
    await writeFile(file, content, { flag: 'wx', mode: isExecutable ? 0o755 : 0o644 })
  }
}
