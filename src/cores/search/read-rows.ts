/** Rows of a data source's database, checked before they are used: its server may be anybody's, and send anything. */
import { readJsonObject } from '../../contracts/read-json.ts'
import { problem } from '../../../db/managed/problem.ts'

/** Of a table of 1,600 columns with names of 63 bytes. In memory, JSON takes many times the memory of its text. */
const JSON_MAX_CHARACTERS = 512 * 1024
const LIST_MAX = 2_000

const malformed = (): Error => problem('MALFORMED_ANSWER', 'The database answered in another form than asked')

/** `texts` may be null. No more rows than were asked for. */
export function checkRows(
  rows: readonly Readonly<Record<string, unknown>>[],
  { max, texts, numbers }: { max: number; texts: readonly string[]; numbers: readonly string[] },
): void {
  const isText = (value: unknown) => value === null || typeof value === 'string'
  const fits = (row: Readonly<Record<string, unknown>>) =>
    texts.every((name) => isText(row[name])) && numbers.every((name) => typeof row[name] === 'number')
  if (rows.length > max || !rows.every(fits)) throw malformed()
}

export function countIn<Name extends string>(
  row: Readonly<Partial<Record<Name, unknown>>> | undefined,
  name: Name,
): number {
  const count = row?.[name]
  if (!Number.isSafeInteger(count)) throw malformed()
  return count as number
}

/** The first is the whole plan's. Not parsed: a plan of many partitions is large, and quotes in names are escaped. */
export function estimateIn(plan: unknown): number {
  const rows = typeof plan === 'string' ? /"Plan Rows": (\d{1,30})\b/.exec(plan)?.[1] : undefined
  if (rows === undefined) throw malformed()
  return Number(rows)
}

export type ColumnInfo = {
  readonly name: string
  readonly type: string
  /** b base, e enum, d domain … */
  readonly kind: string
  /** Of a vector its dimensions, or -1. */
  readonly modifier: number
  /** Where the type lives: pgvector may be installed in any schema. */
  readonly schema: string
  /** Generated, and computed whenever it is read. */
  readonly virtual: boolean
}

export type IndexInfo = {
  readonly column: string | null
  readonly method: string
  readonly operators: string
}

/** Of the rows of a table, in a table of their own. */
export type RowPassages = {
  /** The column of the rows that they name, and its type. */
  readonly key: string
  readonly keyType: 'text' | 'numeric'
  readonly model: string
  readonly dimensions: number
  /** -1 when they were never analyzed. */
  readonly rows: number
  /** Of the indexes on them. */
  readonly operators: readonly string[]
}

/** What a load says of them, in the comment of their table. */
const PASSAGES_COMMENT = 'Passages by svc '
export const passagesComment = (about: Pick<RowPassages, 'key' | 'model' | 'dimensions'>): string =>
  PASSAGES_COMMENT + JSON.stringify(about)

/** Whoever has the login may have written another comment: then they are no passages of ours. */
export function passagesIn(json: unknown, columns: ReadonlyMap<string, ColumnInfo>): RowPassages | undefined {
  if (json === null || json === undefined) return undefined
  if (typeof json !== 'string' || json.length > JSON_MAX_CHARACTERS) throw malformed()
  const { comment, rows, operators } = jsonIn(json) as Fields
  if (typeof comment !== 'string' || !comment.startsWith(PASSAGES_COMMENT)) return undefined
  const about = aboutIn(comment.slice(PASSAGES_COMMENT.length))
  const keyType = about && columns.get(about.key)?.type
  if (!about || (keyType !== 'text' && keyType !== 'numeric')) return undefined
  return {
    ...about,
    keyType,
    rows: typeof rows === 'number' ? rows : -1,
    operators: Array.isArray(operators) ? operators.filter((one) => typeof one === 'string') : [],
  }
}

function aboutIn(text: string): Pick<RowPassages, 'key' | 'model' | 'dimensions'> | undefined {
  const { key, model, dimensions } = readJsonObject(text) ?? {}
  const isAbout = typeof key === 'string' && typeof model === 'string' && typeof dimensions === 'number'
  return isAbout ? { key, model, dimensions } : undefined
}

export const columnsIn = (json: unknown): ColumnInfo[] => listIn(json).map(columnIn)
export const indexesIn = (json: unknown): IndexInfo[] => listIn(json).map(indexIn)

function columnIn(one: Fields): ColumnInfo {
  const { modifier, virtual } = one
  if (!Number.isSafeInteger(modifier) || typeof virtual !== 'boolean') throw malformed()
  const [name, type, kind, schema] = [one['name'], one['type'], one['kind'], one['schema']].map(nameIn)
  return { name: name!, type: type!, kind: kind!, schema: schema!, modifier: modifier as number, virtual }
}

const indexIn = ({ column, method, operators }: Fields): IndexInfo => ({
  column: column === null ? null : nameIn(column),
  method: nameIn(method),
  operators: nameIn(operators),
})

/** It becomes part of a statement. */
function nameIn(value: unknown): string {
  if (typeof value !== 'string' || value.includes('\0')) throw malformed()
  return value
}

type Fields = Readonly<Record<string, unknown>>

function listIn(json: unknown): Fields[] {
  if (typeof json !== 'string' || json.length > JSON_MAX_CHARACTERS) throw malformed()
  const list = jsonIn(json)
  if (!Array.isArray(list) || list.length > LIST_MAX) throw malformed()
  if (!list.every((one) => typeof one === 'object' && one !== null)) throw malformed()
  return list as Fields[]
}

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown

export function jsonIn(text: string, revive?: Reviver): unknown {
  try {
    return JSON.parse(text, revive as Parameters<typeof JSON.parse>[1])
  } catch {
    throw malformed()
  }
}
