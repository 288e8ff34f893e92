/** Saves a search configuration if every table, column, type and dimension in it exists; otherwise nothing changes. */
import { and, eq } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import { findSource, presentSource, openSource, sourceIdOf } from '../databases/index.ts'
import { withTransaction } from '../transaction.ts'
import { failingAsSource } from './search-entries.ts'
import { forgetHealth } from './source-health.ts'
import { type ConfigurationDeps, tryConfiguration } from './check-against-database.ts'

export const saveSearchConfiguration =
  (deps: ConfigurationDeps): Handler<'saveSearchConfiguration'> =>
  async (principal, { source_id, connection_config, filter_schema }) => {
    const { orgId } = requireMember(principal)
    const row = await findSource(deps.db, orgId, source_id)
    if (!row) throw notFound()
    const configuration = { connection_config, filter_schema }
    const queries = openSource(deps, row)
    const { problems, notes } = await failingAsSource(() => tryConfiguration(deps, queries, configuration))
    if (problems.length > 0) throw new ServiceError('INVALID_SEARCH_CONFIGURATION', undefined, { problems })
    const saved = await withTransaction(deps.db, async (tx) => {
      const [updated] = await tx
        .update(dataSources)
        .set({ configuration, configuredAt: deps.clock() })
        .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, row.id)))
        .returning()
      if (!updated) throw notFound()
      await forgetHealth(tx, row)
      const subject = sourceIdOf(row.name)
      await recordAudit(tx, deps.clock, principal, { orgId, action: 'data_source.configured', subject })
      return updated
    })
    deps.tableInfo.forget(queries)
    return { ...presentSource(saved), notes: [...notes] }
  }
