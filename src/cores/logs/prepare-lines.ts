/** Makes records ready to be stored: cleaned, masked, grouped, and counted. */
import { hash } from 'node:crypto'
import { LOG_DAYS, LOG_LINE_MAX } from '../../contracts/limits.ts'
import { LOG_LEVELS, type LogLevel } from '../../contracts/log-levels.ts'
import { maskSecrets } from '../../contracts/mask-secrets.ts'
import { plainText } from '../../contracts/plain-text.ts'
import { turnGiver } from './give-turn.ts'
import type { LogRecord } from './log-record.ts'
import { templateOf } from './log-template.ts'

export type PreparedLine = {
  readonly atMs: number
  readonly level: number
  readonly group: LogGroup
  readonly text: string
  readonly service: string
  readonly traceId: string
}

export type LogGroup = { readonly key: bigint; readonly level: number; readonly template: string }

export type LogVolume = { readonly atMs: number; readonly level: number; lines: number; bytes: number }

export type PreparedLines = {
  readonly lines: readonly PreparedLine[]
  readonly groups: readonly LogGroup[]
  readonly volumes: readonly LogVolume[]
  readonly bytes: number
  /** Records of which nothing is left to show. */
  readonly rejected: number
}

export const VOLUME_STEP_MS = 5 * 60_000

/** What a line takes beside its text: keys, time, and its places in two indexes. */
const LINE_BYTES = 200
/** A clock may be a little ahead of ours. */
const AHEAD_MS = 10 * 60_000
const KEPT_MS = LOG_DAYS * 24 * 60 * 60_000

const LEVEL_NUMBERS = Object.fromEntries(LOG_LEVELS.map((level, n) => [level, n])) as Record<LogLevel, number>

export async function prepareLines(records: readonly LogRecord[], nowMs: number): Promise<PreparedLines> {
  const lines: PreparedLine[] = []
  const groups = groupsByTemplate()
  const volumes = new Map<number, LogVolume>()
  const services = new Map<string | null, string>([[null, '']])
  let bytes = 0
  const giveTurn = turnGiver()
  for (const record of records) {
    const turn = giveTurn(record.text.length)
    if (turn) await turn
    const text = storedText(record.text)
    if (text === '') continue
    const level = LEVEL_NUMBERS[record.level]
    const atMs = timeOf(record.at, nowMs)
    const group = groups.of(level, templateOf(text))
    const service = services.get(record.service) ?? storedName(record.service!)
    services.set(record.service, service)
    lines.push({ atMs, level, group, text, service, traceId: record.traceId ?? '' })
    const size = Buffer.byteLength(text) + Buffer.byteLength(service) + LINE_BYTES
    bytes += size
    count(volumes, atMs, level, size)
  }
  return {
    lines,
    groups: groups.all(),
    volumes: [...volumes.values()],
    bytes,
    rejected: records.length - lines.length,
  }
}

/** Without empty lines above it: the first one says what group it belongs to. */
const storedText = (text: string): string =>
  maskSecrets(plainText(text))
    .slice(0, LOG_LINE_MAX)
    .replace(/^(?:[^\S\n]*\n)+/, '')
    .trimEnd()

/** Many lines have the same. */
const storedName = (name: string): string => maskSecrets(plainText(name)).replaceAll(/\s+/g, ' ').trim()

/** What claims to be older than anything we keep, or from the future, counts as from now. */
function timeOf(at: Date | null, nowMs: number): number {
  const ms = at?.getTime() ?? nowMs
  return ms > nowMs + AHEAD_MS || ms < nowMs - KEPT_MS ? nowMs : ms
}

function groupsByTemplate() {
  const byTemplate = LOG_LEVELS.map(() => new Map<string, LogGroup>())
  return {
    of(level: number, template: string): LogGroup {
      const known = byTemplate[level]!.get(template)
      if (known) return known
      const group = { key: keyOf(level, template), level, template }
      byTemplate[level]!.set(template, group)
      return group
    },
    all: () => byTemplate.flatMap((groups) => [...groups.values()]),
  }
}

export const keyOf = (level: number, template: string): bigint =>
  hash('sha256', `${level} ${template}`, 'buffer').readBigInt64BE()

function count(volumes: Map<number, LogVolume>, atMs: number, level: number, bytes: number): void {
  const step = Math.floor(atMs / VOLUME_STEP_MS)
  const key = step * LOG_LEVELS.length + level
  const volume = volumes.get(key)
  if (volume) {
    volume.lines += 1
    volume.bytes += bytes
  } else volumes.set(key, { atMs: step * VOLUME_STEP_MS, level, lines: 1, bytes })
}
