import { and, eq } from '../../../db/drizzle.ts'
import { proposals } from '../../../db/schema.ts'
import type { WithDirectory } from '../directory/index.ts'
import { list, type Verb } from '../list.ts'
import { viewProposals } from './proposal-access.ts'
import { LISTED, presentProposal } from './proposal-rows.ts'

export const listProposals: Verb<'listProposals', WithDirectory> = list(
  { by: 'principal', rows: 'proposals', desc: [proposals.id] },
  async (context, { alias, state }) => {
    const { db, principal, page } = context
    const { app, ...viewing } = await viewProposals(context, principal, alias)
    return page({
      from: () => db.select(LISTED).from(proposals),
      where: and(
        eq(proposals.orgId, app.orgId),
        eq(proposals.appId, app.id),
        state && eq(proposals.state, state),
      ),
      key: (row) => [row.id],
      present: (rows) => rows.map((row) => presentProposal(row, viewing)),
    })
  },
)
