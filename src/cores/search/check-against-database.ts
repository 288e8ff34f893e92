/** Reads the tables that a search configuration names and checks the configuration against them. */
import type { AllWordStatistics, SearchConfiguration, SearchEntry } from '../../contracts/data-sources.ts'
import type { Queries, SourceDeps } from '../databases/index.ts'
import type { Log, Storage } from '../dependencies.ts'
import { changed, checkConfiguration, type Checked, type Tables } from './check-configuration.ts'
import { languageOf } from './full-text.ts'
import type { EmbeddingModels } from './embedding-models.ts'
import { tryQuestion } from './try-question.ts'
import { takeWordStatistics } from './word-statistics.ts'
import { readTableInfo, type TableInfo, type TableInfoCache } from './table-info.ts'

export type ConfigurationDeps = Storage &
  Log &
  SourceDeps & { readonly models: EmbeddingModels; readonly tableInfo: TableInfoCache }

/** Not from the cache: the database may have changed a moment ago. */
export async function checkAgainstDatabase(
  { models }: Pick<ConfigurationDeps, 'models'>,
  queries: Queries,
  configuration: SearchConfiguration,
): Promise<Checked & { readonly tables: Tables }> {
  const entries = configuration.connection_config.embedding_configs
  const names = [...new Set(entries.map(({ table }) => table))]
  const tableInfo = await Promise.all(names.map((name) => readTableInfo(queries, name)))
  const tables = new Map(names.map((name, at) => [name, tableInfo[at]]))
  const checked = checkConfiguration(configuration, tables, models)
  const languages = await unknownLanguages(queries, [
    ...new Set(entries.filter(({ hybrid }) => hybrid).map(languageOf)),
  ])
  const problems = languages.map((language) =>
    changed(
      `text_search_language: the database has no configuration "${language}"; "simple" takes words of any language as they are`,
    ),
  )
  return {
    problems: [...checked.problems, ...problems],
    advice: checked.advice,
    fitting: checked.fitting.filter((entry) => !entry.hybrid || !languages.includes(languageOf(entry))),
    tables,
  }
}

type Tried = {
  readonly problems: readonly string[]
  readonly notes: readonly string[]
  readonly wordStatistics: AllWordStatistics
}

/** Also asks each table that fits one real question: what a view does shows only when it is read. */
export async function tryConfiguration(
  deps: Pick<ConfigurationDeps, 'models'>,
  queries: Queries,
  configuration: SearchConfiguration,
): Promise<Tried> {
  const { problems, advice, fitting, tables } = await checkAgainstDatabase(deps, queries, configuration)
  const all = [
    ...problems.map(({ text }) => text),
    ...(await tryEntries(queries, fitting, (entry) => tables.get(entry.table)!)),
  ]
  const notes = advice.map(
    ({ text, statement, afterward }) => `${text}: ${statement}${afterward ? `; then ${afterward}` : ''}`,
  )
  if (all.length > 0) return { problems: all, notes: [], wordStatistics: {} }
  const wordStatistics = await takeWordStatistics(queries, configuration, ({ table }) => tables.get(table))
  return { problems: [], notes, wordStatistics }
}

async function tryEntries(
  queries: Queries,
  entries: readonly SearchEntry[],
  infoOf: (entry: SearchEntry) => TableInfo,
): Promise<string[]> {
  const problems: string[] = []
  for (const [at, entry] of entries.entries()) {
    const problem = await tryQuestion(queries, entry, infoOf(entry))
    if (problem) problems.push(problem.text)
    if (!problem?.isTooSlow) continue
    // Whoever saves waits for the answer, and every slow table takes all the time there is.
    const left = entries.slice(at + 1).map(({ label }) => label)
    if (left.length > 0) problems.push(`Not tried, since that one took all the time: ${left.join(', ')}`)
    break
  }
  return problems
}

/** Of these, those that the database does not know. */
async function unknownLanguages(queries: Queries, languages: readonly string[]): Promise<string[]> {
  if (languages.length === 0) return []
  const known = await queries.query<{ name: string }>('select cfgname::text as name from pg_ts_config')
  return languages.filter((language) => !known.some(({ name }) => name === language))
}
