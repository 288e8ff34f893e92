/** The client `svc` as a process of its own, which is killed at any moment. */
import { spawn, type ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ServerProcess } from './process.ts'

const CLIENT = fileURLToPath(new URL('../../bin/svc', import.meta.url))

/** Of one request, and of whatever is waited for: a machine that others use as well may give a process a tenth of its time. */
export const REQUEST_SECONDS = 300
export const UNTIL_MS = 10 * 60_000

export type ClientProcess = {
  readonly process: ChildProcess
  readonly exited: Promise<number | null>
  words: string
}

export function startClient(
  { origin }: Pick<ServerProcess, 'origin'>,
  token: string,
  args: readonly string[],
): ClientProcess {
  const child = spawn(process.execPath, [CLIENT, ...args, '--timeout', String(REQUEST_SECONDS)], {
    env: { PATH: process.env['PATH'] ?? '', SVC_API_URL: origin, SVC_API_KEY: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const running: ClientProcess = {
    process: child,
    words: '',
    exited: new Promise((resolve) => child.once('exit', (code) => resolve(code))),
  }
  const hear = (text: string) => void (running.words += text)
  child.stdout.setEncoding('utf8').on('data', hear)
  child.stderr.setEncoding('utf8').on('data', hear)
  return running
}

export async function kill({ process: child, exited }: ClientProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  await exited
}

/** Often at first, then seldom: each look costs a server as much as any request, and a lease is half a minute. */
const LOOKS_MS = { first: 50, longer: 5, longest: 250 }

export async function until(client: ClientProcess, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + UNTIL_MS
  for (let ms = LOOKS_MS.first; !(await isSo().catch(() => false)); ms += LOOKS_MS.longer) {
    if (performance.now() > end) throw new Error(`it did not come to that: ${client.words}`)
    await sleep(Math.min(ms, LOOKS_MS.longest))
  }
}
