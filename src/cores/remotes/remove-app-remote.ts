import { appRemotes } from '../../../db/schema.ts'
import { requireAppReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { giveUpPullRequests } from './pull-request-rows.ts'
import { isRemote, requireRemote } from './remote-rows.ts'

export const removeAppRemote: Verb<'removeAppRemote', WithDirectory> = write(
  { author: 'admin', audit: 'app.remote_removed', events: 'application.maintenance.proposal.failed' },
  async ({ tx, clock, member, directory, audit }, { alias }) => {
    const { orgId, id: appId } = await requireAppReader(directory, tx, member, alias)
    const { url } = await requireRemote(tx, { orgId, appId })
    await tx.delete(appRemotes).where(isRemote({ orgId, appId }))
    await giveUpPullRequests(tx, clock, { orgId, appId })
    await audit('app.remote_removed', `${alias}: ${url}`)
    return {}
  },
)
