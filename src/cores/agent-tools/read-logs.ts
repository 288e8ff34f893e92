import { findNewestLines } from '../logs/index.ts'
import { cutText, fitRows } from './fit-rows.ts'
import { appOf, type ReadingTool } from './tool.ts'

/** A stack trace; what is longer is cut, and kept whole as evidence. */
const TEXT_MAX = 4_000

export const readLogs: ReadingTool<'read_logs'> = async (deps, run, { group, from, to, level, limit }) => {
  const filter = { since: from, until: to, level, group_id: group }
  const found = await findNewestLines({ ...deps, logReads: deps.runLogReads }, appOf(run), filter, limit + 1)
  const shown = fitRows(
    found.slice(0, limit).map(({ id, group_id, at, level: severity, text }) => ({
      ref: `log:${id}`,
      group: group_id,
      at,
      level: severity,
      text: cutText(text, TEXT_MAX),
    })),
  )
  return {
    result: { lines: shown.rows, truncated: shown.truncated || found.length > limit },
    evidence: found.slice(0, shown.rows.length).map(({ id, text }) => ({
      ref: `log:${id}`,
      kind: 'log' as const,
      location: id,
      fromLine: null,
      toLine: null,
      text,
    })),
  }
}
