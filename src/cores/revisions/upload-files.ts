import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithSourceThread } from './source-thread.ts'
import type { SourceLimits } from './storage.ts'
import { storeFiles } from './store-files.ts'

export const uploadFiles =
  (deps: Storage & WithDirectory & WithSourceThread & SourceLimits): Handler<'uploadFiles'> =>
  async (principal, { alias, body }) => {
    const { db, directory, sourceThread } = deps
    const app = await requireAppWriter(directory, db, principal, alias)
    return sourceThread.inTurn(app.orgId, async () => {
      const { files, problems } = await sourceThread.unpack(app.orgId, body)
      const misnamed = files.filter(({ path, sha256 }) => path !== sha256)
      if (problems.length + misnamed.length > 0) {
        throw new ServiceError('INVALID_REQUEST', 'The archive cannot be stored', {
          problems: [...problems, ...misnamed.slice(0, 100).map(misnaming)],
        })
      }
      const stored = await storeFiles(deps, { orgId: app.orgId, appId: app.id }, files)
      return { stored }
    })
  }

const misnaming = ({ path, sha256 }: { path: string; sha256: string }): string =>
  `${JSON.stringify(path)}: is not named by its SHA-256, which is ${sha256}`
