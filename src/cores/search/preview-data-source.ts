/** Which rows somebody would see, for owners and admins: by id and title, and recorded. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { SearchEntry } from '../../contracts/data-sources.ts'
import { notFound } from '../../contracts/errors.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { atLeast } from '../../contracts/roles.ts'
import { findSource, openSource, sourceIdOf, type Queries, type SourceRow } from '../databases/index.ts'
import { findGroupMember, type FoundMember } from '../groups/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import type { Condition } from './filter-columns.ts'
import { rawColumns, textColumns } from './nearest-rows.ts'
import { chosenEntries } from './query-data-source.ts'
import { parseColumnList, quoteTable } from './quote.ts'
import { checkRows, countIn } from './read-rows.ts'
import { accessConditions, namesOfMachineAgent, namesOfMember, type RowAccess } from './row-access.ts'
import { readTable, withDatabaseCheck, type SearchDeps } from './search-entries.ts'

const COUNTED_MAX = 100_000

export const previewDataSource: Verb<'previewDataSource', SearchDeps> = writeInSteps(
  { audit: 'data_source.previewed' },
  async (context, { source_id, member_id, target, limit, cursor }) => {
    const { db, orgId, directory, transaction } = context
    const source = await findSource(db, orgId, source_id)
    const person = await findGroupMember(directory, db, orgId, member_id)
    if (!source || !person) throw notFound()
    const [entry] = chosenEntries(source, target)
    const after = readCursor(cursor, 1)?.[0]
    const access = await accessOf(context, source, person)
    await transaction(({ audit }) =>
      audit('data_source.previewed', `${sourceIdOf(source.name)} as ${person.email ?? person.name}`),
    )
    const { rows, total } = await withDatabaseCheck(context, source, async () => {
      const queries = openSource(context, source)
      const seen = accessConditions(
        access,
        await readTable(context, queries, { entry: entry!, access }),
        '$1',
      )
      return seen ? readSeen(queries, entry!, seen, { after, limit }) : { rows: [], total: 0 }
    })
    const page = pageOf(rows, limit, ({ id }) => [id])
    return {
      member: { id: person.id, name: person.name, email: person.email },
      may_query: await mayQuery(context, source, person),
      target: entry!.label,
      total,
      ...page,
      rows: [...page.rows],
    }
  },
)

/** With no credential in between: their own role. */
async function accessOf(deps: SearchDeps, source: SourceRow, person: FoundMember): Promise<RowAccess> {
  const column = source.configuration?.access_column ?? null
  if (column === null) return 'all'
  const names =
    person.kind === 'machine_agent'
      ? await namesOfMachineAgent(deps.db, person, person.id)
      : await namesOfMember(deps, person, 'owner')
  return { column, names }
}

async function mayQuery(
  { db, directory }: SearchDeps,
  { enabled, exposed, minimumRole }: SourceRow,
  { orgId, userId }: FoundMember,
): Promise<boolean> {
  if (!enabled || !exposed) return false
  const own = { orgId, userId, role: 'owner', carriesAppRoles: false } as const
  const standing = await directory.readMembership(db, own)
  return standing !== null && atLeast(standing.role, minimumRole)
}

type Row = { readonly id: string; readonly title: string | null }

/** One more than asked for. Only those with a vector: others are never found. */
async function readSeen(
  queries: Queries,
  entry: SearchEntry,
  seen: readonly Condition[],
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<{ rows: Row[]; total: number }> {
  const columns = parseColumnList(entry.content_columns)
  const shown = { ...entry, content_columns: columns.slice(0, 2).join() }
  const vector = entry.columns[0] === undefined ? 'true' : `${quoteIdentifier(entry.columns[0])} is not null`
  const where = [vector, ...seen.map(({ text }) => text)]
  const parameters = seen.map(({ parameter }) => parameter)
  const [counted] = await queries.query<{ rows: number }>(
    `select count(*)::int as rows from (select from ${quoteTable(entry.table)} ` +
      `where ${where.join(' and ')} limit ${COUNTED_MAX}) counted`,
    parameters,
  )
  // Nothing keeps the first column from being null, of a view for instance.
  const id = `coalesce(${quoteIdentifier(columns[0]!)}::text, '') collate "C"`
  if (after !== undefined) {
    parameters.push(after)
    where.push(`${id} > $${parameters.length}`)
  }
  const found = await queries.query<{ c0: string | null; c1?: string | null }>(
    `select ${textColumns(shown)} from (select ${rawColumns(shown)} from ${quoteTable(entry.table)} ` +
      `where ${where.join(' and ')} order by ${id} limit ${limit + 1}) found order by coalesce(c0::text, '') collate "C"`,
    parameters,
  )
  checkRows(found, { max: limit + 1, texts: columns.length > 1 ? ['c0', 'c1'] : ['c0'], numbers: [] })
  return {
    rows: found.map(({ c0, c1 = null }) => ({ id: c0 ?? '', title: c1 })),
    total: countIn(counted, 'rows'),
  }
}
