/** Cells of tables as contracts write them: `user.email|user.name`, `bytes:size`, `{nightly_cron} ({timezone})`. */
import { byteSize } from '../contracts/byte-size.ts'
import { CHECK_PAUSES, CHECK_REASONS, type CheckResult } from '../contracts/check-results.ts'
import { REFUSALS } from '../contracts/identity-provider-states.ts'
import type { PipelineRunState } from '../contracts/pipeline-states.ts'
import { unavailableText, type UnavailableSource } from '../contracts/unavailable-sources.ts'
import type { Cell, View } from './format-output.ts'
import type { Cells } from './operation-call.ts'

type Row = Readonly<Record<string, unknown>>

export const tableView = (rows: readonly Row[], cells: Cells): View => ({
  columns: Object.keys(cells),
  rows: rows.map((row) => Object.values(cells).map((cell) => cellOf(cell, row))),
})

/** A name that ends in `?` is left out where it is empty. */
export const fieldsOf = (answer: Row, cells: Cells): Record<string, Cell> =>
  Object.fromEntries(
    Object.entries(cells)
      .map(([name, cell]) => [name, cellOf(cell, answer)] as const)
      .filter(([name, value]) => !name.endsWith('?') || !isEmpty(value))
      .map(([name, value]) => [name.replace(/\?$/, ''), value]),
  )

/** A text is empty where all that it names is. */
export function cellOf(cell: string, row: Row): Cell {
  if (!cell.includes('{')) return firstOf(cell, row)
  const named = [...cell.matchAll(/\{([^}]+)\}/g)].map(([, inner = '']) => firstOf(inner, row))
  return named.every(isEmpty) ? null : fillText(cell, row)
}

export const fillText = (text: string, ...rows: readonly Row[]): string =>
  text.replaceAll(/\{([^}]+)\}/g, (_, inner: string) =>
    String(rows.map((row) => firstOf(inner, row)).find((value) => !isEmpty(value)) ?? ''),
  )

/** `state=running`, `is_public !may_be_public`: whether all of it holds. An empty list is not set. */
export const holds = (condition: string, row: Row): boolean =>
  condition.split(' ').every((part) => {
    const [, not, path = '', wanted] = /^(!?)([^=]+)(?:=(.*))?$/.exec(part) ?? []
    const value = valueAt(path, row)
    return (wanted === undefined ? isSet(value) : String(value) === wanted) !== (not === '!')
  })

function firstOf(cell: string, row: Row): Cell {
  for (const one of cell.split('|')) {
    const value = one.startsWith("'") ? one.slice(1, -1) : written(one, row)
    if (!isEmpty(value)) return value
  }
  return null
}

function written(cell: string, row: Row): Cell {
  const [path = '', format] = cell.split(':')
  const value = valueAt(path, row)
  if (format === undefined) return value as Cell
  return value === undefined || (value === null && format !== 'sources')
    ? null
    : FORMATS[format]!(value as never, row)
}

/** Of a list: of each of its elements. */
export function valueAt(path: string, row: Row): unknown {
  let value: unknown = row
  for (const step of path.split('.')) {
    value = Array.isArray(value)
      ? value.map((one) => (one as Row)[step])
      : (value as Row | null | undefined)?.[step]
  }
  return value
}

const isSet = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))

const isEmpty = (value: unknown): boolean => value === null || value === undefined || value === ''

const RUN_SIGNS: Readonly<Record<PipelineRunState, string>> = {
  succeeded: '.',
  failed: 'F',
  missed: 'M',
  host_offline: 'O',
  skipped: 's',
  running: 'r',
  queued: 'q',
}
const CHECK_SIGNS: Readonly<Record<CheckResult, string>> = {
  pass: '.',
  fail: 'F',
  error: 'E',
  indeterminate: '?',
}

const inWords = (texts: Readonly<Record<string, string>>) => (value: unknown) => texts[String(value)]
const counted = (count: number, one: string) => (count === 1 ? `1 ${one}` : `${count} ${one}s`)

/** What a field is written as, by the word behind its colon. */
export const FORMATS: Readonly<Record<string, (value: never, row: Row) => Cell>> = {
  words: (list: readonly string[]) => list.join(' '),
  list: (list: readonly string[]) => list.join(', '),
  size: byteSize,
  /** All, or these. */
  sources: (sources: readonly { source_id: string }[] | null) =>
    sources === null ? 'all' : sources.map(({ source_id }) => source_id).join(' ') || 'none',
  /** Each with the type of its values. */
  types: (filters: Readonly<Record<string, string>>) =>
    Object.entries(filters)
      .map(([name, type]) => `${name} (${type})`)
      .join(', '),
  /** Of metadata, which may hold anything. */
  scalar: (value: unknown) => (typeof value === 'number' || typeof value === 'string' ? value : null),
  health: ({ checked_at, problems }: { checked_at: string | null; problems: readonly unknown[] }) => {
    if (problems.length > 0) return counted(problems.length, 'problem')
    return checked_at === null ? 'not checked' : 'ok'
  },
  /** `2 grant, 1 api_token`. */
  counts: (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([kind, count]) => `${count} ${kind.replaceAll('_', ' ')}`)
      .join(', ') || 'nothing',
  switch: (isOn: boolean) => (isOn ? 'on' : 'off'),
  agents: (count: number) => counted(count, 'agent'),
  credentials: (all: readonly { id: string; kind: string; starts_with: string }[]) =>
    all.map(({ id, kind, starts_with }) => `${id} (${kind}, ${starts_with}…)`).join(', '),
  deployment: (state: string, { cancel_requested }: Row) =>
    state === 'running' && cancel_requested === true ? 'running, to be cancelled' : state,
  phase: (state: string, { phase }: Row) => (phase === null ? state : `${state}, ${phase as string}`),
  /** Nothing is sent to those who follow nothing. */
  frequency: (frequency: string, { categories }: Row) =>
    (categories as readonly unknown[]).length === 0 ? null : frequency,
  /** Newest last. */
  runs: (runs: readonly { state: PipelineRunState }[]) =>
    runs
      .toReversed()
      .map(({ state }) => RUN_SIGNS[state])
      .join(''),
  results: (results: readonly CheckResult[]) => results.map((result) => CHECK_SIGNS[result]).join(''),
  /** Names of those that are true. */
  granted: (can: Readonly<Record<string, boolean>>) =>
    Object.entries(can)
      .flatMap(([name, may]) => (may ? [name] : []))
      .join(', '),
  pause: inWords(CHECK_PAUSES),
  reason: inWords(CHECK_REASONS),
  refusal: inWords(REFUSALS),
  unavailable: (sources: readonly UnavailableSource[]) => unavailableText(sources),
}
