/** The commit of this program: from the package, or from the checkout it runs in. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COMMIT = /^[0-9a-f]{40}$/

/** Null when unknown: it is only shown in the index of skills. */
export const buildCommit = (root: string = ROOT): string | null =>
  packedCommit(root) ?? checkoutCommit(root) ?? null

function packedCommit(root: string): string | undefined {
  const text = read(join(root, 'dist/build-info.json'))
  try {
    const { commit } = JSON.parse(text ?? '{}') as { commit?: unknown }
    return typeof commit === 'string' && COMMIT.test(commit) ? commit : undefined
  } catch {
    return undefined
  }
}

/** By reading git's own files: a server starts no other program, and may run where there is no git. */
export function checkoutCommit(root: string): string | undefined {
  // In a second work tree `.git` is a file that names the folder, and branches lie in the common one beside it.
  const linked = /^gitdir: (.+)$/m.exec(read(join(root, '.git')) ?? '')?.[1]
  const folder = linked ?? join(root, '.git')
  const common = linked === undefined ? folder : join(folder, read(join(folder, 'commondir'))?.trim() ?? '.')
  const head = read(join(folder, 'HEAD'))?.trim() ?? ''
  const branch = /^ref: (refs\/[\w./-]+)$/.exec(head)?.[1]
  const found =
    branch === undefined ? head : (read(join(common, branch))?.trim() ?? packedRef(common, branch))
  return found !== undefined && COMMIT.test(found) ? found : undefined
}

const packedRef = (common: string, branch: string): string | undefined =>
  read(join(common, 'packed-refs'))
    ?.split('\n')
    .find((line) => line.endsWith(` ${branch}`))
    ?.split(' ', 1)[0]

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
