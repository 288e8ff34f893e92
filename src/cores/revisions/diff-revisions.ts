import { createHash } from 'node:crypto'
import type { ManifestEntry } from '../../../db/schema.ts'
import { requireSourceReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { read, type Verb } from '../verb.ts'
import { diffTrees, type TreeFile } from './diff-trees.ts'
import { findPrevious, requireRevision } from './find-revision.ts'
import { readBlob } from './read-blobs.ts'
import type { WithSourceThread } from './source-thread.ts'

export const diffRevisions: Verb<'diffRevisions', WithDirectory & WithSourceThread> = read(
  'principal',
  async ({ db, clock, principal, directory, sourceThread }, { alias, revision_id, base }) => {
    const app = await requireSourceReader(directory, db, principal, alias)
    const { orgId } = app
    const key = { orgId, appId: app.id }
    const head = await requireRevision(db, key, revision_id)
    const baseId = base ?? (await findPrevious(db, key, revision_id))
    const before = baseId === undefined ? [] : (await requireRevision(db, key, baseId)).manifest
    const { diff, files, omitted } = await diffTrees(before.map(treeFile), head.manifest.map(treeFile), {
      read: ({ sha256 }) => readBlob(db, orgId, sha256),
      compare: (texts, isLate) => sourceThread.compare(orgId, texts, isLate),
      clock,
    })
    return {
      base: baseId ?? null,
      diff,
      diff_sha256: omitted === 0 ? createHash('sha256').update(diff).digest('hex') : null,
      files: files.map(({ path, change, addedLines, removedLines }) => ({
        path,
        change,
        added_lines: addedLines,
        removed_lines: removedLines,
      })),
      ...(omitted > 0 ? { truncated: leftOut(omitted) } : {}),
    }
  },
)

const treeFile = ([path, sha256, , executable]: ManifestEntry): TreeFile => ({
  path,
  sha256,
  isExecutable: executable === 1,
})

const leftOut = (count: number): string =>
  `The contents of ${count === 1 ? 'one file are' : `${count} files are`} not shown: not text, or too much for one comparison.`
