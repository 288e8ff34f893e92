/** The README, pasted: every command of it is run, in its order, and what it shows is compared with what is printed. */
import { spawnSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readText } from '../repository/source-tree.ts'
import { documentedCommands, missingLines, type DocumentedCommand } from '../support/documented-commands.ts'
import { unique } from '../support/make.ts'
import { freePort } from '../support/free-port.ts'
import {
  processes,
  readFirstWords,
  type Env,
  type FirstWords,
  type ServerProcess,
} from '../support/process.ts'
import { openShell, type Shell } from '../support/shell.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COMMANDS = documentedCommands(readText('README.md'))

/** Of other people; where a machine does not have it, its blocks are left out, and the output says so. */
const FOREIGN = ['claude', 'podman']
/** `npm ci` and `npm test` are tried by test/long/fresh-clone.test.ts. */
const START = 'npm ci && npm start\n'
const TEST = 'npm ci && npm test\n'
const RESTART = 'npm start\n'

const own = processes()
let env: Env
let server: ServerProcess
let shell: Shell
let words: FirstWords
let failed = false
/** Instead of `svc`, which may be somebody's own. */
const CONTAINER = unique('svc-readme')

beforeAll(async () => {
  const folder = await own.newFolder()
  const HOME = join(folder, 'home')
  await mkdir(HOME)
  env = {
    PATH: [
      join(ROOT, 'node_modules/.bin'),
      join(ROOT, 'test/clients/node_modules/.bin'),
      process.env['PATH'],
    ].join(':'),
    HOME,
    SVC_DATA_DIR: join(folder, 'data'),
    PORT: String(await freePort()),
    METRICS_PORT: String(await freePort()),
    MANAGED_DATABASE_PORT: '0',
  }
  shell = openShell({ cwd: ROOT, env, folder })
})
afterAll(async () => {
  shell?.close()
  if (isThere('podman')) {
    spawnSync('podman', ['rm', '--force', '--ignore', CONTAINER], { env })
    spawnSync('podman', ['volume', 'rm', '--force', CONTAINER], { env })
  }
  await own.cleanUp()
})

describe('the README', () => {
  // Each block goes on where the one before it ended.
  afterEach(({ task }) => void (failed ||= task.result?.state === 'fail'))

  test.for(COMMANDS.map((command) => ({ ...command, title: command.command.trim().split('\n', 1)[0]! })))(
    '$section: $title',
    async (command, { skip }) => {
      skip(failed, 'a command before it failed')
      const missing = FOREIGN.find(
        (program) => command.command.startsWith(`${program} `) && !isThere(program),
      )
      skip(missing !== undefined, `there is no ${missing} here`)
      const printed = await perform(command)
      expect(missingLines(command.shown ?? '', printed), `${command.command}\nprinted:\n${printed}`).toEqual(
        [],
      )
    },
  )

  test('has commands, and shows what they print', () => {
    expect(COMMANDS.length).toBeGreaterThan(12)
    expect(COMMANDS.filter(({ shown }) => shown !== undefined).length).toBeGreaterThan(7)
  })
})

const isThere = (program: string): boolean => spawnSync(program, ['--version'], { env }).status === 0

async function perform({ command }: DocumentedCommand): Promise<string> {
  if (command === START) {
    const said = await start()
    words = readFirstWords(said)
    return said
  }
  if (command === TEST) return ''
  if (isExample(command)) {
    return shell.paste(ownValues(command))
  }
  if (command.endsWith(RESTART)) {
    // At its terminal, as the page says.
    server.press('\u0003')
    expect(await server.exited).toMatchObject({ code: 0 })
    const printed = await shell.paste(command.slice(0, -RESTART.length))
    return printed + (await start())
  }
  if (command.startsWith('podman ')) return shell.paste(await inOwnContainer(command))
  return asShown(await shell.paste(command.replaceAll('localhost:4000', `localhost:${env['PORT']}`)))
}

const inOwnContainer = async (command: string): Promise<string> =>
  command
    .replace('127.0.0.1:4000', `127.0.0.1:${await freePort()}`)
    .replaceAll(/(--name |--volume |exec |top )svc\b/g, `$1${CONTAINER}`)

/** At a terminal: there the first start says everything. */
async function start(): Promise<string> {
  server = await own.start({ env, terminal: true })
  return asShown(server.stdout())
}

/** Sets a password or token that only the page has. */
const isExample = (command: string): boolean =>
  command.split('\n').every((line) => /^(?:(?:password|token)='.*')?$/.test(line))

const ownValues = (command: string): string =>
  command
    .split('\n')
    .map((line) =>
      line.replace(/^(password|token)=.*$/, (_, name: 'password' | 'token') => `${name}='${words[name]}'`),
    )
    .join('\n')

const asShown = (printed: string): string =>
  printed.replaceAll(`localhost:${env['PORT']}`, 'localhost:4000').replaceAll('\r\n', '\n')
