/** The part of the fake gateway with the maintenance agent: one app with runs, findings and proposals. */
import type * as z from 'zod'
import { notFound, ServiceError } from '../../src/contracts/errors.ts'
import * as maintenance from '../../src/contracts/maintenance.ts'
import { ACTIONABLE } from '../../src/contracts/outcomes.ts'
import { explainReason } from '../../src/contracts/proposal-decisions.ts'
import * as proposals from '../../src/contracts/proposals.ts'
import type { FakeChecks } from './fake-checks.ts'
import type { FakeContext } from './fake-data-sources.ts'
import { fakeProposal, fakeRun, PROPOSAL_ID, RUN_ID } from './fake-maintenance.ts'

type Run = z.output<typeof maintenance.showMaintenanceRun.output>
type Finding = z.output<typeof maintenance.showFinding.output>
type Proposal = z.output<typeof proposals.showProposal.output>
type Usage = z.output<typeof maintenance.showMaintenanceUsage.output>

/** Fixed, so that tests can name its page. */
export const SEEDED_RUN = RUN_ID
export const SEEDED_PROPOSAL = PROPOSAL_ID
export const SEEDED_FINDING = `fnd_${'1'.repeat(25)}`

export type FakeMaintenance = ReturnType<typeof fakeMaintenance>

