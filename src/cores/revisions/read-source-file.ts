import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireSourceReader } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { textOf } from './diff-trees.ts'
import { requireRevision } from './find-revision.ts'
import { readBlob } from './read-blobs.ts'
import { presentFile } from './source-tree.ts'

export const readSourceFile =
  ({ db, directory }: Storage & WithDirectory): Handler<'readSourceFile'> =>
  async (principal, { alias, revision_id, path }) => {
    const app = await requireSourceReader(directory, db, principal, alias)
    const { manifest } = await requireRevision(db, { orgId: app.orgId, appId: app.id }, revision_id)
    const entry = manifest.find(([name]) => name === path)
    if (!entry) throw notFound()
    return { ...presentFile(entry), text: textOf(await readBlob(db, app.orgId, entry[1])) }
  }
