/** A line of a log as it arrives, before it is masked and stored. */
import type { LogLevel } from '../../contracts/log-levels.ts'

export type LogRecord = {
  /** Null: the sender does not say when; the time of arrival counts. */
  readonly at: Date | null
  readonly level: LogLevel
  readonly text: string
  readonly service: string | null
  readonly traceId: string | null
}
