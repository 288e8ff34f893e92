/** The part of the fake gateway with what the front page of an app shows. */
import type * as z from 'zod'
import * as appTokens from '../../src/contracts/app-tokens.ts'
import * as checks from '../../src/contracts/checks.ts'
import { notFound } from '../../src/contracts/errors.ts'
import * as logs from '../../src/contracts/logs.ts'
import type { showPipeline } from '../../src/contracts/pipelines.ts'
import * as workloads from '../../src/contracts/workloads.ts'
import type { FakeContext } from './fake-data-sources.ts'

type Check = z.output<typeof checks.showCheck.output>
type Pipeline = z.output<typeof showPipeline.output>
type Token = z.output<typeof appTokens.listAppTokens.output>['tokens'][number]

type Binding = z.output<typeof workloads.listServiceAccounts.output>['service_accounts'][number]

export const SEEDED_PIPELINE = 'ppl_0mwhkcyh5nlh1pqqssy5gj19q'

export type FakeAppOverview = ReturnType<typeof fakeAppOverview>

export function fakeAppOverview({ on, list, id, clock, me }: FakeContext) {
  const daysAgo = (days: number) => new Date(clock().getTime() - days * 86_400_000).toISOString()
  const data = {
    checks: [] as Check[],
    pipelines: [] as Pipeline[],
    tokens: [] as Token[],
    serviceAccounts: [] as Binding[],
    audience: 'svc-control-plane' as string | null,
    buckets: [] as z.output<typeof logs.summarizeLogs.output>['buckets'],
    /** Of logs, where it is another than usual. */
    logUse: {} as Partial<z.output<typeof logs.summarizeLogs.output>>,
  }
  on(checks.listChecks, (input) => list('checks', data.checks, input))
  on(logs.summarizeLogs, () => ({
    step_seconds: 3_600,
    buckets: data.buckets,
    stored_bytes: 40_000,
    max_bytes: 1_073_741_824,
    dropped_today: 0,
    refused_today: 0,
    ...data.logUse,
  }))
  on(appTokens.listAppTokens, (input) => list('tokens', data.tokens, input))
  on(appTokens.createAppToken, ({ name, scope }) => {
    const token: Token = {
      id: id('apt'),
      name,
      scope,
      starts_with: 'svca_7Gh',
      created_by: me.name,
      created_at: daysAgo(0),
      last_used_at: null,
    }
    data.tokens.unshift(token)
    return { ...token, token: 'svca_7Gh2mT7wQx4LrB8nVdY1cHs6JpZ3uGa5EoRk' }
  })
  on(appTokens.revokeAppToken, ({ token_id }) => {
    if (!data.tokens.some((one) => one.id === token_id)) throw notFound()
    data.tokens = data.tokens.filter((one) => one.id !== token_id)
    return {}
  })
  on(workloads.listServiceAccounts, (input) => ({
    ...(list('service_accounts', data.serviceAccounts, input) as object),
    audience: data.audience,
  }))
  on(workloads.bindServiceAccount, ({ namespace, service_account }) => {
    const binding: Binding = {
      id: id('wlb'),
      namespace,
      service_account,
      uid: '2d61a0c4-8f0e-4c39-9a55-0d6f5f6f1c11',
      created_by: me.name,
      created_at: daysAgo(0),
      last_used_at: null,
      pods: [],
    }
    data.serviceAccounts.unshift(binding)
    return binding
  })
  on(workloads.unbindServiceAccount, ({ binding_id }) => {
    if (!data.serviceAccounts.some((one) => one.id === binding_id)) throw notFound()
    data.serviceAccounts = data.serviceAccounts.filter((one) => one.id !== binding_id)
    return {}
  })
  return { data, daysAgo, id, me }
}

/** Two checks, a pipeline, a token, and a week of logs. */
export function seedAppOverview({ data, daysAgo, id, me }: FakeAppOverview): void {
  const check = (name: string, definition: Check['definition'], recent: Check['recent']) =>
    data.checks.push({
      id: id('chk'),
      name,
      definition,
      interval_seconds: 60,
      failure_threshold: 3,
      success_threshold: 1,
      enabled: true,
      maintenance_windows: [],
      state: recent.at(-1) ?? null,
      state_since: daysAgo(1),
      paused: null,
      last_run_at: daysAgo(0.001),
      next_run_at: daysAgo(-0.001),
      recent,
    })
  check(
    'Front page answers',
    {
      kind: 'http',
      url: 'https://shop.example/',
      method: 'GET',
      headers: {},
      timeout_ms: 10_000,
      conditions: ['[STATUS] < 400'],
    },
    Array.from({ length: 30 }, (_, at) => (at === 12 ? 'error' : 'pass')),
  )
  check(
    'No order fails',
    { kind: 'logs', pattern: 'POST /orders 500', level: 'error', window_minutes: 60, max_count: 0 },
    Array.from({ length: 30 }, (_, at) => (at > 24 ? 'fail' : 'pass')),
  )
  data.pipelines.push({
    id: SEEDED_PIPELINE,
    name: 'nightly-report',
    cron: '0 3 * * *',
    timezone: 'UTC',
    grace_minutes: 10,
    timeout_minutes: 60,
    concurrency: 'skip',
    enabled: true,
    trouble: null,
    next_due_at: daysAgo(-0.4),
    last_run: { id: id('prn'), state: 'succeeded', at: daysAgo(0.6) },
    recent_runs: [],
  })
  data.tokens.push({
    id: id('apt'),
    name: 'Production',
    scope: 'apps:report',
    starts_with: 'svca_7Gh',
    created_by: me.name,
    created_at: daysAgo(20),
    last_used_at: daysAgo(0.001),
  })
  data.serviceAccounts.push({
    id: id('wlb'),
    namespace: 'shop',
    service_account: 'worker',
    uid: '0717b7b2-5b2e-4a7c-8f6e-3f1f6b1f2a10',
    created_by: me.name,
    created_at: daysAgo(20),
    last_used_at: daysAgo(0.001),
    pods: [{ name: 'worker-6c9f7d-x2x7p', first_seen_at: daysAgo(2), last_seen_at: daysAgo(0.001) }],
  })
  for (let hour = 7 * 24; hour >= 0; hour -= 1) {
    data.buckets.push({
      at: daysAgo(hour / 24),
      counts: {
        info: 20 + ((hour * 7) % 40),
        warn: hour % 5,
        debug: hour % 9,
        error: hour < 48 ? hour % 4 : 0,
      },
    })
  }
}
