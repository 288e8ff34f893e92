/** Locks and updates the row of a data source. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { hasSourceId, recordSourceChange, type SourceRow } from '../databases/index.ts'

export async function lockSource(tx: Transaction, orgId: string, id: string): Promise<SourceRow> {
  const [row] = await tx.select().from(dataSources).where(hasSourceId(orgId, id)).for('update')
  if (!row) throw notFound()
  return row
}

export async function updateSource(
  tx: Transaction,
  row: SourceRow,
  values: Partial<typeof dataSources.$inferInsert>,
): Promise<SourceRow> {
  const [changed] = await tx
    .update(dataSources)
    .set(values)
    .where(and(eq(dataSources.orgId, row.orgId), eq(dataSources.id, row.id)))
    .returning()
  await recordSourceChange(tx, row, changed!)
  return changed!
}
