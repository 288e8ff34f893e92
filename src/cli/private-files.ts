/** Files that only their owner can read, replaced atomically and by one process at a time. */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../contracts/errors.ts'

/** An update takes milliseconds; a process that holds the lock for longer was killed. */
const LOCK_STALE_MS = 10_000
const LOCK_RETRY_MS = 20

/** Runs `work` while no other svc changes the folder, so that two logins at once lose nothing. */
export async function withLock<T>(
  folder: string,
  work: (assertLocked: () => Promise<void>) => Promise<T>,
): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const lock = join(folder, 'lock')
  const mark = randomBytes(12).toString('hex')
  await acquireLock(lock, mark)
  const isHeld = async () => (await readFile(lock, 'utf8').catch(() => '')) === mark
  try {
    return await work(async () => {
      // Another process took the lock over because this one was suspended; it may have written since.
      if (!(await isHeld())) throw busy(folder)
    })
  } finally {
    if (await isHeld()) await rm(lock, { force: true })
  }
}

async function acquireLock(lock: string, mark: string): Promise<void> {
  const deadline = performance.now() + 2 * LOCK_STALE_MS
  while (!(await createLock(lock, mark))) {
    const age = Date.now() - ((await stat(lock).catch(() => undefined))?.mtimeMs ?? Date.now())
    // Renamed first, so that of several processes that find it stale only one removes it.
    if (age > LOCK_STALE_MS) {
      const aside = `${lock}.${mark}`
      await rename(lock, aside).catch(() => undefined)
      await rm(aside, { force: true })
    } else if (performance.now() > deadline) throw busy(dirname(lock))
    else await sleep(LOCK_RETRY_MS)
  }
}

async function createLock(lock: string, mark: string): Promise<boolean> {
  try {
    const file = await open(lock, 'wx', 0o600)
    try {
      await file.writeFile(mark)
    } finally {
      await file.close()
    }
    return true
  } catch (error) {
    if ((error as { code?: string }).code === 'EEXIST') return false
    throw error
  }
}

const busy = (folder: string): ServiceError =>
  new ServiceError('CONFLICT', `Another svc process is changing ${folder}`, { hint: 'Try again.' })

/** Temp file, fsync, rename: after a crash there is the old content or the new one. */
export async function replaceFile(
  path: string,
  text: string,
  assertLocked: () => Promise<void>,
): Promise<void> {
  // A symbolic link, to a dotfiles repository for example, stays a link.
  const target = await realpath(path).catch(() => path)
  const temporary = `${target}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await assertLocked()
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(dirname(target))
}

/** Makes the rename survive a power cut; skipped where folders cannot be opened. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}
