/** Child processes under measurement: started, waited for, asked for their CPU time and memory, ended. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Program = { readonly child: ChildProcess; readonly output: () => string; stop(): Promise<void> }

export const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export function run(args: readonly string[], env: Record<string, string> = {}): Program {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return {
    child,
    output: () => output,
    stop: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null) return resolve()
        child.once('exit', () => resolve())
        child.kill('SIGTERM')
      }),
  }
}

/** As `npm start` does, from the bundle where it is fresh. */
export const startServer = (folder: string, port: number, more: Record<string, string> = {}): Program =>
  run([file('../bin/server')], { MALLOC_MMAP_THRESHOLD_: '1048576', ...serverEnv(folder, port, more) })

export const serverEnv = (folder: string, port: number, more: Record<string, string>) => ({
  SVC_DATA_DIR: folder,
  PORT: String(port),
  METRICS_PORT: 'off',
  // Whichever is free: another server may be running.
  MANAGED_DATABASE_PORT: '0',
  LOG_LEVEL: 'warn',
  ...more,
})

/**
 * Polls every few milliseconds: the time between ready and noticed must not count. By connecting alone as long as nobody
 * listens: requests that are refused take CPU away from what is measured.
 */
export async function untilAnswers(url: string, program: Program): Promise<void> {
  const port = Number(new URL(url).port)
  while (program.child.exitCode === null && !(await isListening(port))) {
    await new Promise((resolve) => setTimeout(resolve, 4))
  }
  for (;;) {
    if (program.child.exitCode !== null) throw new Error(`it ended: ${program.output()}`)
    const ok = await fetch(url).then(
      (response) => response.ok,
      () => false,
    )
    if (ok) return
    await new Promise((resolve) => setTimeout(resolve, 4))
  }
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

export async function untilSays(word: string, program: Program): Promise<void> {
  while (!program.output().includes(word)) {
    if (program.child.exitCode !== null) throw new Error(`it ended: ${program.output()}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** User and system time of all threads, in seconds; the kernel counts in hundredths. */
export function cpuSeconds({ child }: Program): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

export function residentMiB({ child }: Program): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))
  return Number(line?.[1]) / 1024
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

export async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
