/** Parses a command line against the table of commands; every mistake is an error with a hint. */
import { parseArgs } from 'node:util'
import type { ServiceError } from '../contracts/errors.ts'
import type { Argument, Command, CommandInput, Option } from './command.ts'
import { COMMANDS, GLOBAL_OPTIONS, GROUPS, ROOT_OPTIONS } from './command-table.ts'
import { didYouMean } from '../contracts/did-you-mean.ts'
import { findCommand, nextWords } from './find-command.ts'
import { usageError } from './usage-error.ts'

export type Parsed = { readonly command: Command; readonly input: CommandInput }

export function parse(argv: readonly string[]): Parsed {
  const { command, words, rest } = findCommand(argv)
  const [option = ''] = argv
  if (!command && words.length === 0 && option.startsWith('-')) throw unknownOption(option)
  if (!command) throw unknownCommand(words)
  return { command, input: parseFor(command, rest) }
}

/** What follows the words of a command. */
export function parseFor(command: Command, rest: readonly string[]): CommandInput {
  const options = [...(command.options ?? []), ...GLOBAL_OPTIONS]
  const { values, positionals } = parseOptions(command, options, rest)
  for (const option of options) checkChoice(`--${option.long}`, option.choices, values[option.long])
  return { ...namedArguments(command, positionals), options: values }
}

/** Words of other programs, and what does the same here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  whoami: 'svc status',
  version: 'svc --version',
}

const OPTIONS_OF_THE_CLIENT = [...GLOBAL_OPTIONS, ...ROOT_OPTIONS].map(({ long }) => `--${long}`)

/** Before any command there are only those of the client itself. */
function unknownOption(option: string): ServiceError {
  const isCommon = GLOBAL_OPTIONS.some(({ long, short }) => [`--${long}`, `-${short}`].includes(option))
  if (isCommon) return usageError('A command is missing', 'Run: svc --help')
  return usageError(
    `Unknown option: ${option}`,
    `${didYouMean(option, OPTIONS_OF_THE_CLIENT)}Run: svc --help`,
  )
}

/** More commands than a hint can show: their help lists them by lines. */
const LISTED_MAX = 12

function unknownCommand(words: readonly string[]): ServiceError {
  const [group = ''] = words
  if (!Object.hasOwn(GROUPS, group)) {
    const known = nextWords([]).map(([word]) => word)
    const same = Object.hasOwn(ELSEWHERE, group) ? `Did you mean ${ELSEWHERE[group]}? ` : undefined
    return usageError(
      `Unknown command: ${group}`,
      `${same ?? didYouMean(group, known, 'svc ')}Run: svc --help`,
    )
  }
  const known = words.length > 1 ? words.slice(0, -1) : words
  const isMissing = nextWords(words).length > 0
  const prefix = `${(isMissing ? words : known).join(' ')} `
  const below = COMMANDS.filter(({ path }) => path.startsWith(prefix))
  const available =
    below.length > LISTED_MAX
      ? `Run: svc ${prefix}--help`
      : `Available: ${below.map(({ path }) => `svc ${path}`).join(', ')}`
  if (isMissing) return usageError(`Missing subcommand: svc ${prefix}<command>`, available)
  return usageError(`Unknown command: ${words.join(' ')}`, `${meant(known, words.at(-1))}${available}`)
}

const meant = (before: readonly string[], word = ''): string =>
  didYouMean(
    word,
    nextWords(before).map(([next]) => next),
    `svc ${before.join(' ')} `,
  )

function parseOptions(command: Command, options: readonly Option[], rest: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...rest],
      allowPositionals: true,
      options: Object.fromEntries(
        options.map(({ long, short, value, repeatable }) => [
          long,
          {
            type: value === undefined ? ('boolean' as const) : ('string' as const),
            ...(short === undefined ? {} : { short }),
            ...(repeatable ? { multiple: true } : {}),
          },
        ]),
      ),
    })
    return { values: values as CommandInput['options'], positionals }
  } catch (error) {
    throw toUsageError(error, command, options)
  }
}

/** Replaces the messages of Node's parser by ours, which have hints. */
function toUsageError(error: unknown, command: Command, options: readonly Option[]): ServiceError {
  const code = (error as { code?: unknown }).code
  const message = error instanceof Error ? error.message : ''
  const flag = /'(?:-\w, )?(--?[^' =<]+)/.exec(message)?.[1] ?? ''
  const run = `Run: svc ${command.path} --help`
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const known = options.map(({ long }) => `--${long}`)
    const elsewhere = command.arguments?.some((one) => one.rest)
      ? 'Put what is for the other program after --. '
      : ''
    return usageError(
      `Unknown option for svc ${command.path}: ${flag}`,
      `${elsewhere}${didYouMean(flag, known)}${run}`,
    )
  }
  const option = options.find(({ long, short }) => flag === `--${long}` || flag === `-${short}`)
  if (option?.value === undefined) return usageError(`${flag} does not take a value`, run)
  // A value that begins with a dash must be written with an equals sign.
  return usageError(
    `${flag} requires a value`,
    `Use ${flag} <${option.value}>, or --${option.long}=<${option.value}>`,
  )
}

function namedArguments(command: Command, given: readonly string[]): Pick<CommandInput, 'args' | 'rest'> {
  const all = command.arguments ?? []
  const wanted = all.filter(({ rest }) => !rest)
  const missing = wanted.slice(given.length).find(({ optional }) => !optional)
  if (missing) {
    throw usageError(`svc ${command.path} requires <${missing.name}>: ${missing.summary}`, example(command))
  }
  const rest = given.slice(wanted.length)
  if (rest.length > 0 && wanted.length === all.length) {
    throw usageError(
      `Unexpected argument for svc ${command.path}: ${rest.join(' ')}`,
      `${meant(command.path.split(' '), given[0])}${wanted.length > 0 ? 'Quote text that contains spaces. ' : ''}${example(command)}`,
    )
  }
  for (const [index, { name, choices }] of wanted.entries()) {
    if (given[index] === '') throw usageError(`<${name}> must not be empty`, example(command))
    checkChoice(`<${name}>`, choices, given[index])
  }
  return { args: Object.fromEntries(wanted.map(({ name }, index) => [name, given[index]])), rest }
}

const example = ({ examples }: Command): string => `Example: ${examples[0]}`

function checkChoice(
  what: string,
  choices: Argument['choices'],
  value: string | boolean | readonly string[] | undefined,
): void {
  if (!choices) return
  const wrong = [value].flat().find((one) => typeof one === 'string' && !choices.includes(one))
  if (wrong !== undefined)
    throw usageError(`Invalid value for ${what}: ${wrong}`, `Must be one of: ${choices.join(', ')}`)
}
