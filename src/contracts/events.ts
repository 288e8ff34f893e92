/** The catalogue of events: what each carries, whom it interests, and how it is said in one line. */
import * as z from 'zod'

/** What people follow of an app. */
export const CATEGORIES = ['Checks', 'Maintenance', 'Failed deploys', 'Tickets'] as const
export type Category = (typeof CATEGORIES)[number]
export const CategoryName = z.enum(CATEGORIES)

export const TIMINGS = ['immediately', 'hourly', 'daily'] as const
export type Timing = (typeof TIMINGS)[number]
export const TimingName = z.enum(TIMINGS)

/** Identifiers and codes. Nothing a person wrote fits in, so nothing a person wrote can leave. */
const Code = z.string().regex(/^[A-Za-z0-9_.:-]{1,80}$/)

const ticket = { ticket_id: Code }
const check = { check_id: Code, run_id: Code.optional() }
const run = { execution_id: Code, outcome: Code.optional() }
const proposal = { proposal_id: Code }
const pipeline = { pipeline_id: Code, run_id: Code.optional() }
const support = { support_session_id: Code }

type Kind = {
  readonly when: string
  /** Null: not followed by people, only subscribed to by the organization. */
  readonly category: Category | null
  readonly data: z.ZodObject
  /** The short code of a personal message: fixed, or the field that holds it. */
  readonly status: { readonly is: string } | { readonly from: string }
  /** What happened, after the name of the app. */
  readonly says: string
  /** Below the console; `{app}` is the alias, other names are fields of the data. */
  readonly page: string
}

const kind = (k: Omit<Kind, 'data'> & { data: z.core.$ZodLooseShape }): Kind => ({
  ...k,
  data: z.strictObject(k.data),
})

export const EVENTS = {
  'support.ticket.created': kind({
    when: 'A ticket is filed on an app',
    category: 'Tickets',
    data: ticket,
    status: { is: 'filed' },
    says: 'a ticket was filed',
    page: 'apps/{app}/tickets/{ticket_id}',
  }),
  'support.ticket.replied': kind({
    when: 'A public reply lands; internal notes never notify',
    category: 'Tickets',
    data: { ...ticket, reply_id: Code },
    status: { is: 'replied' },
    says: 'a ticket has a reply',
    page: 'apps/{app}/tickets/{ticket_id}',
  }),
  'support.ticket.status_changed': kind({
    when: 'A ticket moves between open, in progress and done',
    category: 'Tickets',
    data: { ...ticket, from: Code, to: Code },
    status: { from: 'to' },
    says: 'a ticket moved',
    page: 'apps/{app}/tickets/{ticket_id}',
  }),
  'deploy.failed': kind({
    when: 'A deployment fails, background rollouts included',
    category: 'Failed deploys',
    data: { deployment_id: Code, code: Code },
    status: { from: 'code' },
    says: 'a deployment failed',
    page: 'apps/{app}',
  }),
  'application.check.failed': kind({
    when: 'A check goes into fail after its threshold',
    category: 'Checks',
    data: check,
    status: { is: 'failed' },
    says: 'a check failed',
    page: 'apps/{app}',
  }),
  'application.check.error': kind({
    when: 'The instrument of a check is itself in error',
    category: 'Checks',
    data: check,
    status: { is: 'error' },
    says: 'a check could not be made',
    page: 'apps/{app}',
  }),
  'application.check.indeterminate': kind({
    when: 'A valid run of a check met a ceiling of evidence or budget',
    category: 'Checks',
    data: check,
    status: { is: 'indeterminate' },
    says: 'a check ended without a verdict',
    page: 'apps/{app}',
  }),
  'application.check.recovered': kind({
    when: 'A failed check passes again',
    category: 'Checks',
    data: check,
    status: { is: 'recovered' },
    says: 'a check passes again',
    page: 'apps/{app}',
  }),
  'application.maintenance.run.completed': kind({
    when: 'A maintenance run ends without error: nothing found, a finding, a proposal, or out of budget',
    category: 'Maintenance',
    data: run,
    status: { from: 'outcome' },
    says: 'a maintenance run ended',
    page: 'apps/{app}',
  }),
  'application.maintenance.run.failed': kind({
    when: 'The maintenance agent could not finish',
    category: 'Maintenance',
    data: run,
    status: { is: 'agent_error' },
    says: 'a maintenance run could not finish',
    page: 'apps/{app}',
  }),
  'application.maintenance.proposal.created': kind({
    when: 'The agent opened a change that waits for a different reviewer',
    category: 'Maintenance',
    data: proposal,
    status: { is: 'proposal' },
    says: 'a proposed change waits for review',
    page: 'apps/{app}',
  }),
  'application.maintenance.proposal.approved': kind({
    when: 'An eligible owner or admin approved a proposal',
    category: 'Maintenance',
    data: proposal,
    status: { is: 'approved' },
    says: 'a proposed change was approved',
    page: 'apps/{app}',
  }),
  'application.maintenance.proposal.denied': kind({
    when: 'An eligible owner or admin denied a proposal',
    category: 'Maintenance',
    data: proposal,
    status: { is: 'denied' },
    says: 'a proposed change was denied',
    page: 'apps/{app}',
  }),
  'pipeline.run.failed': kind({
    when: 'A run of a pipeline goes into failed; once, not every night',
    category: null,
    data: pipeline,
    status: { is: 'failed' },
    says: 'a pipeline failed',
    page: 'apps/{app}',
  }),
  'pipeline.run.recovered': kind({
    when: 'A failing or silent pipeline completes a run',
    category: null,
    data: pipeline,
    status: { is: 'recovered' },
    says: 'a pipeline works again',
    page: 'apps/{app}',
  }),
  'pipeline.run.host_offline': kind({
    when: 'No worker was connected at the scheduled time',
    category: null,
    data: pipeline,
    status: { is: 'host_offline' },
    says: 'a pipeline had no worker',
    page: 'apps/{app}',
  }),
  'pipeline.run.missed': kind({
    when: 'A scheduled run did not happen for another reason',
    category: null,
    data: pipeline,
    status: { is: 'missed' },
    says: 'a scheduled run was missed',
    page: 'apps/{app}',
  }),
  'org.support_access.started': kind({
    when: 'Support staff entered the organization',
    category: null,
    data: support,
    status: { is: 'started' },
    says: 'support staff entered the organization',
    page: 'settings',
  }),
  'org.support_access.elevated': kind({
    when: 'A visit of support staff was raised from reading to writing',
    category: null,
    data: support,
    status: { is: 'elevated' },
    says: 'support staff may now write',
    page: 'settings',
  }),
} as const satisfies Record<string, Kind>

export type EventType = keyof typeof EVENTS
export const EVENT_TYPES = Object.keys(EVENTS) as [EventType, ...EventType[]]

/** Of "Send test": goes to one subscription only and matches no other. */
export const TEST_EVENT = 'svc.test'

/** contract, Events: an exact type, or a prefix and a star. Unknown exact types are free text, so they are taken too. */
export const EventPattern = z
  .string()
  .trim()
  .max(100)
  .regex(
    /^[a-z0-9_]+(\.[a-z0-9_]+)*(\.\*)?$/,
    'must be an event type such as deploy.failed, or a prefix and a star such as application.check.*',
  )

/** Every pattern that would match a type, so that matching is one lookup of equal strings. */
export function patternsOf(type: string): string[] {
  const parts = type.split('.')
  return [type, ...parts.slice(0, -1).map((_, n) => `${parts.slice(0, n + 1).join('.')}.*`)]
}

export const matches = (pattern: string, type: string): boolean => patternsOf(type).includes(pattern)
