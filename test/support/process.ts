/** The real server as a process of its own: started, listened to, killed, and gone with the test that started it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { httpClient, type Call, type CallOptions } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import { SECRET_KEYS } from '../../src/boot/config.ts'
import { copySnapshot } from './database.ts'
import { endWithUs } from './end-with-us.ts'
import { freePort } from './free-port.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LAUNCHER = join(ROOT, 'bin', 'server')

/** What this run has compiled already, where it keeps that: a process that is killed never writes down its own. */
const compiled = process.env['NODE_COMPILE_CACHE']
const COMPILED = compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled }

/** A first start makes two embedded databases and the sample: seconds, or minutes where others use the machine as well. */
const READY_MS = 240_000

/** Of a test beside whole processes, which have no other. */
export const realClock = (): Date => new Date()

export type Env = Record<string, string>
export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }
export type LogLine = { readonly event: string; readonly level: string } & Record<string, unknown>

export type ServerProcess = {
  readonly pid: number
  readonly port: number
  readonly metricsPort: number
  /** Its address as a person writes it. */
  readonly origin: string
  readonly dataFolder: string
  readonly stdout: () => string
  readonly stderr: () => string
  /** Those of its lines that are log lines. */
  readonly logLines: () => LogLine[]
  readonly exited: Promise<Exit>
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>
  /** Left out, `timeoutMs` is that of a process which calls another one. */
  readonly as: (who?: CallOptions, timeoutMs?: number) => Call
  /** Keys pressed at its terminal, if it has one. */
  readonly press: (keys: string) => void
  readonly kill: (signal: NodeJS.Signals) => void
  /** Sends the signal and waits for the end. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<Exit & { readonly ms: number }>
}

export type Start = {
  readonly env?: Env
  readonly args?: readonly string[]
  /** At a terminal, by way of the program `script`; both of its outputs are one then. */
  readonly terminal?: boolean
  /** Of another version of the program. */
  readonly launcher?: string
}
export type Finished = Exit & { readonly stdout: string; readonly stderr: string }

export type Processes = {
  /** A folder that goes with the processes. */
  readonly newFolder: () => Promise<string>
  /** Resolves when the server says that it is ready. */
  readonly start: (start: Start) => Promise<ServerProcess>
  /** Does not wait: for servers that are to be killed on the way. */
  readonly launch: (start: Start) => Promise<ServerProcess>
  /** Waits for the end: for chores and refusals. */
  readonly run: (start: Start) => Promise<Finished>
  readonly cleanUp: () => Promise<void>
}

/** Give `cleanUp` to `afterEach` or `afterAll`: it kills what still runs and removes every folder. */
export function processes(): Processes {
  const running = new Set<Child>()
  const folders: string[] = []

  const newFolder = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-process-'))
    folders.push(folder)
    return folder
  }
  const begin = async ({ env = {}, args = [], terminal = false, launcher = LAUNCHER }: Start) => {
    const PORT = env['PORT'] ?? String(await freePort())
    const METRICS_PORT = env['METRICS_PORT'] ?? String(await freePort())
    const home = await newFolder()
    const SVC_DATA_DIR = env['SVC_DATA_DIR'] ?? join(home, 'data')
    // Nothing of this test's own environment: a developer's settings must not decide what is proved.
    const clean = { PATH: process.env['PATH'] ?? '', HOME: home, ...COMPILED }
    const command = [process.execPath, launcher, ...args]
    // Any port, because the usual one is the same for every installation on this machine.
    const settings = { ...clean, SVC_DATA_DIR, MANAGED_DATABASE_PORT: '0', ...env, PORT, METRICS_PORT }
    const child = startChild(terminal ? atTerminal(command) : command, home, settings)
    running.add(child)
    void child.exited.then(() => running.delete(child))
    return { child, server: describe(child, Number(PORT), Number(METRICS_PORT), SVC_DATA_DIR) }
  }

  return {
    newFolder,
    async launch(start) {
      return (await begin(start)).server
    },
    async start(start) {
      const { child, server } = await begin(start)
      await untilReady(child, server)
      return server
    },
    async run(start) {
      const { child } = await begin(start)
      return { ...(await child.exited), stdout: child.stdout(), stderr: child.stderr() }
    },
    async cleanUp() {
      const left = [...running]
      for (const { process } of left) process.kill('SIGKILL')
      await Promise.all(left.map(({ exited }) => exited))
      await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })))
    },
  }
}

type Child = {
  readonly process: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  readonly exited: Promise<Exit>
}

