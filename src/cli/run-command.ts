/** Runs the command that a command line names, and prints the error when it fails. */
import { httpClient, sendToServer, type Server } from './call-operation.ts'
import { USER_AGENT } from './client-version.ts'
import type { CommandContext, Settings } from './command-context.ts'
import type { CommandInput } from './command.ts'
import { configPaths, isReadableByOthers } from './config-files.ts'
import { isAgent, wantsColor, type Environment } from './environment.ts'
import { exitCodeOf, formatError, toServiceError } from './format-error.ts'
import { findCommand } from './find-command.ts'
import { formatOutput, type Format } from './format-output.ts'
import { OPERATION_CALLS } from './operation-calls.ts'
import { parse } from './parse.ts'
import { proxyFor } from './proxy.ts'
import { ENV_CONTEXT, expiresSoon, resolveContext, type ResolvedContext } from './resolve-context.ts'
import { runOperation } from './run-operation.ts'
import { withSpinner } from './spinner.ts'
import { sanitizeLine, sanitizeLines } from './terminal-text.ts'
import { Interrupted, usageError } from './usage-error.ts'

export async function runCommand(argv: readonly string[], environment: Environment): Promise<number> {
  let listedBy: string | undefined
  try {
    if (argv[0] === '--skill-prompt') {
      environment.stdout.write((await import('../skills/prompt.ts')).skillPrompt())
      return 0
    }
    // Not in the table of commands: only the scripts of `svc completion` call it.
    if (argv[0] === '__complete') return await printCandidates(argv.slice(1), environment)
    const { command, input } = parse(argv)
    listedBy = command.listedBy
    const ctx = createCommandContext(environment, settingsFrom(input, environment))
    const run = command.load
      ? await command.load()
      : runOperation({ command, call: OPERATION_CALLS[command.path]! })
    return (await run(ctx, input)) ?? 0
  } catch (error) {
    if (error instanceof Interrupted) return INTERRUPTED
    const failure = toServiceError(error)
    // From the raw words, because the options themselves may be what could not be parsed.
    const own = ownWords(argv)
    const [json, agent] = [asksForJson(own), isAgent(environment)]
    const color = !agent && !own.includes('--no-color') && wantsColor(environment)
    const loginHint = loginHintFor(argv, environment)
    environment.stderr.write(formatError(failure, { json, color, listedBy, loginHint }))
    if (failure.code === 'INVALID_REQUEST' && agent && !json) {
      environment.stderr.write('AI agents: run `svc --skill-prompt` for instructions.\n')
    }
    if (own.includes('--debug') && failure.cause !== undefined) {
      environment.stderr.write(`${sanitizeLines(stackOf(failure.cause))}\n`)
    }
    return exitCodeOf(failure)
  }
}

/** Somebody waits with a finger on the key: not longer than this for names from the server. */
const COMPLETE_TIMEOUT_MS = 2_000

async function printCandidates(words: readonly string[], environment: Environment): Promise<number> {
  const { complete } = await import('./complete.ts')
  const quiet = { format: undefined, debug: false, color: false, interactive: false }
  const contextFor = (context: string | undefined) =>
    createCommandContext(environment, { ...quiet, context, timeoutMs: COMPLETE_TIMEOUT_MS })
  environment.stdout.write(await complete(words, contextFor))
  return 0
}

/** 128 plus the number of SIGINT, as shells report it. */
const INTERRUPTED = 130

/** Behind `--` are arguments of another program, or values. */
function ownWords(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  return end === -1 ? argv : argv.slice(0, end)
}

const asksForJson = (argv: readonly string[]): boolean =>
  argv.some(
    (word, index) =>
      word === '--json' ||
      word === '-ojson' ||
      word === '--output=json' ||
      (word === 'json' && (argv[index - 1] === '-o' || argv[index - 1] === '--output')),
  )

