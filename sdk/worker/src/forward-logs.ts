/** Sends lines to the app's logs over OTLP (HTTP with JSON): in batches, in their order, never more than memory allows. */
import { askedDelayMs, isTemporary, type Api } from './api.ts'
import { LOG_LEVELS, printLine, type LogLine } from './log.ts'
import { pause, retryDelayMs } from './pause.ts'
import type { ForwardLogs } from './settings.ts'
import { cut, describeError } from './texts.ts'

export type LogForwarder = {
  add(line: LogLine): void
  /** Sends what is left, for at most so long. */
  close(timeoutMs: number): Promise<void>
}

/** As OpenTelemetry numbers them. */
const SEVERITY = { debug: 5, info: 9, warn: 13, error: 17 } as const
const LINES_KEPT = 10_000
const LINES_PER_REQUEST = 500
/** The server keeps no more of a line. */
const TEXT_MAX = 16 * 1024
const WAIT_MS = 1_000
const REQUEST_MS = 10_000

export function forwardLogs(api: Api, { level, service }: Required<ForwardLogs>): LogForwarder {
  const waiting: LogRecord[] = []
  const closing = new AbortController()
  const over = new AbortController()
  let lost = 0
  let sending: Promise<void> | undefined
  let told = ''

  /** Until it is something else: every batch would say the same. */
  function tellOnce(text: string): void {
    if (text !== told) tell(text)
    told = text
  }

  function add(line: LogLine): void {
    if (LOG_LEVELS.indexOf(line.level) < LOG_LEVELS.indexOf(level)) return
    if (waiting.length >= LINES_KEPT) lost += 1
    else waiting.push(recordOf(line))
    sending ??= sendAll().finally(() => (sending = undefined))
  }

  async function sendAll(): Promise<void> {
    let failures = 0
    // More lines come along with the first.
    await pause(WAIT_MS, closing.signal)
    while (waiting.length > 0 && !over.signal.aborted) {
      const batch = waiting.slice(0, LINES_PER_REQUEST)
      try {
        const options = { timeoutMs: REQUEST_MS, signal: over.signal }
        const answer = await api('/v1/logs', exportOf(batch, service), options)
        waiting.splice(0, batch.length)
        failures = 0
        const refused = refusedIn(answer)
        lost += refused
        if (refused > 0) tellOnce('The server did not take every log line')
        else told = ''
      } catch (error) {
        if (over.signal.aborted) break
        if (!isTemporary(error)) {
          lost += waiting.splice(0, batch.length).length
          tellOnce(`Log lines are refused: ${describeError(error)}`)
          continue
        }
        failures += 1
        tellOnce(`Log lines wait: ${describeError(error)}`)
        // Cut short by closing, which tries once more at once and then every second.
        if (closing.signal.aborted) await pause(WAIT_MS, over.signal)
        else await pause(Math.max(askedDelayMs(error), retryDelayMs(failures, 1_000, 60_000)), closing.signal)
      }
    }
  }

  return {
    add,
    async close(timeoutMs) {
      closing.abort()
      const timer = setTimeout(() => over.abort(), timeoutMs)
      await sending
      clearTimeout(timer)
      lost += waiting.splice(0).length
      if (lost > 0) tell(`${lost} log lines were not forwarded.`)
    },
  }
}

/** Printed only: forwarding it could fail in the same way. */
const tell = (text: string): void => printLine({ level: 'warn', text, fields: {}, at: new Date() })

/** How many lines of a request that was accepted were not. */
function refusedIn(answer: unknown): number {
  const { partialSuccess } = (answer ?? {}) as { partialSuccess?: { rejectedLogRecords?: unknown } | null }
  return Number(partialSuccess?.rejectedLogRecords) || 0
}

const exportOf = (logRecords: readonly LogRecord[], service: string) => ({
  resourceLogs: [
    {
      resource: { attributes: [{ key: 'service.name', value: valueOf(service) }] },
      scopeLogs: [{ scope: { name: 'svc-worker' }, logRecords }],
    },
  ],
})

type LogRecord = ReturnType<typeof recordOf>

/** At once, as the values are now. Programs in JavaScript log anything: what JSON cannot write would stop all lines. */
const recordOf = ({ level, text, fields, at }: LogLine) => ({
  timeUnixNano: `${at.getTime()}000000`,
  severityNumber: SEVERITY[level],
  severityText: level.toUpperCase(),
  body: { stringValue: textOf(text) },
  attributes: Object.entries(fields).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: valueOf(value) }],
  ),
})

function valueOf(value: unknown) {
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number' && Number.isFinite(value)) return { doubleValue: value }
  return { stringValue: textOf(value) }
}

const textOf = (value: unknown): string =>
  cut(typeof value === 'string' ? value : describeError(value), TEXT_MAX)
