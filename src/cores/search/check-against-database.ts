/** Reads the tables that a search configuration names and checks the configuration against them. */
import type { SearchConfiguration } from '../../contracts/data-sources.ts'
import type { Queries, SourceDeps } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import { checkConfiguration, type Checked } from './check-configuration.ts'
import { languageOf } from './full-text.ts'
import type { EmbeddingModels } from './embedding-models.ts'
import { tryQuestion } from './try-question.ts'
import { readTableInfo, type TableInfoCache } from './table-info.ts'

export type ConfigurationDeps = Storage &
  SourceDeps & { readonly models: EmbeddingModels; readonly tableInfo: TableInfoCache }

/** Not from the cache: the database may have changed a moment ago. */
export async function checkAgainstDatabase(
  { models }: Pick<ConfigurationDeps, 'models'>,
  queries: Queries,
  configuration: SearchConfiguration,
): Promise<Checked> {
  const entries = configuration.connection_config.embedding_configs
  const names = [...new Set(entries.map(({ table }) => table))]
  const tableInfo = await Promise.all(names.map((name) => readTableInfo(queries, name)))
  const tables = new Map(names.map((name, at) => [name, tableInfo[at]]))
  const checked = checkConfiguration(configuration, tables, models)
  const languages = await unknownLanguages(queries, [
    ...new Set(entries.filter(({ hybrid }) => hybrid).map(languageOf)),
  ])
  return { ...checked, problems: [...checked.problems, ...languages] }
}

/** Also asks each table that fits one real question: what a view does shows only when it is read. */
export async function tryConfiguration(
  deps: Pick<ConfigurationDeps, 'models'>,
  queries: Queries,
  configuration: SearchConfiguration,
): Promise<Pick<Checked, 'problems' | 'notes'>> {
  const { problems, notes, fitting } = await checkAgainstDatabase(deps, queries, configuration)
  const shown: string[] = []
  for (const entry of fitting) {
    const isLanguageUnknown = problems.some((problem) => problem.includes(`"${languageOf(entry)}"`))
    if (entry.hybrid && isLanguageUnknown) continue
    const problem = await tryQuestion(queries, entry)
    if (problem) shown.push(problem.text)
    // Whoever saves waits for the answer, and every slow table takes all the time there is.
    if (problem?.isTooSlow) break
  }
  const all = [...problems, ...shown]
  return { problems: all, notes: all.length > 0 ? [] : notes }
}

async function unknownLanguages(queries: Queries, languages: readonly string[]): Promise<string[]> {
  if (languages.length === 0) return []
  const known = await queries.query<{ name: string }>('select cfgname::text as name from pg_ts_config')
  return languages
    .filter((language) => !known.some(({ name }) => name === language))
    .map((language) => `text_search_language: the database has no configuration "${language}"`)
}
