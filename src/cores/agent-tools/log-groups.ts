import { findWorstGroups } from '../logs/index.ts'
import { cutText, fitRows } from './fit-rows.ts'
import { appOf, type ReadingTool } from './tool.ts'

const DAY_MS = 24 * 60 * 60_000
const GROUPS_MAX = 100
const TEMPLATE_MAX = 400

export const logGroups: ReadingTool<'log_groups'> = async (deps, run, input) => {
  const since = new Date(input.since ?? deps.clock().getTime() - DAY_MS).toISOString()
  const { level, offset } = input
  const all = await findWorstGroups(
    { ...deps, logReads: deps.runLogReads },
    appOf(run),
    { since, level },
    offset + GROUPS_MAX + 1,
  )
  const found = all.slice(offset)
  const { rows: groups, truncated } = fitRows(
    found.slice(0, GROUPS_MAX).map(({ id, template, level: severity, count, first_at, last_at }) => ({
      id,
      template: cutText(template, TEMPLATE_MAX),
      level: severity,
      count,
      first_at,
      last_at,
    })),
  )
  return { result: { since, groups, truncated: truncated || found.length > GROUPS_MAX }, evidence: [] }
}
