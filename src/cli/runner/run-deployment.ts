/** One claimed deployment: download its revision, run the command in it, report what happens. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Input, Output } from '../../contracts/operations.ts'
import type { CallOperation } from '../call-operation.ts'
import type { CommandContext } from '../command-context.ts'
import { childEnvironment, startCommand, type CommandEnd } from './start-command.ts'
import { startReporter, type Reporter } from './output-reporter.ts'
import { mayRetry, pause, retryDelayMs } from './retry.ts'
import { unpackRevision } from './unpack-revision.ts'

export type RunnerSettings = {
  readonly alias: string
  readonly command: string
  readonly name: string
  readonly timeoutMs: number
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
  const folder = await mkdtemp(join(tmpdir(), 'svc-deploy-'))
  try {
    const ending = await execute(deps, claimed, reporter, folder)
    await reporter.finish()
    return await report(deps, path, ending)
  } finally {
    reporter.stop()
    await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

async function execute(
  deps: Deps,
  { deployment, fence }: Claimed,
  reporter: Reporter,
  folder: string,
): Promise<Ending> {
  const { ctx, settings, aborting } = deps
  try {
    const { body } = await untilAnswered(deps, reporter.stopped, () =>
      deps.call('downloadRevision', { alias: settings.alias, revision_id: deployment.revision_id }),
    )
    await unpackRevision(body, folder)
  } catch (error) {
    reporter.write(`svc: the revision could not be unpacked: ${(error as Error).message}\n`)
    return { exit_code: null, code: 'RUNNER_FAILED' }
  }
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
  const timer = setTimeout(() => command.stop('TIMED_OUT'), settings.timeoutMs)
  const abort = () => command.stop('RUNNER_FAILED')
  // Cancelled by a person, or not ours any more.
  const stop = () => command.stop(undefined)
  aborting.addEventListener('abort', abort)
  reporter.stopped.addEventListener('abort', stop)
  if (aborting.aborted) abort()
  if (reporter.stopped.aborted) stop()
  try {
    return endingOf(await command.ended, reporter)
  } finally {
    clearTimeout(timer)
    aborting.removeEventListener('abort', abort)
    reporter.stopped.removeEventListener('abort', stop)
  }
}

function endingOf({ exitCode, stoppedBecause, problem }: CommandEnd, reporter: Reporter): Ending {
  if (problem !== undefined) {
    reporter.write(`svc: the command could not be started: ${problem}\n`)
    return { exit_code: null, code: 'RUNNER_FAILED' }
  }
  if (stoppedBecause === 'TIMED_OUT') reporter.write('svc: the command took too long and was stopped\n')
  if (stoppedBecause === 'RUNNER_FAILED')
    reporter.write('svc: the runner was stopped, and the command with it\n')
  return { exit_code: exitCode, ...(stoppedBecause && { code: stoppedBecause }) }
}

async function report(
  { ctx, ...deps }: Deps,
  path: Omit<Input<'finishDeployment'>, 'exit_code'>,
  ending: Ending,
) {
  try {
    const ended = await untilAnswered({ ctx, ...deps }, deps.aborting, () =>
      deps.call('finishDeployment', { ...path, ...ending }),
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
/** Once it need not be known any more. */
const ATTEMPTS_AFTER_STOP = 3

async function untilAnswered<T>({ ctx }: Deps, stopped: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (let failures = 0, last = 0; ; failures++) {
    try {
      return await ask()
    } catch (error) {
      if (!mayRetry(error) || (stopped.aborted && ++last >= ATTEMPTS_AFTER_STOP)) throw error
      if (failures === 0) ctx.info(`${(error as Error).message}. Trying again.`)
      await pause(retryDelayMs(error, failures, RETRY_MAX_MS))
    }
  }
}
