/**
 * The maintenance agent: what is turned on, the lease under which one run holds an app, its runs with what they read and
 * spent, and what they found and proposed.
 */
import type { FindingKind } from '../../src/contracts/agent-tools.ts'
import type {
  EvidenceKind,
  FindingState,
  McpDecisions,
  ProposalState,
  RunMode,
  RunReason,
  RunStatus,
  TerminalCode,
} from '../../src/contracts/outcomes.ts'
import type { EntryPoint } from '../../src/contracts/operation.ts'
import type { ProtectedClass } from '../../src/contracts/protected-classes.ts'
import {
  bigint,
  boolean,
  check,
  date,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
  uniqueIndex,
} from '../drizzle.ts'
import { instant, orgId } from './columns.ts'

const appId = () => text('app_id').notNull()
const executionId = () => text('execution_id').notNull()
const count = (name: string) => bigint(name, { mode: 'number' }).notNull()

export const maintenanceSettings = pgTable(
  'maintenance_settings',
  {
    orgId: orgId(),
    enabled: boolean('enabled').notNull(),
    /** Set when it is first turned on. */
    model: text('model'),
    nightlyCron: text('nightly_cron').notNull(),
    timezone: text('timezone').notNull(),
    cooldownHours: integer('cooldown_hours').notNull(),
    /** Of a day in UTC, together with judge checks. */
    tokenAllowance: count('token_allowance'),
    /** Globs beside those that are always protected. */
    protectedPaths: jsonb('protected_paths').$type<readonly string[]>().notNull(),
    /** Classes of protected files that an owner has opened. */
    allowedClasses: jsonb('allowed_classes').$type<readonly ProtectedClass[]>().notNull().default([]),
    mcpDecisions: text('mcp_decisions').$type<McpDecisions>().notNull(),
    /** Null: turned off. */
    nextSlotAt: instant('next_slot_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId] }),
    index('maintenance_settings_due')
      .on(t.nextSlotAt)
      .where(sql`next_slot_at is not null`),
    check('maintenance_settings_model', sql`not ${t.enabled} or ${t.model} is not null`),
  ],
)

/** Who changed schedule, model, allowance or a switch, for as long as a run may still ask. */
export const maintenanceChanges = pgTable(
  'maintenance_changes',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    /** Null: of every app. */
    appId: text('app_id'),
    userId: text('user_id').notNull(),
    userName: text('user_name').notNull(),
    at: instant('at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.id] }), index('maintenance_changes_by_time').on(t.orgId, t.at)],
)

/** An app without a row was never turned on. */
export const appMaintenance = pgTable(
  'app_maintenance',
  {
    orgId: orgId(),
    appId: appId(),
    enabled: boolean('enabled').notNull(),
    changedAt: instant('changed_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.appId] })],
)

/**
 * Which run holds an app, and until when, by the database's clock. The fence grows whenever that changes, and every write
 * of a run asks for this row with its own fence, in the same transaction.
 */
export const appLeases = pgTable(
  'app_leases',
  {
    orgId: orgId(),
    appId: appId(),
    fence: count('fence').default(0),
    executionId: text('execution_id'),
    expiresAt: instant('expires_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.appId] }),
    index('app_leases_held')
      .on(t.expiresAt)
      .where(sql`execution_id is not null`),
    check('app_leases_expire', sql`(${t.executionId} is null) = (${t.expiresAt} is null)`),
  ],
)

/** One for each app and scheduled time, whoever came first; without a run it was found too late. */
export const maintenanceSlots = pgTable(
  'maintenance_slots',
  {
    orgId: orgId(),
    appId: appId(),
    slotAt: instant('slot_at').notNull(),
    executionId: text('execution_id'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.appId, t.slotAt] }),
    index('maintenance_slots_by_time').on(t.slotAt),
  ],
)

export const maintenanceRuns = pgTable(
  'maintenance_runs',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    appId: appId(),
    status: text('status').$type<RunStatus>().notNull(),
    terminalCode: text('terminal_code').$type<TerminalCode>(),
    reason: text('reason').$type<RunReason>(),
    mode: text('mode').$type<RunMode>().notNull(),
    /** Of a nightly run. */
    slotAt: instant('slot_at'),
    /** Null: nobody, the schedule. Whoever it is may not approve what comes of it. */
    requestedById: text('requested_by_id'),
    /** As it was then: a person may be gone when somebody reads this. */
    requestedBy: text('requested_by'),
    via: text('via').$type<EntryPoint>(),
    /** SHA-256. Kept for good: the same key never starts a second run. */
    idempotencyKey: text('idempotency_key'),
    model: text('model').notNull(),
    /** Of its lease. */
    fence: bigint('fence', { mode: 'number' }),
    /** Of the agent runner's claim: repeating it gives the same run. */
    claimId: text('claim_id'),
    baseRevisionId: text('base_revision_id'),
    tokens: count('tokens').default(0),
    /** Counted when it ends: what nothing cites is not kept for good. */
    evidenceRead: integer('evidence_read').notNull().default(0),
    summary: text('summary'),
    fingerprint: text('fingerprint'),
    proposalId: text('proposal_id'),
    /** The revision whose push took the change of that proposal away. */
    undoneBy: text('undone_by'),
    createdAt: instant('created_at').notNull(),
    startedAt: instant('started_at'),
    endedAt: instant('ended_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('maintenance_runs_by_app').on(t.orgId, t.appId, t.id),
    uniqueIndex('maintenance_runs_by_key')
      .on(t.orgId, t.appId, t.idempotencyKey)
      .where(sql`idempotency_key is not null`),
    // The promise itself: whatever a verb forgets, one run holds an app.
    uniqueIndex('maintenance_runs_one_open')
      .on(t.orgId, t.appId)
      .where(sql`status <> 'ended'`),
    index('maintenance_runs_queued')
      .on(t.createdAt)
      .where(sql`status = 'queued'`),
    index('maintenance_runs_by_time').on(t.orgId, t.createdAt),
    index('maintenance_runs_by_claim')
      .on(t.claimId)
      .where(sql`status = 'running'`),
    check('maintenance_runs_status', sql`${t.status} in ('queued', 'running', 'ended')`),
    check(
      'maintenance_runs_terminal_code',
      sql`${t.terminalCode} in ('found_nothing', 'finding_recorded', 'proposed', 'budget_exhausted', 'skipped',
        'agent_error', 'lease_lost', 'fenced_disabled')`,
    ),
    check(
      'maintenance_runs_ended',
      sql`(${t.status} = 'ended') = (${t.terminalCode} is not null)
        and (${t.status} = 'ended') = (${t.endedAt} is not null)`,
    ),
  ],
)

/** What a run did, in order. The digests stay for good, the text for 30 days. */
export const runSteps = pgTable(
  'run_steps',
  {
    orgId: orgId(),
    executionId: executionId(),
    number: integer('number').notNull(),
    /** Null: a question to the model. */
    tool: text('tool'),
    /** `ok`, or the code of what was wrong with it. */
    result: text('result').notNull(),
    requestSha256: text('request_sha256').notNull(),
    resultSha256: text('result_sha256').notNull(),
    tokens: count('tokens').default(0),
    ms: integer('ms').notNull(),
    at: instant('at').notNull(),
    sealedTranscript: text('sealed_transcript'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.executionId, t.number] }),
    index('run_steps_with_transcript')
      .on(t.at)
      .where(sql`sealed_transcript is not null`),
  ],
)

/** What a tool gave a run to read. What a finding or a proposal cites is pinned, and outlasts the logs; the rest is kept for 30 days. */
export const runEvidence = pgTable(
  'run_evidence',
  {
    orgId: orgId(),
    executionId: executionId(),
    ref: text('ref').notNull(),
    kind: text('kind').$type<EvidenceKind>().notNull(),
    /** The path of a file, or the id of what it is from. */
    location: text('location').notNull(),
    fromLine: integer('from_line'),
    toLine: integer('to_line'),
    sha256: text('sha256').notNull(),
    sealedText: text('sealed_text'),
    pinned: boolean('pinned').notNull().default(false),
    readAt: instant('read_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.executionId, t.ref] }),
    index('run_evidence_unpinned')
      .on(t.readAt)
      .where(sql`not pinned`),
  ],
)

/** What a finding or a proposal is about, as far as its evidence says it. */
export type Matter = {
  /** What it cites of files, in the order of their paths and lines: in which order it cites them says nothing. */
  readonly files: readonly { readonly path: string; readonly lines: string }[]
  /** Of the first log line that it cites. */
  readonly logTemplate: string | null
  /** The type of the exception that the cited lines name first; none: they name none. */
  readonly error?: string
  /** Without either: the check, or the revision of the deployment, that it cites first. */
  readonly subject: string | null
  /** The line that a finding names as its place: two of them may be in the same lines that were read. */
  readonly place?: { readonly path: string; readonly line: string }
}

export const findings = pgTable(
  'findings',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    appId: appId(),
    /** By the server, from the evidence: never a text of the model. */
    fingerprint: text('fingerprint').notNull(),
    matter: jsonb('matter').$type<Matter>().notNull(),
    kind: text('kind').$type<FindingKind>().notNull(),
    summary: text('summary').notNull(),
    location: text('location'),
    state: text('state').$type<FindingState>().notNull(),
    /** Of the run that found it last: its evidence is that run's. */
    executionId: executionId(),
    evidence: jsonb('evidence').$type<readonly string[]>().notNull(),
    timesFound: integer('times_found').notNull().default(1),
    firstFoundAt: instant('first_found_at').notNull(),
    lastFoundAt: instant('last_found_at').notNull(),
    /** When people were last told of it. */
    reportedAt: instant('reported_at'),
    /** By which run. One that finds it again before the cool-down is over reports nothing. */
    reportedIn: text('reported_in'),
    /** The revision whose push took its repair away. */
    reopenedBy: text('reopened_by'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('findings_by_fingerprint').on(t.orgId, t.appId, t.fingerprint),
    index('findings_by_app').on(t.orgId, t.appId, t.id),
    index('findings_by_run').on(t.orgId, t.executionId),
  ],
)

export type ProposalEdit =
  | { readonly path: string; readonly old_text: string; readonly new_text: string }
  | { readonly path: string; readonly create: string }
  | { readonly path: string; readonly delete: true }

/** Short, as in a manifest: the SHA-256 before and after, null where there is no such file. */
export type ProposedFile = {
  readonly path: string
  readonly before: string | null
  readonly after: string | null
  readonly added: number
  readonly removed: number
}

/** What became of the error that a deployed proposal is about. */
export type FixEffect = {
  readonly deployed_at: string
  /** Looked at up to then. */
  readonly measured_to: string
  /** The last line that had arrived by then: one that comes late is counted all the same. Not there: counted anew. */
  readonly measured_number?: number
  /** Null: it cites no line of the log that was still there. */
  readonly error: { readonly group: string; readonly exception: string | null } | null
  readonly hours: readonly { readonly at: string; readonly errors: number; readonly lines: number }[]
  readonly first_error_at: string | null
  readonly came_back_at: string | null
  /** The last time the log could not be counted in time; the rest is of before. Not there: it could. */
  readonly uncounted_at?: string
}

export const proposals = pgTable(
  'proposals',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    appId: appId(),
    executionId: executionId(),
    /** In the organization's maintenance time zone, when it was opened. */
    day: date('day').notNull(),
    baseRevisionId: text('base_revision_id').notNull(),
    newRevisionId: text('new_revision_id').notNull(),
    treeSha256: text('tree_sha256').notNull(),
    /** Kept with it: revisions are not kept for good. */
    diff: text('diff').notNull(),
    diffSha256: text('diff_sha256').notNull(),
    files: jsonb('files').$type<readonly ProposedFile[]>().notNull(),
    title: text('title').notNull(),
    rationale: text('rationale').notNull(),
    fingerprint: text('fingerprint').notNull(),
    matter: jsonb('matter').$type<Matter>().notNull(),
    evidence: jsonb('evidence').$type<readonly string[]>().notNull(),
    /** As the agent wrote them: they are applied again when the base is no longer head. */
    edits: jsonb('edits').$type<readonly ProposalEdit[]>().notNull(),
    state: text('state').$type<ProposalState>().notNull(),
    /** Who asked for the run, and may not approve; null: the schedule. */
    requestedById: text('requested_by_id'),
    requestedBy: text('requested_by'),
    /** Who changed the agent's settings within a day before the run: they may not approve, either. */
    changedBy: jsonb('changed_by')
      .$type<readonly { readonly id: string; readonly name: string }[]>()
      .notNull()
      .default([]),
    decidedById: text('decided_by_id'),
    decidedBy: text('decided_by'),
    decidedVia: text('decided_via').$type<EntryPoint>(),
    /** The API token that it was decided with, as it was called then. */
    decidedTokenId: text('decided_token_id'),
    decidedToken: text('decided_token'),
    /** The agent's grant that it was decided with, and the client as it was called then. */
    decidedGrantId: text('decided_grant_id'),
    decidedAgent: text('decided_agent'),
    decidedAt: instant('decided_at'),
    decisionNote: text('decision_note'),
    deploymentId: text('deployment_id'),
    /** The revision whose push took the change away, until another one has it again. */
    undoneBy: text('undone_by'),
    /** When a push brought back what another one took away: what was logged in between says nothing of the fix. */
    restoredAt: instant('restored_at'),
    /** When it last became `deployed`: its evidence is counted from then on. */
    deployedAt: instant('deployed_at'),
    /** When its effect was last looked at, also in vain. */
    measuredAt: instant('measured_at'),
    /** Null: it was not looked at yet. */
    effect: jsonb('effect').$type<FixEffect>(),
    /** Files of it that pushes have renamed since, by the path that the diff has. */
    renamedFiles: jsonb('renamed_files').$type<Readonly<Record<string, string>>>().notNull().default({}),
    createdAt: instant('created_at').notNull(),
    changedAt: instant('changed_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('proposals_deployed')
      .on(t.deployedAt)
      .where(sql`state = 'deployed'`),
    // The promise itself: one for each app and day.
    uniqueIndex('proposals_one_a_day').on(t.orgId, t.appId, t.day),
    index('proposals_by_app').on(t.orgId, t.appId, t.id),
    index('proposals_by_organization').on(t.orgId, t.state, t.id),
    index('proposals_by_deployment')
      .on(t.orgId, t.deploymentId)
      .where(sql`deployment_id is not null`),
    check(
      'proposals_state',
      sql`${t.state} in ('preparing', 'ready', 'approved', 'deploying', 'deployed', 'failed', 'denied', 'stale')`,
    ),
  ],
)
