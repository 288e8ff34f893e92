/**
 * Subscriptions that the platform creates by itself, each once and for all: the row in `default_subscriptions` is written
 * first and never deleted, so a deleted default is not created again, and of two first events only one creates it.
 */
import type { Transaction } from '../../../../db/connect.ts'
import { and, asc, eq } from '../../../../db/drizzle.ts'
import { defaultSubscriptions, integrations, subscriptions } from '../../../../db/schema.ts'
import type { Timing } from '../../../contracts/channels.ts'
import { matches } from '../../../contracts/events.ts'
import { makeId } from '../../../contracts/ids.ts'
import type { Clock, Storage } from '../../dependencies.ts'
import { memberKey, type Directory, type MemberKey, type WithDirectory } from '../../directory/index.ts'

type DefaultSubscription = {
  readonly orgId: string
  readonly defaultKey: string
  readonly pattern: string
  readonly userId?: string
  readonly integrationId?: string
  readonly ownOnly?: boolean
  /** Left out: immediately. */
  readonly timing?: Timing
}

type NewEvent = {
  readonly orgId: string
  readonly type: string
  readonly concernsId: string | null
  readonly actorId: string | null
}

/**
 * Those that come with the first event of their kind, and are notified of it already. Asked once for all events of a
 * batch: a flood of one kind is one question.
 */
export async function createDefaultsFor(
  { clock, directory }: Pick<Storage, 'clock'> & WithDirectory,
  tx: Transaction,
  events: readonly NewEvent[],
): Promise<void> {
  const [reporters, agentPeople] = [new Map<string, MemberKey>(), new Map<string, MemberKey>()]
  const [pipelines, admins] = [new Set<string>(), new Map<string, { orgId: string; pattern: string }>()]
  for (const { orgId, type, concernsId, actorId } of events) {
    if (type === 'support.ticket.replied' && concernsId !== null && concernsId !== actorId) {
      const key = { orgId, userId: concernsId }
      reporters.set(memberKey(key), key)
    }
    if (matches(AGENT_EVENTS, type) && concernsId !== null) {
      const key = { orgId, userId: concernsId }
      agentPeople.set(memberKey(key), key)
    }
    if (type.startsWith('pipeline.run.')) pipelines.add(orgId)
    const pattern = FOR_ADMINS.find((one) => matches(one.pattern, type))?.pattern
    if (pattern !== undefined) admins.set(`${orgId} ${pattern}`, { orgId, pattern })
  }
  const members = await directory.readMembers(tx, [...reporters.values(), ...agentPeople.values()])
  const wanted = [
    ...[...reporters]
      .filter(([key]) => members.has(key))
      .map(([, reporter]) => ticketReporterDefault(reporter)),
    ...[...agentPeople].filter(([key]) => members.has(key)).map(([, person]) => agentDefault(person)),
    ...(await Promise.all([...pipelines].map((orgId) => pipelineDefault(tx, orgId)))).flat(),
    ...(await Promise.all([...admins.values()].map((one) => adminDefaults(directory, tx, one)))).flat(),
  ]
  await createOnce(tx, clock, wanted)
}

/** interface.md, Events 3 (a): replies to one's own tickets, never for one's own replies. */
const ticketReporterDefault = ({ orgId, userId }: MemberKey): DefaultSubscription => ({
  orgId,
  userId,
  ownOnly: true,
  pattern: 'support.ticket.replied',
  defaultKey: `ticket_reporter:${userId}`,
})

const AGENT_EVENTS = 'agent.*'

/** What becomes of one's own agents, or those that one answers for: before it does, and afterwards. */
const agentDefault = ({ orgId, userId }: MemberKey): DefaultSubscription => ({
  orgId,
  userId,
  ownOnly: true,
  pattern: AGENT_EVENTS,
  defaultKey: `agents:${userId}`,
})

/** (b): by the channel itself, so that connecting the same one again creates no second. */
export const createChatTicketDefault = (
  tx: Transaction,
  clock: Clock,
  { orgId, integrationId, channel }: { orgId: string; integrationId: string; channel: string },
): Promise<void> =>
  createOnce(tx, clock, [
    { orgId, integrationId, pattern: 'support.ticket.created', defaultKey: `chat_tickets:${channel}` },
  ])

/** (c): to the first chat channel that was connected and works; without one, the next event asks again. */
async function pipelineDefault(tx: Transaction, orgId: string): Promise<DefaultSubscription[]> {
  const [channel] = await tx
    .select({ id: integrations.id })
    .from(integrations)
    .where(
      and(eq(integrations.orgId, orgId), eq(integrations.kind, 'chat'), eq(integrations.state, 'active')),
    )
    .orderBy(asc(integrations.id))
    .limit(1)
  return channel
    ? [{ orgId, integrationId: channel.id, pattern: 'pipeline.run.*', defaultKey: 'pipeline' }]
    : []
}

/** (d), and decisions, 11: notices about the service itself. */
const FOR_ADMINS = [
  { pattern: 'org.support_access.*', key: 'support_access' },
  { pattern: 'org.integration.*', key: 'integrations', timing: 'hourly' },
  { pattern: 'org.disk_quota.*', key: 'disk_quota' },
  { pattern: 'org.maintenance.*', key: 'maintenance' },
  { pattern: 'org.delivery.*', key: 'deliveries', timing: 'hourly' },
] as const satisfies readonly { pattern: string; key: string; timing?: Timing }[]

/** Those that many destinations cause at once go together, of both kinds: one message an hour, which names each. */
export const TOGETHER = [
  'integrations',
  'deliveries',
] as const satisfies readonly (typeof FOR_ADMINS)[number]['key'][]

/** How the key of that digest begins. */
export const NOTICES_DIGEST = 'notices:'

/** Of the subscriptions of a person whose digests are one message. */
export const togetherKeys = (userId: string): string[] => TOGETHER.map((key) => `${key}:${userId}`)

/** One per owner and admin, so that each can stop their own. */
async function adminDefaults(
  directory: Directory,
  tx: Transaction,
  { orgId, pattern }: { orgId: string; pattern: string },
): Promise<DefaultSubscription[]> {
  const { key, ...how } = FOR_ADMINS.find((one) => one.pattern === pattern)!
  return (await directory.readAdmins(tx, orgId)).map(({ userId }) => ({
    orgId,
    userId,
    ...how,
    defaultKey: `${key}:${userId}`,
  }))
}

async function createOnce(
  tx: Transaction,
  clock: Clock,
  defaults: readonly DefaultSubscription[],
): Promise<void> {
  if (defaults.length === 0) return
  const createdAt = clock()
  const rows = defaults
    .map((one) => ({ ...one, id: makeId('sub', createdAt.getTime()) }))
    // The same order everywhere: two transactions with the same defaults do not wait for each other.
    .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const first = await tx
    .insert(defaultSubscriptions)
    .values(rows.map(({ orgId, defaultKey, id }) => ({ orgId, defaultKey, subscriptionId: id, createdAt })))
    .onConflictDoNothing()
    .returning({ id: defaultSubscriptions.subscriptionId })
  const created = new Set(first.map(({ id }) => id))
  const values = rows
    .filter(({ id }) => created.has(id))
    .map((row) => ({
      ...row,
      timing: row.timing ?? ('immediately' as const),
      ownOnly: row.ownOnly ?? false,
      enabled: true,
      createdAt,
      createdBy: null,
    }))
  if (values.length > 0) await tx.insert(subscriptions).values(values)
}

const nameOf = ({ orgId, defaultKey }: DefaultSubscription): string => `${orgId} ${defaultKey}`
