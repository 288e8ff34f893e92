/** `svc apps runner`: waits for deployments of an app and runs a command for each, until it is told to stop. */
import { randomUUID } from 'node:crypto'
import { hostname, tmpdir } from 'node:os'
import { DEPLOYMENT_WAIT_MAX_SECONDS } from '../../contracts/limits.ts'
import { httpClient, type CallOperation, type Server } from '../call-operation.ts'
import { USER_AGENT } from '../client-version.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { argument, countOption, isSet, textOption } from '../options.ts'
import { proxyFor } from '../proxy.ts'
import { pause, RETRY_MAX_MS, retryDelayMs, mayRetry } from '../runner/retry.ts'
import { runDeployment, type RunnerSettings } from '../runner/run-deployment.ts'
import { onStopSignals } from '../runner/stop-signals.ts'
import { FOUND_FAILED } from '../exit-codes.ts'
import { usageError } from '../usage-error.ts'

const COMMAND_TIMEOUT_SECONDS = 60 * 60
const COMMAND_TIMEOUT_MAX_SECONDS = 7 * 24 * 60 * 60

type Timers = {
  readonly now: () => number
  readonly start: (act: () => void, ms: number) => NodeJS.Timeout
}

export async function runDeployments(
  ctx: CommandContext,
  input: CommandInput,
  timers: Timers = { now: Date.now, start: setTimeout },
): ReturnType<Run> {
  const settings = settingsOf(ctx, input)
  const { apiUrl } = await ctx.resolveContext()
  const stopping = new AbortController()
  const aborting = new AbortController()
  const { timeoutMs } = ctx.settings
  const proxy = proxyFor(apiUrl, ctx.environment.env)
  // The token of each call, because that of a login is renewed.
  const server = async (): Promise<Server> => {
    const { token } = await ctx.resolveContext()
    return { apiUrl, token, timeoutMs, userAgent: USER_AGENT, proxy }
  }
  const call: CallOperation = async (name, given) => httpClient(await server())(name, given)
  const signals = onStopSignals({
    first: () => {
      ctx.info('Stopping after the deployment that runs. Once more: stop its command, too.')
      stopping.abort()
    },
    second: () => aborting.abort(),
  })
  try {
    const claim = claimer(ctx, server, settings, { stopping: stopping.signal, timers })
    ctx.info(`Waiting for deployments of ${settings.alias} as ${settings.name}`)
    while (!stopping.signal.aborted) {
      const claimed = await claim()
      if (!claimed) continue
      const succeeded = await runDeployment({ ctx, call, settings, aborting: aborting.signal }, claimed)
      if (isSet(input, 'once')) return succeeded ? 0 : FOUND_FAILED
    }
    return 0
  } finally {
    signals.off()
  }
}

function settingsOf({ environment }: CommandContext, input: CommandInput): RunnerSettings {
  const command = textOption(input, 'exec')?.trim()
  if (!command)
    throw usageError('Missing option: --exec <command>', 'Name the command that deploys a revision')
  if (environment.platform === 'win32') {
    throw usageError('The runner needs process groups, which Windows has not', 'Run it on Linux or macOS')
  }
  const timeoutSeconds = countOption(input, 'command-timeout', COMMAND_TIMEOUT_MAX_SECONDS)
  return {
    alias: argument(input, 'app'),
    command,
    name: textOption(input, 'name') ?? hostname(),
    timeoutMs: (timeoutSeconds ?? COMMAND_TIMEOUT_SECONDS) * 1000,
    workFolder: tmpdir(),
  }
}

/** After so long at the server a claim only waits: then nothing is lost by hanging up. */
const CLAIM_SETTLED_MS = 3_000

/** Claims the next deployment, or waits for one. A server that cannot be reached is asked again, for as long as it takes. */
function claimer(
  ctx: CommandContext,
  server: () => Promise<Server>,
  { alias, name, command }: RunnerSettings,
  { stopping, timers }: { readonly stopping: AbortSignal; readonly timers: Timers },
) {
  const waitSeconds = Math.min(DEPLOYMENT_WAIT_MAX_SECONDS, Math.floor(ctx.settings.timeoutMs / 2_000))
  let claimId: string = randomUUID()
  let failures = 0
  let askedAt = 0
  const hangUp = new AbortController()
  // The deployment of a claim that is being made would be running, with nobody to run it.
  const hangUpOnceSettled = () => {
    const settledMs = Math.max(0, askedAt + CLAIM_SETTLED_MS - timers.now())
    timers.start(() => hangUp.abort(), settledMs).unref()
  }
  stopping.addEventListener('abort', hangUpOnceSettled, { once: true })
  /** The answer to the last claim was lost, perhaps with a deployment. */
  let unsettled = false
  async function claim(to: Server, wait_seconds: number) {
    askedAt = timers.now()
    const { deployment, fence, lease_seconds } = await httpClient(to)('claimDeployment', {
      alias,
      runner: name,
      claim_id: claimId,
      command: command.slice(0, 4_096),
      wait_seconds,
    })
    unsettled = false
    if (failures > 0) ctx.info('The server answers again')
    failures = 0
    if (!deployment || fence === null) return undefined
    // The answer arrived. Repeating a claim with the same id would give the same one.
    claimId = randomUUID()
    return { deployment, fence, leaseMs: lease_seconds * 1000 }
  }
  async function claimOrWait() {
    try {
      const to = await server()
      // Renewing the token may have taken a while.
      if (stopping.aborted) return undefined
      const claimed = await claim({ ...to, signal: hangUp.signal }, waitSeconds)
      // A server that does not wait is not asked in a loop without end.
      if (!claimed && timers.now() - askedAt < 500) await pause(1_000, stopping)
      return claimed
    } catch (error) {
      if (mayRetry(error) && !hangUp.signal.aborted) unsettled = true
      if (stopping.aborted) return undefined
      if (!mayRetry(error)) throw error
      if (failures === 0) ctx.info(`${(error as Error).message}. Trying again.`)
      await pause(retryDelayMs(error, failures++, RETRY_MAX_MS), stopping)
      return undefined
    }
  }
  /** Nobody else would run what the server has given to this runner. */
  async function settle() {
    try {
      return await claim({ ...(await server()), timeoutMs: CLAIM_SETTLED_MS }, 0)
    } catch (error) {
      ctx.info(`${(error as Error).message}. Giving up.`)
      return undefined
    }
  }
  return async () => (await claimOrWait()) ?? (stopping.aborted && unsettled ? settle() : undefined)
}
