/** Replaces a file atomically: writes a temporary file beside it, syncs it, and renames it. */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { codeOf, type FileSystem } from './file-system.ts'
import { flag, isSame, readExistingFile, type Found } from './read-existing-file.ts'

/** The file or its folder changed between the plan and the write. */
export class ConcurrentChangeError extends Error {
  override readonly name = 'ChangedMeanwhile'
}

type Replacement = { readonly real: string; readonly found: Found; readonly after: Buffer }

/**
 * `already` when another install has just written the same. A change in the microseconds between the last check and the
 * rename would be lost; no file system call closes that gap.
 */
export async function replaceFile(
  fs: FileSystem,
  { real, found, after }: Replacement,
): Promise<'written' | 'already'> {
  const folder = dirname(real)
  await createFolder(fs, folder)
  const temp = join(folder, tempName(basename(real)))
  try {
    await writeTemp(fs, temp, found, after)
    await assertRealPath(fs, folder)
    const now = await readExistingFile(fs, real)
    if (now.is === 'file' && now.bytes.equals(after)) {
      await fs.unlink(temp)
      return 'already'
    }
    if (!isSame(now, found)) throw new ConcurrentChangeError()
    await fs.rename(temp, real)
  } catch (error) {
    await fs.unlink(temp).catch(() => undefined)
    throw error
  }
  await syncFolder(fs, folder)
  return 'written'
}

export async function removeFile(fs: FileSystem, real: string, found: Found): Promise<void> {
  await assertRealPath(fs, dirname(real))
  const now = await readExistingFile(fs, real)
  if (now.is === 'missing') return
  if (!isSame(now, found)) throw new ConcurrentChangeError()
  await fs.unlink(real).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
  await syncFolder(fs, dirname(real))
}

const tempName = (name: string): string => `.${name}.svc-${process.pid}-${randomBytes(6).toString('hex')}.tmp`
export const TEMP_NAME = /^\.(?<name>.+)\.svc-(?<pid>[1-9]\d{0,9})-[0-9a-f]{12}\.tmp$/

async function writeTemp(fs: FileSystem, temp: string, found: Found, after: Buffer): Promise<void> {
  const old = found.is === 'file' ? found : undefined
  // Never with more permissions than the file it replaces.
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | flag('O_NOFOLLOW')
  const handle = await fs.open(temp, flags, old?.mode ?? 0o644)
  try {
    await handle.writeFile(after)
    if (old) {
      // Under sudo the file keeps its owner. Other users cannot change the owner, and the file becomes theirs.
      await handle.chown(old.uid, old.gid).catch(() => undefined)
      // After chown, which may clear bits; and the umask applied to open.
      await handle.chmod(old.mode)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** One by one, because `recursive` would follow a link that was created since the plan. */
async function createFolder(fs: FileSystem, folder: string): Promise<void> {
  const real = await fs.realpath(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (real === folder) return
  if (real !== undefined) throw new ConcurrentChangeError()
  await createFolder(fs, dirname(folder))
  const created = await fs.mkdir(folder).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'EEXIST') return false
      throw error
    },
  )
  await assertRealPath(fs, folder).catch(async (error: unknown) => {
    // Created elsewhere: a parent folder was replaced by a link meanwhile.
    if (created) await fs.rmdir(folder).catch(() => undefined)
    throw error
  })
  await syncFolder(fs, dirname(folder))
}

export async function assertRealPath(fs: FileSystem, folder: string): Promise<void> {
  const real = await fs.realpath(folder).catch(() => undefined)
  if (real !== folder) throw new ConcurrentChangeError()
}

/** Makes the rename durable, on systems that can sync a folder. */
async function syncFolder(fs: FileSystem, folder: string): Promise<void> {
  const handle = await fs.open(folder, constants.O_RDONLY).catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close().catch(() => undefined)
}
