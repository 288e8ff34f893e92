/** One call of `svc`: from its command line to its exit code. */
import { GROUPS } from './commands.ts'
import type { Machine } from './environment.ts'
import { findCommand } from './find-command.ts'
import { VERSION } from './client-version.ts'

export async function run(argv: readonly string[], machine: Machine): Promise<number> {
  const text = await answerWithoutCommand(argv)
  if (text !== undefined) {
    machine.stdout.write(text)
    return 0
  }
  const { callCommand } = await import('./call-command.ts')
  return callCommand(argv[0] === 'help' ? argv.slice(1) : argv, machine)
}

/** Help and the version need no command and no login, and are what people wait for most often. */
async function answerWithoutCommand(argv: readonly string[]): Promise<string | undefined> {
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  const [first] = own
  if (first === '--version' || first === '-V') return `${VERSION}\n`
  const asked = own.includes('--help') || own.includes('-h')
  if (first !== undefined && first !== 'help' && !asked) return undefined
  const { command, words } = findCommand(first === 'help' ? own.slice(1) : own)
  const help = await import('./help.ts')
  if (command) return help.commandHelp(command)
  const [group] = words
  if (group === undefined) return help.rootHelp(VERSION)
  // What is no command cannot be explained either; reading it says so.
  return Object.hasOwn(GROUPS, group) && words.length === 1 ? help.groupHelp(group) : undefined
}
