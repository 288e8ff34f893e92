/** The commands of the server: start the services, or run a task that needs the database to itself. */
import { parseArgs } from 'node:util'
import { ConfigProblems, logFormatOf, misspelledSettings, readConfig, SETTINGS } from './config.ts'
import { didYouMean } from '../contracts/did-you-mean.ts'
import { createLogger } from '../observe/log.ts'
import { logDisplay, startSteps, terminalDisplay } from './start-steps.ts'
import { VERSION } from './version.ts'

const HELP = `svc ${VERSION}

  svc-server                        Start the services in SVC_SERVICES (default: all)
  svc-server --empty                Start without the sample data of the first run
  svc-server backup FILE            Back up the embedded databases to FILE (stop the server first; --force replaces FILE)
  svc-server restore FILE           Restore a backup (--replace moves existing databases aside)
  svc-server migrate                Apply pending migrations and exit (--check: only say which, and about how long)
  svc-server reset-password EMAIL   Create a link with which this person chooses a new password
  svc-server end-app-tokens         End every app token, with hosted auth (otherwise rotate JWT_SECRET)
  svc-server record-restore         After restoring Postgres on purpose, before the next start: end nothing again
  svc-server settings               List all settings
  svc-server --version | --help
`

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  version: { type: 'boolean', default: false },
  replace: { type: 'boolean', default: false },
  force: { type: 'boolean', default: false },
  check: { type: 'boolean', default: false },
  empty: { type: 'boolean', default: false },
} as const

const SEE_HELP = 'Run: svc-server --help\n'
const COMMANDS = ['start', ...[...HELP.matchAll(/^ {2}svc-server ([a-z][a-z-]*)/gm)].map(([, name]) => name!)]

/** What a command works on, as the help calls it. */
const ARGUMENTS = new Map(
  [...HELP.matchAll(/^ {2}svc-server ([a-z][a-z-]*) ([A-Z]+)/gm)].map(([, name, one]) => [name!, one!]),
)

async function main(): Promise<void> {
  const { values, positionals, tokens } = parseArgs({
    allowPositionals: true,
    // Its own words for an option that it does not know speak of programs.
    strict: false,
    tokens: true,
    options: OPTIONS,
  })
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    if (!Object.hasOwn(OPTIONS, token.name)) return misunderstood(unknownOption(token.rawName))
    if (token.value !== undefined) return misunderstood(`${token.rawName} takes no value. ${SEE_HELP}`)
  }
  const [command = 'start', file, ...rest] = positionals
  if (values.version) return print(VERSION)
  if (values.help) return print(HELP)
  if (!COMMANDS.includes(command))
    return misunderstood(
      `svc-server has no command ${JSON.stringify(command)}. ${didYouMean(command, COMMANDS, 'svc-server ')}${SEE_HELP}`,
    )
  const wanted = ARGUMENTS.get(command)
  const usage = `Usage: svc-server ${[command, wanted].filter(Boolean).join(' ')}\n`
  if (wanted !== undefined && file === undefined) return misunderstood(`${wanted} is missing. ${usage}`)
  const [unexpected] = wanted === undefined ? positionals.slice(1) : rest
  if (unexpected !== undefined)
    return misunderstood(`Unexpected argument ${JSON.stringify(unexpected)}. ${usage}`)
  if (command === 'settings') return print(settingsText())
  const config = readConfig()
  const pretty = logFormatOf(config) === 'text'
  const terminal =
    pretty && process.stdout.isTTY ? terminalDisplay((text) => process.stdout.write(text)) : undefined
  const log = createLogger({
    level: config.LOG_LEVEL,
    pretty,
    write: terminal?.print ?? ((line) => process.stdout.write(line)),
    clock: () => new Date(),
  })
  for (const { given, meant } of misspelledSettings())
    log.warn(`${given} is not a setting`, { did_you_mean: meant })
  const isSet = (name: keyof typeof OPTIONS) => values[name] === true
  switch (command) {
    case 'start': {
      const steps = startSteps(terminal ?? logDisplay(log))
      return (await import('./start.ts')).start(config, log, { empty: isSet('empty'), steps })
    }
    case 'migrate': {
      const { migrateCheck, migrateOnly } = await import('./database-commands.ts')
      return isSet('check') ? migrateCheck(config) : migrateOnly(config)
    }
    case 'end-app-tokens':
      return (await import('./database-commands.ts')).endAppTokens(config, { log })
    case 'record-restore':
      return (await import('./database-commands.ts')).recordRestoreCommand(config)
    case 'backup':
      return (await import('./database-commands.ts')).backup(config, file!, isSet('force'))
    case 'reset-password':
      return (await import('./reset-password-command.ts')).resetPasswordCommand(config, file!)
    case 'restore':
      return (await import('./database-commands.ts')).restore(config, file!, isSet('replace'))
  }
}

function unknownOption(given: string): string {
  const known = Object.keys(OPTIONS).map((name) => `--${name}`)
  return `svc-server has no option ${given}. ${didYouMean(given, known)}${SEE_HELP}`
}

function misunderstood(text: string): void {
  process.stderr.write(text)
  process.exitCode = 5
}

const print = (text: string): void => void process.stdout.write(`${text.trimEnd()}\n`)

const settingsText = (): string =>
  Object.entries(SETTINGS)
    .map(
      ([key, setting]) =>
        `${key}\n    ${setting.description}${setting.default ? ` Default: ${setting.default}.` : ''}`,
    )
    .join('\n')

/** A wrong configuration exits with 5, as a wrong command line does; everything else that prevents the start with 1. */
main().catch((error: unknown) => {
  const text = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${text}\n`)
  process.exitCode = error instanceof ConfigProblems ? 5 : 1
})
