/** What somebody has after `git clone`: an old Node, an empty home, two commands. As root and as an ordinary user. */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { chmod, chown, cp, lchown, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join, sep } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { documentedCommands, missingLines } from '../support/documented-commands.ts'
import { freePort } from '../support/free-port.ts'
import { readFirstWords } from '../support/process.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Known on every Linux. */
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

/** What the machine itself has, without the Node that npm brought here. */
const PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes(`${sep}node_modules${sep}`) && !folder.includes('node-gyp-bin'))
  .join(delimiter)

/** How npm gets out of this machine is the machine's affair; everything else begins empty. */
const WAY_OUT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) =>
    /^(https?_proxy|no_proxy|npm_config_registry|npm_config_cafile|node_extra_ca_certs|ssl_cert_file)$/i.test(
      name,
    ),
  ),
)

const reason = whyNot()
if (reason) console.log(`A fresh clone is not tried: ${reason}.`)

const homes: string[] = []
const running = new Set<ChildProcess>()
afterEach(async () => {
  for (const child of running) killGroup(child, 'SIGKILL')
  await Promise.all(homes.splice(0).map((home) => rm(home, { recursive: true, force: true })))
})

for (const who of isRoot
  ? (['root, in a folder for root alone', 'an ordinary user'] as const)
  : (['this user'] as const)) {
  test.skipIf(reason)(
    `as ${who}: npm ci, a release and the install page, npm start, the README’s tour, and npm test on Postgres`,
    // Two installations, and a release made by a slow machine.
    { timeout: 20 * 60_000 },
    async ({ skip }) => {
      const uid = who === 'an ordinary user' ? NOBODY : undefined
      const { folder, env } = await cloneFor(uid)
      const run = (program: string, ...args: string[]) => finish(program, args, { folder, env, uid })

      const installed = await run('npm', 'ci', '--no-audit', '--no-fund')
      if (
        /E(NOTFOUND|CONNREFUSED|CONNRESET|AI_AGAIN|TIMEDOUT)|network/.test(installed.output) &&
        installed.code !== 0
      ) {
        skip(`npm cannot install here: ${installed.output.slice(-300)}`)
      }
      expect(installed, installed.output).toMatchObject({ code: 0 })

      await followInstallPage({ folder, env, uid })

      const [port, metrics] = [await freePort(), await freePort()]
      const settings = { ...env, PORT: String(port), METRICS_PORT: String(metrics) }
      const server = begin('npm', ['start'], { folder, env: settings, uid })
      await untilReady(port, server)
      const words = readFirstWords(await readFile(join(folder, '.svc', 'first-run.txt'), 'utf8'))
      const { calls, chores, shown } = await tour(folder, port, words)
      const pasted = await run('bash', '-euo', 'pipefail', '-c', calls)
      expect(pasted, pasted.output).toMatchObject({ code: 0 })
      const printed = pasted.output.replaceAll(`localhost:${port}`, 'localhost:4000')
      expect(missingLines(shown, printed), printed).toEqual([])
      killGroup(server.child, 'SIGTERM')
      expect(await server.ended).toMatchObject({ code: 0 })
      const restored = await run('bash', '-euo', 'pipefail', '-c', chores)
      expect(restored, restored.output).toMatchObject({ code: 0 })

      const tested = await run(
        'npm',
        'test',
        '--',
        '--project',
        'postgres',
        'test/walks/organizations.test.ts',
      )
      expect(tested, tested.output).toMatchObject({ code: 0 })
      expect(tested.output).toMatch(/Tests .*\d+ passed/)
    },
  )
}

/** The files of a release, and the server and the client from them alone, as docs/install.md tells. */
async function followInstallPage({ folder, env, uid }: Place): Promise<void> {
  const made = await finish('npm', ['run', 'release'], { folder, env, uid })
  expect(made, made.output).toMatchObject({ code: 0 })
  const elsewhere = join(folder, '..', 'files')
  const moved = await finish('mv', [join(folder, 'dist/release'), elsewhere], { folder, env, uid })
  expect(moved, moved.output).toMatchObject({ code: 0 })
  const page = documentedCommands(await readFile(join(folder, 'docs/install.md'), 'utf8'))
  const block = (section: string) => page.find((one) => one.section === section)!.command
  const bash = (commands: string, more: NodeJS.ProcessEnv = {}) =>
    finish('bash', ['-euo', 'pipefail', '-c', commands], { folder: elsewhere, env: { ...env, ...more }, uid })

  const installed = await bash(block('Check the files') + block('Server').replace(/^bin\/server\n/m, ''))
  expect(installed, installed.output).toMatchObject({ code: 0 })
  const [, unpacked] = /^cd (\S+)$/m.exec(block('Server'))!
  const [port, metrics] = [await freePort(), await freePort()]
  const settings = { ...env, PORT: String(port), METRICS_PORT: String(metrics), LOG_FORMAT: 'json' }
  const server = begin('bin/server', [], { folder: join(elsewhere, unpacked!), env: settings, uid })
  await untilReady(port, server)
  const firstRun = await readFile(join(elsewhere, unpacked!, '.svc', 'first-run.txt'), 'utf8')
  // The server comes without the client, which is a package of its own.
  expect(firstRun).toMatch(/^ {2}svc login --api-url /m)
  const words = readFirstWords(firstRun)
  // As a person would at a terminal, who is asked in the browser; here the token of the first start lets the client in.
  const login = `echo '${words.token}' | svc login --api-url http://localhost:${port} --api-key -\nsvc status\n`
  const prefix = join(elsewhere, 'global')
  // A home of its own: what it logs in to here is not what the tour asks.
  const HOME = join(elsewhere, 'home')
  const client = await bash(`mkdir "$HOME"\n${block('Client').replace(/^svc login .*\n/m, login)}`, {
    HOME,
    npm_config_prefix: prefix,
    PATH: `${join(prefix, 'bin')}${delimiter}${PATH}`,
  })
  expect(client, client.output).toMatchObject({ code: 0 })
  expect(client.output).toContain(words.email)
  killGroup(server.child, 'SIGTERM')
  const ended = await server.ended
  expect(ended).toMatchObject({ code: 0 })
  expect(ended.output).toMatch(/"event":"ready".*"program":"bundle"/)
}

