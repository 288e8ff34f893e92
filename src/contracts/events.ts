/** The catalog of events: when each happens, what it carries, who follows it, and its one-line summary. */
import * as z from 'zod'
import { CATEGORIES, TIMINGS, type Category } from './channels.ts'
import { field } from './field.ts'

export const CategoryName = z.enum(CATEGORIES)
export const TimingName = z.enum(TIMINGS)

/** Identifiers and codes. Nothing a person wrote fits in, so nothing a person wrote can leave. */
const Code = z.string().regex(/^[A-Za-z0-9_.:-]{1,80}$/)

const ticket = { ticket_id: Code }
const check = { check_id: Code, run_id: Code.optional() }
const run = { execution_id: Code, outcome: Code.optional() }
const proposal = { proposal_id: Code }
/** With which API token, if it was decided with one. */
const decision = { ...proposal, token_id: Code.optional(), grant_id: Code.optional() }
const pipeline = { pipeline_id: Code, run_id: Code.optional() }
const agent = { grant_id: Code }
const quota = { used_mib: Code, quota_mib: Code }
const support = { support_session_id: Code }
const integration = { integration_id: Code, channel: Code, reason: Code }
const failure = { integration_id: Code.optional(), channel: Code, reason: Code }

type EventDefinition = {
  readonly when: string
  /** Null: not followed by people, only subscribed to by the organization. */
  readonly category: Category | null
  readonly data: z.ZodObject
  /** False: something that a person does (a reply, a decision), of which they are not told themselves. True: an outcome. */
  readonly toldToActor: boolean
  /** The short code of a personal message: fixed, or the field that holds it. */
  readonly status: { readonly is: string } | { readonly from: string }
  /** What happened, after the name of the app. */
  readonly summary: string
  /** Below the console; `{app}` is the alias, other names are fields of the data. */
  readonly page: string
}

const event = (
  definition: Omit<EventDefinition, 'data'> & { data: z.core.$ZodLooseShape },
): EventDefinition => ({
  ...definition,
  data: z.strictObject(definition.data),
})

