/** The folders and files an install writes: the paths that agents read, with links resolved and duplicates removed. */
import { dirname, join } from 'node:path'
import {
  CLAUDE,
  COMMON,
  IF_AGENT_IS_USED,
  PROJECT_INSTRUCTIONS,
  SIGNS,
  USER_INSTRUCTIONS,
} from './agent-paths.ts'
import type { FileSystem } from './file-system.ts'
import type { InstallOptions } from './find-root.ts'
import { resolveInside, shownIn } from './resolve-inside.ts'

export type InstallRoot = { readonly fs: FileSystem; readonly root: string }

export type InstallPath = {
  readonly shown: string
  readonly real: string
  /** Paths that are links to this one. */
  readonly links: readonly string[]
  /** Why nothing may be written here. */
  readonly blocked?: string
}

export async function skillFolders(
  at: InstallRoot,
  id: string,
  options: InstallOptions,
): Promise<InstallPath[]> {
  const { user } = options
  const pick = (path: { project: string; user: string }) => (user ? path.user : path.project)
  const used: string[] = []
  for (const folder of IF_AGENT_IS_USED.map(pick)) {
    // A folder that links out of the root is skipped: the common one is enough.
    const home = await resolveInside(at.fs, at.root, dirname(folder))
    if ('real' in home && (await isFolder(at, home.real))) used.push(folder)
  }
  return resolvePaths(
    at,
    [...((await usedAgents(at, options)).claude ? [pick(CLAUDE)] : []), pick(COMMON), ...used].map(
      (folder) => `${folder}/${id}`,
    ),
  )
}

export async function instructionFiles(at: InstallRoot, options: InstallOptions): Promise<InstallPath[]> {
  const { user, agents } = options
  if (!agents) return []
  if (!user) {
    const { common, gemini } = PROJECT_INSTRUCTIONS
    return resolvePaths(at, (await usedAgents(at, options)).gemini ? [common, gemini] : [common])
  }
  const files: string[] = []
  for (const file of USER_INSTRUCTIONS) {
    if (await isFolder(at, join(at.root, dirname(file)))) files.push(file)
  }
  return resolvePaths(at, files)
}

async function usedAgents(
  { fs, root }: InstallRoot,
  { home, user }: InstallOptions,
): Promise<Record<keyof typeof SIGNS, boolean>> {
  // A link that leads nowhere is one, too.
  const exists = async (path: string) => (await fs.lstat(path).catch(() => undefined)) !== undefined
  const isUsed = async (signs: (typeof SIGNS)[keyof typeof SIGNS]) => {
    const inProject = user ? [] : signs.project.map((sign) => join(root, sign))
    for (const path of [...inProject, join(home, signs.home)]) if (await exists(path)) return true
    return false
  }
  const [claude, gemini] = [await isUsed(SIGNS.claude), await isUsed(SIGNS.gemini)]
  return claude || gemini ? { claude, gemini } : { claude: true, gemini: true }
}

const isFolder = async ({ fs }: InstallRoot, path: string): Promise<boolean> =>
  (await fs.stat(path).catch(() => undefined))?.isDirectory() ?? false

/** Paths that resolve to the same file are one; it is shown by the path without a link. */
async function resolvePaths({ fs, root }: InstallRoot, paths: readonly string[]): Promise<InstallPath[]> {
  const found = new Map<string, InstallPath>()
  for (const path of paths) {
    const resolved = await resolveInside(fs, root, path)
    if ('blocked' in resolved) {
      found.set(path, { shown: path, real: join(root, path), links: [], blocked: resolved.blocked })
      continue
    }
    const { real } = resolved
    const shown = shownIn(root, real)
    const links = found.get(real)?.links ?? []
    found.set(real, { shown, real, links: shown === path ? links : [...links, path] })
  }
  return [...found.values()]
}
