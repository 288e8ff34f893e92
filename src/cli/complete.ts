/** What can follow on a command line: the completion scripts of all shells ask this, as `svc __complete <words> =<current>`. */
import { readPublishedSkills } from '../skills/read-published.ts'
import type { CommandContext } from './command-context.ts'
import type { Argument, Command, Option, ValueKind } from './command.ts'
import { COMMANDS, GLOBAL_OPTIONS, GROUPS, ROOT_OPTIONS } from './command-table.ts'
import { configPaths, readConfig } from './config-files.ts'
import { nextWords } from './find-command.ts'
import { sanitizeLine } from './terminal-text.ts'

type Candidate = readonly [word: string, about: string]
/** Shells put a word on the line as it is: one of a hostile server must not hold a command. */
const PLAIN = /^[\w.:@/=+-]+$/

type ContextFor = (named: string | undefined) => CommandContext

/** Lines of a word, a tab and what it is. The last argument is the word under the cursor, with `=` before it. */
export async function complete(argv: readonly string[], contextFor: ContextFor): Promise<string> {
  const current = (argv.at(-1) ?? '').slice(1)
  const position = positionAfter(argv.slice(0, -1))
  const found = await candidates(position, current, contextFor)
  return found
    .filter(([word]) => word.startsWith(current) && PLAIN.test(word))
    .map(([word, about]) => `${word}\t${sanitizeLine(about)}\n`)
    .join('')
}

type Position = {
  readonly path: readonly string[]
  readonly command: Command | undefined
  /** How many arguments stand before it. */
  readonly given: number
  /** The option whose value it is. */
  readonly option: Option | undefined
  /** Behind `--` there are no options. */
  readonly argumentsOnly: boolean
  /** The value of --context. */
  readonly context: string | undefined
}

function positionAfter(typed: readonly string[]): Position {
  const path: string[] = []
  let command: Command | undefined
  let [given, argumentsOnly] = [0, false]
  let option: Option | undefined
  let context: string | undefined
  for (const word of typed[0] === 'help' ? typed.slice(1) : typed) {
    if (option) {
      if (option.long === 'context') context = word
      option = undefined
    } else if (word === '--' && !argumentsOnly) {
      argumentsOnly = true
    } else if (word.startsWith('-') && !argumentsOnly) {
      const [name, value] = word.split('=', 2)
      const named = optionsOf(command).find(({ long, short }) => name === `--${long}` || name === `-${short}`)
      if (named?.long === 'context') context = value
      if (named?.value !== undefined && value === undefined) option = named
    } else if (given === 0 && nextWords(path).some(([next]) => next === word)) {
      path.push(word)
      command = COMMANDS.find((one) => one.path === path.join(' '))
    } else {
      given++
    }
  }
  return { path, command, given, option, argumentsOnly, context }
}

const optionsOf = (command: Command | undefined): readonly Option[] => [
  ...(command?.options ?? []),
  ...GLOBAL_OPTIONS,
]

async function candidates(position: Position, current: string, contextFor: ContextFor): Promise<Candidate[]> {
  const { path, command, given, option, argumentsOnly, context } = position
  const valuesOf = (value: Argument | Option) => valuesFor(value, contextFor, context)
  if (option) return valuesOf(option)
  const [, long] = /^--([\w-]+)=/.exec(current) ?? []
  if (long !== undefined && !argumentsOnly) {
    const assigned = optionsOf(command).find((one) => one.long === long && one.value !== undefined)
    return assigned ? (await valuesOf(assigned)).map(([word, about]) => [`--${long}=${word}`, about]) : []
  }
  const options = [...optionsOf(command), ...(path.length === 0 ? ROOT_OPTIONS : [])]
  const flags = options.map((one): Candidate => [`--${one.long}`, one.summary])
  if (current.startsWith('-') && !argumentsOnly) return flags
  const words = given === 0 ? nextWords(path).map(describeWord(path)) : []
  const argument = command?.arguments?.[given]
  if (argument) return [...words, ...(await valuesOf(argument))]
  // Nothing else can follow.
  return words.length > 0 || argumentsOnly || command?.arguments?.at(-1)?.rest ? words : flags
}

const describeWord =
  (path: readonly string[]) =>
  ([word, summary]: Candidate): Candidate => [word, (path.length === 0 && GROUPS[word]) || summary]

async function valuesFor(
  { choices, values, summary }: Argument | Option,
  contextFor: ContextFor,
  context: string | undefined,
): Promise<Candidate[]> {
  if (choices) return choices.map((choice) => [choice, summary])
  return values === undefined ? [] : NAMES[values](contextFor(context)).catch(() => [])
}

const PAGE = { limit: 200 }

/** Whoever is not logged in, or has no connection, gets none. */
const NAMES: Record<ValueKind, (ctx: CommandContext) => Promise<Candidate[]>> = {
  contexts: async ({ environment }) =>
    Object.entries(readConfig(configPaths(environment)).config.contexts).map(([name, { api_url }]) => [
      name,
      api_url,
    ]),
  skills: async () => readPublishedSkills().skills.map(({ id, description }) => [id, description]),
  async sources(ctx) {
    const { data_sources } = await ctx.callOperation('listAskableDataSources', PAGE)
    return data_sources.map(({ id, name }) => [id, name])
  },
  async databases(ctx) {
    const { data_sources } = await ctx.callOperation('listDataSources', PAGE)
    return data_sources.map(({ source_id, name }) => [source_id.replace(/^db_/, ''), name])
  },
  async apps(ctx) {
    const { apps } = await ctx.callOperation('listApps', PAGE)
    return apps.map(({ alias, name }) => [alias, name])
  },
}
