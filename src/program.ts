/** The commands of the program: start the chosen services, or do a chore that needs the database to itself. */
import { parseArgs } from 'node:util'
import { ConfigProblems, readConfig, SETTINGS } from './config.ts'
import { createLogger } from './observe/log.ts'
import { VERSION } from './version.ts'

const HELP = `svc ${VERSION}

  svc-server                        start (the services of SVC_SERVICES, default all)
  svc-server --empty                the same, without the sample of the first start
  svc-server backup FILE            write the embedded database to FILE; stop the server first
  svc-server restore FILE           bring it back; --replace puts an existing database aside
  svc-server migrate                apply the migrations and stop
  svc-server settings               list every setting
  svc-server --version | --help
`

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
      replace: { type: 'boolean', default: false },
      empty: { type: 'boolean', default: false },
    },
  })
  const [command = 'start', file, ...rest] = positionals
  if (values.version) return say(VERSION)
  if (values.help) return say(HELP)
  if (command === 'settings') return say(settingsText())
  const config = readConfig()
  const log = createLogger({
    level: config.LOG_LEVEL,
    pretty: (config.LOG_FORMAT ?? (process.stdout.isTTY ? 'text' : 'json')) === 'text',
    write: (line) => process.stdout.write(line),
    clock: () => new Date(),
  })
  switch (command) {
    case 'start':
      if (file === undefined) return (await import('./start.ts')).start(config, log, { empty: values.empty })
      break
    case 'migrate':
      if (file === undefined) return (await import('./chores.ts')).migrateOnly(config)
      break
    case 'backup':
      if (file !== undefined && rest.length === 0) return (await import('./chores.ts')).backup(config, file)
      break
    case 'restore':
      if (file !== undefined && rest.length === 0) {
        return (await import('./chores.ts')).restore(config, file, values.replace)
      }
      break
  }
  process.stderr.write(HELP)
  process.exitCode = 5
}

const say = (text: string): void => void process.stdout.write(`${text.trimEnd()}\n`)

const settingsText = (): string =>
  Object.entries(SETTINGS)
    .map(
      ([key, setting]) =>
        `${key}\n    ${setting.says}${'default' in setting ? ` Default: ${setting.default}.` : ''}`,
    )
    .join('\n')

/** Usage errors leave by 5, as the client's do; everything else that stops the start by 1. */
main().catch((error: unknown) => {
  const isUsage =
    error instanceof TypeError && String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS')
  const text = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${text}\n`)
  process.exitCode = isUsage || error instanceof ConfigProblems ? 5 : 1
})
