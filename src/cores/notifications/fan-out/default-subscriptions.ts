/**
 * Subscriptions that the platform creates by itself, each once and for all: the row in `default_subscriptions` is written
 * first and never deleted, so a deleted default is not created again, and of two first events only one creates it.
 */
import type { Transaction } from '../../../../db/connect.ts'
import { and, asc, eq } from '../../../../db/drizzle.ts'
import { defaultSubscriptions, integrations, subscriptions } from '../../../../db/schema.ts'
import { makeId } from '../../../contracts/ids.ts'
import type { Clock, Storage } from '../../dependencies.ts'
import type { Directory, MemberKey, WithDirectory } from '../../directory/index.ts'

type DefaultSubscription = {
  readonly orgId: string
  readonly defaultKey: string
  readonly pattern: string
  readonly userId?: string
  readonly integrationId?: string
  readonly ownOnly?: boolean
}

type NewEvent = {
  readonly orgId: string
  readonly type: string
  readonly concernsId: string | null
  readonly actorId: string | null
}

/** Those that come with the first event of their kind, and are notified of it already. */
export async function createDefaultsFor(
  { clock, directory }: Pick<Storage, 'clock'> & WithDirectory,
  tx: Transaction,
  event: NewEvent,
): Promise<void> {
  const { orgId, type, concernsId, actorId } = event
  if (type === 'support.ticket.replied' && concernsId !== null && concernsId !== actorId) {
    await createTicketReporterDefault(directory, tx, clock, { orgId, userId: concernsId })
  }
  if (type.startsWith('pipeline.run.')) await createPipelineDefault(tx, clock, orgId)
  for (const topic of ADMIN_TOPICS) {
    if (type.startsWith(`org.${topic}.`)) await createAdminDefaults(directory, tx, clock, orgId, topic)
  }
}

/** interface.md, Events 3 (a): replies to one's own tickets, never for one's own replies. */
async function createTicketReporterDefault(
  directory: Directory,
  tx: Transaction,
  clock: Clock,
  { orgId, userId }: MemberKey,
): Promise<void> {
  if ((await directory.readMembers(tx, [{ orgId, userId }])).size === 0) return
  const defaultKey = `ticket_reporter:${userId}`
  await createOnce(tx, clock, [
    { orgId, userId, ownOnly: true, pattern: 'support.ticket.replied', defaultKey },
  ])
}

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
async function createPipelineDefault(tx: Transaction, clock: Clock, orgId: string): Promise<void> {
  const [channel] = await tx
    .select({ id: integrations.id })
    .from(integrations)
    .where(
      and(eq(integrations.orgId, orgId), eq(integrations.kind, 'chat'), eq(integrations.state, 'active')),
    )
    .orderBy(asc(integrations.id))
    .limit(1)
  if (!channel) return
  await createOnce(tx, clock, [
    { orgId, integrationId: channel.id, pattern: 'pipeline.run.*', defaultKey: 'pipeline' },
  ])
}

/** Of which owners and admins are told unless they stop it. */
const ADMIN_TOPICS = ['support_access', 'disk_quota'] as const

/** (d): one per owner and admin, so that each can stop their own. */
async function createAdminDefaults(
  directory: Directory,
  tx: Transaction,
  clock: Clock,
  orgId: string,
  topic: (typeof ADMIN_TOPICS)[number],
): Promise<void> {
  const pattern = `org.${topic}.*`
  const defaults = (await directory.readAdmins(tx, orgId)).map(({ userId }) => ({
    orgId,
    userId,
    pattern,
    defaultKey: `${topic}:${userId}`,
  }))
  await createOnce(tx, clock, defaults)
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
    .toSorted((a, b) => (a.defaultKey < b.defaultKey ? -1 : 1))
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
      timing: 'immediately' as const,
      ownOnly: row.ownOnly ?? false,
      enabled: true,
      createdAt,
      createdBy: null,
    }))
  if (values.length > 0) await tx.insert(subscriptions).values(values)
}
