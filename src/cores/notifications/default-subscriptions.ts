/**
 * Subscriptions that the platform makes by itself, each once and for all: the row in `default_seeds` is written first and
 * never deleted, so whoever took a default away is not given it again, and of two first events only one makes it.
 */
import type { Transaction } from '../../../db/connect.ts'
import { and, asc, eq, inArray } from '../../../db/drizzle.ts'
import { defaultSeeds, integrations, memberships, subscriptions } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { atLeast, ROLES } from '../../contracts/roles.ts'
import type { Clock } from '../needs.ts'

type Seed = {
  readonly orgId: string
  readonly seedKey: string
  readonly pattern: string
  readonly userId?: string
  readonly integrationId?: string
  readonly ownOnly?: boolean
}

/** contract, Events 3 (a): replies to one's own tickets, never to oneself for one's own replies. */
export async function seedTicketReporter(
  tx: Transaction,
  clock: Clock,
  { orgId, userId }: { orgId: string; userId: string },
): Promise<void> {
  const [member] = await tx
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
  if (!member) return
  await seedOnce(tx, clock, [
    { orgId, userId, ownOnly: true, pattern: 'support.ticket.replied', seedKey: `ticket_reporter:${userId}` },
  ])
}

/** (b): `place` is the channel itself, so that connecting the same one again makes no second. */
export const seedChatTickets = (
  tx: Transaction,
  clock: Clock,
  { orgId, integrationId, place }: { orgId: string; integrationId: string; place: string },
): Promise<void> =>
  seedOnce(tx, clock, [
    { orgId, integrationId, pattern: 'support.ticket.created', seedKey: `chat_tickets:${place}` },
  ])

/** (c): on the first channel that was connected and works; with none nothing is made, and the next event asks again. */
export async function seedPipelines(tx: Transaction, clock: Clock, orgId: string): Promise<void> {
  const [channel] = await tx
    .select({ id: integrations.id })
    .from(integrations)
    .where(
      and(eq(integrations.orgId, orgId), eq(integrations.kind, 'chat'), eq(integrations.state, 'active')),
    )
    .orderBy(asc(integrations.id))
    .limit(1)
  if (!channel) return
  await seedOnce(tx, clock, [
    { orgId, integrationId: channel.id, pattern: 'pipeline.run.*', seedKey: 'pipeline' },
  ])
}

const TOLD_OF_VISITS = ROLES.filter((role) => atLeast(role, 'admin'))

/** (d): each owner and admin by a mail of their own, so that one who has enough of them stops only theirs. */
export async function seedSupportAccess(tx: Transaction, clock: Clock, orgId: string): Promise<void> {
  const people = await tx
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), inArray(memberships.role, [...TOLD_OF_VISITS])))
  await seedOnce(
    tx,
    clock,
    people.map(({ userId }) => ({
      orgId,
      userId,
      pattern: 'org.support_access.*',
      seedKey: `support_access:${userId}`,
    })),
  )
}

async function seedOnce(tx: Transaction, clock: Clock, seeds: readonly Seed[]): Promise<void> {
  if (seeds.length === 0) return
  const createdAt = clock()
  const made = seeds
    .map((seed) => ({ seed, id: makeId('sub', createdAt.getTime()) }))
    // The same order everywhere: two that seed the same people do not wait for each other.
    .toSorted((a, b) => (a.seed.seedKey < b.seed.seedKey ? -1 : 1))
  const first = await tx
    .insert(defaultSeeds)
    .values(
      made.map(({ seed: { orgId, seedKey }, id }) => ({ orgId, seedKey, subscriptionId: id, createdAt })),
    )
    .onConflictDoNothing()
    .returning({ id: defaultSeeds.subscriptionId })
  const ours = new Set(first.map(({ id }) => id))
  const rows = made.filter(({ id }) => ours.has(id))
  if (rows.length === 0) return
  await tx.insert(subscriptions).values(
    rows.map(({ seed, id }) => ({
      ...seed,
      id,
      timing: 'immediately' as const,
      ownOnly: seed.ownOnly ?? false,
      enabled: true,
      createdAt,
      createdBy: null,
    })),
  )
}
