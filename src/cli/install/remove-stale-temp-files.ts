/** Removes temporary files of installs that were killed: ours by name, and of a process that has ended. */
import { basename, dirname, join } from 'node:path'
import { codeOf, type FileSystem } from './file-system.ts'
import { assertRealPath, TEMP_NAME } from './write-file.ts'

/** After this a process id may belong to another process. */
const DAY_MS = 24 * 60 * 60 * 1000

/** Only temporary files of the given paths are considered. */
export async function removeStaleTempFiles(fs: FileSystem, paths: readonly string[]): Promise<void> {
  for (const folder of new Set(paths.map((path) => dirname(path)))) {
    const names = new Set(paths.filter((path) => dirname(path) === folder).map((path) => basename(path)))
    // Leftovers are harmless, so a failure here does not end the install.
    await cleanFolder(fs, folder, names).catch(() => undefined)
  }
}

async function cleanFolder(fs: FileSystem, folder: string, names: ReadonlySet<string>): Promise<void> {
  await assertRealPath(fs, folder)
  for (const entry of await fs.readdir(folder)) {
    const { name, pid } = TEMP_NAME.exec(entry)?.groups ?? {}
    if (name === undefined || !names.has(name)) continue
    const path = join(folder, entry)
    const seen = await fs.lstat(path)
    if (seen.isFile() && isStale(Number(pid), seen.mtimeMs)) await fs.unlink(path)
  }
}

function isStale(pid: number, writtenAt: number): boolean {
  if (writtenAt < Date.now() - DAY_MS) return true
  // In a container every run may have the same process id.
  if (pid === process.pid) return writtenAt < Date.now() - process.uptime() * 1000
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return codeOf(error) === 'ESRCH'
  }
}
