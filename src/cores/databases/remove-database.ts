/** Removes a managed database for good; an attached one is only let go. */
import { and, eq } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import type { removeDatabase } from '../../contracts/databases.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import { withTransaction } from '../transaction.ts'
import type { DatabaseNeeds } from './create-database.ts'
import { findSource, letGo, sourceIdOf } from './source-rows.ts'

export const dropDatabase =
  (needs: DatabaseNeeds): Handler<typeof removeDatabase> =>
  async (who, { name, confirm }) => {
    const { orgId } = asMember(who)
    if (confirm !== name) {
      throw new ServiceError('INVALID_REQUEST', 'The name and its confirmation differ', {
        hint: `Send confirm=${name} to remove the database with everything in it.`,
      })
    }
    const row = await findSource(needs.db, orgId, sourceIdOf(name))
    if (!row) throw notFound()
    // First hidden, so that nobody asks a database that is half gone; last the row, so that a kill in between can be repeated.
    await needs.db
      .update(dataSources)
      .set({ enabled: false, exposed: false })
      .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, row.id)))
    await letGo(needs, row)
    if (row.physicalName !== null) await needs.managed.remove(row.physicalName)
    await withTransaction(needs.db, async (tx) => {
      const gone = await tx
        .delete(dataSources)
        .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, row.id)))
        .returning({ id: dataSources.id })
      if (gone.length === 0) return
      const subject = sourceIdOf(name)
      await recordAudit(tx, needs.clock, who, { orgId, action: 'database.removed', subject })
    })
    return {}
  }
