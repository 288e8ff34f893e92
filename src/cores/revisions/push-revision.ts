import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { withTransaction } from '../transaction.ts'
import { saveRevision } from './save-revision.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithSourceThread } from './source-thread.ts'
import type { SourceLimits } from './storage.ts'
import { storeFiles } from './store-files.ts'

export const pushRevision =
  (deps: Storage & WithDirectory & WithSourceThread & SourceLimits): Handler<'pushRevision'> =>
  async (principal, { alias, body, ...from }) => {
    const { db, directory, sourceThread } = deps
    const app = await requireAppWriter(directory, db, principal, alias)
    return sourceThread.inTurn(app.orgId, async () => {
      const { files, problems } = await sourceThread.unpack(app.orgId, body)
      if (problems.length > 0) {
        throw new ServiceError('INVALID_REQUEST', 'The archive cannot be stored', { problems })
      }
      await storeFiles(deps, { orgId: app.orgId, appId: app.id }, files)
      return withTransaction(db, async (tx) =>
        saveRevision(tx, deps, principal, await requireAppWriter(directory, tx, principal, alias), {
          files,
          from,
        }),
      )
    })
  }
