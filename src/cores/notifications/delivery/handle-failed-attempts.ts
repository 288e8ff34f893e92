/** What a failed attempt means beyond its message: an integration is stopped, a chat account marked, an address suppressed. */
import { and, eq, isNull, lte, sql } from '../../../../db/drizzle.ts'
import { chatLinks, emailSuppressions, integrations, subscriptions } from '../../../../db/schema.ts'
import { CHANNELS } from '../../../contracts/channels.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import { makeId } from '../../../contracts/ids.ts'
import { ENDPOINT_DEAD_DAYS } from '../../../contracts/limits.ts'
import type { Mail } from '../../dependencies.ts'
import type { Member } from '../../directory/index.ts'
import { withTransaction } from '../../transaction.ts'
import type { DriverDeps } from '../channels/channel-driver.ts'
import { emailDigest } from '../channels/email.ts'
import { integrationKey } from '../integrations/integration-rows.ts'
import { addNotifications } from '../inbox/add-notifications.ts'
import type { AttemptResult } from './attempts.ts'
import type { PreparedMessage } from './prepare-messages.ts'

export type FailureDeps = DriverDeps & Mail

/** After the results are written: rare, and nothing of it decides whether something is sent twice. */
export async function handleFailedAttempts(
  deps: FailureDeps,
  failed: readonly { readonly message: PreparedMessage; readonly result: AttemptResult }[],
): Promise<void> {
  for (const { message, result } of failed) {
    const { orgId } = message
    const integrationId = message.integrationId ?? message.workspaceId
    const state =
      result.reason === 'endpoint_gone' ? 'gone' : result.reason === 'integration_lost' ? 'lost' : undefined
    if (state && integrationId !== null) await stopIntegration(deps, { orgId, integrationId, state })
    if (result.reason === 'chat_account_inactive') await markInactive(deps, message)
    if (result.reason === 'address_suppressed') await suppressAddress(deps, message)
  }
  const integrationsOf = failed.flatMap(({ message: { orgId, integrationId } }) =>
    integrationId === null ? [] : [[`${orgId} ${integrationId}`, { orgId, integrationId }] as const],
  )
  for (const { orgId, integrationId } of new Map(integrationsOf).values()) {
    if (await isDead(deps, orgId, integrationId)) {
      await stopIntegration(deps, { orgId, integrationId, state: 'dead' })
    }
  }
}

/** The first failure was days ago, this one is now, and between them nothing arrived. */
async function isDead({ db, clock }: FailureDeps, orgId: string, integrationId: string): Promise<boolean> {
  const longAgo = new Date(clock().getTime() - ENDPOINT_DEAD_DAYS * 24 * 60 * 60 * 1000)
  const [row] = await db
    .select({ id: integrations.id })
    .from(integrations)
    .where(
      and(
        integrationKey({ orgId, id: integrationId }),
        eq(integrations.state, 'active'),
        lte(integrations.failingSince, longAgo),
      ),
    )
  return row !== undefined
}

const STOPPED = {
  gone: { reason: 'endpoint_gone', because: 'the receiver answered that the address is gone' },
  lost: { reason: 'integration_lost', because: 'the chat service no longer accepts messages for it' },
  dead: { reason: 'endpoint_dead', because: `it failed for ${ENDPOINT_DEAD_DAYS} days` },
} as const satisfies Record<string, { reason: DeliveryReason; because: string }>

type Stop = {
  readonly orgId: string
  readonly integrationId: string
  readonly state: keyof typeof STOPPED
}

async function stopIntegration(deps: FailureDeps, { orgId, integrationId, state }: Stop): Promise<void> {
  const { db, clock } = deps
  const notice = await withTransaction(db, async (tx) => {
    const [stopped] = await tx
      .update(integrations)
      .set({ state })
      .where(and(integrationKey({ orgId, id: integrationId }), eq(integrations.state, 'active')))
      .returning({ kind: integrations.kind })
    if (!stopped) return undefined
    // Only this reason is ever lifted by the platform, when the integration is connected again.
    if (state === 'lost') {
      await tx
        .update(subscriptions)
        .set({ enabled: false, disabledReason: 'integration_lost' })
        .where(
          and(
            eq(subscriptions.orgId, orgId),
            eq(subscriptions.integrationId, integrationId),
            eq(subscriptions.enabled, true),
          ),
        )
    }
    const admins = await deps.directory.readAdmins(tx, orgId)
    const summary = `${CHANNELS[stopped.kind].label} stopped: ${STOPPED[state].because}`
    const url = new URL('/console/integrations', deps.appUrl).href
    const ids = admins.map(({ userId }) => userId)
    await addNotifications(tx, clock, ids, {
      orgId,
      // Not an event that can be subscribed to: owners and admins are notified, whatever they follow.
      eventId: makeId('evt', clock().getTime()),
      type: 'svc.integration.stopped',
      subject: `integrations/${integrationId}`,
      summary,
      url,
    })
    return { admins, summary, url }
  })
  await dropQueuedMessages(deps, { orgId, target: integrationId, reason: STOPPED[state].reason })
  if (notice) await mailAdmins(deps, notice)
}

/** In one statement, so that its transaction stays short. */
const BATCH = 10_000

/** Everything that is queued for a target that was stopped. */
async function dropQueuedMessages(
  { db, clock }: FailureDeps,
  { orgId, target, reason }: { orgId: string; target: string; reason: DeliveryReason },
): Promise<void> {
  for (;;) {
    const [batch] = await db.execute<{ n: number }>(sql`
      with queued as (
        select id from messages
        where org_id = ${orgId} and target = ${target} and state in ('open', 'pending')
        limit ${sql.raw(String(BATCH))} for update skip locked
      ), ended as (
        update messages m set state = 'dropped' from queued q where m.org_id = ${orgId} and m.id = q.id
      ), dropped as (
        update deliveries v set state = 'dropped', reason = ${reason}, settled_at = ${clock().toISOString()}::timestamptz
        from queued q
        where v.org_id = ${orgId} and v.message_id = q.id and v.state in ('waiting', 'retrying')
      )
      select count(*)::int as n from queued`)
    if (batch!.n < BATCH) return
  }
}

/** Beside the inbox, where it stands already: a mail that fails is not sent again. */
async function mailAdmins(
  { mail, log }: FailureDeps,
  { admins, summary, url }: { admins: readonly Member[]; summary: string; url: string },
): Promise<void> {
  if (mail === null) return
  for (const { email, isCurrent } of admins) {
    if (email === null || !isCurrent) continue
    await mail({ to: email, subject: summary, text: `${summary}.\n\n${url}\n` }).catch((error: unknown) =>
      log.warn('mail about a stopped integration failed', { error }),
    )
  }
}

/** What they follow is kept: linking again resumes it. */
async function markInactive({ db, clock }: FailureDeps, { orgId, userId }: PreparedMessage): Promise<void> {
  if (userId === null) return
  await db
    .update(chatLinks)
    .set({ inactiveAt: clock() })
    .where(and(eq(chatLinks.orgId, orgId), eq(chatLinks.userId, userId), isNull(chatLinks.inactiveAt)))
}

/** By its digest: a list of addresses that do not work is still a list of addresses. */
async function suppressAddress(deps: FailureDeps, { orgId, userId }: PreparedMessage): Promise<void> {
  if (userId === null) return
  const email = (await deps.directory.readPeople(deps.db, [{ orgId, userId }])).get(userId)?.email
  if (email == null) return
  await deps.db
    .insert(emailSuppressions)
    .values({ emailDigest: emailDigest(deps, email), reason: 'bounce', createdAt: deps.clock() })
    .onConflictDoNothing()
}
