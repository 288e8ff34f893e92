/** Programs of other people's as processes: without any of our environment, and with no way out but loopback. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import type { Person } from './client.ts'

export type Program = {
  readonly home: string
  readonly person: Person
  readonly command: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Ends it. */
  readonly signal?: AbortSignal
}

/** No browser can be found on this path, and whoever wants to leave this machine finds a proxy that nobody runs. */
const environment = ({ home, env = {} }: Program) => ({
  PATH: '/usr/bin:/bin',
  HOME: home,
  TERM: 'dumb',
  BROWSER: '/bin/true',
  HTTPS_PROXY: 'http://127.0.0.1:1',
  NO_PROXY: 'localhost,127.0.0.1',
  ...env,
})

export function startProgram(program: Program): ChildProcessWithoutNullStreams {
  const [file, ...args] = program.command
  const child = spawn(file!, args, {
    cwd: program.home,
    env: environment(program),
    stdio: 'pipe',
    ...(program.signal && { signal: program.signal, killSignal: 'SIGKILL' as const }),
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => program.person.hear(text))
  }
  return child
}

export type Ended = { readonly code: number | null; readonly stdout: string; readonly output: string }

const TIMEOUT_MS = 60_000

/** Waits for its end. */
export async function runProgram(program: Program): Promise<Ended> {
  const child = startProgram(program)
  child.stdin.end()
  return untilEnd(child)
}

/** At a terminal, for programs that ask nobody who has none. */
export async function runAtTerminal(program: Program): Promise<Ended> {
  const command = program.command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  // Its standard input stays open: at its end the terminal would be gone.
  return untilEnd(
    startProgram({
      ...program,
      command: ['script', '--quiet', '--return', '--command', `exec ${command}`, '/dev/null'],
    }),
  )
}

async function untilEnd(child: ChildProcessWithoutNullStreams): Promise<Ended> {
  let [stdout, output] = ['', '']
  child.stdout.on('data', (text: string) => {
    stdout += text
    output += text
  })
  child.stderr.on('data', (text: string) => (output += text))
  const late = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS)
  const code = await new Promise<number | null>((ended) => {
    child.once('error', (error) => (output += error.message))
    child.once('close', ended)
  })
  clearTimeout(late)
  return { code, stdout, output }
}

export function expectSuccess({ code, output }: Ended, what: string): void {
  if (code !== 0) throw new Error(`${what} ended with ${code}: ${output}`)
}