/** Only what would help: another login changes nothing while the variables are set. */
function loginHintFor(argv: readonly string[], { env }: Environment): string {
  const isLogin = findCommand(argv).command?.path === 'login'
  const isFromEnv = isLogin
    ? !argv.some((word) => word.startsWith('--api-key')) && Boolean(env['SVC_API_KEY'])
    : Boolean(env['SVC_API_URL'] && env['SVC_API_KEY'])
  const create = 'Create a token in the console under Settings, API tokens.'
  if (isLogin) return isFromEnv ? `The token comes from SVC_API_KEY. ${create}` : create
  return isFromEnv
    ? `The token comes from SVC_API_KEY. ${create} To use your saved contexts, unset SVC_API_URL and SVC_API_KEY.`
    : 'Check your login with: svc status. Log in again with: svc login'
}

const stackOf = (cause: unknown): string =>
  cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)

const TIMEOUT_SECONDS = 30
/** Well below what setTimeout can count to. */
const TIMEOUT_MAX_SECONDS = 24 * 60 * 60

function settingsFrom({ options }: CommandInput, environment: Environment): Settings {
  const output = options['output'] as Format | undefined
  if (options['json'] === true && output !== undefined && output !== 'json') {
    throw usageError(`--json conflicts with --output ${output}`, 'Remove one of them')
  }
  const agent = isAgent(environment)
  return {
    context: options['context'] as string | undefined,
    format: options['json'] === true ? 'json' : output,
    timeoutMs: secondsFrom(options['timeout']) * 1000,
    debug: options['debug'] === true,
    color: options['no-color'] !== true && !agent && wantsColor(environment),
    interactive: !agent && Boolean(environment.stderr.isTTY) && Boolean(environment.stdin.isTTY),
  }
}

function secondsFrom(value: CommandInput['options'][string]): number {
  if (value === undefined) return TIMEOUT_SECONDS
  const seconds = Number(value)
  if (value !== '' && seconds > 0 && seconds <= TIMEOUT_MAX_SECONDS) return seconds
  throw usageError(`Invalid value for --timeout: ${String(value)}`, 'Must be a number of seconds, such as 60')
}

function createCommandContext(environment: Environment, settings: Settings): CommandContext {
  let resolved: ResolvedContext | undefined
  // Much of it was written by somebody else: a file, a path, a server.
  const info = (line: string) => void environment.stderr.write(`${sanitizeLine(line)}\n`)
  const resolve = async () => {
    resolved ??= resolveAndWarn(environment, settings.context, info)
    // Also in the middle of a command that runs for hours.
    if (expiresSoon(resolved))
      resolved = await (await import('./renew-login.ts')).renewLogin(environment, resolved.name)
    return resolved
  }
  const { timeoutMs, debug } = settings
  const serverAt = ({ apiUrl, token }: Pick<ResolvedContext, 'apiUrl' | 'token'>): Server => ({
    apiUrl,
    token,
    timeoutMs,
    userAgent: USER_AGENT,
    proxy: proxyFor(apiUrl, environment.env),
    ...(debug && { trace: info }),
  })
  const clientFor: CommandContext['clientFor'] = (server) => {
    const call = httpClient(serverAt(server))
    return (name, input) => withSpinner({ settings, environment }, call(name, input))
  }
  return {
    environment,
    settings,
    info,
    resolveContext: resolve,
    clientFor,
    callOperation: async (name, input) => clientFor(await resolve())(name, input),
    sendRequest: async (request) =>
      withSpinner({ settings, environment }, sendToServer(serverAt(await resolve()), request)),
    print: (data, view, defaultFormat = 'table') =>
      void environment.stdout.write(formatOutput(data, view, settings.format ?? defaultFormat)),
  }
}

function resolveAndWarn(
  environment: Environment,
  named: string | undefined,
  info: CommandContext['info'],
): ResolvedContext {
  const context = resolveContext(environment, named)
  const paths = configPaths(environment)
  if (context.name !== ENV_CONTEXT && isReadableByOthers(paths, environment)) {
    info(`warning: your tokens are readable by other users. Run: chmod 600 '${paths.credentials}'`)
  }
  return context
}
