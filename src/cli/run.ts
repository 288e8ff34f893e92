/** One call of `svc`: from its command line to its exit code. */
import { asking, type Ask } from './ask.ts'
import { chooseLogin, type Login } from './choose-login.ts'
import type { Call } from './command.ts'
import { GROUPS } from './commands.ts'
import { isAgent, wantsColour, type Machine } from './environment.ts'
import { findCommand, parse } from './parse.ts'
import { asFailure, exitCodeOf, failureText } from './say-failure.ts'
import { whileSpinning } from './spinner.ts'
import { onItsLines } from './terminal-text.ts'
import { usage } from './usage.ts'
import { VERSION } from './version.ts'
import type { Settings, World } from './world.ts'
import { writeAnswer, type Format } from './write-answer.ts'

export async function run(argv: readonly string[], machine: Machine): Promise<number> {
  try {
    const text = await answerWithoutCommand(argv)
    if (text !== undefined) {
      machine.stdout.write(text)
      return 0
    }
    const { command, call } = parse(argv)
    const world = worldFor(machine, settingsFrom(call, machine))
    return (await (await command.load())(world, call)) ?? 0
  } catch (error) {
    const failure = asFailure(error)
    // Read off the words, because what failed may be the reading of the options itself.
    const manner = { json: asksForJson(argv), colour: !argv.includes('--no-color') && wantsColour(machine) }
    machine.stderr.write(failureText(failure, manner))
    if (argv.includes('--debug') && failure.cause !== undefined) {
      machine.stderr.write(`${onItsLines(stackOf(failure.cause))}\n`)
    }
    return exitCodeOf(failure)
  }
}

/** Help, version and the agents' guide need no command and no login. */
async function answerWithoutCommand(argv: readonly string[]): Promise<string | undefined> {
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  const [first] = own
  if (first === '--version' || first === '-V') return `${VERSION}\n`
  if (first === '--skill-prompt') return (await import('./skill-prompt.ts')).skillPromptText()
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

const asksForJson = (argv: readonly string[]): boolean =>
  argv.some(
    (word, index) =>
      word === '--json' ||
      word === '-ojson' ||
      word === '--output=json' ||
      (word === 'json' && (argv[index - 1] === '-o' || argv[index - 1] === '--output')),
  )

const stackOf = (cause: unknown): string =>
  cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)

const TIMEOUT_SECONDS = 30
/** setTimeout counts no further. */
const TIMEOUT_MAX_SECONDS = 24 * 60 * 60

function settingsFrom({ options }: Call, machine: Machine): Settings {
  const output = options['output'] as Format | undefined
  if (options['json'] === true && output !== undefined && output !== 'json') {
    throw usage(`--json contradicts --output ${output}`, 'Leave one of them out')
  }
  const agent = isAgent(machine)
  return {
    context: options['context'] as string | undefined,
    format: options['json'] === true ? 'json' : output,
    timeoutMs: secondsFrom(options['timeout']) * 1000,
    debug: options['debug'] === true,
    colour: options['no-color'] !== true && !agent && wantsColour(machine),
    interactive: !agent && Boolean(machine.stderr.isTTY) && Boolean(machine.stdin.isTTY),
  }
}

function secondsFrom(value: Call['options'][string]): number {
  if (value === undefined) return TIMEOUT_SECONDS
  const seconds = Number(value)
  if (value !== '' && seconds > 0 && seconds <= TIMEOUT_MAX_SECONDS) return seconds
  throw usage(`--timeout cannot be ${String(value)}`, 'It is a number of seconds, such as --timeout 60')
}

function worldFor(machine: Machine, settings: Settings): World {
  let chosen: Promise<Login> | undefined
  const login = () => (chosen ??= chooseLogin(machine, settings.context))
  const say = (line: string) => void machine.stderr.write(`${line}\n`)
  const ask: Ask = async (name, input) => {
    const { apiUrl, token } = await login()
    const server = {
      apiUrl,
      token,
      timeoutMs: settings.timeoutMs,
      userAgent: USER_AGENT,
      ...(settings.debug ? { trace: say } : {}),
    }
    return whileSpinning({ settings, machine }, asking(server)(name, input))
  }
  return {
    machine,
    settings,
    say,
    login,
    ask,
    print: (data, shape, usually = 'table') =>
      void machine.stdout.write(writeAnswer(data, shape, settings.format ?? usually)),
  }
}

export const USER_AGENT = `svc/${VERSION}`