const atTerminal = (command: readonly string[]): string[] => [
  'script',
  '--quiet',
  '--return',
  '--command',
  // Not below a shell, which the same Ctrl-C would end with a code of its own.
  `exec ${command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')}`,
  '/dev/null',
]

function startChild([program, ...args]: readonly string[], cwd: string, env: Env): Child {
  const child = spawn(program!, args, { cwd, env, stdio: 'pipe' })
  const letGo = endWithUs(child.pid!)
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  // `close` and not `exit`: by then everything it said has been heard.
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      letGo()
      resolve({ code, signal })
    })
  })
  return { process: child, stdout: () => stdout, stderr: () => stderr, exited }
}

function describe(child: Child, port: number, metricsPort: number, dataFolder: string): ServerProcess {
  const origin = `http://localhost:${port}`
  return {
    pid: child.process.pid!,
    port,
    metricsPort,
    origin,
    dataFolder,
    stdout: child.stdout,
    stderr: child.stderr,
    logLines: () => readLogLines(child.stdout()),
    exited: child.exited,
    press: (keys) => void child.process.stdin?.write(keys),
    kill: (signal) => void child.process.kill(signal),
    fetch: (path, init) => fetch(new URL(path, origin), { redirect: 'manual', ...init }),
    as: (who, timeoutMs) =>
      httpClient(overNetwork(new URL(origin), timeoutMs === undefined ? {} : { timeoutMs }), who),
    async stop(signal = 'SIGTERM') {
      const began = performance.now()
      child.process.kill(signal)
      const exit = await child.exited
      return { ...exit, ms: performance.now() - began }
    },
  }
}

const READY_AT_A_TERMINAL = /^\d\d:\d\d:\d\d {2}ready /m

async function untilReady(child: Child, server: ServerProcess): Promise<void> {
  const deadline = AbortSignal.timeout(READY_MS)
  let exit: Exit | undefined
  void child.exited.then((how) => (exit = how))
  const isReady = () =>
    server.logLines().some(({ event }) => event === 'ready') || READY_AT_A_TERMINAL.test(server.stdout())
  while (!isReady()) {
    if (exit || deadline.aborted) {
      const how = exit ? `ended with ${exit.code ?? exit.signal}` : 'did not get ready'
      throw new Error(`The server ${how}:\n${server.stderr()}${server.stdout()}`)
    }
    await sleep(20)
  }
}

function readLogLines(text: string): LogLine[] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as LogLine)
}

export type FirstWords = { readonly email: string; readonly password: string; readonly token: string }

/** What the first start had to say, from a terminal or from the file it left. */
export function readFirstWords(text: string): FirstWords {
  const word = (pattern: RegExp) => {
    const [, found] = pattern.exec(text) ?? []
    if (found === undefined) throw new Error(`${pattern} is not in: ${text}`)
    return found
  }
  return {
    email: word(/Email {5}(\S+)/),
    password: word(/Password {2}(\S+)/),
    token: word(/Bearer (svc_\w+)/),
  }
}

export const firstWordsIn = async ({ dataFolder }: Pick<ServerProcess, 'dataFolder'>): Promise<FirstWords> =>
  readFirstWords(await readFile(join(dataFolder, 'first-run.txt'), 'utf8'))

/** A data folder as the migrations leave it, with nobody in it: making the first one takes seconds. */
export async function migratedFolder({ newFolder }: Processes): Promise<string> {
  const folder = join(await newFolder(), 'data')
  await copySnapshot(folder)
  return folder
}

/** What it said to people, without its log and without the steps of its start, of which a slow machine shows more. */
export const wordsOf = ({ stdout, logLines }: ServerProcess): string[] => [
  ...stdout()
    .split(/\r?\n/)
    .filter(
      (line) => line !== '' && !line.startsWith('{') && !/ … \d+\.\d s$|^\d\d:\d\d:\d\d {2}/.test(line),
    ),
  ...logLines().flatMap(({ event, message }) => (event === 'welcome' ? [String(message)] : [])),
]

/** The four: given, or kept beside the embedded database. */
export async function secretsOf(installation: Env): Promise<string[]> {
  const given = SECRET_KEYS.flatMap((key) => installation[key] ?? [])
  if (given.length > 0) return given
  const kept = await readFile(join(installation['SVC_DATA_DIR']!, 'secrets.json'), 'utf8')
  return Object.values(JSON.parse(kept) as Env)
}

export function expectSilence({ stdout, stderr }: ServerProcess, secrets: readonly string[]): void {
  for (const secret of secrets) expect((stdout() + stderr()).includes(secret)).toBe(false)
}
