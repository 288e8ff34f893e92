import { requireSourceReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { read, type Verb } from '../verb.ts'
import { findHead, presentRevision, requireRevision } from './find-revision.ts'
import { presentFile } from './source-tree.ts'

export const showRevision: Verb<'showRevision', WithDirectory> = read(
  'principal',
  async ({ db, principal, directory }, { alias, revision_id }) => {
    const app = await requireSourceReader(directory, db, principal, alias)
    const key = { orgId: app.orgId, appId: app.id }
    const revision = await requireRevision(db, key, revision_id)
    return {
      ...presentRevision(revision, await findHead(db, key)),
      tree: revision.manifest.map(presentFile),
    }
  },
)
