/** Where a path of the root really lies, links followed by hand: also when its end does not exist yet, never outside the root. */
import { dirname, isAbsolute, join, parse, relative, sep } from 'node:path'
import { codeOf, sentenceFor, type Disk } from './disk.ts'

export type Resolved = { readonly real: string } | { readonly blocked: string }

/** As many as Linux follows. */
const LINKS_MAX = 40

/** `root` is a real path, `path` relative to it. A link whose target is missing leads to where that target would be. */
export async function resolveInside(disk: Disk, root: string, path: string): Promise<Resolved> {
  let at = root
  let missing: string[] = []
  let links = 0
  const ahead = path.split('/')
  for (let part = ahead.shift(); part !== undefined; part = ahead.shift()) {
    if (part === '' || part === '.') continue
    if (part === '..') {
      if (missing.length > 0) return { blocked: 'is a link through a folder that does not exist' }
      at = dirname(at)
      continue
    }
    if (missing.length > 0) {
      missing.push(part)
      continue
    }
    const next = join(at, part)
    const found = await look(disk, next)
    if (typeof found === 'string') return { blocked: found }
    if (!found) {
      missing = [part]
    } else if (found.isSymbolicLink()) {
      if (++links > LINKS_MAX) return { blocked: 'is a link that leads in a circle' }
      const target = await disk.readlink(next)
      if (isAbsolute(target)) at = parse(target).root
      ahead.unshift(...target.split(sep))
    } else if (ahead.some((rest) => rest !== '' && rest !== '.') && !found.isDirectory()) {
      return { blocked: `needs a folder where ${shownIn(root, next)} is a file` }
    } else {
      at = next
    }
  }
  // Spelt as the disk spells it: where case does not matter, agents.md and AGENTS.md are one file.
  const real = join(await disk.realpath(at), ...missing)
  return outOfBounds(root, real) ?? { real }
}

async function look(disk: Disk, path: string) {
  try {
    return await disk.lstat(path)
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : `cannot be looked at: ${sentenceFor(error)}`
  }
}

function outOfBounds(root: string, real: string): { blocked: string } | undefined {
  const inside = relative(root, real)
  if (inside === '' || isAbsolute(inside) || inside.split(sep)[0] === '..') {
    return { blocked: 'is a link that leads out of the folder svc installs into' }
  }
  // A cloned repository may carry links, and what lies in .git is run by git.
  if (inside.split(sep).some((part) => part.toLowerCase() === '.git')) {
    return { blocked: 'is a link into .git' }
  }
  return undefined
}

/** A path as people are told it: from the root, with slashes. */
export const shownIn = (root: string, real: string): string => relative(root, real).split(sep).join('/')
