import { and, desc, lt } from '../../../db/drizzle.ts'
import { appTokens } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireAppReader } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { liveTokensOf, presentAppToken } from './app-token-rows.ts'

export const listAppTokens =
  ({ db, directory }: Storage & WithDirectory): Handler<'listAppTokens'> =>
  async (principal, { alias, limit, cursor }) => {
    const before = readCursor(cursor, 1)?.[0]
    const app = await requireAppReader(directory, db, principal, alias)
    const rows = await db
      .select()
      .from(appTokens)
      .where(and(liveTokensOf(app), before === undefined ? undefined : lt(appTokens.id, before)))
      .orderBy(desc(appTokens.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    return { tokens: page.rows.map(presentAppToken), next_cursor: page.next_cursor }
  }
