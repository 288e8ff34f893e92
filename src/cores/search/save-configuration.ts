/** Saves a search configuration if every table, column, type and dimension of it is really there; else nothing changes. */
import { and, eq } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import type { saveSearchConfiguration, SearchConfiguration } from '../../contracts/data-sources.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import {
  findSource,
  presentSource,
  reach,
  sourceIdOf,
  type Queries,
  type ReachNeeds,
} from '../databases/index.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { checkConfiguration, type Checked } from './check-configuration.ts'
import { languageOf } from './full-text.ts'
import { spokenByDatabase } from './database-words.ts'
import type { EmbeddingModels } from './embedding-models.ts'
import { readTableFacts, type FactsKeeper } from './table-facts.ts'

export type ConfigurationNeeds = Storage &
  ReachNeeds & { readonly models: EmbeddingModels; readonly facts: FactsKeeper }

export const saveConfiguration =
  (needs: ConfigurationNeeds): Handler<typeof saveSearchConfiguration> =>
  async (who, { source_id, connection_config, filter_schema }) => {
    const { orgId } = asMember(who)
    const row = await findSource(needs.db, orgId, source_id)
    if (!row) throw notFound()
    const configuration = { connection_config, filter_schema }
    const queries = reach(needs, row)
    const { problems, notes } = await spokenByDatabase(() => check(needs, queries, configuration))
    if (problems.length > 0) throw invalid(problems)
    const saved = await withTransaction(needs.db, async (tx) => {
      const [changed] = await tx
        .update(dataSources)
        .set({ configuration, configuredAt: needs.clock() })
        .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, row.id)))
        .returning()
      if (!changed) throw notFound()
      const subject = sourceIdOf(row.name)
      await recordAudit(tx, needs.clock, who, { orgId, action: 'data_source.configured', subject })
      return changed
    })
    needs.facts.forget(queries)
    return { ...presentSource(saved), notes: [...notes] }
  }

const invalid = (problems: readonly string[]) =>
  new ServiceError('INVALID_SEARCH_CONFIGURATION', undefined, { problems })

/** Read anew, past what is kept: the database may have changed a moment ago. */
export async function check(
  { models }: Pick<ConfigurationNeeds, 'models'>,
  queries: Queries,
  configuration: SearchConfiguration,
): Promise<Checked> {
  const entries = configuration.connection_config.embedding_configs
  const names = [...new Set(entries.map(({ table }) => table))]
  const facts = await Promise.all(names.map((name) => readTableFacts(queries, name)))
  const tables = new Map(names.map((name, at) => [name, facts[at]]))
  const checked = checkConfiguration(configuration, tables, models)
  const languages = await unknownLanguages(queries, [
    ...new Set(entries.filter(({ hybrid }) => hybrid).map(languageOf)),
  ])
  return { ...checked, problems: [...checked.problems, ...languages] }
}

async function unknownLanguages(queries: Queries, languages: readonly string[]): Promise<string[]> {
  if (languages.length === 0) return []
  const known = await queries.query<{ name: string }>('select cfgname::text as name from pg_ts_config')
  return languages
    .filter((language) => !known.some(({ name }) => name === language))
    .map((language) => `text_search_language: the database knows no "${language}"`)
}
