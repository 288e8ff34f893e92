/** One claimed deployment: download its revision, run the command in it, report what happens. */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Input, Output } from '../../contracts/operations.ts'
import type { CallOperation } from '../call-operation.ts'
import type { CommandContext } from '../command-context.ts'
import { childEnvironment, startCommand, type CommandEnd, type StopReason } from './start-command.ts'
import { startReporter, type Reporter } from './output-reporter.ts'
import { mayRetry, pause, retryDelayMs } from './retry.ts'
import { unpackRevision } from './unpack-revision.ts'

export type RunnerSettings = {
  readonly alias: string
  readonly command: string
  readonly name: string
  /** From the download to the end of the command. */
  readonly timeoutMs: number
  /** Each deployment gets a folder of its own in it. */
  readonly workFolder: string
}

export type Claimed = {
  readonly deployment: NonNullable<Output<'claimDeployment'>['deployment']>
  readonly fence: number
  readonly leaseMs: number
}

type Deps = {
  readonly ctx: CommandContext
  readonly call: CallOperation
  readonly settings: RunnerSettings
  /** The person insists: the command is stopped. */
  readonly aborting: AbortSignal
}

type Ending = Pick<Input<'finishDeployment'>, 'exit_code' | 'code'>

/** Returns whether it succeeded. */
export async function runDeployment(deps: Deps, claimed: Claimed): Promise<boolean> {
  const { ctx, call, settings } = deps
  const { deployment, fence } = claimed
  const path = { alias: settings.alias, deployment_id: deployment.id, fence }
  ctx.info(`${deployment.id}: ${deployment.revision_id} begins`)
  const reporter = startReporter(call, path, claimed.leaseMs)
  try {
    const ending = await execute(deps, claimed, reporter)
    await reporter.finish()
    return await report(deps, path, ending)
  } finally {
    reporter.stop()
  }
}

