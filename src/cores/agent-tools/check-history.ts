import { sql } from '../../../db/drizzle.ts'
import type { Handle } from '../../../db/connect.ts'
import { checkRuns, checks } from '../../../db/schema.ts'
import type { ToolInput, ToolOutput } from '../../contracts/agent-tools.ts'
import { ToolRefused } from '../../contracts/agent-tools.ts'
import { fitRows } from './fit-rows.ts'
import type { ReadingTool, ToolRun } from './tool.ts'

/** Of each check: of one that is asked for, and of all. Fewer where those do not fit. */
const RUNS = { one: [100, 50, 20, 5], all: [10, 5, 3, 1] } as const

type Check = ToolOutput<'check_history'>['checks'][number]
type Row = {
  id: string
  name: string
  kind: Check['kind']
  state: Check['state']
  state_since: Date | string | null
  run_id: string | null
  at: Date | string
  result: Check['runs'][number]['result']
  reason: Check['runs'][number]['reason']
  status: number | null
  ms: number | null
  detail: string | null
}

export const checkHistory: ReadingTool<'check_history'> = async ({ db }, run, input) => {
  const rows = await findRuns(db, run, input)
  if (input.check !== undefined && rows.length === 0) throw new ToolRefused('NOT_FOUND')
  const shown = fitChecks(grouped(rows), input.check === undefined ? RUNS.all : RUNS.one)
  const texts = new Map(rows.map((row) => [`check:${row.run_id}`, textOf(row)]))
  return {
    result: { checks: shown.rows, truncated: shown.truncated },
    evidence: shown.rows.flatMap(({ runs }) =>
      runs.map(({ ref }) => ({
        ref,
        kind: 'check' as const,
        location: ref.slice('check:'.length),
        fromLine: null,
        toLine: null,
        text: texts.get(ref)!,
      })),
    ),
  }
}

/** All checks with fewer runs of each, rather than few checks with all of theirs. */
function fitChecks(found: readonly Check[], most: readonly number[]): ReturnType<typeof fitRows<Check>> {
  const hasMore = (max: number) => found.some(({ runs }) => runs.length > max)
  const tried = most.map((max) => ({
    ...fitRows(found.map((check) => ({ ...check, runs: check.runs.slice(0, max) }))),
    max,
  }))
  const best = tried.find(({ truncated }) => !truncated) ?? tried.at(-1)!
  return { rows: best.rows, truncated: best.truncated || hasMore(best.max) }
}

/** The checks of the app, each with its last runs; one without any has a row of its own. */
const findRuns = (db: Handle, { orgId, appId }: ToolRun, { check, from, to }: ToolInput<'check_history'>) =>
  db.execute<Row>(sql`
    select c.id, c.name, c.definition ->> 'kind' as kind, c.state, c.state_since,
      r.id as run_id, r.at, r.result, r.reason, r.status, r.ms, r.detail
    from ${checks} c left join lateral (
      select * from ${checkRuns} r where r.org_id = c.org_id and r.check_id = c.id
        ${from === undefined ? sql`` : sql`and r.at >= ${new Date(from).toISOString()}::timestamptz`}
        ${to === undefined ? sql`` : sql`and r.at < ${new Date(to).toISOString()}::timestamptz`}
      order by r.id desc limit ${sql.raw(String((check === undefined ? RUNS.all : RUNS.one)[0]))}
    ) r on true
    where c.org_id = ${orgId} and c.app_id = ${appId} ${check === undefined ? sql`` : sql`and c.id = ${check}`}
    order by c.name, r.id desc`)

function grouped(rows: readonly Row[]): Check[] {
  const found = new Map<string, Check>()
  for (const row of rows) {
    const known = found.get(row.id)
    const one: Check = known ?? {
      id: row.id,
      name: row.name,
      kind: row.kind,
      state: row.state,
      state_since: row.state_since === null ? null : isoOf(row.state_since),
      runs: [],
    }
    found.set(row.id, one)
    if (row.run_id !== null) {
      const { result, reason, status, ms, detail } = row
      one.runs.push({ ref: `check:${row.run_id}`, at: isoOf(row.at), result, reason, status, ms, detail })
    }
  }
  // What fails comes first: the others may not fit.
  return [...found.values()].toSorted((a, b) => Number(a.state === 'pass') - Number(b.state === 'pass'))
}

const isoOf = (at: Date | string): string => new Date(at).toISOString()

const textOf = ({ id, name, at, result, reason, status, detail }: Row): string =>
  JSON.stringify({ check: name, check_id: id, at: isoOf(at), result, reason, status, detail })
