/** A line of a log as it arrives, before it is masked and stored. */
import { ServiceError } from '../../contracts/errors.ts'
import type { LogLevel } from '../../contracts/log-levels.ts'
import { LOG_LINE_MAX, LOG_LINES_PER_REQUEST } from '../../contracts/limits.ts'

/** The app whose lines they are. */
export type LogApp = { readonly orgId: string; readonly id: string }

export type LogRecord = {
  /** Null: the sender does not say when; the time of arrival counts. */
  readonly at: Date | null
  readonly level: LogLevel
  readonly text: string
  readonly service: string | null
  readonly traceId: string | null
}

/** `rejected`: records that could not be read. */
export type ReadLogs = { readonly records: readonly LogRecord[]; readonly rejected: number }

/** More than is stored, so that a secret at the place where a line is cut is still seen whole. */
export const READ_MAX = LOG_LINE_MAX + 1024

/** Asked while reading: twenty megabytes may hold ten million lines. */
export function refuseFurtherLines(lines: number): void {
  if (lines < LOG_LINES_PER_REQUEST) return
  throw new ServiceError(
    'TOO_LARGE',
    `One request may hold ${LOG_LINES_PER_REQUEST.toLocaleString('en')} lines`,
  )
}

/** Values of JSON, or fields of protobuf, in one request: twice what 8,192 records of a collector have. */
const PARTS_MAX = 1_000_000

export function partsCounter(): () => void {
  let parts = 0
  return () => {
    parts += 1
    if (parts > PARTS_MAX) {
      throw new ServiceError('TOO_LARGE', `One request may hold ${PARTS_MAX.toLocaleString('en')} values`)
    }
  }
}
