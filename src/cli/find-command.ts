/** Finds the command that a command line names, before its options are parsed. */
import type { Command } from './command.ts'
import { COMMANDS, GLOBAL_OPTIONS } from './command-table.ts'

/**
 * The command that the first words name, and the command line without them. Global options may come before the
 * words: `svc --json status`.
 */
export function findCommand(argv: readonly string[]): {
  command: Command | undefined
  words: readonly string[]
  rest: readonly string[]
} {
  const words: string[] = []
  const rest: string[] = []
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]!
    if (word === '--') return { command: undefined, words, rest: argv }
    if (word.startsWith('-')) {
      rest.push(word)
      if (takesNext(word)) rest.push(...argv.slice(++at, at + 1))
      continue
    }
    words.push(word)
    const command = COMMANDS.find(({ path }) => path === words.join(' '))
    // `apps logs push` before `apps logs` with an app of that name, which can be written after `--`.
    if (command && !isCommand([...words, argv[at + 1] ?? ''])) {
      return { command, words, rest: [...rest, ...argv.slice(at + 1)] }
    }
    if (nextWords(words).length === 0) break
  }
  return { command: undefined, words, rest }
}

const isCommand = (words: readonly string[]): boolean => COMMANDS.some(({ path }) => path === words.join(' '))

/** The words that can follow, each with the summary of its command, or of the first of them. */
export function nextWords(
  words: readonly string[],
  commands: readonly Command[] = COMMANDS,
): (readonly [word: string, summary: string])[] {
  const before = words.map((word) => `${word} `).join('')
  const below = commands.filter(({ path }) => path.startsWith(before))
  const next = new Map<string, string>()
  for (const { path, summary } of below) {
    const rest = path.slice(before.length)
    const [word = ''] = rest.split(' ', 1)
    if (!next.has(word) || rest === word) next.set(word, summary)
  }
  return [...next]
}

/** `--context work`, not `--context=work` and not `--json`. */
const takesNext = (word: string): boolean =>
  GLOBAL_OPTIONS.some(
    ({ long, short, value }) => value !== undefined && (word === `--${long}` || word === `-${short}`),
  )
