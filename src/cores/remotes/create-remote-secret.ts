import { randomBytes } from 'node:crypto'
import { appRemotes } from '../../../db/schema.ts'
import { requireAppReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { isRemote, requireRemote, sealSecret, webhookUrl, type RemoteDeps } from './remote-rows.ts'

export const createRemoteSecret: Verb<'createRemoteSecret', WithDirectory & RemoteDeps> = write(
  { author: 'admin', audit: 'app.remote_secret_made' },
  async ({ tx, member, directory, dataKeys, apiUrl, audit }, { alias }) => {
    const { orgId, id: appId } = await requireAppReader(directory, tx, member, alias)
    const remote = await requireRemote(tx, { orgId, appId })
    const secret = randomBytes(32).toString('base64url')
    await tx
      .update(appRemotes)
      .set({ sealedHookSecret: sealSecret(dataKeys, remote, secret) })
      .where(isRemote(remote))
    await audit('app.remote_secret_made', `${alias}: ${remote.url}`)
    return { url: webhookUrl(apiUrl, remote), secret }
  },
)
