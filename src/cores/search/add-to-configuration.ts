/** Adds to a search configuration what a load made. What somebody saves at the same moment is not lost. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { SearchConfiguration } from '../../contracts/data-sources.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import { openSource, recordAccessChange, sourceIdOf } from '../databases/index.ts'
import { withTransaction } from '../transaction.ts'
import { tryConfiguration, type ConfigurationDeps } from './check-against-database.ts'
import { forgetHealth } from './source-health.ts'

const ATTEMPTS = 3

/** Who sees which rows is not for a load to change. */
const withAccess = (before: SearchConfiguration | null, next: SearchConfiguration): SearchConfiguration =>
  before?.access_column === undefined ? next : { ...next, access_column: before.access_column }

/** False: what would be saved does not fit the database, or is too much. */
export async function addToConfiguration(
  deps: ConfigurationDeps,
  actor: AuditActor,
  { orgId, id }: { readonly orgId: string; readonly id: string },
  {
    change,
    authorize,
  }: {
    readonly change: (before: SearchConfiguration | null) => SearchConfiguration
    /** Throws if the author may not, at the moment of the write. */
    readonly authorize: (tx: Transaction) => Promise<void>
  },
): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const [row] = await deps.db
      .select()
      .from(dataSources)
      .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, id)))
    if (!row) return false
    const read = SearchConfiguration.safeParse(withAccess(row.configuration, change(row.configuration)))
    if (!read.success) return false
    const configuration = read.data
    const queries = openSource(deps, row)
    const { problems, wordStatistics } = await tryConfiguration(deps, queries, configuration)
    if (problems.length > 0) return false
    const isAsRead =
      row.configuredAt === null
        ? isNull(dataSources.configuredAt)
        : eq(dataSources.configuredAt, row.configuredAt)
    const isSaved = await withTransaction(deps.db, async (tx) => {
      await authorize(tx)
      const updated = await tx
        .update(dataSources)
        .set({ configuration, wordStatistics, configuredAt: deps.clock() })
        .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, id), isAsRead))
        .returning({ id: dataSources.id })
      if (updated.length === 0) return false
      await recordAccessChange(tx, row, { configuration })
      await forgetHealth(tx, row)
      await recordAudit(tx, deps.clock, actor, {
        orgId,
        action: 'data_source.configured',
        subject: sourceIdOf(row.name),
      })
      return true
    })
    deps.tableInfo.forget(queries)
    if (isSaved) return true
  }
  return false
}
