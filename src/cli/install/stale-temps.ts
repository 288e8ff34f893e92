/** Clears temporary files of installs that were killed: ours by name, of a process that is gone. */
import { basename, dirname, join } from 'node:path'
import { codeOf, type Disk } from './disk.ts'
import { requireStillReal, TEMP_NAME } from './write-file.ts'

/** The longest that a process id is believed to be still the same process. */
const DAY_MS = 24 * 60 * 60 * 1000

/** `places` are the files svc writes: only what would have become one of them is looked at. */
export async function clearStaleTemps(disk: Disk, places: readonly string[]): Promise<void> {
  for (const folder of new Set(places.map((place) => dirname(place)))) {
    const names = new Set(places.filter((place) => dirname(place) === folder).map((place) => basename(place)))
    // Left behind, they are litter and harm nobody; so no failure here is worth ending an install.
    await clearFolder(disk, folder, names).catch(() => undefined)
  }
}

async function clearFolder(disk: Disk, folder: string, names: ReadonlySet<string>): Promise<void> {
  await requireStillReal(disk, folder)
  for (const entry of await disk.readdir(folder)) {
    const { name, pid } = TEMP_NAME.exec(entry)?.groups ?? {}
    if (name === undefined || !names.has(name)) continue
    const path = join(folder, entry)
    const seen = await disk.lstat(path)
    if (seen.isFile() && isStale(Number(pid), seen.mtimeMs)) await disk.unlink(path)
  }
}

function isStale(pid: number, writtenAt: number): boolean {
  if (writtenAt < Date.now() - DAY_MS) return true
  // In a container every run may have the same number as the one before.
  if (pid === process.pid) return writtenAt < Date.now() - process.uptime() * 1000
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return codeOf(error) === 'ESRCH'
  }
}
