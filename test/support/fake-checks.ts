/** The part of the fake gateway with checks; those that the front page of an app shows are among them. */
import type * as z from 'zod'
import { KEPT_SECRET } from '../../src/contracts/check-results.ts'
import * as checks from '../../src/contracts/checks.ts'
import { notFound, ServiceError } from '../../src/contracts/errors.ts'
import { showMaintenanceSettings } from '../../src/contracts/maintenance.ts'
import { changedWindows } from '../../src/cores/checks/changed-windows.ts'
import type { FakeAppOverview } from './fake-app-overview.ts'
import type { FakeContext } from './fake-data-sources.ts'

type Check = z.output<typeof checks.showCheck.output>
type MaintenanceSettings = z.output<typeof showMaintenanceSettings.output>
type CheckRun = z.output<typeof checks.listCheckRuns.output>['runs'][number]

/** Fixed, so that tests can name its page. */
export const SEEDED_CHECK = `chk_${'0'.repeat(25)}`

/** Whether questions to a model are offered depends on it. */
const OFF: MaintenanceSettings = {
  enabled: false,
  model: null,
  nightly_cron: '0 3 * * *',
  timezone: 'UTC',
  cooldown_hours: 24,
  token_allowance: 200_000,
  protected_paths: [],
  mcp_decisions: 'link',
  models: [
    { name: 'rules', proposes: false },
    { name: 'scripted', proposes: true },
  ],
  next_run_at: null,
  apps_enabled: 0,
}

export type FakeChecks = ReturnType<typeof fakeChecks>

export function fakeChecks({ on, list, id, clock }: FakeContext, { data: shown }: FakeAppOverview) {
  const data = { runs: [] as CheckRun[], requested: [] as string[], maintenance: OFF }
  const checkOf = ({ check_id }: { check_id: string }): Check => {
    const check = shown.checks.find((one) => one.id === check_id)
    if (!check) throw notFound()
    return check
  }
  /** As the real one: secrets are not returned. */
  const hide = (definition: Check['definition']): Check['definition'] =>
    definition.kind === 'http'
      ? {
          ...definition,
          headers: Object.fromEntries(Object.keys(definition.headers).map((name) => [name, KEPT_SECRET])),
          ...(definition.body !== undefined && { body: KEPT_SECRET }),
        }
      : definition
  on(checks.createCheck, ({ definition, ...settings }) => {
    if (shown.checks.some(({ name }) => name === settings.name))
      throw new ServiceError('CONFLICT', 'The app already has a check with this name')
    const check: Check = {
      id: id('chk'),
      ...settings,
      definition: hide(definition),
      state: null,
      state_since: null,
      paused: null,
      last_run_at: null,
      next_run_at: clock().toISOString(),
      recent: [],
    }
    shown.checks.push(check)
    return check
  })
  on(showMaintenanceSettings, () => data.maintenance)
  on(checks.showCheck, (asked) => checkOf(asked))
  on(
    checks.updateCheck,
    ({ check_id, definition, add_maintenance_window, remove_maintenance_window, ...changed }) => {
      const check = checkOf({ check_id })
      const enabled = changed.enabled ?? check.enabled
      const windows = { ...changed, add_maintenance_window, remove_maintenance_window }
      return Object.assign(check, changed, {
        maintenance_windows: changedWindows(check.maintenance_windows, windows),
        ...(definition && { definition: hide(definition) }),
        enabled,
        paused: enabled ? null : 'disabled',
      })
    },
  )
  on(checks.removeCheck, (asked) => {
    shown.checks = shown.checks.filter((one) => one !== checkOf(asked))
    return {}
  })
  on(checks.runCheck, (asked) => {
    data.requested.push(asked.check_id)
    return checkOf(asked)
  })
  on(checks.listCheckRuns, ({ result, ...input }) =>
    list(
      'runs',
      data.runs.filter((run) => !result || run.result === result),
      input,
    ),
  )
  return { data, shown, id, clock }
}

/** Runs, and a first check with a fixed id that is paused by nobody. */
export function seedChecks({ data, shown, id, clock }: FakeChecks): void {
  const first = shown.checks[0]
  if (first) Object.assign(first, { id: SEEDED_CHECK })
  const at = (minutes: number) => new Date(clock().getTime() - minutes * 60_000).toISOString()
  const run = (minutes: number, facts: Partial<CheckRun> = {}) =>
    data.runs.push({
      id: id('chr'),
      at: at(minutes),
      result: 'pass',
      ms: 42,
      status: 200,
      reason: null,
      detail: null,
      ...facts,
    })
  run(1)
  run(2, { result: 'fail', status: 503, reason: 'condition', detail: '[STATUS] < 400' })
  run(3, { result: 'error', ms: null, status: null, reason: 'dns_failed' })
  run(4, { result: 'indeterminate', reason: 'evidence_limit' })
}
