/** `svc apps checks …`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { KEPT_SECRET } from '../../contracts/check-results.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { CHECK, PAGE_MAX } from '../../contracts/limits.ts'
import type { Input, Output } from '../../contracts/operations.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { FOUND_FAILED } from '../exit-codes.ts'
import { findByName, isIdOf } from '../find-by-name.ts'
import { declared } from '../declared.ts'
import { argument, countOption, enabledOf, isSet, listOption, textOption } from '../options.ts'
import { readStdin } from '../prompt.ts'
import { printAnswer } from '../run-operation.ts'
import { usageError } from '../usage-error.ts'

type Check = Output<'showCheck'>
type Definition = Input<'createCheck'>['definition']
type Settings = Pick<
  Input<'createCheck'>,
  'interval_seconds' | 'failure_threshold' | 'success_threshold' | 'maintenance_windows'
>

export const createCheck: Run = async (ctx, input) => {
  const definition = await definitionOf(ctx, input)
  if (!definition)
    throw usageError(
      'Nothing to check',
      'Add --url for an address, --pattern for logs, or --question for the model',
    )
  const created = await ctx.callOperation('createCheck', {
    alias: argument(input, 'app'),
    name: argument(input, 'name'),
    definition,
    ...settingsOf(input),
    ...enabledOf(input),
  })
  printAnswer(ctx, declared('apps checks'), created)
}

export const updateCheck: Run = async (ctx, input) => {
  const enabled = enabledOf(input)
  const check = await findCheck(ctx, input)
  const changed = await ctx.callOperation('updateCheck', {
    alias: argument(input, 'app'),
    check_id: check.id,
    name: textOption(input, 'name'),
    definition: await definitionOf(ctx, input, check.definition),
    ...settingsOf(input),
    ...enabled,
  })
  printAnswer(ctx, declared('apps checks'), changed)
}

/** A worker polls every second, and a check takes up to half a minute. */
const RUN_WAIT_MS = 45_000
const POLL_MS = 500

/** Its exit code says whether the check passes, so that a script can ask. */
export const runCheck: Run = async (ctx, input) => {
  const before = await findCheck(ctx, input)
  const path = { alias: argument(input, 'app'), check_id: before.id }
  await ctx.callOperation('runCheck', path)
  for (let waited = 0; waited < RUN_WAIT_MS; waited += POLL_MS) {
    const { last_run_at } = await ctx.callOperation('showCheck', path)
    if (last_run_at !== before.last_run_at) {
      const { runs } = await ctx.callOperation('listCheckRuns', { ...path, limit: 1 })
      printAnswer(ctx, declared('apps checks history'), runs[0]!)
      return runs[0]?.result === 'pass' ? 0 : FOUND_FAILED
    }
    await sleep(POLL_MS)
  }
  throw new ServiceError('TIMEOUT', 'No result yet', { hint: 'See it later with: svc apps checks history' })
}

/** By its id, or by its name. */
async function findCheck(ctx: CommandContext, input: CommandInput): Promise<Check> {
  const [alias, wanted] = [argument(input, 'app'), argument(input, 'check')]
  if (isIdOf('chk', wanted)) return ctx.callOperation('showCheck', { alias, check_id: wanted })
  return findByName('check', wanted, async (cursor) => {
    const page = await ctx.callOperation('listChecks', { alias, limit: PAGE_MAX, cursor })
    return { rows: page.checks, next_cursor: page.next_cursor }
  })
}

const settingsOf = (input: CommandInput): Settings => ({
  interval_seconds: countIn(input, 'interval', CHECK.intervalSeconds),
  failure_threshold: countIn(input, 'failures', CHECK.threshold),
  success_threshold: countIn(input, 'successes', CHECK.threshold),
  ...maintenanceOf(input),
})

/** `2026-11-20T22:00:00Z/2026-11-20T23:00:00Z`, as ISO 8601 writes an interval. */
function maintenanceOf(input: CommandInput): Pick<Settings, 'maintenance_windows'> {
  const windows = listOption(input, 'maintenance')
  if (isSet(input, 'no-maintenance')) return { maintenance_windows: [] }
  if (windows.length === 0) return {}
  return {
    maintenance_windows: windows.map((window) => {
      const [from = '', until = ''] = window.split('/')
      if (Number.isNaN(Date.parse(from)) || Number.isNaN(Date.parse(until)))
        throw usageError(
          `Invalid value for --maintenance: ${window}`,
          'Must be two times with a slash between, such as 2026-11-20T22:00:00Z/2026-11-20T23:00:00Z',
        )
      return { from: new Date(from).toISOString(), until: new Date(until).toISOString() }
    }),
  }
}

/** Undefined: nothing of it was given. What is not given stays as it was, or as the server has it. */
async function definitionOf(
  ctx: CommandContext,
  input: CommandInput,
  before?: Definition,
): Promise<Definition | undefined> {
  const window_minutes = countIn(input, 'window', CHECK.windowMinutes)
  const http = given({
    url: textOption(input, 'url'),
    method: textOption(input, 'method'),
    body: textOption(input, 'body'),
    timeout_ms: countIn(input, 'check-timeout', CHECK.timeoutMs),
    conditions: listOption(input, 'condition').length > 0 ? listOption(input, 'condition') : undefined,
    headers: await headersOf(ctx, input, before),
  })
  const logs = given({
    pattern: textOption(input, 'pattern'),
    level: textOption(input, 'level'),
    max_count: countIn(input, 'max-count', CHECK.maxCount),
  })
  const judge = given({
    question: textOption(input, 'question'),
    max_tokens: countIn(input, 'max-tokens', CHECK.maxTokens),
  })
  const kinds = Object.entries({ http, logs, judge }).filter(([, fields]) => Object.keys(fields).length > 0)
  if (kinds.length > 1)
    throw usageError('Options of several kinds of checks', 'Choose one of --url, --pattern and --question')
  const kind = kinds[0]?.[0] ?? (window_minutes === undefined ? undefined : before?.kind)
  if (kind === undefined) return undefined
  return {
    ...(before?.kind === kind && before),
    kind,
    ...kinds[0]?.[1],
    ...given({ window_minutes }),
  } as unknown as Definition
}

const given = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const countIn = (input: CommandInput, long: string, { min, max }: (typeof CHECK)[keyof typeof CHECK]) =>
  countOption(input, long, max, min)

/** `Name: value`; a value of `-` is read from stdin. Those that are there stay, unless `--no-headers` ends them. */
async function headersOf(
  ctx: CommandContext,
  input: CommandInput,
  before: Definition | undefined,
): Promise<Record<string, string> | undefined> {
  const lines = listOption(input, 'header')
  if (lines.length === 0) return isSet(input, 'no-headers') ? {} : undefined
  const names =
    before?.kind === 'http' && !isSet(input, 'no-headers') ? Object.keys(before.headers ?? {}) : []
  const headers: Record<string, string> = Object.fromEntries(names.map((name) => [name, KEPT_SECRET]))
  for (const line of lines) {
    const [, name, value] = /^([^:]+):\s*(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined)
      throw usageError(
        `Invalid value for --header: ${line}`,
        'Must be a name and a value, such as "Accept: text/plain"',
      )
    const same = Object.keys(headers).find((one) => one.toLowerCase() === name.toLowerCase())
    if (same !== undefined) delete headers[same]
    headers[name] = value === '-' ? await readStdin(ctx, `the header ${name}`) : value
  }
  return headers
}
