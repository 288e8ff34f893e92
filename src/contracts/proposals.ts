/** Proposals of the maintenance agent: a change between two revisions, and what people decide about it. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { field } from './field.ts'
import { Time } from './fields.ts'
import { PULL_REQUEST_CODE_NAMES, PULL_REQUEST_STATES } from './git-hosts.ts'
import { Id } from './ids.ts'
import { DECISION_NOTE_MAX } from './limits.ts'
import { creating, reading } from './operation.ts'
import { ACTIONABLE, EVIDENCE_KINDS, PROPOSAL_STATES } from './outcomes.ts'
import { ageOutput, countedPageInput, countedPageOutput } from './paging.ts'
import {
  DECIDING_ROLES,
  DECISION_REASONS,
  DIFF_FLAGS,
  PATCH_TYPE,
  type DecisionReason,
  type DiffFlag,
} from './proposal-decisions.ts'

const ReasonName = z.enum(Object.keys(DECISION_REASONS) as [DecisionReason, ...DecisionReason[]])
const FlagName = z.enum(Object.keys(DIFF_FLAGS) as [DiffFlag, ...DiffFlag[]])
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lowercase hex')

const proposalId = { ...appAlias, proposal_id: Id('pr') }
const decided = {
  ...proposalId,
  diff_sha256: field(Sha256.describe('Of the diff that was looked at; another one is refused.'), {
    client: {
      value: 'sha256',
      summary: 'Of the diff you looked at, from `svc apps proposals show`; another one is refused',
    },
  }),
}

const noted = {
  ...decided,
  note: field(
    z
      .string()
      .trim()
      .max(DECISION_NOTE_MAX)
      .optional()
      .describe('Why, for people and for the next run, which reads it as data.'),
    { label: 'Note', hint: 'Optional. Others see it, and the next run reads it.', rows: 3 },
  ),
}

const Reasons = z.array(z.object({ code: ReasonName, message: z.string() }))

/** The only source of what whoever asks may do now: no client computes it. */
const Decision = z.object({
  eligible: z.boolean().describe('You may approve it now.'),
  can: z.object({ approve: z.boolean(), deny: z.boolean(), retry: z.boolean() }),
  reasons: z
    .object({ approve: Reasons, deny: Reasons, retry: Reasons })
    .describe('Why you may not do each of them; empty for what you may do.'),
  required_roles: z.array(z.enum(DECIDING_ROLES)),
})

const hidden = 'null if you may not read source and logs.'

export const Proposal = z.object({
  id: z.string(),
  app: z.string().describe('Its alias.'),
  state: z.enum(PROPOSAL_STATES),
  title: z.string().nullable().describe(`Written by the model; ${hidden}`),
  author: z.string().describe('The maintenance agent, whose principal nobody can sign in as.'),
  execution_id: z.string().describe('The run that made it.'),
  requested_by: z
    .object({ user_id: z.string().nullable(), name: z.string() })
    .nullable()
    .describe('Who started the run; null: the schedule.'),
  settings_changed_by: z
    .array(z.object({ user_id: z.string(), name: z.string() }))
    .describe(
      'Who changed the agent’s settings within a day before the run. They may not approve it, either.',
    ),
  fingerprint: z.string(),
  base_revision_id: z.string(),
  new_revision_id: z.string(),
  tree_sha256: z.string(),
  diff_sha256: z.string(),
  files_changed: z.int(),
  added_lines: z.int(),
  removed_lines: z.int(),
  decided: z
    .object({
      approved: z.boolean(),
      by: z.string(),
      user_id: z.string().nullable(),
      via: z.enum(['console', 'cli', 'api', 'mcp']),
      token: z
        .object({ id: z.string(), name: z.string().nullable() })
        .nullable()
        .describe('The API token that it was decided with.'),
      agent: z
        .object({ id: z.string(), name: z.string().nullable() })
        .nullable()
        .describe('The grant of the agent that it was decided with.'),
      at: Time,
      note: z.string().nullable(),
    })
    .nullable(),
  deployment_id: z.string().nullable(),
  pull_request: z
    .object({
      state: z.enum(PULL_REQUEST_STATES),
      number: z.int().nullable().describe('null: it is not there yet.'),
      url: z.string().nullable(),
      code: z
        .enum(PULL_REQUEST_CODE_NAMES)
        .nullable()
        .describe('Why it failed, or could not be opened or looked at the last time.'),
      landed_by: z.string().nullable().describe('The pushed revision that holds its lines.'),
    })
    .nullable()
    .describe(
      'At the git remote of the app, which an approved proposal goes to; null: it was deployed, or not approved.',
    ),
  undone_by: z.string().nullable().describe('The revision whose push has undone its change.'),
  effect: z
    .object({
      deployed_at: Time,
      measured_at: Time,
      errors_before: z.int().describe('Of its error, in the day before the deployment.'),
      hours_before: z.int().describe('From the first of them to the deployment.'),
      lines_before: z.int().describe('All lines of that day.'),
      errors_since: z.int(),
      lines_since: z.int(),
      came_back_at: Time.nullable().describe(
        'The hour in which its error was logged again, within seven days.',
      ),
      text: z.string().describe('The same in a sentence.'),
    })
    .nullable()
    .describe(
      'What became of its error; null: it was not deployed, or cites no log line that was still there.',
    ),
  created_at: Time,
  decision: Decision,
})

