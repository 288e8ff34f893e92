/** The only folder an install may write into: the project of the current folder, or the home directory. */
import { dirname, join } from 'node:path'
import { ServiceError } from '../../contracts/errors.ts'
import type { FileSystem } from './file-system.ts'

export type InstallOptions = {
  readonly cwd: string
  readonly home: string
  /** Install into the home directory instead of the project. */
  readonly user: boolean
  /** Whether to write the block into AGENTS.md and GEMINI.md. */
  readonly agents: boolean
}

export async function findRoot(fs: FileSystem, { cwd, home, user }: InstallOptions): Promise<string> {
  if (user) return realFolder(fs, home, 'The home directory')
  const start = await realFolder(fs, cwd, 'The current folder')
  for (let folder = start; ; folder = dirname(folder)) {
    if (await isRepository(fs, folder)) return folder
    if (dirname(folder) === folder) return start
  }
}

async function realFolder(fs: FileSystem, folder: string, name: string): Promise<string> {
  try {
    const real = await fs.realpath(folder)
    if ((await fs.stat(real)).isDirectory()) return real
  } catch {
    // Reported below: missing, unreadable and not a folder have the same remedy.
  }
  throw new ServiceError('INVALID_REQUEST', `${name} cannot be opened`, {
    hint: 'Change to an existing folder, or set HOME to one, and try again.',
  })
}

/** `.git` is a file in worktrees and submodules. */
async function isRepository(fs: FileSystem, folder: string): Promise<boolean> {
  const found = await fs.stat(join(folder, '.git')).catch(() => undefined)
  if (!found) return false
  // Anybody can create /tmp/.git and so redirect installs below /tmp; git checks the owner too.
  const me = process.getuid?.()
  return me === undefined || me === 0 || found.uid === me
}