export const EVENTS = {
  'support.ticket.created': event({
    when: 'A ticket is filed on an app',
    category: 'Tickets',
    data: ticket,
    // Not among what decisions, 11 leaves out: to whoever filed it, it says that the ticket is there.
    toldToActor: true,
    status: { is: 'filed' },
    summary: 'a ticket was filed',
    page: 'apps/{app}/tickets/{ticket_id}',
  }),
  'support.ticket.replied': event({
    when: 'A public reply lands; internal notes never notify',
    category: 'Tickets',
    data: { ...ticket, reply_id: Code },
    toldToActor: false,
    status: { is: 'replied' },
    summary: 'a ticket has a reply',
    page: 'apps/{app}/tickets/{ticket_id}',
  }),
  'support.ticket.status_changed': event({
    when: 'A ticket moves between open, in progress and done',
    category: 'Tickets',
    data: { ...ticket, from: Code, to: Code },
    toldToActor: false,
    status: { from: 'to' },
    summary: 'a ticket moved',
    page: 'apps/{app}/tickets/{ticket_id}',
  }),
  'deploy.failed': event({
    when: 'A deployment fails, including background rollouts',
    category: 'Failed deploys',
    data: { deployment_id: Code, code: Code },
    toldToActor: true,
    status: { from: 'code' },
    summary: 'a deployment failed',
    page: 'apps/{app}/deployments/{deployment_id}',
  }),
  'application.check.failed': event({
    when: 'A check fails as often as its threshold allows',
    category: 'Checks',
    data: check,
    toldToActor: true,
    status: { is: 'failed' },
    summary: 'a check failed',
    page: 'apps/{app}/incidents/{check_id}',
  }),
  'application.check.error': event({
    when: 'A check could not be run because of an error',
    category: 'Checks',
    data: check,
    toldToActor: true,
    status: { is: 'error' },
    summary: 'a check could not be run',
    page: 'apps/{app}/checks/{check_id}',
  }),
  'application.check.indeterminate': event({
    when: 'A check ran into a limit of evidence or budget and has no verdict',
    category: 'Checks',
    data: check,
    toldToActor: true,
    status: { is: 'indeterminate' },
    summary: 'a check ended without a verdict',
    page: 'apps/{app}/checks/{check_id}',
  }),
  'application.check.recovered': event({
    when: 'A failed check passes again',
    category: 'Checks',
    data: check,
    toldToActor: true,
    status: { is: 'recovered' },
    summary: 'a check passes again',
    page: 'apps/{app}/checks/{check_id}',
  }),
  'application.maintenance.run.completed': event({
    when: 'A maintenance run ends without error: nothing found, a finding, a proposal, or out of budget',
    category: 'Maintenance',
    data: run,
    toldToActor: true,
    status: { from: 'outcome' },
    summary: 'a maintenance run ended',
    page: 'apps/{app}/maintenance/runs/{execution_id}',
  }),
  'application.maintenance.run.failed': event({
    when: 'The maintenance agent could not finish',
    category: 'Maintenance',
    data: run,
    toldToActor: true,
    status: { is: 'agent_error' },
    summary: 'a maintenance run could not finish',
    page: 'apps/{app}/maintenance/runs/{execution_id}',
  }),
  'application.maintenance.proposal.created': event({
    when: 'The maintenance agent opened a proposal that needs a reviewer',
    category: 'Maintenance',
    data: proposal,
    toldToActor: true,
    status: { is: 'proposal' },
    summary: 'a proposal needs review',
    page: 'apps/{app}/proposals/{proposal_id}',
  }),
  'application.maintenance.proposal.approved': event({
    when: 'An eligible owner or admin approved a proposal',
    category: 'Maintenance',
    data: decision,
    toldToActor: false,
    status: { is: 'approved' },
    summary: 'a proposal was approved',
    page: 'apps/{app}/proposals/{proposal_id}',
  }),
  'application.maintenance.proposal.denied': event({
    when: 'An eligible owner or admin denied a proposal',
    category: 'Maintenance',
    data: decision,
    toldToActor: false,
    status: { is: 'denied' },
    summary: 'a proposal was denied',
    page: 'apps/{app}/proposals/{proposal_id}',
  }),
  'application.maintenance.proposal.opened': event({
    when: 'An approved proposal has become a pull request at the app’s git remote',
    category: 'Maintenance',
    data: proposal,
    toldToActor: true,
    status: { is: 'pull_request' },
    summary: 'a proposal has a pull request',
    page: 'apps/{app}/proposals/{proposal_id}',
  }),
  'application.maintenance.proposal.failed': event({
    when: 'The pull request of a proposal was closed unmerged, or could not be opened',
    category: 'Maintenance',
    data: { ...proposal, code: Code },
    toldToActor: true,
    status: { from: 'code' },
    summary: 'the pull request of a proposal failed',
    page: 'apps/{app}/proposals/{proposal_id}',
  }),
  'pipeline.run.failed': event({
    when: 'A pipeline starts failing; reported once, not every night',
    category: null,
    data: pipeline,
    toldToActor: true,
    status: { is: 'failed' },
    summary: 'a pipeline failed',
    page: 'apps/{app}/pipelines/{pipeline_id}',
  }),
  'pipeline.run.recovered': event({
    when: 'A failing or missed pipeline completes a run',
    category: null,
    data: pipeline,
    toldToActor: true,
    status: { is: 'recovered' },
    summary: 'a pipeline recovered',
    page: 'apps/{app}/pipelines/{pipeline_id}',
  }),
  'pipeline.run.host_offline': event({
    when: 'No worker was connected at the scheduled time',
    category: null,
    data: pipeline,
    toldToActor: true,
    status: { is: 'host_offline' },
    summary: 'a pipeline had no worker',
    page: 'apps/{app}/pipelines/{pipeline_id}',
  }),
  'pipeline.run.missed': event({
    when: 'A scheduled run did not happen for another reason',
    category: null,
    data: pipeline,
    toldToActor: true,
    status: { is: 'missed' },
    summary: 'a scheduled run was missed',
    page: 'apps/{app}/pipelines/{pipeline_id}',
  }),
  'org.disk_quota.exceeded': event({
    when: 'The managed databases are over their disk quota; their own logins may not connect, questions go on',
    category: null,
    data: quota,
    toldToActor: true,
    status: { is: 'exceeded' },
    summary: 'the managed databases are over their disk quota',
    page: 'data-sources',
  }),
  'org.disk_quota.recovered': event({
    when: 'The managed databases are below their disk quota again, and their logins may connect',
    category: null,
    data: quota,
    toldToActor: true,
    status: { is: 'recovered' },
    summary: 'the managed databases are below their disk quota again',
    page: 'data-sources',
  }),
  'org.support_access.started': event({
    when: 'Support staff started a support session in the organization',
    category: null,
    data: support,
    // interface.md, Events 3 (d): each owner and admin, so that an account in wrong hands does not go unnoticed.
    toldToActor: true,
    status: { is: 'started' },
    summary: 'support staff started a support session',
    page: 'settings',
  }),
  'org.support_access.elevated': event({
    when: 'A support session was elevated from reading to writing',
    category: null,
    data: support,
    toldToActor: true,
    status: { is: 'elevated' },
    summary: 'a support session was elevated to write access',
    page: 'settings',
  }),
  'org.integration.stopped': event({
    when: 'An integration stopped: its receiver is gone, no longer accepts messages, or failed for days',
    category: null,
    data: integration,
    toldToActor: true,
    status: { from: 'reason' },
    summary: 'an integration stopped',
    page: 'integrations',
  }),
  'org.delivery.gave_up': event({
    when: 'Every attempt at a delivery failed; once a day for each destination',
    category: null,
    data: failure,
    toldToActor: true,
    status: { from: 'reason' },
    summary: 'deliveries to a destination were given up',
    page: 'deliveries?state=failed',
  }),
  'org.delivery.unconfirmed': event({
    when: 'A delivery had no answer and may have arrived; once a day for each destination',
    category: null,
    data: failure,
    toldToActor: true,
    status: { is: 'unconfirmed' },
    summary: 'deliveries to a destination are unconfirmed',
    page: 'deliveries?state=failed',
  }),
  'org.maintenance.changed': event({
    when: 'Somebody changed schedule, model, allowance or a switch of the maintenance agent',
    category: null,
    data: { user_id: Code },
    toldToActor: false,
    status: { is: 'changed' },
    summary: 'the settings of the maintenance agent were changed',
    page: 'maintenance',
  }),
  'org.member.removed': event({
    when: 'A member was removed from the organization, or left it',
    category: null,
    data: { user_id: Code },
    toldToActor: false,
    status: { is: 'removed' },
    summary: 'a member left or was removed',
    page: 'members',
  }),
  'agent.unused': event({
    when: 'An agent has not used what it may use, and will be narrowed or disconnected in a week; to its person',
    category: null,
    data: { ...agent, next: Code, on: Code },
    toldToActor: true,
    status: { from: 'next' },
    summary: 'an agent will lose what it does not use',
    page: 'agents/{grant_id}',
  }),
  'agent.narrowed': event({
    when: 'What an agent did not use was taken from it; to its person',
    category: null,
    data: agent,
    toldToActor: true,
    status: { is: 'narrowed' },
    summary: 'an agent lost what it did not use',
    page: 'agents/{grant_id}',
  }),
  'agent.ended': event({
    when: 'An agent that nobody used was disconnected; to its person',
    category: null,
    data: agent,
    toldToActor: true,
    status: { is: 'ended' },
    summary: 'an agent that was not used was disconnected',
    page: 'agents/{grant_id}',
  }),
} as const satisfies Record<string, EventDefinition>

