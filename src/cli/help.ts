/** What `--help` says, read off the table of commands. */
import type { Argument, Command, Option } from './command.ts'
import { COMMANDS, GLOBAL_OPTIONS, GROUPS, ROOT_OPTIONS } from './commands.ts'

export function rootHelp(version: string): string {
  const single = COMMANDS.filter(({ path }) => !path.includes(' '))
  return sections([
    ['', [`svc ${version}: ask an organization's data, and look after who may.`]],
    ['', ['AI agents: run `svc --skill-prompt` first.']],
    ['Usage', ['svc <command> [options]']],
    ['Commands', aligned(single.map(({ path, summary }) => [path, summary]))],
    ...Object.entries(GROUPS).map(([group, about]) => [about, aligned(listed(group))] as const),
    ['Options', aligned([...ROOT_OPTIONS, ...GLOBAL_OPTIONS].map(optionLine))],
    ['Exit codes', aligned(EXIT_CODES)],
    ['Examples', [...EXAMPLES]],
    ['', ['svc <command> --help explains one command. svc sends nothing to anybody but your instance.']],
  ])
}

export const groupHelp = (group: string): string =>
  sections([
    ['', [`${GROUPS[group]}.`]],
    ['Usage', [`svc ${group} <command> [options]`]],
    ['Commands', aligned(listed(group))],
    ['', [`svc ${group} <command> --help explains one command.`]],
  ])

export const commandHelp = (command: Command): string =>
  sections([
    ['', [`${command.summary}.`]],
    ['Usage', [usageLine(command)]],
    ['Examples', command.examples],
    ['Arguments', aligned((command.arguments ?? []).map(argumentLine))],
    ['Options', aligned((command.options ?? []).map(optionLine))],
    ['Options of every command', aligned(GLOBAL_OPTIONS.map(optionLine))],
  ])

/** contract, Errors: what scripts may build on. */
const EXIT_CODES = [
  ['0', 'done'],
  ['1', 'unexpected; also too many requests, and a server that cannot be reached'],
  ['3', 'not logged in, or not allowed'],
  ['4', 'not found, or not for you to see'],
  ['5', 'something in the call is not valid; the message says what'],
  ['6', 'conflicts with what is there'],
  ['7', 'timed out'],
] as const

const EXAMPLES = [
  'svc login --api-url https://api.example.com --api-key - < token.txt',
  'svc datasource list',
  'svc datasource query db_handbook "How many days of holiday do I have?"',
]

const usageLine = ({ path, arguments: wanted = [] }: Command): string =>
  [
    'svc',
    path,
    ...wanted.map(({ name, optional }) => (optional ? `[${name}]` : `<${name}>`)),
    '[options]',
  ].join(' ')

const listed = (group: string) =>
  COMMANDS.filter(({ path }) => path.startsWith(`${group} `)).map(
    ({ path, summary }) => [path, summary] as const,
  )

const argumentLine = ({ name, summary, choices }: Argument) =>
  [name, summary + (choices ? `: ${choices.join(', ')}` : '')] as const

const optionLine = ({ long, short, value, summary, choices, repeatable }: Option) =>
  [
    `${short === undefined ? '    ' : `-${short}, `}--${long}${value === undefined ? '' : ` <${value}>`}`,
    summary + (choices ? `: ${choices.join(', ')}` : '') + (repeatable ? ' (may be repeated)' : ''),
  ] as const

function aligned(lines: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(0, ...lines.map(([name]) => name.length))
  return lines.map(([name, about]) => `${name.padEnd(width)}  ${about}`)
}

/** A section without a title stands at the margin; one without lines is left out. */
const sections = (all: readonly (readonly [title: string, lines: readonly string[]])[]): string =>
  all
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) =>
      title === '' ? `${lines.join('\n')}\n` : `${title}:\n${lines.map((line) => `  ${line}\n`).join('')}`,
    )
    .join('\n')
