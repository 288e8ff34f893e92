/** Reads a command line against the table of commands; every mistake is a sentence that says what would be right. */
import { parseArgs } from 'node:util'
import type { ServiceError } from '../contracts/errors.ts'
import type { Argument, Call, Command, Option } from './command.ts'
import { COMMANDS, GLOBAL_OPTIONS, GROUPS } from './commands.ts'
import { findCommand } from './find-command.ts'
import { nearest } from './nearest.ts'
import { usage } from './usage.ts'

export type Parsed = { readonly command: Command; readonly call: Call }

export function parse(argv: readonly string[]): Parsed {
  const { command, words, rest } = findCommand(argv)
  if (!command) throw unknownCommand(words)
  const options = [...(command.options ?? []), ...GLOBAL_OPTIONS]
  const { values, positionals } = split(command, options, rest)
  for (const option of options) checkChoice(`--${option.long}`, option.choices, values[option.long])
  return { command, call: { args: named(command, positionals), options: values } }
}

function unknownCommand(words: readonly string[]): ServiceError {
  const [group = '', word] = words
  if (!Object.hasOwn(GROUPS, group)) {
    const known = [...Object.keys(GROUPS), ...COMMANDS.map(({ path }) => path.split(' ')[0]!)]
    return usage(`There is no command ${group}`, `${didYouMean(group, known, 'svc ')}Run: svc --help`)
  }
  const below = COMMANDS.filter(({ path }) => path.startsWith(`${group} `)).map(({ path }) => path)
  const list = below.map((path) => `svc ${path}`).join(', ')
  return word === undefined
    ? usage(`svc ${group} is not a whole command`, `There are: ${list}`)
    : usage(`There is no command ${group} ${word}`, `There are: ${list}`)
}

function split(command: Command, options: readonly Option[], rest: readonly string[]) {
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
    return { values: values as Call['options'], positionals }
  } catch (error) {
    throw usageOf(error, command, options)
  }
}

/** Node says what is wrong in words of its own; ours name the way out. */
function usageOf(error: unknown, command: Command, options: readonly Option[]): ServiceError {
  const code = (error as { code?: unknown }).code
  const said = error instanceof Error ? error.message : ''
  const flag = /'(?:-\w, )?(--?[^' =<]+)/.exec(said)?.[1] ?? ''
  const run = `Run: svc ${command.path} --help`
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const known = options.map(({ long }) => `--${long}`)
    return usage(`svc ${command.path} has no option ${flag}`, `${didYouMean(flag, known)}${run}`)
  }
  const option = options.find(({ long, short }) => flag === `--${long}` || flag === `-${short}`)
  if (option?.value === undefined) return usage(`${flag} takes no value`, run)
  // A value may begin with a dash; then it has to be tied to its option.
  return usage(
    `${flag} needs a value`,
    `Write ${flag} <${option.value}>, or --${option.long}=<${option.value}>`,
  )
}

function named(command: Command, given: readonly string[]): Call['args'] {
  const wanted = command.arguments ?? []
  const missing = wanted.slice(given.length).find(({ optional }) => !optional)
  if (missing) {
    throw usage(`svc ${command.path} needs <${missing.name}>: ${missing.summary}`, example(command))
  }
  if (given.length > wanted.length) {
    const extra = given.slice(wanted.length).join(' ')
    throw usage(
      `svc ${command.path} does not know what to do with: ${extra}`,
      `${wanted.length > 0 ? 'Put what has spaces in it between quotes. ' : ''}${example(command)}`,
    )
  }
  for (const [index, { name, choices }] of wanted.entries()) {
    if (given[index] === '') throw usage(`<${name}> must not be empty`, example(command))
    checkChoice(`<${name}>`, choices, given[index])
  }
  return Object.fromEntries(wanted.map(({ name }, index) => [name, given[index]]))
}

const example = ({ examples }: Command): string => `For example: ${examples[0]}`

function checkChoice(
  what: string,
  choices: Argument['choices'],
  value: string | boolean | readonly string[] | undefined,
): void {
  if (!choices) return
  const wrong = [value].flat().find((one) => typeof one === 'string' && !choices.includes(one))
  if (wrong !== undefined) throw usage(`${what} cannot be ${wrong}`, `It is one of: ${choices.join(', ')}`)
}

const didYouMean = (word: string, known: readonly string[], before = ''): string => {
  const near = nearest(word, known)
  return near === undefined ? '' : `Did you mean ${before}${near}? `
}
