/** Puts a file in place whole or not at all: a temporary file beside it, made durable, then renamed onto it. */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { codeOf, type Disk } from './disk.ts'
import { flag, isSame, readPlace, type Found } from './read-place.ts'

/** Somebody else was at work between the plan and the write. */
export class ChangedMeanwhile extends Error {
  override readonly name = 'ChangedMeanwhile'
}

type Replacement = { readonly real: string; readonly found: Found; readonly after: Buffer }

/**
 * `already` when another install has just written the same. Between the last look and the rename lie microseconds in which
 * a change would be lost; no file system call closes them.
 */
export async function replaceFile(
  disk: Disk,
  { real, found, after }: Replacement,
): Promise<'written' | 'already'> {
  const folder = dirname(real)
  await makeFolder(disk, folder)
  const temp = join(folder, tempName(basename(real)))
  try {
    await writeTemp(disk, temp, found, after)
    await requireStillReal(disk, folder)
    const now = await readPlace(disk, real)
    if (now.is === 'file' && now.bytes.equals(after)) {
      await disk.unlink(temp)
      return 'already'
    }
    if (!isSame(now, found)) throw new ChangedMeanwhile()
    await disk.rename(temp, real)
  } catch (error) {
    await disk.unlink(temp).catch(() => undefined)
    throw error
  }
  await syncFolder(disk, folder)
  return 'written'
}

export async function removeFile(disk: Disk, real: string, found: Found): Promise<void> {
  await requireStillReal(disk, dirname(real))
  const now = await readPlace(disk, real)
  if (now.is === 'missing') return
  if (!isSame(now, found)) throw new ChangedMeanwhile()
  await disk.unlink(real).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
  await syncFolder(disk, dirname(real))
}

const tempName = (name: string): string => `.${name}.svc-${process.pid}-${randomBytes(6).toString('hex')}.tmp`
export const TEMP_NAME = /^\.(?<name>.+)\.svc-(?<pid>[1-9]\d{0,9})-[0-9a-f]{12}\.tmp$/

async function writeTemp(disk: Disk, temp: string, found: Found, after: Buffer): Promise<void> {
  const old = found.is === 'file' ? found : undefined
  // Never more open than the file it replaces, not even for a moment.
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | flag('O_NOFOLLOW')
  const handle = await disk.open(temp, flags, old?.mode ?? 0o644)
  try {
    await handle.writeFile(after)
    if (old) {
      // Under sudo the file stays its owner's. Others may not give files away; then the new one is simply theirs.
      await handle.chown(old.uid, old.gid).catch(() => undefined)
      // After the owner, because a change of owner may clear bits; and the umask took some at the start.
      await handle.chmod(old.mode)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** One by one, because `recursive` would walk through a link that was put in the way since the plan. */
async function makeFolder(disk: Disk, folder: string): Promise<void> {
  const real = await disk.realpath(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (real === folder) return
  if (real !== undefined) throw new ChangedMeanwhile()
  await makeFolder(disk, dirname(folder))
  const made = await disk.mkdir(folder).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'EEXIST') return false
      throw error
    },
  )
  await requireStillReal(disk, folder).catch(async (error: unknown) => {
    // Made, but elsewhere: the way there was swapped at the last moment.
    if (made) await disk.rmdir(folder).catch(() => undefined)
    throw error
  })
  await syncFolder(disk, dirname(folder))
}

export async function requireStillReal(disk: Disk, folder: string): Promise<void> {
  const real = await disk.realpath(folder).catch(() => undefined)
  if (real !== folder) throw new ChangedMeanwhile()
}

/** A rename is durable when its folder is. Some systems cannot sync one, which costs nothing but that. */
async function syncFolder(disk: Disk, folder: string): Promise<void> {
  const handle = await disk.open(folder, constants.O_RDONLY).catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close().catch(() => undefined)
}
