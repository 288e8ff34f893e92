/** Files that only their owner may read, changed by one process at a time and never half. */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../contracts/errors.ts'

/** A login takes milliseconds; whoever holds the lock for so long was killed. */
const LOCK_STALE_MS = 10_000
const LOCK_RETRY_MS = 20

/** Runs `work` while no other svc changes the folder; two logins at once lose nothing. */
export async function whileLocked<T>(
  folder: string,
  work: (stillOurs: () => Promise<void>) => Promise<T>,
): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const lock = join(folder, 'lock')
  const mark = randomBytes(12).toString('hex')
  await takeLock(lock, mark)
  const isOurs = async () => (await readFile(lock, 'utf8').catch(() => '')) === mark
  try {
    return await work(async () => {
      // Taken away from us because this process slept for long: somebody else may have written meanwhile.
      if (!(await isOurs())) throw busy(folder)
    })
  } finally {
    if (await isOurs()) await rm(lock, { force: true })
  }
}

async function takeLock(lock: string, mark: string): Promise<void> {
  const giveUp = performance.now() + 2 * LOCK_STALE_MS
  while (!(await createLock(lock, mark))) {
    const age = Date.now() - ((await stat(lock).catch(() => undefined))?.mtimeMs ?? Date.now())
    // Renamed first: of several that find it stale only one takes it away.
    if (age > LOCK_STALE_MS) {
      const aside = `${lock}.${mark}`
      await rename(lock, aside).catch(() => undefined)
      await rm(aside, { force: true })
    } else if (performance.now() > giveUp) throw busy(dirname(lock))
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
  new ServiceError('CONFLICT', `Another svc is changing the files in ${folder}`, { hint: 'Run it again.' })

/** Temp file, fsync, rename: after a crash there is the old content or the new one. */
export async function replaceFile(path: string, text: string, stillOurs: () => Promise<void>): Promise<void> {
  // Somebody may keep the file elsewhere and link to it; the link stays.
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
    await stillOurs()
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(dirname(target))
}

/** The rename itself survives a power cut only after this; where folders cannot be opened it is left out. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}
