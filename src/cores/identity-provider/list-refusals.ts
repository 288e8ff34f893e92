/** Why assertions of the identity provider were refused, newest first. */
import { and, eq } from '../../../db/drizzle.ts'
import { assertionRefusals } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { findProvider } from './provider-rows.ts'

export const listRefusals: Verb<'listRefusals'> = list(
  { rows: 'refusals', desc: [assertionRefusals.id] },
  async ({ db, orgId, page }, { reason, client_id }) => {
    const { id } = await findProvider(db, orgId)
    return page({
      from: () => db.select().from(assertionRefusals),
      where: and(
        eq(assertionRefusals.providerId, id),
        reason && eq(assertionRefusals.reason, reason),
        client_id === undefined ? undefined : eq(assertionRefusals.clientId, client_id),
      ),
      key: (row) => [row.id],
      present: (rows) =>
        rows.map((row) => ({
          id: row.id,
          at: row.refusedAt.toISOString(),
          reason: row.reason,
          client_id: row.clientId,
          subject: row.subject,
          key_id: row.keyId,
        })),
    })
  },
)
