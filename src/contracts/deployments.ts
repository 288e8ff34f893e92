/** Deployments: a revision that is handed to the owner's own command, by a runner of theirs. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { DEPLOYMENT_CODES, DEPLOYMENT_STATES, type DeploymentCode } from './deployment-states.ts'
import { field } from './field.ts'
import { ClaimId, DisplayName, Time } from './fields.ts'
import { Id } from './ids.ts'
import { DEPLOYMENT_WAIT_MAX_SECONDS } from './limits.ts'
import { creating, reading, updating } from './operation.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'

const Code = z.enum(Object.keys(DEPLOYMENT_CODES) as [DeploymentCode, ...DeploymentCode[]])

export const Deployment = z.object({
  id: z.string(),
  revision_id: z.string(),
  state: z.enum(DEPLOYMENT_STATES),
  code: Code.nullable().describe('Why it failed.'),
  exit_code: z.int().nullable(),
  runner: z.string().nullable(),
  requested_by: z.string(),
  requested_at: Time,
  started_at: Time.nullable(),
  ended_at: Time.nullable(),
  cancel_requested: z.boolean().describe('Its runner was asked to stop the command, or will be.'),
  blocks_next: z
    .boolean()
    .describe('Its runner was lost: the next one waits until somebody confirms that its command has ended.'),
})

const deploymentId = { ...appAlias, deployment_id: Id('dep') }
const deployments = { service: 'deploy-api', access: 'viewer', errors: ['NOT_FOUND'] } as const
/** What a runner proves with every report: that it still holds the deployment. */
const fence = { fence: z.int().min(1) }

const DEPLOYMENT_TABLE =
  'DEPLOYMENT=id, revision_id, state:deployment, code, EXIT=exit_code, runner, requested_by, requested_at, ended_at'

export const createDeployment = creating({
  ...deployments,
  name: 'createDeployment',
  summary: 'Deploy a revision. It waits for a runner, and for deployments before it.',
  takesIdempotencyKey: true,
  input: z.object({ ...appAlias, revision_id: field(Id('rev'), { label: 'Revision' }) }),
  output: Deployment,
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToSupport: true,
  command: {
    path: 'apps deploy',
    summary: 'Deploy a revision of an app; it waits for a runner',
    arguments: ['alias', 'revision_id'],
    table: DEPLOYMENT_TABLE,
    notes: ['Follow it with: svc apps deployments output {alias} {id} --follow'],
    listedBy: 'apps revisions',
    examples: ['svc apps deploy shop rev_0mjexample000000000000000'],
  },
  http: { method: 'post', path: '/api/deploy/apps/{alias}/deployments', success: 201 },
})

export const rollBackDeployment = creating({
  ...deployments,
  name: 'rollBackDeployment',
  summary: 'Deploy the revision that succeeded before the last deployment.',
  takesIdempotencyKey: true,
  input: z.object(appAlias),
  output: Deployment,
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToSupport: true,
  command: {
    path: 'apps rollback',
    confirm:
      'This deploys the revision of {alias} that succeeded before the last deployment. A second one goes forward again.',
    table: DEPLOYMENT_TABLE,
    examples: ['svc apps rollback shop --yes'],
  },
  http: { method: 'post', path: '/api/deploy/apps/{alias}/deployments/roll-back', success: 201 },
})

export const listDeployments = reading({
  ...deployments,
  name: 'listDeployments',
  summary: 'List the deployments of an app, newest first.',
  input: z.object({ ...appAlias, state: z.enum(DEPLOYMENT_STATES).optional(), ...countedPageInput }),
  output: z.object({ deployments: z.array(Deployment), ...countedPageOutput }),
  command: {
    path: 'apps deployments',
    table: DEPLOYMENT_TABLE,
    notes: [
      {
        of: 'deployments',
        if: 'blocks_next',
        text: 'The runner of {id} was lost. Once its command has ended: svc apps deployments confirm-ended {alias} {id}',
      },
    ],
    examples: ['svc apps deployments shop', 'svc apps deployments shop --state failed --json'],
  },
  http: { method: 'get', path: '/api/deploy/apps/{alias}/deployments' },
})

export const showDeployment = reading({
  ...deployments,
  name: 'showDeployment',
  summary: 'Retrieve a deployment.',
  input: z.object(deploymentId),
  output: Deployment,
  http: { method: 'get', path: '/api/deploy/apps/{alias}/deployments/{deployment_id}' },
})

export const readDeploymentOutput = reading({
  ...deployments,
  name: 'readDeploymentOutput',
  summary: 'Read what the deploy command wrote, from a position on.',
  input: z.object({ ...deploymentId, after: z.coerce.number().int().min(0).default(0) }),
  output: z.object({
    text: z.string(),
    next: z.int().describe('Pass it as `after` for what comes next.'),
    ended: z.boolean(),
    dropped_bytes: z.int().describe('Left out because the output is larger than what is kept.'),
  }),
  closedToSupport: true,
  command: {
    path: 'apps deployments output',
    summary: 'Print what the command of a deployment wrote',
    options: [],
    examples: ['svc apps deployments output shop dep_0mjexample000000000000000 --follow'],
  },
  http: { method: 'get', path: '/api/deploy/apps/{alias}/deployments/{deployment_id}/output' },
})

