import { describe, expect, test } from 'vitest'
import type { CallAgent } from '../client/agent-client.ts'
import type { ClaimedRun } from '../contracts/agent-calls.ts'
import { ServiceError } from '../contracts/errors.ts'
import { MaintenanceModelsSetting } from '../contracts/model-settings.ts'
import { startAgentRunner, type AgentRunnerDeps } from './agent-runner.ts'
import { doRun } from './do-run.ts'
import { holdRun, RunOver, type HeldRun } from './held-run.ts'

const RUN: ClaimedRun = {
  identity: 'identity',
  lease_seconds: 60,
  execution_id: 'exec_1',
  org_id: 'org_1',
  app_alias: 'shop',
  app_name: 'Shop',
  model: 'rules',
  base_revision: null,
  started_at: '2026-03-02T03:00:00.000Z',
  tokens: 0,
}
const refused = () =>
  new ServiceError('TIMEOUT', undefined, {
    cause: new TypeError('fetch failed', {
      cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
    }),
  })
const broken = () => new ServiceError('TIMEOUT', undefined, { cause: new TypeError('terminated') })
/** As the tool host says it while its database fails over, and its listener when there is no room. */
const unavailable = () => new ServiceError('UNAVAILABLE', undefined, { retryAfterSeconds: 0.5 })
const overloaded = () => new ServiceError('OVERLOADED')
const unanswered = () => new ServiceError('TIMEOUT')
const OK = { kind: 'result', result: {} }

/** A tool host that fails so, call by call, and then answers. */
function toolHost(...failures: Error[]) {
  const called: string[] = []
  const call = (async (name: string) => {
    called.push(name)
    const failure = failures.shift()
    if (failure) throw failure
    return name === 'endRun' ? { terminal_code: 'found_nothing' } : OK
  }) as unknown as CallAgent
  return { call, called }
}

async function hold<T>(
  call: CallAgent,
  work: (held: HeldRun) => Promise<T>,
  pause?: Parameters<typeof holdRun>[2],
): Promise<T> {
  const held = holdRun(call, RUN, pause)
  try {
    return await work(held)
  } finally {
    held.release()
  }
}

describe('a tool host that cannot begin anything', () => {
  type Ask = (held: HeldRun) => Promise<unknown>
  const finding = { kind: 'error' as const, summary: 'x', evidence: ['log:x'] }
  const calls: [string, string, Ask][] = [
    ['a tool', 'callTool', (held) => held.tools.call('log_groups', {})],
    ['a finding', 'callTool', (held) => held.tools.call('record_finding', finding)],
    ['a token reservation', 'reserveTokens', (held) => held.tokens.reserve(5)],
  ]

  test.each(calls)('is asked again for %s, not sooner than it says', async (_what, name, ask) => {
    const { call, called } = toolHost(overloaded(), unavailable())
    const pauses: number[] = []
    expect(await hold(call, ask, async (ms) => void pauses.push(ms))).toBeTruthy()
    expect(called).toEqual([name, name, name])
    expect(pauses).toEqual([200, 500])
  })

  test('is asked for as long as the lease is held', async () => {
    const { call } = toolHost(...Array.from({ length: 100 }, overloaded))
    const held = holdRun(call, { ...RUN, lease_seconds: 1 })
    await expect(held.tools.call('log_groups', {})).rejects.toThrow(RunOver)
    held.release()
  })
})

