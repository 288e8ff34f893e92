/** Saves a search configuration if every table, column, type and dimension in it exists; otherwise nothing changes. */
import { and, eq } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { findSource, presentSource, openSource, sourceIdOf } from '../databases/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { failingAsSource } from './search-entries.ts'
import { forgetHealth } from './source-health.ts'
import { type ConfigurationDeps, tryConfiguration } from './check-against-database.ts'

export const saveSearchConfiguration: Verb<'saveSearchConfiguration', ConfigurationDeps> = writeInSteps(
  { audit: 'data_source.configured' },
  async (context, { source_id, connection_config, filter_schema }) => {
    const { db, clock, orgId, tableInfo, transaction } = context
    const row = await findSource(db, orgId, source_id)
    if (!row) throw notFound()
    const configuration = { connection_config, filter_schema }
    const queries = openSource(context, row)
    const { problems, notes, wordStatistics } = await failingAsSource(() =>
      tryConfiguration(context, queries, configuration),
    )
    if (problems.length > 0) throw new ServiceError('INVALID_SEARCH_CONFIGURATION', undefined, { problems })
    const saved = await transaction(async ({ tx, audit }) => {
      const [updated] = await tx
        .update(dataSources)
        .set({ configuration, wordStatistics, configuredAt: clock() })
        .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, row.id)))
        .returning()
      if (!updated) throw notFound()
      await forgetHealth(tx, row)
      await audit('data_source.configured', sourceIdOf(row.name))
      return updated
    })
    tableInfo.forget(queries)
    return { ...presentSource(saved), notes: [...notes] }
  },
)