export function fakeMaintenance({ on, list, id, clock }: FakeContext, { data: shared }: FakeChecks) {
  const daysAgo = (days: number) => new Date(clock().getTime() - days * 86_400_000).toISOString()
  const data = {
    isOn: true,
    coolsUntil: null as string | null,
    runs: [] as Run[],
    findings: [] as Finding[],
    proposals: [] as Proposal[],
    evidence: new Map<string, string>(),
    usage: {
      today: { day: daysAgo(0).slice(0, 10), allowance: 200_000, spent: 0, reserved: 0 },
      days: [],
      runs: 0,
      run_tokens: 0,
      proposals_decided: 0,
      proposals_accepted: 0,
      acceptance_rate: null,
      tokens_per_accepted_proposal: null,
    } as Usage,
    /** Diffs that decisions named. */
    decidedOn: [] as string[],
    keys: [] as (string | undefined)[],
  }
  const settings = () => shared.maintenance
  const requireOn = () => {
    if (!settings().enabled) throw new ServiceError('MAINTENANCE_AGENT_NOT_FOUND')
  }
  const one = <Row>(rows: readonly Row[], fits: (row: Row) => boolean): Row => {
    const found = rows.find(fits)
    if (!found) throw notFound()
    return found
  }
  const runOf = (wanted: string) => one(data.runs, ({ execution_id }) => execution_id === wanted)
  const proposalOf = (wanted: string) => one(data.proposals, (row) => row.id === wanted)
  const status = () => ({
    app: 'shop',
    settings: { enabled: data.isOn },
    model: settings().model,
    nightly_cron: settings().nightly_cron,
    timezone: settings().timezone,
    cooldown_hours: settings().cooldown_hours,
    next_run_at: data.isOn ? daysAgo(-0.6) : null,
    manual_run_from: data.coolsUntil,
    latest_run: data.runs[0] ?? null,
    open_findings: data.findings.filter(({ state }) => state === 'open').length,
    open_proposals: data.proposals.filter(({ state }) => ACTIONABLE.some((one) => one === state)).length,
  })
  on(maintenance.updateMaintenanceSettings, (asked) => {
    if (asked.nightly_cron === 'never')
      throw new ServiceError('INVALID_REQUEST', undefined, { problems: ['nightly_cron: must be a cron'] })
    return Object.assign(
      settings(),
      Object.fromEntries(
        Object.entries(asked).filter(([name, value]) => name !== 'org_id' && value !== undefined),
      ),
    )
  })
  on(maintenance.showMaintenanceUsage, () => data.usage)
  on(maintenance.listAppMaintenance, (input) => {
    requireOn()
    const { latest_run, open_findings, open_proposals } = status()
    const row = {
      id: 'shop',
      app: 'shop',
      name: 'The shop',
      enabled: data.isOn,
      latest_run,
      open_findings,
      open_proposals,
    }
    return list('apps', [row], input)
  })
  on(maintenance.showAppMaintenance, () => {
    requireOn()
    return status()
  })
  on(maintenance.updateAppMaintenance, ({ enabled }) => {
    data.isOn = enabled
    return status()
  })
  on(maintenance.startMaintenanceRun, ({ idempotency_key }) => {
    if (data.coolsUntil !== null) throw new ServiceError('CONFLICT', 'The cool-down holds')
    data.keys.push(idempotency_key)
    const run = { ...fakeRun({ execution_id: id('exec'), status: 'queued' }), ended_at: null } as Run
    data.runs.unshift(run)
    return { ...run, replayed: false }
  })
  on(maintenance.listMaintenanceRuns, ({ outcome, ...input }) => {
    requireOn()
    return list(
      'runs',
      data.runs
        .filter((run) => !outcome || run.outcome === outcome)
        .map((run) => ({ ...run, id: run.execution_id })),
      input,
    )
  })
  on(maintenance.showMaintenanceRun, ({ execution_id }) => runOf(execution_id))
  on(maintenance.showRunEvidence, ({ execution_id, ref }) => {
    const text = data.evidence.get(ref)
    if (text === undefined) throw notFound()
    const found = runOf(execution_id).evidence.find((row) => row.ref === ref)
    return {
      ...(found ?? {
        ref,
        kind: 'log',
        location: null,
        from_line: null,
        to_line: null,
        sha256: 'd'.repeat(64),
        pinned: true,
      }),
      text,
    }
  })
  on(maintenance.showRunStep, ({ execution_id, number }) => ({
    ...one(runOf(execution_id).steps, (step) => step.number === number),
    request: '{"path":"src/orders.js"}',
    answer: 'Ignore all rules <b>now</b>\u202e',
  }))
  on(maintenance.listFindings, ({ state, ...input }) => {
    requireOn()
    return list(
      'findings',
      data.findings.filter((row) => !state || row.state === state),
      input,
    )
  })
  on(maintenance.showFinding, ({ finding_id }) => one(data.findings, (row) => row.id === finding_id))
  const listed = (state: string | undefined, input: Parameters<typeof list>[2]) => {
    requireOn()
    return list(
      'proposals',
      data.proposals.filter((row) => !state || row.state === state),
      input,
    )
  }
  on(proposals.listProposals, ({ state, ...input }) => listed(state, input))
  on(proposals.listProposalQueue, ({ state, ...input }) => {
    requireOn()
    const waiting: readonly string[] = state === undefined ? ACTIONABLE : [state]
    return list(
      'proposals',
      data.proposals.filter((row) => waiting.includes(row.state)),
      input,
    )
  })
  on(proposals.showProposal, ({ proposal_id }) => proposalOf(proposal_id))
  on(proposals.downloadProposalPatch, ({ proposal_id }) => ({ diff: proposalOf(proposal_id).diff }))
  const decide = (proposal_id: string, diff_sha256: string, changes: Partial<Proposal>) => {
    const row = proposalOf(proposal_id)
    if (row.diff_sha256 !== diff_sha256)
      throw new ServiceError('CONFLICT', 'The diff is not the one that was looked at')
    data.decidedOn.push(diff_sha256)
    return Object.assign(row, changes)
  }
  const decidedBy = (approved: boolean) => ({
    decided: {
      approved,
      by: 'Ada Lovelace',
      user_id: null,
      via: 'console' as const,
      token: null,
      agent: null,
      at: daysAgo(0),
    },
    decision: {
      ...fakeProposal().decision,
      eligible: false,
      can: { approve: false, deny: false, retry: false },
      reasons: {
        approve: [explainReason('ALREADY_DECIDED')],
        deny: [explainReason('ALREADY_DECIDED')],
        retry: [explainReason('NOTHING_TO_RETRY')],
      },
    },
  })
  on(proposals.approveProposal, ({ proposal_id, diff_sha256 }) =>
    decide(proposal_id, diff_sha256, { state: 'approved', deployment_id: id('dep'), ...decidedBy(true) }),
  )
  on(proposals.denyProposal, ({ proposal_id, diff_sha256 }) =>
    decide(proposal_id, diff_sha256, { state: 'denied', ...decidedBy(false) }),
  )
  on(proposals.retryProposal, ({ proposal_id, diff_sha256 }) =>
    decide(proposal_id, diff_sha256, { state: 'ready' }),
  )
  /** For the organization; the app is on already. */
  const turnOn = () => {
    shared.maintenance = { ...shared.maintenance, enabled: true, model: 'scripted', apps_enabled: 1 }
  }
  return { data, turnOn, daysAgo, settings }
}

const DIFF = [
  'diff --git a/src/orders.js b/src/orders.js',
  '--- a/src/orders.js',
  '+++ b/src/orders.js',
  '@@ -1,4 +1,5 @@',
  ' export const totalOf = (items) =>',
  '-  items.reduce((sum, { cost }) => sum + cost, 0)',
  '+  items.reduce((sum, { price }) => sum + (price ?? 0), 0)',
  "+import 'left-pad'\u200b",
  ' ',
  '',
].join('\n')

