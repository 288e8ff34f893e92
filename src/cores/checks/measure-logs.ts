/** A logs check: how many lines of a window match, up to one more than is allowed. */
import { setImmediate as turn } from 'node:timers/promises'
import type { CheckDefinition } from '../../contracts/checks.ts'
import type { Storage } from '../dependencies.ts'
import { countLines, readLinePages } from '../logs/index.ts'
import type { ClaimedCheck } from './claim-checks.ts'
import { readLogPattern } from './log-pattern.ts'
import { measured, type Measurement } from './measurement.ts'

type LogsCheck = Extract<CheckDefinition, { kind: 'logs' }>

/** Of a regular expression, which this process reads itself; text is counted by the database. */
const REGEX_MAX_BYTES = 8 * 1024 * 1024

export async function measureLogs(
  { db, clock }: Storage,
  { orgId, appId }: Pick<ClaimedCheck, 'orgId' | 'appId'>,
  { pattern, level, window_minutes, max_count: maxCount }: LogsCheck,
): Promise<Measurement> {
  const started = clock().getTime()
  const since = new Date(started - window_minutes * 60_000)
  const read = readLogPattern(pattern)
  if (!read) return measured('error', 'internal_error')
  const where = { orgId, appId, since, level }
  const { count, isWhole } =
    'text' in read
      ? await countLines(db, { ...where, text: read.text, most: maxCount + 1 })
      : await countMatches(readLinePages(db, where), read.regex, maxCount + 1)
  const ms = clock().getTime() - started
  if (count > maxCount) return measured('fail', 'log_lines', { ms, detail: `more than ${maxCount}` })
  if (!isWhole) return measured('indeterminate', 'evidence_limit', { ms })
  return measured('pass', null, { ms, detail: String(count) })
}

async function countMatches(
  pages: AsyncIterable<readonly string[]>,
  regex: { test(line: string): boolean },
  most: number,
): Promise<{ count: number; isWhole: boolean }> {
  let [count, bytes] = [0, 0]
  for await (const lines of pages) {
    for (const line of lines) {
      if (regex.test(line) && ++count >= most) return { count, isWhole: true }
      bytes += line.length
    }
    if (bytes > REGEX_MAX_BYTES) return { count, isWhole: false }
    // Others are served in between.
    await turn()
  }
  return { count, isWhole: true }
}
