/** Runs the command that a command line names, and tells what went wrong. */
import { asking, type Ask } from './ask.ts'
import { chooseLogin, FROM_ENVIRONMENT, type Login } from './choose-login.ts'
import type { Call } from './command.ts'
import { configFiles, othersMayRead } from './config-files.ts'
import { isAgent, wantsColour, type Machine } from './environment.ts'
import { parse } from './parse.ts'
import { asFailure, exitCodeOf, failureText } from './say-failure.ts'
import { whileSpinning } from './spinner.ts'
import { onItsLines } from './terminal-text.ts'
import { Interrupted, usage } from './usage.ts'
import { USER_AGENT } from './client-version.ts'
import type { Settings, World } from './world.ts'
import { writeAnswer, type Format } from './write-answer.ts'

export async function callCommand(argv: readonly string[], machine: Machine): Promise<number> {
  let listedBy: string | undefined
  try {
    if (argv[0] === '--skill-prompt') {
      machine.stdout.write((await import('./skill-prompt.ts')).skillPromptText())
      return 0
    }
    const { command, call } = parse(argv)
    listedBy = command.listedBy
    const world = worldFor(machine, settingsFrom(call, machine))
    return (await (await command.load())(world, call)) ?? 0
  } catch (error) {
    if (error instanceof Interrupted) return INTERRUPTED
    const failure = asFailure(error)
    // Read off the words, because what failed may be the reading of the options itself.
    const [json, agent] = [asksForJson(argv), isAgent(machine)]
    const colour = !agent && !argv.includes('--no-color') && wantsColour(machine)
    machine.stderr.write(failureText(failure, { json, colour, listedBy }))
    if (failure.code === 'INVALID_REQUEST' && agent && !json) {
      machine.stderr.write('AI agents: `svc --skill-prompt` explains this client.\n')
    }
    if (argv.includes('--debug') && failure.cause !== undefined) {
      machine.stderr.write(`${onItsLines(stackOf(failure.cause))}\n`)
    }
    return exitCodeOf(failure)
  }
}

/** 128 and the number of SIGINT, as a shell tells it. */
const INTERRUPTED = 130

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
  const say = (line: string) => void machine.stderr.write(`${line}\n`)
  const login = () => (chosen ??= chooseWithCare(machine, settings.context, say))
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

async function chooseWithCare(
  machine: Machine,
  named: string | undefined,
  say: World['say'],
): Promise<Login> {
  const login = chooseLogin(machine, named)
  const files = configFiles(machine)
  if (login.name !== FROM_ENVIRONMENT && othersMayRead(files, machine)) {
    say(`warning: others on this machine may read your tokens. Run: chmod 600 '${files.credentials}'`)
  }
  return login
}
