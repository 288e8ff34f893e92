/** Runs `svc` once: from the command line to the exit code. */
import { VERSION } from './client-version.ts'
import type { Environment } from './environment.ts'
import { findCommand, nextWords } from './find-command.ts'

export async function run(argv: readonly string[], environment: Environment): Promise<number> {
  const text = await textWithoutCommand(argv)
  if (text !== undefined) {
    environment.stdout.write(text)
    return 0
  }
  const { runCommand } = await import('./run-command.ts')
  return runCommand(argv[0] === 'help' ? argv.slice(1) : argv, environment)
}

/** Help and the version, which load no command: they are called most often. */
async function textWithoutCommand(argv: readonly string[]): Promise<string | undefined> {
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  const [first] = own
  if (first === '--version' || first === '-V') return `${VERSION}\n`
  const wantsHelp = own.includes('--help') || own.includes('-h')
  if (first !== undefined && first !== 'help' && !wantsHelp) return undefined
  const { command, words } = findCommand(first === 'help' ? own.slice(1) : own)
  const help = await import('./help.ts')
  if (command) return help.commandHelp(command)
  if (words.length === 0) return help.rootHelp(VERSION)
  // Unknown commands go on to the parser, which reports them.
  return nextWords(words).length > 0 ? help.groupHelp(words.join(' ')) : undefined
}
