import { appTokens } from '../../../db/schema.ts'
import { requireAppReader } from '../apps/index.ts'
import { readKeyEpoch } from '../key-epoch.ts'
import type { WithDirectory } from '../directory/index.ts'
import { list, type Verb } from '../list.ts'
import { liveTokensOf, presentAppToken } from './app-token-rows.ts'

export const listAppTokens: Verb<'listAppTokens', WithDirectory> = list(
  { by: 'principal', rows: 'tokens', desc: [appTokens.id] },
  async ({ db, clock, principal, directory, page }, { alias }) => {
    const app = await requireAppReader(directory, db, principal, alias)
    const live = liveTokensOf(app, await readKeyEpoch(db))
    return page({
      from: () => db.select().from(appTokens),
      where: live,
      key: (row) => [row.id],
      present: (rows) => rows.map((row) => presentAppToken(row, clock())),
    })
  },
)
