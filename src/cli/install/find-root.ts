/** The folder an install may write into, and never out of: the project around the current folder, or the home directory. */
import { dirname, join } from 'node:path'
import { ServiceError } from '../../contracts/errors.ts'
import type { Disk } from './disk.ts'

export type Where = {
  readonly cwd: string
  readonly home: string
  /** Into the home directory instead of the project. */
  readonly user: boolean
  /** Whether AGENTS.md and GEMINI.md get their block. */
  readonly agents: boolean
}

export async function findRoot(disk: Disk, { cwd, home, user }: Where): Promise<string> {
  if (user) return realFolder(disk, home, 'The home directory')
  const start = await realFolder(disk, cwd, 'The current folder')
  for (let folder = start; ; folder = dirname(folder)) {
    if (await isRepository(disk, folder)) return folder
    if (dirname(folder) === folder) return start
  }
}

async function realFolder(disk: Disk, folder: string, name: string): Promise<string> {
  try {
    const real = await disk.realpath(folder)
    if ((await disk.stat(real)).isDirectory()) return real
  } catch {
    // Said below: missing, unreadable and not a folder call for the same remedy.
  }
  throw new ServiceError('INVALID_REQUEST', `${name} is not a folder that can be opened`, {
    hint: 'Change into a folder that exists, or set HOME to one, and run the command again.',
  })
}

/** `.git` is a file in worktrees and submodules. */
async function isRepository(disk: Disk, folder: string): Promise<boolean> {
  const found = await disk.stat(join(folder, '.git')).catch(() => undefined)
  if (!found) return false
  // Anybody may put a .git into /tmp and so draw what is installed below it to a folder of theirs; git asks the same.
  const me = process.getuid?.()
  return me === undefined || me === 0 || found.uid === me
}