const Flag = z.object({
  kind: FlagName,
  path: z.string(),
  line: z.int().nullable().describe('In the new file; null: the file as a whole.'),
  detail: z.string().describe('The host, the dependency, the call or the character, as plain text.'),
})

/** What of a proposal only those see who may read source. */
export const ProposedChange = z.object({
  diff: z.string().nullable().describe(`What \`git apply\` reads; ${hidden}`),
  files: z
    .array(
      z.object({
        path: z.string(),
        change: z.enum(['added', 'removed', 'changed']),
        added_lines: z.int(),
        removed_lines: z.int(),
      }),
    )
    .nullable()
    .describe(hidden),
})

const ProposalDetails = Proposal.extend({
  rationale: z.string().nullable().describe(`Written by the model; ${hidden}`),
  ...ProposedChange.shape,
  effect_hours: z
    .array(z.object({ at: Time, errors: z.int(), lines: z.int() }))
    .describe(
      'By hour, from a day before the deployment to seven days after it; hours without lines are left out.',
    ),
  undone: z.boolean().describe('It was approved, and a push has undone its change.'),
  flags: z.array(Flag).nullable().describe(`What a reviewer should look at; ${hidden}`),
  evidence: z.array(
    z.object({
      ref: z.string().nullable().describe(hidden),
      kind: z.enum(EVIDENCE_KINDS),
      sha256: z.string(),
    }),
  ),
})

const proposals = {
  service: 'deploy-api',
  access: 'viewer',
  scope: 'maintenance:read',
  errors: ['NOT_FOUND', 'MAINTENANCE_AGENT_NOT_FOUND'],
} as const
/** From viewer, because the decision says who may: its reasons are the answer. */
const decisions = {
  ...proposals,
  scope: 'proposals:decide',
  errors: ['NOT_FOUND', 'MAINTENANCE_AGENT_NOT_FOUND', 'CONFLICT'],
  closedToSupport: true,
} as const
const states = {
  state: z.enum(PROPOSAL_STATES).optional(),
}

export const listProposals = reading({
  ...proposals,
  name: 'listProposals',
  summary: 'List the proposals of an app, newest first.',
  input: z.object({ ...appAlias, ...states, ...countedPageInput }),
  output: z.object({ proposals: z.array(Proposal), ...countedPageOutput }),
  command: {
    path: 'apps proposals list',
    summary: 'List the changes that the maintenance agent proposed for an app',
    table:
      'PROPOSAL=id, state, YOU MAY=decision.can:granted, FILES=files_changed, LINES=+{added_lines} -{removed_lines}, created_at, FIX=effect.text, title',
    listedBy: 'apps list',
    examples: ['svc apps proposals list shop', 'svc apps proposals list shop --state ready --json'],
  },
  http: { method: 'get', path: '/api/deploy/deployments/{alias}/proposals' },
})

