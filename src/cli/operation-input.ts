/** Reads a command line as the input of its operation: the table of commands says which field each part is, and how. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { PAGE_MAX } from '../contracts/limits.ts'
import type { Input } from '../contracts/operations.ts'
import { readJsonObject } from '../contracts/read-json.ts'
import { fillText } from './cells.ts'
import type { CommandContext } from './command-context.ts'
import type { Argument, Command, CommandInput, Option } from './command.ts'
import { findByName, isIdOf } from './find-by-name.ts'
import type { Declared } from './operation-call.ts'
import { OPERATION_CALLS } from './operation-calls.ts'
import { agoFrom, countFrom, refuseLonger, timeFrom } from './options.ts'
import { confirm, readStdin, secretOption } from './prompt.ts'
import type { REQUESTS } from './requests.ts'
import { usageError } from './usage-error.ts'

type Values = Record<string, unknown>

/** Mistakes first, then the question whether it is meant, then what has to be read or looked up. */
export async function operationInput<Name extends keyof typeof REQUESTS>(
  ctx: CommandContext,
  input: CommandInput,
  { command, call }: Declared,
): Promise<Input<Name>> {
  const given = givenFields(command, input)
  if (
    call.atLeastOne &&
    !(command.options ?? []).some(({ field }) => field !== undefined && field in given)
  ) {
    throw usageError(call.atLeastOne.problem, call.atLeastOne.hint)
  }
  const always = filled(call.always ?? {}, given)
  if (call.confirm !== undefined) {
    const word = always['confirm'] as string | undefined
    await confirm(ctx, input, fillText(call.confirm, given, input.args), word)
  }
  const values: Values = { ...always, ...defaultsOf(command, given), ...given }
  if (call.ofOrganization) values['org_id'] = await organizationOf(ctx)
  for (const part of [...(command.arguments ?? []), ...(command.options ?? [])]) {
    const { field } = part
    if (field === undefined) continue
    if (part.as === 'secret') values[field] = await secretOption(ctx, input, nameOf(part), part.what ?? '')
    else if (values[field] !== undefined) values[field] = await readLater(ctx, command, part, values)
  }
  return values as Input<Name>
}

async function organizationOf(ctx: CommandContext): Promise<string> {
  const { organization } = await ctx.callOperation('whoAmI', {})
  if (organization) return organization.id
  throw usageError('You are not a member of an organization', 'Ask an owner to invite you')
}

/** As they were given, by their fields. */
function givenFields(command: Command, { args, options }: CommandInput): Values {
  const given: Values = {}
  for (const argument of command.arguments ?? []) {
    const text = args[argument.name]
    if (argument.field !== undefined && text !== undefined) given[argument.field] = readNow(argument, text)
  }
  const by = new Map<string, Option>()
  for (const option of command.options ?? []) {
    const { field, value } = option
    const said = options[option.long]
    if (field === undefined || said === undefined || said === false) continue
    const other = by.get(field)
    if (other) throw conflict(other, option)
    by.set(field, option)
    given[field] =
      value === undefined ? (option.sets ?? true) : readNow(option, said as string | readonly string[])
  }
  for (const { field = '', missing } of command.options ?? []) {
    if (missing && !(field in given)) throw usageError(missing.problem, missing.hint)
  }
  return given
}

/** The one without a value first: that is what is too much. */
const conflict = (one: Option, other: Option) =>
  one.value === undefined
    ? usageError(`--${one.long} conflicts with --${other.long}`, 'Remove one of them')
    : usageError(`--${other.long} conflicts with --${one.long}`, 'Remove one of them')

function defaultsOf(command: Command, given: Values): Values {
  const options = (command.options ?? []).filter(
    (one) => one.field !== undefined && one.default !== undefined,
  )
  return filled(Object.fromEntries(options.map((one) => [one.field, one.default])), given)
}

const filled = (values: Values, given: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      typeof value === 'string' ? fillText(value, given) : value,
    ]),
  )

const nameOf = (part: Argument | Option): string => ('long' in part ? part.long : part.name)
const shownName = (part: Argument | Option): string => ('long' in part ? `--${part.long}` : `<${part.name}>`)

function readNow(part: Argument | Option, given: string | readonly string[]): unknown {
  if (part.as === 'pairs') return pairsFrom(part as Option, [given].flat())
  if (part.as === 'filters') return filtersFrom(part as Option, [given].flat())
  const name = shownName(part)
  for (const text of [given].flat()) refuseLonger(name, text, part.maxLength)
  if (typeof given !== 'string') return given
  if (part.as === 'number') return countFrom(name, given, part.max, part.min)
  if (part.as === 'time') return timeFrom(name, given)
  if (part.as === 'ago') return agoFrom(name, given)
  if (part.as === 'prefixed') return `${part.prefix}${given}`
  return part.as === 'nullable' && given === '' ? null : given
}

