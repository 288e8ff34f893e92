/** Deletes a managed database for good; an attached one is only detached. */
import { and, eq } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import type { DatabaseDeps } from './create-database.ts'
import { recordSourceChange } from './source-rights.ts'
import { findSource, releaseSource, sourceIdOf } from './source-rows.ts'

export const removeDatabase: Verb<'removeDatabase', DatabaseDeps> = writeInSteps(
  { audit: 'database.removed' },
  async (context, { name, confirm }) => {
    const { db, orgId, managed, transaction } = context
    if (confirm !== name) {
      throw new ServiceError('INVALID_REQUEST', 'The name and its confirmation differ', {
        hint: `Send confirm=${name} to delete the database and everything in it.`,
      })
    }
    const row = await findSource(db, orgId, sourceIdOf(name))
    if (!row) throw notFound()
    // Hidden first, so that nobody asks a half-deleted database; the row last, so that it can be repeated after a crash.
    await transaction(async ({ tx }) => {
      const hidden = { enabled: false, exposed: false }
      await tx
        .update(dataSources)
        .set(hidden)
        .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, row.id)))
      await recordSourceChange(tx, row, { ...row, ...hidden })
    })
    await releaseSource(context, row)
    if (row.physicalName !== null) await managed.remove(row.physicalName)
    await transaction(async ({ tx, audit }) => {
      const deleted = await tx
        .delete(dataSources)
        .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, row.id)))
        .returning({ id: dataSources.id })
      if (deleted.length === 0) return
      await audit('database.removed', sourceIdOf(name))
    })
    return {}
  },
)
