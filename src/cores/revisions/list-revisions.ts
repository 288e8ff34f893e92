import { and, eq } from '../../../db/drizzle.ts'
import { revisions } from '../../../db/schema.ts'
import { requireSourceReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { list, type Verb } from '../list.ts'
import { findHead, isPushedOrApproved, presentRevision, REVISION } from './find-revision.ts'

export const listRevisions: Verb<'listRevisions', WithDirectory> = list(
  { by: 'principal', rows: 'revisions', desc: [revisions.id] },
  async ({ db, principal, directory, page }, { alias }) => {
    const app = await requireSourceReader(directory, db, principal, alias)
    const head = await findHead(db, { orgId: app.orgId, appId: app.id })
    return {
      ...(await page({
        from: () => db.select(REVISION).from(revisions),
        where: and(eq(revisions.orgId, app.orgId), eq(revisions.appId, app.id), isPushedOrApproved),
        key: (row) => [row.id],
        present: (rows) => rows.map((row) => presentRevision(row, head)),
      })),
      head_id: head ?? null,
    }
  },
)
