import { requireAppReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { read, type Verb } from '../verb.ts'
import { findRemote, presentRemote, type RemoteDeps } from './remote-rows.ts'

export const showAppRemote: Verb<'showAppRemote', WithDirectory & RemoteDeps> = read(
  async (context, { alias }) => {
    const { db, member, directory } = context
    const app = await requireAppReader(directory, db, member, alias)
    const row = await findRemote(db, { orgId: app.orgId, appId: app.id })
    return { remote: row ? await presentRemote(db, context, row) : null }
  },
)
