import { and, eq } from '../../../db/drizzle.ts'
import { proposals } from '../../../db/schema.ts'
import type { WithDirectory } from '../directory/index.ts'
import { list, type Verb } from '../list.ts'
import { readPullRequests } from '../remotes/index.ts'
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
      present: async (rows) => {
        const pulls = await readPullRequests(
          db,
          app.orgId,
          rows.map(({ id }) => id),
        )
        return rows.map((row) => presentProposal(row, viewing, pulls.get(row.id)))
      },
    })
  },
)
