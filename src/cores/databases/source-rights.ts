/** What a data source gives: whether it is on, exposed, from which role on, and by which column rows say who sees them. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { atLeast, type GrantableRole } from '../../contracts/roles.ts'
import type { Clock } from '../dependencies.ts'
import type { EndedRow } from '../record-ending.ts'
import { recordNarrowing, recordWidening } from '../right-versions.ts'

type Row = typeof dataSources.$inferSelect
type Rights = Pick<Row, 'enabled' | 'exposed' | 'minimumRole'>

export async function recordSourceChange(
  tx: Transaction,
  before: Pick<Row, 'orgId' | 'id'> & Rights,
  after: Rights,
): Promise<void> {
  const right = { id: before.id, orgId: before.orgId }
  const to = {
    enabled: String(after.enabled),
    exposed: String(after.exposed),
    minimumRole: after.minimumRole,
  }
  if (withoutMore(before, after)) await recordNarrowing(tx, 'data_source', { ...right, to })
  else if (withoutMore(after, before)) await recordWidening(tx, 'data_source', right)
}

/** After a lost tail. False: it gives no more than that. */
export async function narrowSourceAgain(
  tx: Transaction,
  _clock: Clock,
  { id, orgId, to }: EndedRow,
): Promise<boolean> {
  const isIt = and(eq(dataSources.orgId, orgId!), eq(dataSources.id, id))
  const [row] = await tx.select().from(dataSources).where(isIt).for('update')
  const less =
    row &&
    withoutMore(row, {
      enabled: to!.enabled === 'true',
      exposed: to!.exposed === 'true',
      minimumRole: to!.minimumRole as GrantableRole,
    })
  if (!less) return false
  await tx.update(dataSources).set(less).where(isIt)
  return true
}

type Configured = Pick<Row, 'configuration'>
export const accessColumnOf = ({ configuration }: Configured): string | null =>
  configuration?.access_column ?? null

/** Another column than before also counts as less: what it hides now, the one before may have shown. */
export async function recordAccessChange(
  tx: Transaction,
  before: Pick<Row, 'orgId' | 'id'> & Configured,
  after: Configured,
): Promise<void> {
  const right = { id: before.id, orgId: before.orgId }
  const column = accessColumnOf(after)
  if (column === accessColumnOf(before)) return
  if (column === null) await recordWidening(tx, 'data_source_access', right)
  else await recordNarrowing(tx, 'data_source_access', { ...right, to: { column } })
}

/** After a lost tail. Where a table does not have the column, nobody sees a row of it. False: it is the column. */
export async function setAccessAgain(
  tx: Transaction,
  clock: Clock,
  { id, orgId, to }: EndedRow,
): Promise<boolean> {
  const isIt = and(eq(dataSources.orgId, orgId!), eq(dataSources.id, id))
  const [row] = await tx.select().from(dataSources).where(isIt).for('update')
  if (!row || accessColumnOf(row) === to!.column) return false
  const { configuration } = row
  if (configuration) {
    const access_column = to!.column!
    // Whoever saves what they have read before must read it again.
    await tx
      .update(dataSources)
      .set({ configuration: { ...configuration, access_column }, configuredAt: clock() })
      .where(isIt)
    return true
  }
  // Whoever configures it again may not know of the column: it is hidden until somebody has looked.
  if (row.exposed) await tx.update(dataSources).set({ exposed: false }).where(isIt)
  return row.exposed
}

/** What is left of `before` where `after` gives less; undefined where it does not. */
function withoutMore(before: Rights, after: Rights): Rights | undefined {
  const left = {
    enabled: before.enabled && after.enabled,
    exposed: before.exposed && after.exposed,
    minimumRole: atLeast(before.minimumRole, after.minimumRole) ? before.minimumRole : after.minimumRole,
  }
  const isSame =
    left.enabled === before.enabled &&
    left.exposed === before.exposed &&
    left.minimumRole === before.minimumRole
  return isSame ? undefined : left
}
