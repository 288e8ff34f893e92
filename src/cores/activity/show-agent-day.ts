/** What an agent did on a day: its calls by period of work, counted by data source, function and error. */
import { sql } from '../../../db/drizzle.ts'
import { activity } from '../../../db/schema.ts'
import type { ErrorCode } from '../../contracts/errors.ts'
import type { ActivityOutcome } from '../../contracts/list-filters.ts'
import { read, type Verb } from '../verb.ts'
import { activityFilter } from './activity-filter.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Whoever comes back later than this begins something else. */
const PERIOD_ENDS = sql.raw(`interval '30 minutes'`)

type Row = {
  readonly period: number
  readonly name: string | null
  readonly outcome: ActivityOutcome
  readonly error: ErrorCode | null
  readonly calls: number
  readonly hits: number
  readonly first: string
  readonly last: string
}

export const showAgentDay: Verb<'showAgentDay'> = read(async (context, { grant_id, day: given }) => {
  const { db, old = db, clock, member } = context
  const day = given ?? clock().toISOString().slice(0, 10)
  const from = new Date(`${day}T00:00:00.000Z`)
  const to = new Date(from.getTime() + DAY_MS)
  const matching = await activityFilter(context, member, {
    type: 'all',
    grant_id,
    from: from.toISOString(),
    to: to.toISOString(),
  })
  // Counted in the database: a day may have hundreds of thousands of calls, of few kinds.
  const rows = await old.execute<Row>(sql`
    with calls as (
      select ${activity.id} as id, ${activity.at} as at, ${activity.name} as name,
        ${activity.outcome} as outcome, ${activity.error} as error, ${activity.hits} as hits,
        case when ${activity.at} - lag(${activity.at}) over (order by ${activity.id}) < ${PERIOD_ENDS}
          then 0 else 1 end as begins
      from ${activity} where ${matching}
    ), numbered as (
      select *, sum(begins) over (order by id) as period from calls
    )
    select period::int as period, name, outcome, error, count(*)::int as calls,
      coalesce(sum(hits), 0)::int as hits, min(at) as first, max(at) as last
    from numbered group by 1, 2, 3, 4 order by 1, 2, 3, 4`)
  const periods = [...Map.groupBy(rows, ({ period }) => period).values()].map(presentPeriod)
  return { day, ...countsOf(rows), periods }
})

function presentPeriod(rows: readonly Row[]) {
  const named = (isOfKind: (name: string) => boolean) =>
    [...Map.groupBy(rows, ({ name }) => name)].flatMap(([name, of]) =>
      name === null || !isOfKind(name) ? [] : [{ name, of }],
    )
  const errors = [...Map.groupBy(rows, ({ error }) => error)].flatMap(([error, of]) =>
    error === null ? [] : [{ error, calls: sum(of, 'calls') }],
  )
  return {
    from: new Date(rows.map(({ first }) => first).toSorted()[0]!).toISOString(),
    to: new Date(
      rows
        .map(({ last }) => last)
        .toSorted()
        .at(-1)!,
    ).toISOString(),
    ...countsOf(rows),
    data_sources: mostFirst(
      named(isSource).map(({ name, of }) => ({ source_id: name, ...countsOf(of), hits: sum(of, 'hits') })),
    ),
    functions: mostFirst(named((name) => !isSource(name)).map(({ name, of }) => ({ name, ...countsOf(of) }))),
    errors: mostFirst(errors),
  }
}

/** A search over several data sources is a function: its row names none of them. */
const isSource = (name: string): boolean => name.startsWith('db_')

const sum = (rows: readonly Row[], of: 'calls' | 'hits'): number =>
  rows.reduce((total, row) => total + row[of], 0)

const countsOf = (rows: readonly Row[]) => {
  const ofOutcome = (outcome: ActivityOutcome) =>
    sum(
      rows.filter((row) => row.outcome === outcome),
      'calls',
    )
  return {
    calls: sum(rows, 'calls'),
    answered: ofOutcome('answered'),
    refused: ofOutcome('refused'),
    failed: ofOutcome('failed'),
  }
}

const mostFirst = <Counted extends { readonly calls: number }>(all: readonly Counted[]): Counted[] =>
  all.toSorted((a, b) => b.calls - a.calls)