describe('a tool host that restarts', () => {
  test('is asked again for what never reached it', async () => {
    const { call, called } = toolHost(refused(), refused())
    expect(await hold(call, (held) => held.tools.call('log_groups', {}))).toEqual(OK)
    expect(called).toEqual(['callTool', 'callTool', 'callTool'])
  })

  test('is not asked again for what it may have done', async () => {
    const { call, called } = toolHost(unanswered())
    await expect(hold(call, (held) => held.tools.call('log_groups', {}))).rejects.toMatchObject({
      code: 'TIMEOUT',
    })
    expect(called).toEqual(['callTool'])
  })

  test('is asked again for what it may have read, and not for what it may have written', async () => {
    const reads = toolHost(broken())
    expect(await hold(reads.call, (held) => held.tools.call('log_groups', {}))).toEqual(OK)
    const writes = toolHost(broken())
    await expect(
      hold(writes.call, (held) =>
        held.tools.call('record_finding', { kind: 'error', summary: 'x', evidence: ['log:x'] }),
      ),
    ).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect([reads.called.length, writes.called.length]).toEqual([2, 1])
  })

  test('is told again what a question used: it settles that once', async () => {
    const { call, called } = toolHost(broken())
    const settled = {
      reservationId: 'x',
      tokens: 5,
      outcome: 'answered' as const,
      ms: 1,
      said: '',
      requestSha256: '',
    }
    await hold(call, (held) => held.tokens.settle(settled))
    expect(called).toEqual(['settleTokens', 'settleTokens'])
  })

  test('hears the end until it has answered', async () => {
    const { call, called } = toolHost(unanswered(), refused(), new Error('socket hang up'))
    await hold(call, (held) => held.end({ kind: 'finished' }))
    expect(called).toEqual(['endRun', 'endRun', 'endRun', 'endRun'])
  })

  test('hears of an outage in the words of the version before, if it is of that one', async () => {
    const ended: unknown[] = []
    const call = (async (_name: string, { ending }: { ending: { reason: string } }) => {
      ended.push(ending)
      if (ending.reason === 'MODEL_OUTAGE') throw new ServiceError('INVALID_REQUEST')
      return { terminal_code: 'agent_error' }
    }) as unknown as CallAgent
    await hold(call, (held) => held.end({ kind: 'failed', reason: 'MODEL_OUTAGE' }))
    expect(ended).toEqual([
      { kind: 'failed', reason: 'MODEL_OUTAGE' },
      { kind: 'failed', reason: 'MODEL_UNAVAILABLE' },
    ])
  })

  test('has ended it already: then it is over', async () => {
    const { call } = toolHost(unanswered(), new ServiceError('UNAUTHENTICATED'))
    await expect(hold(call, (held) => held.end({ kind: 'finished' }))).rejects.toThrow(RunOver)
  })
})

test('a run that is claimed while the agent runner stops is given back', async () => {
  const asked = Promise.withResolvers<void>()
  const claimed = Promise.withResolvers<{ run: ClaimedRun }>()
  const endings: unknown[] = []
  const call = (async (name: string, input: unknown, { signal }: { signal?: AbortSignal }) => {
    if (name === 'claimRun')
      return new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
        void claimed.promise.then(resolve)
        asked.resolve()
      })
    if (name === 'endRun') endings.push(input)
    return { terminal_code: null }
  }) as unknown as CallAgent
  const runner = startAgentRunner({
    call,
    log: { warn() {} },
    clock: () => new Date(),
    agentRunnerTokens: { sign: async () => 'token' },
    models: new Map(),
    rules: async () => ({ kind: 'finished' }),
    runsAtOnce: 1,
  } as unknown as AgentRunnerDeps)
  await asked.promise
  const stopped = runner.stop()
  claimed.resolve({ run: RUN })
  await stopped
  expect(endings).toEqual([{ ending: { kind: 'failed', reason: 'RUNNER_STOPPED' } }])
})

test('a run that was given back may use what its earlier attempt has left of its tokens, and no more', async () => {
  const called: [string, unknown][] = []
  const call = (async (name: string, input: unknown) => {
    called.push([name, input])
    return { reservation_id: null, is_left_alone: false, terminal_code: 'budget_exhausted' }
  }) as unknown as CallAgent
  const models = MaintenanceModelsSetting.parse(
    JSON.stringify({ large: { wire: 'openai-chat', url: 'http://127.0.0.1:1', max_run_tokens: 150_000 } }),
  )
  const deps = { call, log: { warn() {} }, models } as unknown as AgentRunnerDeps
  await doRun(deps, { ...RUN, model: 'large', tokens: 149_999 }, new AbortController().signal)
  expect(called).toEqual([['endRun', { ending: { kind: 'budget_exhausted', reason: 'RUN_CEILING' } }]])
})

test('an agent runner leaves one of its places to others, however much one organization waits for', async () => {
  const claims: unknown[] = []
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<{ run: null }>()
  const call = (async (name: string, input: unknown) => {
    if (name !== 'claimRun') return { terminal_code: null }
    claims.push(input)
    if (claims.length === 1) return { run: RUN }
    asked.resolve()
    return answered.promise
  }) as unknown as CallAgent
  const runner = startAgentRunner({
    call,
    log: { warn() {} },
    clock: () => new Date(),
    agentRunnerTokens: { sign: async () => 'token' },
    models: new Map(),
    rules: () => new Promise(() => {}),
    runsAtOnce: 2,
  } as unknown as AgentRunnerDeps)
  await asked.promise
  expect(claims).toMatchObject([{ except: [] }, { except: [RUN.org_id] }])
  const stopped = runner.stop()
  answered.resolve({ run: null })
  await stopped
})
