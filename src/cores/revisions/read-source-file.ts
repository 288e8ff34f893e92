import { notFound } from '../../contracts/errors.ts'
import { requireSourceReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { read, type Verb } from '../verb.ts'
import { textOf } from './diff-trees.ts'
import { requireRevision } from './find-revision.ts'
import { readBlob } from './read-blobs.ts'
import { presentFile } from './source-tree.ts'

export const readSourceFile: Verb<'readSourceFile', WithDirectory> = read(
  'principal',
  async ({ db, principal, directory }, { alias, revision_id, path }) => {
    const app = await requireSourceReader(directory, db, principal, alias)
    const { manifest } = await requireRevision(db, { orgId: app.orgId, appId: app.id }, revision_id)
    const entry = manifest.find(([name]) => name === path)
    if (!entry) throw notFound()
    return { ...presentFile(entry), text: textOf(await readBlob(db, app.orgId, entry[1])) }
  },
)
