import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { revisions } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireSourceReader } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { findHead, isPushedOrApproved, presentRevision, REVISION } from './find-revision.ts'

export const listRevisions =
  ({ db, directory }: Storage & WithDirectory): Handler<'listRevisions'> =>
  async (principal, { alias, limit, cursor }) => {
    const before = readCursor(cursor, 1)?.[0]
    const app = await requireSourceReader(directory, db, principal, alias)
    const rows = await db
      .select(REVISION)
      .from(revisions)
      .where(
        and(
          eq(revisions.orgId, app.orgId),
          eq(revisions.appId, app.id),
          isPushedOrApproved,
          before === undefined ? undefined : lt(revisions.id, before),
        ),
      )
      .orderBy(desc(revisions.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    const head = await findHead(db, { orgId: app.orgId, appId: app.id })
    return {
      revisions: page.rows.map((row) => presentRevision(row, head)),
      head_id: head ?? null,
      next_cursor: page.next_cursor,
    }
  }
