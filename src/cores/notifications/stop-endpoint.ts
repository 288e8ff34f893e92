/** What an answer means for the connection itself: gone for good, lost, or dead for days. Its owners are told. */
import { and, eq, inArray, isNull, lte } from '../../../db/drizzle.ts'
import {
  chatLinks,
  integrations,
  memberships,
  subscriptions,
  suppressions,
  users,
} from '../../../db/schema.ts'
import type { SendReason } from '../../contracts/deliveries.ts'
import { makeId } from '../../contracts/ids.ts'
import type { IntegrationKind, IntegrationState } from '../../contracts/integrations.ts'
import { ENDPOINT_DEAD_DAYS } from '../../contracts/limits.ts'
import { atLeast, ROLES } from '../../contracts/roles.ts'
import type { Mail } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { dropQueued } from './drop.ts'
import { tellAll } from './inbox.ts'
import type { Settled } from './outcomes.ts'
import { mailDigest, type ReadySend, type SendNeeds } from './prepare-sends.ts'

export type AftermathNeeds = SendNeeds & Mail

type Stopped = 'gone' | 'lost' | 'dead'
const BECAUSE = {
  gone: 'endpoint_gone',
  lost: 'connection_lost',
  dead: 'endpoint_dead',
} as const satisfies Record<Stopped, SendReason> & Partial<Record<IntegrationState, SendReason>>

/** After the outcomes are written: rare, and nothing of it decides whether something is sent twice. */
export async function followUp(
  needs: AftermathNeeds,
  results: readonly { readonly send: ReadySend; readonly settled: Settled }[],
): Promise<void> {
  const failed = results.filter(({ settled }) => settled.outcome === 'failed')
  for (const { send, settled } of failed) {
    const integrationId = send.integrationId ?? send.workspaceId
    const { orgId } = send
    if (settled.reason === 'endpoint_gone' && integrationId !== null) {
      await stopConnection(needs, { orgId, integrationId, state: 'gone' })
    }
    if (settled.reason === 'connection_lost' && integrationId !== null) {
      await stopConnection(needs, { orgId, integrationId, state: 'lost' })
    }
    if (settled.reason === 'chat_account_inactive') await markInactive(needs, send)
    if (settled.reason === 'address_suppressed') await suppressAddress(needs, send)
  }
  for (const { orgId, integrationId } of uniqueConnections(failed.map(({ send }) => send))) {
    if (await isDead(needs, orgId, integrationId)) {
      await stopConnection(needs, { orgId, integrationId, state: 'dead' })
    }
  }
}

function uniqueConnections(sends: readonly ReadySend[]): { orgId: string; integrationId: string }[] {
  const found = new Map<string, { orgId: string; integrationId: string }>()
  for (const { orgId, integrationId } of sends) {
    if (integrationId !== null) found.set(`${orgId} ${integrationId}`, { orgId, integrationId })
  }
  return [...found.values()]
}

/** The first failure was days ago, this one is now, and between them nothing arrived. */
async function isDead({ db, clock }: AftermathNeeds, orgId: string, integrationId: string): Promise<boolean> {
  const longAgo = new Date(clock().getTime() - ENDPOINT_DEAD_DAYS * 24 * 60 * 60 * 1000)
  const [row] = await db
    .select({ id: integrations.id })
    .from(integrations)
    .where(
      and(
        eq(integrations.orgId, orgId),
        eq(integrations.id, integrationId),
        eq(integrations.state, 'active'),
        lte(integrations.failingSince, longAgo),
      ),
    )
  return row !== undefined
}

async function stopConnection(
  needs: AftermathNeeds,
  { orgId, integrationId, state }: { orgId: string; integrationId: string; state: Stopped },
): Promise<void> {
  const { db, clock } = needs
  const told = await withTransaction(db, async (tx) => {
    const [stopped] = await tx
      .update(integrations)
      .set({ state })
      .where(
        and(
          eq(integrations.orgId, orgId),
          eq(integrations.id, integrationId),
          eq(integrations.state, 'active'),
        ),
      )
      .returning({ kind: integrations.kind })
    if (!stopped) return undefined
    // Only this reason is ever lifted by the platform, when the connection comes back.
    if (state === 'lost') {
      await tx
        .update(subscriptions)
        .set({ enabled: false, disabledReason: 'connection_lost' })
        .where(
          and(
            eq(subscriptions.orgId, orgId),
            eq(subscriptions.integrationId, integrationId),
            eq(subscriptions.enabled, true),
          ),
        )
    }
    const people = await tx
      .select({ userId: memberships.userId, email: users.email, verifiedAt: users.emailVerifiedAt })
      .from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId))
      .where(
        and(
          eq(memberships.orgId, orgId),
          inArray(
            memberships.role,
            ROLES.filter((role) => atLeast(role, 'admin')),
          ),
        ),
      )
    const summary = summaryOf(stopped.kind, state)
    const url = new URL('/console/integrations', needs.appUrl).href
    const ids = people.map(({ userId }) => userId)
    await tellAll(tx, clock, ids, {
      orgId,
      // Not one of the events that can be subscribed to: whoever runs the connection is told, whatever they follow.
      eventId: makeId('evt', clock().getTime()),
      type: 'svc.connection.stopped',
      subject: `integrations/${integrationId}`,
      summary,
      url,
    })
    return { people, summary, url }
  })
  await dropQueued(needs, { orgId, target: integrationId, reason: BECAUSE[state] })
  if (told) await mailOwners(needs, told)
}

const WHY: Record<Stopped, string> = {
  gone: 'its receiver answered that the address is gone for good',
  lost: 'the chat service does not know it any more',
  dead: `it failed for ${ENDPOINT_DEAD_DAYS} days`,
}
const NAMES: Record<IntegrationKind, string> = {
  webhook: 'a webhook',
  chat: 'a chat channel',
  forum: 'the forum',
}

const summaryOf = (kind: IntegrationKind, state: Stopped): string =>
  `Sending to ${NAMES[kind]} was stopped: ${WHY[state]}`

/** Beside the inbox, where it stands already: a mail that fails is not tried again. */
async function mailOwners(
  { mail, log }: AftermathNeeds,
  {
    people,
    summary,
    url,
  }: { people: readonly { email: string; verifiedAt: Date | null }[]; summary: string; url: string },
): Promise<void> {
  if (mail === null) return
  for (const { email, verifiedAt } of people) {
    if (verifiedAt === null) continue
    await mail({ to: email, subject: summary, text: `${summary}.\n\n${url}\n` }).catch((error: unknown) =>
      log.warn('mail about a stopped connection failed', { error }),
    )
  }
}

/** What they follow is kept: linking again mends it. */
async function markInactive({ db, clock }: AftermathNeeds, { orgId, userId }: ReadySend): Promise<void> {
  if (userId === null) return
  await db
    .update(chatLinks)
    .set({ inactiveAt: clock() })
    .where(and(eq(chatLinks.orgId, orgId), eq(chatLinks.userId, userId), isNull(chatLinks.inactiveAt)))
}

/** By its digest: a list of addresses that do not work is still a list of addresses. */
async function suppressAddress(needs: AftermathNeeds, { userId }: ReadySend): Promise<void> {
  const [person] = await needs.db
    .select({ email: users.email })
    .from(users)
    .where(eq(users.id, userId ?? ''))
  if (!person) return
  await needs.db
    .insert(suppressions)
    .values({ emailDigest: mailDigest(needs, person.email), reason: 'bounce', createdAt: needs.clock() })
    .onConflictDoNothing()
}
