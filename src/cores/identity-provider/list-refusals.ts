/** Why assertions of the identity provider were refused, newest first. */
import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { assertionRefusals } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type { Storage } from '../dependencies.ts'
import { requireMember } from '../principal.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { findProvider } from './provider-rows.ts'

export const listRefusals =
  ({ db }: Pick<Storage, 'db'>): Handler<'listRefusals'> =>
  async (principal, { reason, client_id, limit, cursor, count }) => {
    const { orgId } = requireMember(principal)
    const before = readCursor(cursor, 1)?.[0]
    const { id } = await findProvider(db, orgId)
    const matching = and(
      eq(assertionRefusals.providerId, id),
      reason && eq(assertionRefusals.reason, reason),
      client_id === undefined ? undefined : eq(assertionRefusals.clientId, client_id),
    )
    const rows = await db
      .select()
      .from(assertionRefusals)
      .where(and(matching, before === undefined ? undefined : lt(assertionRefusals.id, before)))
      .orderBy(desc(assertionRefusals.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(assertionRefusals).where(matching),
    )
    return {
      refusals: page.rows.map((row) => ({
        id: row.id,
        at: row.refusedAt.toISOString(),
        reason: row.reason,
        client_id: row.clientId,
        subject: row.subject,
        key_id: row.keyId,
      })),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
