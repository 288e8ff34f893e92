/** A tree of files as a revision keeps it: in the order of the paths, with one hash over all of it. */
import { createHash } from 'node:crypto'
import type { ManifestEntry } from '../../../db/schema.ts'
import { SOURCE_MAX_BYTES } from '../../contracts/limits.ts'
import { ServiceError } from '../../contracts/errors.ts'

export type NamedFile = { readonly path: string; readonly sha256: string; readonly isExecutable: boolean }

export type SourceTree = {
  readonly manifest: readonly ManifestEntry[]
  readonly sha256: string
  readonly bytes: number
}

export function sourceTree(files: readonly NamedFile[], sizes: ReadonlyMap<string, number>): SourceTree {
  const manifest = files
    .map(({ path, sha256, isExecutable }): ManifestEntry => [
      path,
      sha256,
      sizes.get(sha256)!,
      isExecutable ? 1 : 0,
    ])
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  const bytes = manifest.reduce((sum, [, , size]) => sum + size, 0)
  if (bytes > SOURCE_MAX_BYTES) {
    const limit = SOURCE_MAX_BYTES / 1024 / 1024
    throw new ServiceError('TOO_LARGE', `The files are larger than ${limit} MiB together`)
  }
  // No path has a line break, so no two trees are written alike.
  const hash = createHash('sha256')
  for (const [path, sha256, , executable] of manifest) {
    hash.update(`${executable ? '100755' : '100644'} ${sha256} ${path}\n`)
  }
  return { manifest, sha256: hash.digest('hex'), bytes }
}

export const presentFile = ([path, sha256, bytes, executable]: ManifestEntry) => ({
  path,
  sha256,
  bytes,
  executable: executable === 1,
})
