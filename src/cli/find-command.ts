/** Finds the command that a command line names, before its options are parsed. */
import type { Command } from './command.ts'
import { COMMANDS, GLOBAL_OPTIONS, GROUPS } from './commands.ts'

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
    if (command) return { command, words, rest: [...rest, ...argv.slice(at + 1)] }
    if (words.length > 1 || !Object.hasOwn(GROUPS, word)) break
  }
  return { command: undefined, words, rest }
}

/** `--context work`, not `--context=work` and not `--json`. */
const takesNext = (word: string): boolean =>
  GLOBAL_OPTIONS.some(
    ({ long, short, value }) => value !== undefined && (word === `--${long}` || word === `-${short}`),
  )
