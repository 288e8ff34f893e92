/** What a list is made with: it says its order and where to search, and is given pages, the total and the search. */
import type { SQL } from 'drizzle-orm'
import type { AnyPgColumn, PgSelect } from 'drizzle-orm/pg-core'
import type { Handle } from '../../db/connect.ts'
import { and, asc, desc, eq, gt, ilike, lt, or, sql } from '../../db/drizzle.ts'
import type { Principal } from '../contracts/operation.ts'
import type { OperationName } from '../contracts/operations.ts'
import { PAGE_DEFAULT } from '../contracts/limits.ts'
import { pageOf, readCursor } from '../contracts/paging.ts'
import type { Storage } from './dependencies.ts'
import { likePattern } from './like-pattern.ts'
import { totalOf } from './total-of.ts'
import {
  declaring,
  seenBy,
  type By,
  type ByOf,
  type InputOf,
  type OutputOf,
  type Seen,
  type Verb,
} from './verb.ts'

export type { Verb } from './verb.ts'

type ListDeclaration = {
  readonly by?: By
  /** The field of the answer that holds the rows. */
  readonly rows: string
  /** The columns of the order, which a cursor names; the last of them is unique. `cursor`: how many, in SQL of its own. */
  readonly asc?: readonly AnyPgColumn[]
  readonly desc?: readonly AnyPgColumn[]
  readonly cursor?: number
  /** Where `search` is looked for, and of which columns it may be the whole. */
  readonly search?: readonly AnyPgColumn[]
  readonly exact?: readonly AnyPgColumn[]
}

type Query<Row, Shown> = {
  /** What the columns of the order hold. */
  readonly key: (row: Row) => readonly string[]
  readonly present: (rows: readonly Row[]) => Shown | Promise<Shown>
} & (
  | {
      /** Called a second time to count, unless `counted` is there. */
      readonly from: () => PromiseLike<readonly Row[]> & { getSQL(): SQL }
      /** Called to count instead, where what is joined to the rows decides nothing. */
      readonly counted?: (() => { getSQL(): SQL }) | undefined
      readonly where: SQL | undefined
    }
  /** In order, beyond `after`, and one more than asked for. */
  | { readonly rows: () => PromiseLike<readonly Row[]> }
)

type Listing<Name extends OperationName, D extends ListDeclaration> = Storage &
  Seen<ByOf<D>> & {
    /** The key that the cursor holds. */
    readonly after: readonly string[] | undefined
    readonly page: <Row>(
      query: Query<Row, OutputOf<Name>[D['rows'] & keyof OutputOf<Name>]>,
    ) => Promise<
      Pick<OutputOf<Name>, D['rows'] & keyof OutputOf<Name>> & { next_cursor?: string; total?: number }
    >
  }

export function list<Name extends OperationName, Deps, const D extends ListDeclaration>(
  declared: D,
  work: (context: Deps & Listing<Name, D>, input: InputOf<Name>) => Promise<OutputOf<Name>>,
): Verb<Name, Deps> {
  const parts = (declared.asc ?? declared.desc)?.length ?? declared.cursor ?? 1
  const verb = (deps: Storage & Deps) => async (principal: Principal, input: InputOf<Name>) => {
    const asked = input as Asked
    const after = readCursor(asked.cursor, parts)
    const context = {
      ...deps,
      ...seenBy(declared.by ?? 'member', principal),
      after,
      page: <Row>(query: Query<Row, unknown>) =>
        readPage(deps.old ?? deps.db, declared, { ...asked, after }, query),
    }
    return work(context as unknown as Parameters<typeof work>[0], input)
  }
  return declaring<Name, Deps>(verb, { kind: 'list', by: declared.by ?? 'member' })
}

type Asked = {
  readonly limit: number
  readonly cursor?: string
  readonly count?: boolean
  readonly search?: string
}

async function readPage<Row>(
  db: Handle,
  declared: ListDeclaration,
  { limit, cursor, count = false, search, after }: Asked & { readonly after: readonly string[] | undefined },
  query: Query<Row, unknown>,
): Promise<object> {
  const { asc: ascending, desc: descending = [], rows: name } = declared
  const matching = (where: SQL | undefined) => and(where, search ? isFoundBy(declared, search) : undefined)
  const order = ascending?.map((column) => asc(column)) ?? descending.map((column) => desc(column))
  const rows =
    'rows' in query
      ? await query.rows()
      : await (query.from() as unknown as PgSelect)
          .where(
            and(matching(query.where), after && beyond(after, ascending ?? descending, ascending ? gt : lt)),
          )
          .orderBy(...order)
          .limit(rowsRead(limit))
  const { rows: shown, ...more } = pageOf(rows as readonly Row[], limit, query.key)
  const counted =
    'rows' in query
      ? {}
      : await totalOf(db, { count, cursor }, { rows: shown, ...more }, () =>
          // In the order of the pages: then the server stops where no more are counted, and else finds all of them first.
          ((query.counted ?? query.from)() as unknown as PgSelect)
            .where(matching(query.where))
            .orderBy(...order),
        )
  return { [name]: await query.present(shown), ...more, ...counted }
}

/**
 * One more than asked for. Of the page that nearly everybody asks for it is part of the statement: with a limit that it does
 * not know the server expects a tenth of the table and plans anew each time, which takes longer than to read the page.
 */
const rowsRead = (limit: number): number =>
  limit === PAGE_DEFAULT ? (sql.raw(String(limit + 1)) as unknown as number) : limit + 1

const isFoundBy = ({ search = [], exact = [] }: ListDeclaration, text: string) =>
  or(...search.map((column) => ilike(column, likePattern(text))), ...exact.map((column) => eq(column, text)))

/** Of the first column, or of the same first column and the next. */
const beyond = (
  after: readonly string[],
  columns: readonly AnyPgColumn[],
  isBeyond: typeof gt,
): SQL | undefined =>
  columns.reduceRight<SQL | undefined>((rest, column, at) => {
    const value = valueFor(column, after[at]!)
    const first = isBeyond(column, value)
    return rest ? or(first, and(eq(column, value), rest)) : first
  }, undefined)

/** A number that is none comes from a cursor of another list, and is before everything. */
const valueFor = ({ dataType }: AnyPgColumn, text: string): string | number => {
  if (dataType !== 'number') return text
  return /^\d{1,9}$/.test(text) ? Number(text) : 0
}
