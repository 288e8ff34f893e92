/**
 * Claims maintenance runs and does them, so many at a time. Any number of processes do it, all equal; which run is next is
 * for the tool host to say, which is fair between organizations.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CLAIM_WAIT_MAX_SECONDS, type ClaimedRun } from '../contracts/agent-calls.ts'
import { RULES_MODEL } from '../contracts/outcomes.ts'
import type { AgentRunnerTokens } from '../trust/agent-runner-token.ts'
import { doRun, type RunDeps } from './do-run.ts'

export type AgentRunnerDeps = RunDeps & {
  readonly clock: () => Date
  readonly agentRunnerTokens: AgentRunnerTokens
  /** Runs at a time in this process; each waits for its model most of the time. */
  readonly runsAtOnce: number
}

const BACKOFF_MS = 500
/** Of a claim that is being made when the process is to stop. One that only waits takes longer, and has taken nothing. */
const CLAIM_GRACE_MS = 500
const BACKOFF_MAX_MS = 30_000

export function startAgentRunner(deps: AgentRunnerDeps): { stop(): Promise<void> } {
  const stopping = new AbortController()
  /** A moment later: a claim that is being made is answered first, and its run given back. */
  const claiming = new AbortController()
  /** With the organization of each. */
  const running = new Map<Promise<void>, string>()

  /** One slot is always left for others, so that a night of one organization delays nobody else's runs by its length. */
  function organizationsWithTheirShare(): string[] {
    const share = Math.max(1, deps.runsAtOnce - 1)
    const held = [...Map.groupBy(running.values(), (orgId) => orgId)]
    return deps.runsAtOnce === 1
      ? []
      : held.filter(([, runs]) => runs.length >= share).map(([orgId]) => orgId)
  }

  async function claimAndStart(claimId: string): Promise<void> {
    const claim = { claimId, waitSeconds: CLAIM_WAIT_MAX_SECONDS, except: organizationsWithTheirShare() }
    const run = await claimRun(deps, claim, claiming.signal)
    if (!run) return
    const done = doRun(deps, run, stopping.signal).finally(() => running.delete(done))
    running.set(done, run.org_id)
  }

  const loop = (async () => {
    let failures = 0
    // Repeated with the same id after a failure: what was claimed, and its answer lost, is answered again.
    let claimId = randomUUID()
    while (!stopping.signal.aborted) {
      try {
        if (running.size >= deps.runsAtOnce) await Promise.race(running.keys())
        else {
          await claimAndStart(claimId)
          claimId = randomUUID()
        }
        failures = 0
      } catch (error) {
        if (stopping.signal.aborted) break
        deps.log.warn('no maintenance run could be claimed', { error })
        const ms = Math.min(BACKOFF_MS * 2 ** failures++, BACKOFF_MAX_MS)
        await sleep(ms, undefined, { signal: stopping.signal }).catch(() => {})
      }
    }
  })()

  return {
    async stop() {
      const reason = new Error('the agent-runner is stopping')
      stopping.abort(reason)
      const late = setTimeout(() => claiming.abort(reason), CLAIM_GRACE_MS)
      await loop
      clearTimeout(late)
      await Promise.all(running.keys())
    },
  }
}

/** Everything that waits now, one after the other: for tests, and for whoever wants to know that nothing is left. */
export async function drainRuns(deps: AgentRunnerDeps): Promise<number> {
  const never = new AbortController().signal
  for (let done = 0; ; done++) {
    const run = await claimRun(deps, { claimId: randomUUID(), waitSeconds: 0, except: [] }, never)
    if (!run) return done
    await doRun(deps, run, never)
  }
}

async function claimRun(
  { call, clock, models, agentRunnerTokens }: AgentRunnerDeps,
  { claimId, waitSeconds, except }: { claimId: string; waitSeconds: number; except: string[] },
  signal: AbortSignal,
): Promise<ClaimedRun | null> {
  const token = await agentRunnerTokens.sign('tool-host', clock())
  const asked = {
    claim_id: claimId,
    models: [RULES_MODEL, ...models.keys()],
    except,
    wait_seconds: waitSeconds,
  }
  return (await call('claimRun', asked, { token, signal })).run
}
