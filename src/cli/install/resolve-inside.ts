/** Resolves a path and its links inside the root: also when its end does not exist yet, never outside the root. */
import { dirname, isAbsolute, join, parse, relative, sep } from 'node:path'
import { codeOf, describeFsError, type FileSystem } from './file-system.ts'

export type Resolved = { readonly real: string } | { readonly blocked: string }

/** The limit of Linux. */
const LINKS_MAX = 40

/** `root` is a real path, `path` relative to it. A link to a missing target resolves to that target. */
export async function resolveInside(fs: FileSystem, root: string, path: string): Promise<Resolved> {
  let at = root
  let missing: string[] = []
  let links = 0
  const ahead = path.split('/')
  for (let part = ahead.shift(); part !== undefined; part = ahead.shift()) {
    if (part === '' || part === '.') continue
    if (part === '..') {
      if (missing.length > 0) return { blocked: 'is a link through a missing folder' }
      at = dirname(at)
      continue
    }
    if (missing.length > 0) {
      missing.push(part)
      continue
    }
    const next = join(at, part)
    const found = await lstatOrReason(fs, next)
    if (typeof found === 'string') return { blocked: found }
    if (!found) {
      missing = [part]
    } else if (found.isSymbolicLink()) {
      if (++links > LINKS_MAX) return { blocked: 'is a circular link' }
      const target = await fs.readlink(next)
      if (isAbsolute(target)) at = parse(target).root
      ahead.unshift(...target.split(sep))
    } else if (ahead.some((rest) => rest !== '' && rest !== '.') && !found.isDirectory()) {
      return { blocked: `needs a folder, but ${shownIn(root, next)} is a file` }
    } else {
      at = next
    }
  }
  // As the file system spells it: where case does not matter, agents.md and AGENTS.md are the same file.
  const real = join(await fs.realpath(at), ...missing)
  return outOfBounds(root, real) ?? { real }
}

async function lstatOrReason(fs: FileSystem, path: string) {
  try {
    return await fs.lstat(path)
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : `cannot be read: ${describeFsError(error)}`
  }
}

function outOfBounds(root: string, real: string): { blocked: string } | undefined {
  const inside = relative(root, real)
  if (inside === '' || isAbsolute(inside) || inside.split(sep)[0] === '..') {
    return { blocked: 'is a link to outside the install folder' }
  }
  // A cloned repository may contain links, and git executes files in .git.
  if (inside.split(sep).some((part) => part.toLowerCase() === '.git')) {
    return { blocked: 'is a link into .git' }
  }
  return undefined
}

/** For messages: relative to the root, with slashes. */
export const shownIn = (root: string, real: string): string => relative(root, real).split(sep).join('/')