/** `--claim a=1 --claim a=2` is one name with two values. They are sent as text; the server knows the types. */
function pairsFrom(option: Option, given: readonly string[]): Values {
  const pairs = new Map<string, string[]>()
  for (const pair of given) {
    const at = pair.indexOf('=')
    if (at < 1) throw invalidPair(option, pair)
    const name = pair.slice(0, at)
    pairs.set(name, [...(pairs.get(name) ?? []), pair.slice(at + 1)])
  }
  return Object.fromEntries(
    [...pairs].map(([name, values]) => [name, values.length === 1 ? values[0]! : values]),
  )
}

const RANGE_ENDS: Readonly<Record<string, string>> = { '<': 'lt', '<=': 'lte', '>': 'gt', '>=': 'gte' }

/** The first of these ends the name: `year=2026`, `price<100`, `since>=2026-03-01`. Two ends of a column are one range. */
function filtersFrom(option: Option, given: readonly string[]): Values {
  const ranges = new Map<string, Record<string, string>>()
  const matches: string[] = []
  for (const pair of given) {
    const [, name, sign = '', value = ''] = /^([^<>=]+)(<=|>=|<|>|=)(.*)$/s.exec(pair) ?? []
    if (name === undefined) throw invalidPair(option, pair)
    const end = RANGE_ENDS[sign]
    if (end === undefined) {
      matches.push(pair)
      continue
    }
    const range = ranges.get(name) ?? {}
    if (Object.hasOwn(range, end)) {
      throw usageError(`--${option.long} has ${name}${sign} twice`, 'Remove one of them')
    }
    ranges.set(name, { ...range, [end]: value })
  }
  const pairs = pairsFrom(option, matches)
  const both = [...ranges.keys()].find((name) => Object.hasOwn(pairs, name))
  if (both !== undefined) {
    throw usageError(`--${option.long} has a value and a range of ${both}`, 'Remove one of them')
  }
  return { ...pairs, ...Object.fromEntries(ranges) }
}

const invalidPair = ({ long, value, example }: Option, pair: string) =>
  usageError(
    `Invalid value for --${long}: ${pair}`,
    example === undefined ? `Use --${long} ${value}` : `Write it as ${example}`,
  )

async function readLater(
  ctx: CommandContext,
  command: Command,
  part: Argument | Option,
  values: Values,
): Promise<unknown> {
  const { as, what = '', field = '' } = part
  const given = values[field]
  if (as === 'stdin') return given === '-' ? readStdin(ctx, what) : given
  if (as === 'file') return readText(ctx, String(given), what)
  if (as === 'json-file') return jsonObject(await readText(ctx, String(given), what), what)
  return as === 'name' ? idOf(ctx, command, part as Argument, values) : given
}

export const readText = async (ctx: CommandContext, file: string, what: string): Promise<string> =>
  file === '-' ? readStdin(ctx, what) : readFile(ctx, file)

function readFile({ environment }: CommandContext, file: string): string {
  try {
    return readFileSync(resolve(environment.cwd, file), 'utf8')
  } catch {
    throw usageError(`Cannot read ${file}`, 'Name a file that you may read, or - for stdin')
  }
}

/** The server checks what is in it. */
function jsonObject(text: string, what: string): object {
  const value = readJsonObject(text)
  if (value) return value
  const name = what.replace(/^t/, 'T')
  throw usageError(`${name} is not a JSON object`, 'Name a file that has one, or - for stdin')
}

/** By its id, or by its name in the list of what the other arguments name. */
async function idOf(ctx: CommandContext, command: Command, part: Argument, values: Values): Promise<string> {
  const { name, prefix = '', what, field = '' } = part
  const given = String(values[field])
  if (isIdOf(prefix, given)) return given
  const list = Object.values(OPERATION_CALLS).find(({ operation }) => operation === what)!
  const others = (command.arguments ?? []).filter((one) => one !== part)
  const where = Object.fromEntries(others.map((one) => [one.field!, values[one.field!]]))
  const found = await findByName<{ id: string; name: string }>(name, given, async (cursor) => {
    const page = (await ctx.callOperation(list.operation, {
      ...where,
      limit: PAGE_MAX,
      cursor,
    })) as never
    return { rows: page[list.rows!], next_cursor: page['next_cursor'] }
  })
  return found.id
}
