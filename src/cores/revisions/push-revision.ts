import { ServiceError } from '../../contracts/errors.ts'
import type { WithDirectory } from '../directory/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { saveRevision } from './save-revision.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithSourceThread } from './source-thread.ts'
import type { SourceLimits } from './storage.ts'
import { storeFiles } from './store-files.ts'

export const pushRevision: Verb<'pushRevision', WithDirectory & WithSourceThread & SourceLimits> =
  writeInSteps({ by: 'principal', audit: 'revision.pushed' }, async (context, { alias, body, ...from }) => {
    const { db, directory, sourceThread, principal, transaction } = context
    const app = await requireAppWriter(directory, db, principal, alias)
    return sourceThread.inTurn(app.orgId, async () => {
      const { files, problems } = await sourceThread.unpack(app.orgId, body)
      if (problems.length > 0) {
        throw new ServiceError('INVALID_REQUEST', 'The archive cannot be stored', { problems })
      }
      await storeFiles(context, { orgId: app.orgId, appId: app.id }, files)
      return transaction(async ({ tx }) =>
        saveRevision(tx, context, principal, await requireAppWriter(directory, tx, principal, alias), {
          files,
          from,
        }),
      )
    })
  })
