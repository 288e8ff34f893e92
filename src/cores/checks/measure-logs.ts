/** A logs check: how many lines of a window match, up to one more than is allowed. */
import type { CheckDefinition } from '../../contracts/checks.ts'
import type { Storage } from '../dependencies.ts'
import { countLines, readLinePages } from '../logs/index.ts'
import type { ClaimedCheck } from './claim-checks.ts'
import { countMatches } from './count-matches.ts'
import { readLogPattern } from './log-pattern.ts'
import type { WithMatchLines } from './match-lines-port.ts'
import { measured, type Measurement } from './measurement.ts'

type LogsCheck = Extract<CheckDefinition, { kind: 'logs' }>

export async function measureLogs(
  { db, clock, matchLines }: Storage & WithMatchLines,
  { orgId, appId }: Pick<ClaimedCheck, 'orgId' | 'appId'>,
  { pattern, level, window_minutes, max_count: maxCount }: LogsCheck,
): Promise<Measurement> {
  const started = clock().getTime()
  const since = new Date(started - window_minutes * 60_000)
  const read = readLogPattern(pattern)
  const where = { orgId, appId, since, level }
  const { count, isWhole } =
    'text' in read
      ? await countLines(db, { ...where, text: read.text, most: maxCount + 1 })
      : await countMatches(matchLines, readLinePages(db, where), { ...read, orgId, most: maxCount + 1 })
  const ms = clock().getTime() - started
  if (count > maxCount) return measured('fail', 'log_lines', { ms, detail: `more than ${maxCount}` })
  if (!isWhole) return measured('indeterminate', 'evidence_limit', { ms })
  return measured('pass', null, { ms, detail: String(count) })
}