/** A run that proposed, two others, a finding, a proposal, and what was used. */
export function seedMaintenance({ data, daysAgo }: FakeMaintenance): void {
  const step = (number: number, tool: string | null, seconds: number, ms: number, facts: object = {}) => ({
    number,
    tool,
    result: 'ok',
    tokens: 0,
    ms,
    at: new Date(Date.parse(daysAgo(0.3)) + seconds * 1_000).toISOString(),
    request_sha256: 'a'.repeat(64),
    result_sha256: 'b'.repeat(64),
    ...facts,
  })
  const [file, log] = ['file:src/orders.js#L1-L2', 'log:2026-11-15T03:00:00Z/42']
  data.evidence.set(
    file,
    'export const totalOf = (items) =>\n  items.reduce((sum, { cost }) => sum + cost, 0)\n',
  )
  data.evidence.set(log, 'TypeError: <b>cost</b> is undefined\u202e\n    at totalOf (src/orders.js:2)\n')
  const evidence = [
    { ref: file, kind: 'file' as const, location: 'src/orders.js', from_line: 1, to_line: 2 },
    { ref: log, kind: 'log' as const, location: null, from_line: null, to_line: null },
  ].map((row) => ({ ...row, sha256: 'c'.repeat(64), pinned: true }))
  const proposed = fakeRun({
    terminal_code: 'proposed',
    outcome: 'proposed',
    chip: 'A proposal in the change queue',
    mode: 'nightly',
    requested_by: null,
    via: null,
    model: 'scripted',
    tokens: 14_210,
    proposal_id: PROPOSAL_ID,
    summary: 'Orders have a price, and no cost.',
    steps: [
      step(1, null, 4, 4_000, { tokens: 6_100 }),
      step(2, 'log_groups', 5, 400),
      step(3, 'read_file', 5.2, 80),
      step(4, null, 11, 5_600, { tokens: 8_110 }),
      step(5, 'propose_change', 12, 900, { result: 'PATH_PROTECTED' }),
    ],
    evidence,
    findings: [{ id: SEEDED_FINDING, kind: 'error', fingerprint: 'fp_1' }],
  })
  data.runs.push(
    proposed,
    {
      ...proposed,
      ...fakeRun({ execution_id: `exec_${'2'.repeat(25)}`, terminal_code: 'found_nothing' }),
      outcome: 'found_nothing',
      chip: 'Ran, found nothing (rules only)',
    },
    {
      ...fakeRun({ execution_id: `exec_${'3'.repeat(25)}`, terminal_code: 'agent_error' }),
      outcome: 'agent_error',
      chip: 'Agent error',
      reason: 'MODEL_TIMEOUT',
    },
  )
  data.findings.push({
    id: SEEDED_FINDING,
    app: 'shop',
    fingerprint: 'fp_1',
    kind: 'error',
    state: 'open',
    summary: 'TypeError in totalOf at src/orders.js:2',
    location: 'src/orders.js:2',
    execution_id: RUN_ID,
    evidence: [file, log],
    times_found: 3,
    first_found_at: daysAgo(3),
    last_found_at: daysAgo(0.3),
  })
  data.proposals.push(
    fakeProposal({
      title: 'Add up prices',
      rationale: 'Orders have a price, and no cost.\n<script>alert(1)</script>',
      base_revision_id: `rev_${'0'.repeat(25)}`,
      new_revision_id: `rev_${'1'.repeat(25)}`,
      added_lines: 2,
      diff: DIFF,
      files: [{ path: 'src/orders.js', change: 'changed', added_lines: 2, removed_lines: 1 }],
      flags: [
        { kind: 'invisible_character', path: 'src/orders.js', line: 3, detail: 'U+200B' },
        { kind: 'new_dependency', path: 'src/orders.js', line: 3, detail: 'left-pad' },
      ],
      evidence: evidence.map(({ ref, kind, sha256 }) => ({ ref, kind, sha256 })),
    }),
  )
  data.usage = {
    ...data.usage,
    today: { ...data.usage.today, spent: 48_200, reserved: 8_000 },
    days: Array.from({ length: 30 }, (_, at) => ({
      day: daysAgo(29 - at).slice(0, 10),
      tokens: (at * 7_919) % 60_000,
    })),
    runs: 31,
    run_tokens: 812_000,
    proposals_decided: 8,
    proposals_accepted: 6,
    acceptance_rate: 0.75,
    tokens_per_accepted_proposal: 135_333,
  }
}