/** From the download to the end of the command: the person, the server and the clock may stop it at any point. */
async function execute(deps: Deps, claimed: Claimed, reporter: Reporter): Promise<Ending> {
  const { settings, aborting } = deps
  const stopping = new AbortController()
  const stop = (because: StopReason) => () => stopping.abort(because)
  const timer = setTimeout(stop('TIMED_OUT'), settings.timeoutMs)
  const forget = [
    whenAborted(aborting, stop('RUNNER_FAILED')),
    // Cancelled by a person, or not ours any more.
    whenAborted(reporter.stopped, stop('CANCELLED')),
  ]
  let folder: string | undefined
  try {
    folder = await mkdtemp(join(settings.workFolder, 'svc-deploy-'))
    await unpackInto(folder, deps, claimed, stopping.signal)
    return endingOf(
      await runCommand(deps, claimed, { folder, reporter, stopping: stopping.signal }),
      reporter,
    )
  } catch (error) {
    if (stopping.signal.aborted) return endingOf(stoppedBefore(stopping.signal), reporter)
    reporter.write(`svc: the command was not started: ${(error as Error).message}\n`)
    return { exit_code: null, code: 'RUNNER_FAILED' }
  } finally {
    clearTimeout(timer)
    for (const off of forget) off()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

async function unpackInto(
  folder: string,
  deps: Deps,
  { deployment }: Claimed,
  stopping: AbortSignal,
): Promise<void> {
  const { body } = await untilAnswered(deps, { stopped: stopping, attemptsAfterStop: 0 }, () =>
    deps.call('downloadRevision', { alias: deps.settings.alias, revision_id: deployment.revision_id }),
  )
  await unpackRevision(body, folder)
}

async function runCommand(
  deps: Deps,
  { deployment, fence }: Claimed,
  { folder, reporter, stopping }: { folder: string; reporter: Reporter; stopping: AbortSignal },
): Promise<CommandEnd> {
  const { ctx, settings } = deps
  // Not even its first line, if it was cancelled; or if this machine slept, and another runner is at work by now.
  const sign = {
    alias: settings.alias,
    deployment_id: deployment.id,
    fence,
    text: '',
    position: 0,
    last: false,
  }
  const { cancelled } = await untilAnswered(deps, { stopped: stopping, attemptsAfterStop: 0 }, () =>
    deps.call('reportDeploymentOutput', sign),
  )
  if (stopping.aborted) return stoppedBefore(stopping)
  if (cancelled) return { exitCode: null, stoppedBecause: 'CANCELLED' }
  const command = startCommand({
    command: settings.command,
    folder,
    env: childEnvironment(ctx.environment.env, {
      SVC_APP: settings.alias,
      SVC_DEPLOYMENT: deployment.id,
      SVC_REVISION: deployment.revision_id,
      SVC_FENCE: String(fence),
    }),
    output: (text) => {
      ctx.environment.stdout.write(text)
      reporter.write(text)
    },
  })
  whenAborted(stopping, () => command.stop(stopping.reason as StopReason))
  return command.ended
}

const stoppedBefore = (stopping: AbortSignal): CommandEnd => ({
  exitCode: null,
  stoppedBecause: stopping.reason as StopReason,
})

/** Returns how to forget it. */
function whenAborted(signal: AbortSignal, act: () => void): () => void {
  signal.addEventListener('abort', act, { once: true })
  if (signal.aborted) act()
  return () => signal.removeEventListener('abort', act)
}

const SAID_WHEN_STOPPED: Partial<Record<StopReason, string>> = {
  TIMED_OUT: 'svc: the command took too long and was stopped\n',
  RUNNER_FAILED: 'svc: the runner was stopped, and the command with it\n',
}

function endingOf({ exitCode, stoppedBecause, problem }: CommandEnd, reporter: Reporter): Ending {
  if (problem !== undefined) {
    reporter.write(`svc: the command could not be started: ${problem}\n`)
    return { exit_code: null, code: 'RUNNER_FAILED' }
  }
  if (stoppedBecause === undefined) return { exit_code: exitCode }
  reporter.write(SAID_WHEN_STOPPED[stoppedBecause] ?? '')
  // With a code, because many commands end with 0 when they are asked to stop: that is not a success. Whether a person
  // has cancelled it the server knows.
  return { exit_code: exitCode, code: stoppedBecause === 'TIMED_OUT' ? 'TIMED_OUT' : 'RUNNER_FAILED' }
}

async function report(
  { ctx, ...deps }: Deps,
  path: Omit<Input<'finishDeployment'>, 'exit_code'>,
  ending: Ending,
) {
  try {
    const ended = await untilAnswered(
      { ctx, ...deps },
      { stopped: deps.aborting, attemptsAfterStop: ATTEMPTS_AFTER_STOP },
      () => deps.call('finishDeployment', { ...path, ...ending }),
    )
    ctx.info(`${ended.id}: ${ended.state}${ended.code === null ? '' : `, ${ended.code}`}`)
    return ended.state === 'succeeded'
  } catch (error) {
    ctx.info(`${path.deployment_id}: its end could not be reported: ${(error as Error).message}`)
    return false
  }
}

/** Between two attempts: several fit into a lease. */
const RETRY_MAX_MS = 5_000
/** Of the last report, once it need not be known any more. */
const ATTEMPTS_AFTER_STOP = 3

type Patience = { readonly stopped: AbortSignal; readonly attemptsAfterStop: number }

async function untilAnswered<T>(
  { ctx }: Deps,
  { stopped, attemptsAfterStop }: Patience,
  ask: () => Promise<T>,
): Promise<T> {
  for (let failures = 0, last = 0; ; failures++) {
    try {
      return await ask()
    } catch (error) {
      if (!mayRetry(error) || (stopped.aborted && ++last >= attemptsAfterStop)) throw error
      if (failures === 0) ctx.info(`${(error as Error).message}. Trying again.`)
      await pause(retryDelayMs(error, failures, RETRY_MAX_MS), stopped.aborted ? undefined : stopped)
    }
  }
}
