/** Data sources as those who keep them see them: listed, named, switched on and off, exposed. */
import type { Transaction } from '../../../db/connect.ts'
import { and, asc, count, eq, gt, sql } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import type {
  describeDataSource,
  listDataSources,
  setDataSourceState,
  setExposure,
  showDataSource,
} from '../../contracts/data-sources.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { EXPOSED_MAX } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import {
  calledLike,
  findSource,
  named,
  presentSource,
  sourceIdOf,
  type SourceRow,
} from '../databases/index.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'

export const allSources =
  ({ db }: Storage): Handler<typeof listDataSources> =>
  async (who, { search, limit, cursor }) => {
    const { orgId } = asMember(who)
    const after = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select()
      .from(dataSources)
      .where(
        and(
          eq(dataSources.orgId, orgId),
          calledLike(search),
          after === undefined ? undefined : gt(dataSources.name, after),
        ),
      )
      .orderBy(asc(dataSources.name))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.name])
    return { data_sources: page.rows.map(presentSource), next_cursor: page.next_cursor }
  }

export const oneSource =
  ({ db }: Storage): Handler<typeof showDataSource> =>
  async (who, { source_id }) => {
    const row = await findSource(db, asMember(who).orgId, source_id)
    if (!row) throw notFound()
    return presentSource(row)
  }

export const describeSource =
  ({ db, clock }: Storage): Handler<typeof describeDataSource> =>
  (who, { source_id, name, description }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = asMember(who)
      const row = await lock(tx, orgId, source_id)
      const next = { title: name ?? row.title, description: description ?? row.description }
      if (next.title === row.title && next.description === row.description) return presentSource(row)
      const subject = sourceIdOf(row.name)
      await recordAudit(tx, clock, who, { orgId, action: 'data_source.described', subject })
      return presentSource(await change(tx, row, next))
    })

/** Off is not exposed either; on again does not expose it again. */
export const switchSource =
  ({ db, clock }: Storage): Handler<typeof setDataSourceState> =>
  (who, { source_id, enabled }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = asMember(who)
      const row = await lock(tx, orgId, source_id)
      if (row.enabled === enabled) return presentSource(row)
      if (row.preparingUntil !== null) {
        throw new ServiceError('CONFLICT', 'The database is being made', { hint: 'Try again in a moment.' })
      }
      const action = enabled ? 'data_source.switched_on' : 'data_source.switched_off'
      await recordAudit(tx, clock, who, { orgId, action, subject: sourceIdOf(row.name) })
      return presentSource(await change(tx, row, enabled ? { enabled } : { enabled, exposed: false }))
    })

export const exposeSource =
  ({ db, clock }: Storage): Handler<typeof setExposure> =>
  (who, { source_id, exposed, minimum_role }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = asMember(who)
      // Before the row: whoever exposes counts alone, so that two cannot both become the hundredth.
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`exposure of ${orgId}`}, 0))`)
      const row = await lock(tx, orgId, source_id)
      const minimumRole = minimum_role ?? row.minimumRole
      if (row.exposed === exposed && row.minimumRole === minimumRole) return presentSource(row)
      if (exposed && !row.enabled) {
        throw new ServiceError('CONFLICT', 'This data source is switched off', {
          hint: 'Switch it on first, then expose it.',
        })
      }
      if (exposed && !row.exposed) await requireRoomForOneMore(tx, orgId)
      const action = exposed ? 'data_source.exposed' : 'data_source.hidden'
      const subject = exposed ? `${sourceIdOf(row.name)} to ${minimumRole}` : sourceIdOf(row.name)
      await recordAudit(tx, clock, who, { orgId, action, subject })
      return presentSource(await change(tx, row, { exposed, minimumRole }))
    })

async function requireRoomForOneMore(tx: Transaction, orgId: string): Promise<void> {
  const [found] = await tx
    .select({ n: count() })
    .from(dataSources)
    .where(and(eq(dataSources.orgId, orgId), eq(dataSources.exposed, true)))
  if (found!.n >= EXPOSED_MAX) throw new ServiceError('EXPOSURE_LIMIT')
}

async function lock(tx: Transaction, orgId: string, id: string): Promise<SourceRow> {
  const [row] = await tx.select().from(dataSources).where(named(orgId, id)).for('update')
  if (!row) throw notFound()
  return row
}

async function change(
  tx: Transaction,
  row: SourceRow,
  to: Partial<typeof dataSources.$inferInsert>,
): Promise<SourceRow> {
  const [changed] = await tx
    .update(dataSources)
    .set(to)
    .where(and(eq(dataSources.orgId, row.orgId), eq(dataSources.id, row.id)))
    .returning()
  return changed!
}