function whyNot(): string | undefined {
  const said = spawnSync('node', ['--version'], { env: { PATH }, encoding: 'utf8' }).stdout ?? ''
  const [major = 0, minor = 0] = said.replace('v', '').split('.').map(Number)
  if (major === 0) return 'there is no Node on the PATH besides the one npm brought'
  if (major > 22 || (major === 22 && minor >= 18))
    return `the machine’s own Node is ${said.trim()}, not an old one`
  if (process.platform !== 'linux') return 'npm brings Node along on Linux only'
  for (const program of ['git', 'npm', 'curl', 'bash']) {
    if (spawnSync(program, ['--version'], { env: { PATH } }).error) return `there is no ${program}`
  }
  return undefined
}

type Place = { readonly folder: string; readonly env: NodeJS.ProcessEnv; readonly uid: number | undefined }

async function cloneFor(uid: number | undefined): Promise<Place> {
  const home = await mkdtemp(join(tmpdir(), 'svc-clone-'))
  homes.push(home)
  await chmod(home, 0o700)
  const folder = join(home, 'svc')
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', ROOT, folder])
  await mkdir(join(home, 'empty'))
  const cache = uid === undefined ? machineCache() : await copyOfCache(join(home, 'cache'))
  if (uid !== undefined) await giveTo(uid, home)
  const env = {
    ...WAY_OUT,
    PATH,
    HOME: join(home, 'empty'),
    npm_config_cache: cache,
    npm_config_prefer_offline: 'true',
  }
  return { folder, env, uid }
}

/** It saves the network; where it is empty, npm ci takes longer. */
const machineCache = (): string =>
  spawnSync('npm', ['config', 'get', 'cache'], { cwd: tmpdir(), encoding: 'utf8' }).stdout.trim()

/** For somebody who may not read ours. */
async function copyOfCache(to: string): Promise<string> {
  await mkdir(to)
  await cp(join(machineCache(), '_cacache'), join(to, '_cacache'), { recursive: true }).catch(() => {})
  return to
}

async function giveTo(uid: number, folder: string): Promise<void> {
  await chown(folder, uid, uid)
  for (const name of await readdir(folder, { recursive: true })) await lchown(join(folder, name), uid, uid)
}

type Ended = { readonly code: number | null; readonly output: string }

function begin(
  program: string,
  args: readonly string[],
  { folder, env, uid }: Place,
): { child: ChildProcess; ended: Promise<Ended> } {
  // A group of its own, so that nothing of what npm starts outlives the test.
  const child = spawn(program, args, {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  running.add(child)
  const exit = new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  )
  const ended = Promise.all([exit, text(child.stdout), text(child.stderr)]).then(([code, out, err]) => {
    running.delete(child)
    return { code, output: out + err }
  })
  return { child, ended }
}

const finish = (program: string, args: readonly string[], place: Place): Promise<Ended> =>
  begin(program, args, place).ended

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It has ended by itself.
  }
}

async function untilReady(port: number, server: { ended: Promise<Ended> }): Promise<void> {
  let ended: Ended | undefined
  void server.ended.then((how) => (ended = how))
  for (let tries = 0; tries < 600; tries++) {
    if (ended) throw new Error(`npm start ended with ${ended.code}: ${ended.output}`)
    const answer = await fetch(`http://localhost:${port}/readyz`).catch(() => undefined)
    if (answer?.status === 200) return
    await sleep(100)
  }
  throw new Error('npm start did not get ready in a minute')
}

/** Of the README what needs only this server, with this start's own port, password and token. test/long/readme.test.ts has all. */
async function tour(folder: string, port: number, words: { password: string; token: string }) {
  const blocks = documentedCommands(await readFile(join(folder, 'README.md'), 'utf8')).filter(
    ({ section }) => section === 'Tour',
  )
  const afterTheStop = blocks.filter(({ command }) => command.startsWith('npm run server'))
  const sample = blocks.filter(({ command }) => command.startsWith('password='))
  expect([blocks.length > 5, afterTheStop.length, sample.length]).toEqual([true, 1, 1])
  const calls = blocks.filter((block) => ![...afterTheStop, ...sample].includes(block))
  const login = `echo "$token" | ./bin/svc login --api-url http://localhost:${port} --api-key -\n`
  const own = `password='${words.password}'\ntoken='${words.token}'\n${login}`
  return {
    calls:
      own + calls.map(({ command }) => command.replaceAll('localhost:4000', `localhost:${port}`)).join(''),
    chores: afterTheStop.map(({ command }) => command.replace(/^npm start$/m, '')).join(''),
    shown: calls.map(({ shown }) => shown ?? '').join(''),
  }
}
