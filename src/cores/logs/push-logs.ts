import type { Handler } from '../../contracts/operations.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { readNdjson } from './read-ndjson.ts'
import { storeLines, type StoreDeps } from './store-lines.ts'

export const pushLogs =
  (deps: StoreDeps & WithDirectory): Handler<'pushLogs'> =>
  async (principal, { alias, body }) => {
    const app = await requireAppWriter(deps.directory, deps.db, principal, alias)
    return storeLines(deps, app, body.length, () => readNdjson(body))
  }
