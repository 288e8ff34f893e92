/** The text of `--help`, written from the table of commands. */
import type { Argument, Command, Option } from './command.ts'
import { COMMANDS, GLOBAL_OPTIONS, GROUPS, ROOT_OPTIONS } from './command-table.ts'

export function rootHelp(version: string): string {
  const single = COMMANDS.filter(({ path }) => !path.includes(' '))
  return sections([
    ['', [`svc ${version}: query your organization's data and manage access to it.`]],
    ['', ['AI agents: run `svc --skill-prompt` first.']],
    ['Usage', ['svc <command> [options]']],
    ['Commands', aligned(single.map(({ path, summary }) => [path, summary]))],
    ...Object.entries(GROUPS).map(([group, about]) => [about, aligned(listed(group))] as const),
    ['Options', aligned([...ROOT_OPTIONS, ...GLOBAL_OPTIONS].map(optionLine))],
    ['Exit codes', aligned(EXIT_CODES)],
    ['Examples', [...EXAMPLES]],
    ['', ['Run svc <command> --help for details. svc sends data to your instance only.']],
  ])
}

/** Of one word, or of two: `svc apps checks --help`. */
export const groupHelp = (group: string): string =>
  sections([
    ['', [`${GROUPS[group] ?? `Commands of svc ${group}`}.`]],
    ['Usage', [`svc ${group} <command> [options]`]],
    ['Commands', aligned(listed(group))],
    ['', [`Run svc ${group} <command> --help for details.`]],
  ])

export const commandHelp = (command: Command): string =>
  sections([
    ['', [`${command.summary}.`]],
    ['Usage', [usageLine(command)]],
    ['Examples', command.examples],
    ['Arguments', aligned((command.arguments ?? []).map(argumentLine))],
    ['Options', aligned((command.options ?? []).map(optionLine))],
    ['Commands', aligned(listed(command.path))],
    ['Global options', aligned(GLOBAL_OPTIONS.map(optionLine))],
  ])

/** contract, Errors: scripts rely on them. */
const EXIT_CODES = [
  ['0', 'success'],
  ['1', 'unexpected error, or rate limit'],
  ['3', 'not logged in, or permission denied'],
  ['4', 'not found'],
  ['5', 'invalid arguments or input'],
  ['6', 'conflict'],
  ['7', 'timeout'],
  ['8', 'server unreachable; nothing was sent'],
  ['11', 'the command worked, and what it looked at has a problem'],
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
    ...wanted.filter(({ rest }) => !rest).map(({ name, optional }) => (optional ? `[${name}]` : `<${name}>`)),
    '[options]',
    // After two dashes, because the words of another program look like options of ours.
    ...wanted.filter(({ rest }) => rest).map(({ name }) => `[-- ${name}…]`),
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
    summary + (choices ? `: ${choices.join(', ')}` : '') + (repeatable ? ' (repeatable)' : ''),
  ] as const

function aligned(lines: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(0, ...lines.map(([name]) => name.length))
  return lines.map(([name, about]) => `${name.padEnd(width)}  ${about}`)
}

/** A section without a title is not indented; one without lines is left out. */
const sections = (all: readonly (readonly [title: string, lines: readonly string[]])[]): string =>
  all
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) =>
      title === '' ? `${lines.join('\n')}\n` : `${title}:\n${lines.map((line) => `  ${line}\n`).join('')}`,
    )
    .join('\n')