export const listProposalQueue = reading({
  ...proposals,
  name: 'listProposalQueue',
  summary: 'List the proposals of all apps of an organization, newest first; those that need a reviewer.',
  input: z.object({
    org_id: Id('org'),
    state: z
      .enum(PROPOSAL_STATES)
      .optional()
      .describe(`Default: those that a person can do something about, ${ACTIONABLE.join(', ')}.`),
    ...countedPageInput,
  }),
  output: z.object({ proposals: z.array(Proposal), ...countedPageOutput }),
  http: { method: 'get', path: '/api/deploy/orgs/{org_id}/proposals' },
})

export const showProposal = reading({
  ...proposals,
  name: 'showProposal',
  summary: 'Retrieve a proposal: its diff, its evidence, what to look at, and what you may do.',
  input: z.object(proposalId),
  output: ProposalDetails,
  command: {
    path: 'apps proposals show',
    summary: 'Show a proposal, its evidence and what you may decide',
    examples: ['svc apps proposals show shop pr_0mjexample0000000000000000 --diff'],
  },
  http: { method: 'get', path: '/api/deploy/deployments/{alias}/proposals/{proposal_id}' },
})

export const downloadProposalPatch = reading({
  ...proposals,
  name: 'downloadProposalPatch',
  summary: 'Download the diff of a proposal as a patch.',
  input: z.object(proposalId),
  output: z.object({ body: z.instanceof(Uint8Array), ...ageOutput }),
  mayBeOld: true,
  closedToSupport: true,
  http: {
    method: 'get',
    path: '/api/deploy/deployments/{alias}/proposals/{proposal_id}/patch',
    gives: PATCH_TYPE,
    filename: '{alias}-{proposal_id}.patch',
  },
})

export const approveProposal = creating({
  ...decisions,
  takesIdempotencyKey: true,
  name: 'approveProposal',
  summary:
    'Approve a proposal. Its revision becomes the head, and is deployed as any other; where the app has a git remote, it becomes a pull request there instead.',
  input: z.object(noted),
  output: Proposal,
  command: {
    path: 'apps proposals approve',
    summary: 'Approve a proposal of somebody else’s run; it is deployed (admin or higher)',
    examples: [
      'svc apps proposals approve shop pr_0mjexample0000000000000000',
      'svc apps proposals approve shop pr_0mjexample0000000000000000 --diff-sha256 9f86d0… --yes',
    ],
  },
  http: { method: 'post', path: '/api/deploy/deployments/{alias}/proposals/{proposal_id}/approve' },
})

export const denyProposal = creating({
  ...decisions,
  takesIdempotencyKey: true,
  name: 'denyProposal',
  summary: 'Deny a proposal. The agent does not propose it again until the source has changed there.',
  input: z.object(noted),
  output: Proposal,
  command: {
    path: 'apps proposals deny',
    summary: 'Deny a proposal; the app stays as it is (admin or higher)',
    examples: ['svc apps proposals deny shop pr_0mjexample0000000000000000 --yes'],
  },
  http: { method: 'post', path: '/api/deploy/deployments/{alias}/proposals/{proposal_id}/deny' },
})

export const retryProposal = creating({
  ...decisions,
  name: 'retryProposal',
  summary:
    'Retry a proposal. A stale one is applied to the new source, and is to be decided again; a failed one is deployed or opened as a pull request again, or is stale if the source has changed since.',
  input: z.object(decided),
  output: Proposal,
  errors: [...decisions.errors, 'RATE_LIMITED', 'TIMEOUT'],
  command: {
    path: 'apps proposals retry',
    summary: 'Apply a stale proposal to the new source, or deploy a failed one again (admin or higher)',
    examples: ['svc apps proposals retry shop pr_0mjexample0000000000000000 --yes'],
  },
  http: { method: 'post', path: '/api/deploy/deployments/{alias}/proposals/{proposal_id}/retry' },
})
