/** Turns what a person asked for into a plan: every column is one of the file's. */
import type * as z from 'zod'
import type { StoredPlan } from '../../../db/schema.ts'
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOAD_PROBLEMS_SHOWN } from '../../contracts/limits.ts'
import type { startLoad } from '../../contracts/loads.ts'
import type { SourceRow } from '../databases/index.ts'
import type { MemberPrincipal } from '../principal.ts'
import { columnNames } from './column-names.ts'
import type { Header } from './read-rows.ts'

type Asked = Omit<z.output<typeof startLoad.input>, 'load_id'>

export function planLoad(
  asked: Asked,
  header: Header,
  source: SourceRow,
  principal: MemberPrincipal,
  dimensions: number,
): StoredPlan {
  const names = columnNames(header.headers)
  const problems = [...header.problems]
  const find = (field: string, wanted: string): number => {
    const byHeader = header.headers.indexOf(wanted)
    const at = byHeader === -1 ? names.indexOf(wanted) : byHeader
    if (at === -1 && header.problems.length === 0) problems.push(`${field}: the file has no column ${wanted}`)
    return at
  }
  const id = asked.id_column === undefined ? -1 : find('id_column', asked.id_column)
  const title = asked.title_column === undefined ? undefined : find('title_column', asked.title_column)
  const embed = asked.embed_columns.map((name) => find('embed_columns', name))
  const filters = asked.filter_columns?.map((name) => find('filter_columns', name))
  const isList = (at: number) => header.lists?.includes(header.headers[at]!) ?? false
  const isJson = (at: number) => header.jsons?.includes(header.headers[at]!) ?? false
  if (id !== -1 && (isList(id) || isJson(id))) problems.push('id_column: a list is no id')
  for (const at of filters ?? []) {
    if (isJson(at)) problems.push(`filter_columns: ${names[at]} holds lists of objects`)
  }
  const kinds = new Map(
    Object.entries(asked.types ?? {}).map(([name, kind]) => [find('types', name), kind] as const),
  )
  for (const [at, kind] of kinds) {
    if (at !== -1 && (isList(at) || isJson(at)) && kind !== 'text')
      problems.push(`types: ${names[at]} holds lists`)
    if (at !== -1 && at === id && kind !== 'text')
      problems.push(`types: ${names[at]} is the id, which is a text`)
  }
  if (asked.append && asked.id_column === undefined) {
    problems.push('id_column: rows can only be appended by their id')
  }
  if (asked.upsert && asked.id_column === undefined) {
    problems.push('id_column: rows can only be changed by their id')
  }
  if ([asked.append, asked.upsert, asked.replace].filter(Boolean).length > 1) {
    problems.push('replace: only one of append, upsert and replace')
  }
  if (asked.delete_missing && !asked.upsert) problems.push('delete_missing: only with upsert')
  if (problems.length > 0) {
    throw new ServiceError('INVALID_REQUEST', undefined, { problems: problems.slice(0, LOAD_PROBLEMS_SHOWN) })
  }
  const otherwise = names.findIndex((_, at) => at !== id && !embed.includes(at))
  return {
    table: asked.table ?? source.name,
    append: asked.append,
    upsert: asked.upsert || undefined,
    replace: asked.replace || undefined,
    deleteMissing: asked.delete_missing || undefined,
    dryRun: asked.dry_run || undefined,
    model: asked.model ?? BUILT_IN_MODEL.name,
    dimensions,
    language: asked.language,
    saveConfiguration: asked.save_configuration,
    columns: names.map((name, at) => ({
      name,
      header: header.headers[at]!,
      ...(isList(at) && { isList: true as const }),
      ...(isJson(at) && { isJson: true as const }),
      ...(kinds.has(at) && { kind: kinds.get(at), isChosen: true as const }),
    })),
    id,
    title: title ?? (otherwise === -1 ? null : otherwise),
    embed: [...new Set(embed)],
    filters: filters && [...new Set(filters)],
    delimiter: header.delimiter,
    encoding: header.encoding,
    sheet: asked.sheet ?? header.sheet,
    isDelimiterChosen: asked.delimiter === undefined ? undefined : true,
    author: authorOf(principal),
  }
}

export function authorOf(principal: MemberPrincipal): StoredPlan['author'] {
  const { userId, userName, role, tokenId, cliSessionId, requestId } = principal
  return { userId, userName, role, kind: authorKind(principal), tokenId, cliSessionId, requestId }
}

const authorKind = ({ kind }: MemberPrincipal): StoredPlan['author']['kind'] =>
  kind === 'user' || kind === 'cli_session' ? kind : 'api_token'

/** Whether the same was asked for: by whom does not matter. */
export const isSamePlan = (one: StoredPlan, other: StoredPlan): boolean => digestOf(one) === digestOf(other)

const NOT_CHOSEN = new Set([
  'author',
  'columns',
  'changes',
  'isUndone',
  'undoneAt',
  'converted',
  'conversionsBegun',
  'longRows',
  'passages',
])

/** The database keeps no key without a value, and no order of keys. */
const digestOf = (plan: StoredPlan): string =>
  JSON.stringify([
    Object.entries(plan)
      .filter(([key, value]) => value !== undefined && !NOT_CHOSEN.has(key))
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
    plan.columns.map(({ name, kind, isChosen }) => [name, isChosen ? kind : undefined]),
  ])
