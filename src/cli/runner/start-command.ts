/** Runs a command in a process group of its own, so that stopping it stops whatever it has started. */
import { spawn } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import { pause } from './retry.ts'

export type StopReason = 'TIMED_OUT' | 'RUNNER_FAILED' | 'CANCELLED'

export type CommandEnd = {
  /** Null: ended by a signal, or never started. */
  readonly exitCode: number | null
  /** It was asked to end before it had, however it ended then. */
  readonly stoppedBecause?: StopReason | undefined
  /** Why it could not be started. */
  readonly problem?: string
}

type Command = {
  readonly ended: Promise<CommandEnd>
  /** Asks the whole group to end, and ends it after a moment. */
  readonly stop: (because: StopReason) => void
}

const PATIENCE = {
  /** To clean up; then SIGKILL. */
  graceMs: 10_000,
  /** For output that is still on its way. A daemon that was started holds the pipes open for ever. */
  lastOutputMs: 2_000,
}

/** What the command learns of its deployment; docs/apps.md says what each is for. */
export const COMMAND_VARIABLES = ['SVC_APP', 'SVC_DEPLOYMENT', 'SVC_REVISION', 'SVC_FENCE'] as const

/** The environment of this process without its token: the command deploys, it does not report. */
export function childEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  added: Readonly<Record<(typeof COMMAND_VARIABLES)[number], string>>,
): Record<string, string | undefined> {
  const { SVC_API_KEY: _token, ...rest } = env
  return { ...rest, ...added }
}

export function startCommand(start: {
  command: string
  folder: string
  env: Record<string, string | undefined>
  output: (text: string) => void
  patience?: typeof PATIENCE
}): Command {
  const { graceMs, lastOutputMs } = start.patience ?? PATIENCE
  const child = spawn('/bin/sh', ['-c', start.command], {
    cwd: start.folder,
    env: start.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [child.stdout, child.stderr]) {
    const decoder = new StringDecoder('utf8')
    stream.on('data', (bytes: Buffer) => start.output(decoder.write(bytes)))
    stream.on('end', () => start.output(decoder.end()))
  }
  let stopped: { because: StopReason; done: Promise<void> } | undefined
  const hasExited = () => child.exitCode !== null || child.signalCode !== null
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const exited = new Promise<CommandEnd>((resolve) => {
    child.once('error', (error) => resolve({ exitCode: null, problem: error.message }))
    child.once('exit', (exitCode) => resolve({ exitCode }))
  })
  const ended = exited.then(async (end) => {
    await stopped?.done
    if (end.problem === undefined) await Promise.race([closed, pause(lastOutputMs)])
    child.stdout.destroy()
    child.stderr.destroy()
    return { ...end, stoppedBecause: stopped?.because }
  })
  return {
    ended,
    stop(because) {
      if (stopped || child.pid === undefined || hasExited()) return
      stopped = { because, done: stopGroup(child.pid, graceMs) }
    },
  }
}

async function stopGroup(leader: number, graceMs: number): Promise<void> {
  if (!signalGroup(leader, 'SIGTERM')) return
  for (let waited = 0; waited < graceMs; waited += 100) {
    await pause(100)
    if (!signalGroup(leader, 0)) return
  }
  signalGroup(leader, 'SIGKILL')
}

/** False: nobody is left in it. */
function signalGroup(leader: number, signal: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  try {
    process.kill(-leader, signal)
    return true
  } catch (error) {
    // EPERM: somebody is, but not ours.
    return (error as { code?: string }).code === 'EPERM'
  }
}
