/** Deletes a managed database for good; an attached one is only detached. */
import { and, eq } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import type { DatabaseDeps } from './create-database.ts'
import { findSource, releaseSource, sourceIdOf } from './source-rows.ts'

export const removeDatabase =
  (deps: DatabaseDeps): Handler<'removeDatabase'> =>
  async (principal, { name, confirm }) => {
    const { orgId } = requireMember(principal)
    if (confirm !== name) {
      throw new ServiceError('INVALID_REQUEST', 'The name and its confirmation differ', {
        hint: `Send confirm=${name} to delete the database and everything in it.`,
      })
    }
    const row = await findSource(deps.db, orgId, sourceIdOf(name))
    if (!row) throw notFound()
    // Hidden first, so that nobody asks a half-deleted database; the row last, so that it can be repeated after a crash.
    await deps.db
      .update(dataSources)
      .set({ enabled: false, exposed: false })
      .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, row.id)))
    await releaseSource(deps, row)
    if (row.physicalName !== null) await deps.managed.remove(row.physicalName)
    await withTransaction(deps.db, async (tx) => {
      const deleted = await tx
        .delete(dataSources)
        .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, row.id)))
        .returning({ id: dataSources.id })
      if (deleted.length === 0) return
      const subject = sourceIdOf(name)
      await recordAudit(tx, deps.clock, principal, { orgId, action: 'database.removed', subject })
    })
    return {}
  }
