/** The commit of this program, and its tag if it has one: from the package, or from the checkout it runs in. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inflateSync } from 'node:zlib'
import { readJsonObject } from '../contracts/read-json.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COMMIT = /^[0-9a-f]{40}$/

/** Null when unknown: it is only shown in the index of skills. */
export const buildCommit = (root: string = ROOT): string | null =>
  packed(root)?.commit ?? checkoutCommit(root) ?? null

/** `v0.1.0` where the commit carries that tag. */
export function buildTag(version: string, root: string = ROOT): string | null {
  const tag = `v${version}`
  const written = packed(root)
  if (written) return written.tag === tag ? tag : null
  return checkoutTag(version, root) ?? null
}

/** Undefined where nothing usable was written down. */
function packed(root: string): { commit: string; tag: unknown } | undefined {
  const { commit, tag } = readJsonObject(read(join(root, 'dist/build-info.json'))) ?? {}
  return typeof commit === 'string' && COMMIT.test(commit) ? { commit, tag } : undefined
}

/** By reading git's own files: a server starts no other program, and may run where there is no git. */
export function checkoutCommit(root: string): string | undefined {
  const { folder, common } = gitFolders(root)
  const head = read(join(folder, 'HEAD'))?.trim() ?? ''
  const branch = /^ref: (refs\/[\w./-]+)$/.exec(head)?.[1]
  const found = branch === undefined ? head : refIn(common, branch)
  return found !== undefined && COMMIT.test(found) ? found : undefined
}

/** The tag of this version, if HEAD carries it. */
export function checkoutTag(version: string, root: string): string | undefined {
  const tag = `v${version}`
  const { common } = gitFolders(root)
  const named = refIn(common, `refs/tags/${tag}`)
  if (named === undefined || !COMMIT.test(named)) return undefined
  const commit = checkoutCommit(root)
  return commit !== undefined && [named, annotated(common, named)].includes(commit) ? tag : undefined
}

/** In a second work tree `.git` is a file that names the folder, and branches lie in the common one beside it. */
function gitFolders(root: string): { folder: string; common: string } {
  const linked = /^gitdir: (.+)$/m.exec(read(join(root, '.git')) ?? '')?.[1]
  const folder = linked ?? join(root, '.git')
  const common = linked === undefined ? folder : join(folder, read(join(folder, 'commondir'))?.trim() ?? '.')
  return { folder, common }
}

/** A tag with a message names an object of its own, which names the commit: beside it, or in a file of that object. */
function annotated(common: string, object: string): string | undefined {
  const lines = read(join(common, 'packed-refs'))?.split('\n') ?? []
  const peeled = lines[lines.findIndex((line) => line.startsWith(`${object} refs/tags/`)) + 1]
  if (peeled?.startsWith('^')) return peeled.slice(1)
  try {
    const bytes = readFileSync(join(common, 'objects', object.slice(0, 2), object.slice(2)))
    return /^tag \d+\0object ([0-9a-f]{40})\n/.exec(inflateSync(bytes).toString('utf8'))?.[1]
  } catch {
    return undefined
  }
}

const refIn = (common: string, ref: string): string | undefined =>
  read(join(common, ref))?.trim() ??
  read(join(common, 'packed-refs'))
    ?.split('\n')
    .find((line) => line.endsWith(` ${ref}`))
    ?.split(' ', 1)[0]

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