export const cancelDeployment = updating({
  ...deployments,
  name: 'cancelDeployment',
  summary: 'Cancel a deployment. A running one is asked to stop.',
  closedToSupport: true,
  input: z.object({
    ...deploymentId,
    only_queued: field(
      z
        .boolean()
        .default(false)
        .describe('Only while it waits: once a runner has taken it, this is refused and it goes on.'),
      { client: 'Only while it waits; once a runner has taken it, it goes on' },
    ),
  }),
  output: Deployment,
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'apps cancel',
    summary: 'Cancel a deployment; a running one is asked to stop',
    table: DEPLOYMENT_TABLE,
    notes: [{ if: 'state=running', text: 'Its runner stops the command with its next report.' }],
    examples: ['svc apps cancel shop dep_0mjexample000000000000000'],
  },
  http: { method: 'post', path: '/api/deploy/apps/{alias}/deployments/{deployment_id}/cancel' },
})

export const confirmDeploymentEnded = updating({
  ...deployments,
  name: 'confirmDeploymentEnded',
  summary: 'Confirm that the command of a lost runner has ended, so that the next deployment may begin.',
  input: z.object(deploymentId),
  output: Deployment,
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToSupport: true,
  command: {
    path: 'apps deployments confirm-ended',
    summary: 'Confirm that the command of a lost runner has ended, so that the next deployment begins',
    confirm: 'The next deployment begins, even if the command of this one should still be running.',
    table: DEPLOYMENT_TABLE,
    examples: ['svc apps deployments confirm-ended shop dep_0mjexample000000000000000 --yes'],
  },
  http: { method: 'post', path: '/api/deploy/apps/{alias}/deployments/{deployment_id}/confirm-ended' },
})

export const reportBrokenRollout = creating({
  ...deployments,
  name: 'reportBrokenRollout',
  summary: 'Report that a deployment broke after it had succeeded, within a day.',
  closedToSupport: true,
  input: z.object(deploymentId),
  output: Deployment,
  errors: ['NOT_FOUND', 'CONFLICT'],
  scope: 'apps:run',
  command: {
    path: 'apps deployments report-broken',
    table: DEPLOYMENT_TABLE,
    examples: ['svc apps deployments report-broken shop dep_0mjexample000000000000000'],
  },
  http: { method: 'post', path: '/api/deploy/apps/{alias}/deployments/{deployment_id}/broken' },
})

export const claimDeployment = creating({
  ...deployments,
  name: 'claimDeployment',
  summary: 'Claim the next deployment, as a runner; or wait for one, and claim it with the next call.',
  input: z.object({
    ...appAlias,
    runner: DisplayName,
    claim_id: ClaimId.optional(),
    command: z
      .string()
      .max(4_096)
      .optional()
      .describe('What the runner executes. No proposal may change a file that it names.'),
    wait_seconds: z
      .int()
      .min(0)
      .max(DEPLOYMENT_WAIT_MAX_SECONDS)
      .default(0)
      .describe('If there is none, answer only when there is one to claim, or after so long.'),
  }),
  output: z.object({
    deployment: Deployment.nullable().describe('null: there was none. Claim again.'),
    fence: z.int().nullable(),
    lease_seconds: z.int().describe('Report within this time, or it is taken for lost.'),
  }),
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  scope: 'apps:run',
  closedToSupport: true,
  http: { method: 'post', path: '/api/deploy/apps/{alias}/deployments/claim' },
})

export const reportDeploymentOutput = creating({
  ...deployments,
  name: 'reportDeploymentOutput',
  durability: 'local',
  summary: 'Append output of the deploy command, and keep the claim alive.',
  input: z.object({
    ...deploymentId,
    ...fence,
    text: z
      .string()
      .max(64 * 1024)
      .default(''),
    position: z
      .int()
      .min(0)
      .describe(
        'Bytes of output before this text. What is there already is not written twice; a gap counts as dropped.',
      ),
    last: z.boolean().default(false).describe('Nothing follows, so that an unfinished line is taken too.'),
  }),
  output: z.object({
    position: z
      .int()
      .describe('Bytes taken so far. Send what is behind it again: a secret may have begun there.'),
    cancelled: z.boolean().describe('Stop the command.'),
  }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  scope: 'apps:run',
  closedToSupport: true,
  http: { method: 'post', path: '/api/deploy/apps/{alias}/deployments/{deployment_id}/output' },
})

export const finishDeployment = updating({
  ...deployments,
  name: 'finishDeployment',
  summary: 'Report how the deploy command ended.',
  input: z.object({
    ...deploymentId,
    ...fence,
    exit_code: z.int().min(0).max(255).nullable().describe('null: it was ended by a signal, or never began.'),
    code: z.enum(['TIMED_OUT', 'RUNNER_FAILED']).optional(),
  }),
  output: Deployment,
  errors: ['NOT_FOUND', 'CONFLICT'],
  scope: 'apps:run',
  closedToSupport: true,
  http: { method: 'post', path: '/api/deploy/apps/{alias}/deployments/{deployment_id}/finish' },
})
