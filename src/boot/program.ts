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

const COMMANDS = ['start', ...[...HELP.matchAll(/^ {2}svc-server ([a-z][a-z-]*)/gm)].map(([, name]) => name!)]

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
      replace: { type: 'boolean', default: false },
      force: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      empty: { type: 'boolean', default: false },
    },
  })
  const [command = 'start', file, ...rest] = positionals
  if (values.version) return print(VERSION)
  if (values.help) return print(HELP)
  if (command === 'settings') return print(settingsText())
  if (!COMMANDS.includes(command))
    return misunderstood(
      `svc-server has no command ${JSON.stringify(command)}. ${didYouMean(command, COMMANDS, 'svc-server ')}Run: svc-server --help\n`,
    )
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
    log.warn(`${given} is no setting`, { did_you_mean: meant })
  switch (command) {
    case 'start':
      if (file === undefined) {
        const steps = startSteps(terminal ?? logDisplay(log))
        return (await import('./start.ts')).start(config, log, { empty: values.empty, steps })
      }
      break
    case 'migrate':
      if (file === undefined) {
        const { migrateCheck, migrateOnly } = await import('./database-commands.ts')
        return values.check ? migrateCheck(config) : migrateOnly(config)
      }
      break
    case 'end-app-tokens':
      if (file === undefined) return (await import('./database-commands.ts')).endAppTokens(config, { log })
      break
    case 'record-restore':
      if (file === undefined) return (await import('./database-commands.ts')).recordRestoreCommand(config)
      break
    case 'backup':
      if (file !== undefined && rest.length === 0)
        return (await import('./database-commands.ts')).backup(config, file, values.force)
      break
    case 'reset-password':
      if (file !== undefined && rest.length === 0)
        return (await import('./reset-password-command.ts')).resetPasswordCommand(config, file)
      break
    case 'restore':
      if (file !== undefined && rest.length === 0) {
        return (await import('./database-commands.ts')).restore(config, file, values.replace)
      }
      break
  }
  misunderstood(HELP)
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
        `${key}\n    ${setting.description}${'default' in setting ? ` Default: ${setting.default}.` : ''}`,
    )
    .join('\n')

/** Usage errors exit with 5, as in the client; everything else that prevents the start with 1. */
main().catch((error: unknown) => {
  const isUsage =
    error instanceof TypeError && String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS')
  const text = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${text}\n`)
  process.exitCode = isUsage || error instanceof ConfigProblems ? 5 : 1
})