export type EventType = keyof typeof EVENTS
export const EVENT_TYPES = Object.keys(EVENTS) as [EventType, ...EventType[]]

/** Recorded by testSubscription: it goes to that subscription and matches no other. */
export const TEST_EVENT = 'svc.test'

/** As which a verb declares that it records those of apps. */
export const APP_EVENTS = 'app.*'

/** decisions, 11: apps send events of their own, whose names are theirs. */
export const isAppEvent = (type: string): boolean => type.startsWith('app.')

/** Whose it is, and what the app calls it: `app.shop.order_failed`. */
export function partsOfAppEvent(type: string): { readonly alias: string; readonly name: string } {
  const [, alias = '', ...name] = type.split('.')
  return { alias, name: name.join('.') }
}

/** contract, Events: an exact type, or a prefix and a star. Unknown exact types are free text, so they are taken too. */
export const EventPattern = z
  .string()
  .trim()
  .max(100)
  .regex(
    // Aliases of apps have hyphens.
    /^[a-z0-9_-]+(\.[a-z0-9_-]+)*(\.\*)?$/,
    'must be an event type such as deploy.failed, or a prefix and a star such as application.check.*',
  )

/** Of lists. */
export const byEvent = field(EventPattern.optional(), {
  client: { value: 'pattern', summary: 'Filter by event, such as deploy.*' },
})

/** Every pattern that would match a type, so that matching is one lookup of equal strings. */
export function patternsOf(type: string): string[] {
  const parts = type.split('.')
  return [type, ...parts.slice(0, -1).map((_, n) => `${parts.slice(0, n + 1).join('.')}.*`)]
}

export const matches = (pattern: string, type: string): boolean => patternsOf(type).includes(pattern)
