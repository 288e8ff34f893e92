/** What a failed attempt means beyond its message: an integration is stopped, a chat account marked, an address suppressed. */
import { and, eq, isNull, sql } from '../../../../db/drizzle.ts'
import { notify } from '../../../../db/listen.ts'
import { chatLinks, emailSuppressions, integrations, subscriptions } from '../../../../db/schema.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import { ENDPOINT_DEAD_DAYS } from '../../../contracts/limits.ts'
import { withTransaction } from '../../transaction.ts'
import { notAhead } from '../../work/index.ts'
import type { DriverDeps } from '../channels/channel-driver.ts'
import { UNVERIFIED } from '../integrations/address-verification.ts'
import { integrationKey } from '../integrations/integration-rows.ts'
import { recordStopped } from '../integrations/record-stopped.ts'
import type { AttemptResult } from './attempts.ts'
import type { PreparedMessage } from './prepare-messages.ts'
import { recordFailureNotices } from './record-failure-notices.ts'

type Failed = { readonly message: PreparedMessage; readonly result: AttemptResult }

/** After the results are written: rare, and nothing of it decides whether something is sent twice. */
export async function handleFailedAttempts(deps: DriverDeps, failed: readonly Failed[]): Promise<void> {
  // Once for each, however many messages were in the POST.
  for (const stop of new Map(
    failed.flatMap(stopFor).map((one) => [Object.values(one).join(' '), one]),
  ).values()) {
    await stopIntegration(deps, stop)
  }
  for (const { message, result } of failed) {
    if (result.reason === 'chat_account_inactive') await markInactive(deps, message)
    if (result.reason === 'address_suppressed') await suppressAddress(deps, message)
  }
  const integrationsOf = failed.flatMap(({ message: { orgId, integrationId } }) =>
    integrationId === null ? [] : [[`${orgId} ${integrationId}`, { orgId, integrationId }] as const],
  )
  await recordFailureNotices(
    deps,
    failed.map(({ result }) => result),
  )
  const failing = [...new Map(integrationsOf).values()]
  for (const dead of failing.length > 0 ? await findDead(deps, failing) : []) {
    await stopIntegration(deps, { ...dead, state: 'dead' })
  }
}

type IntegrationKey = { readonly orgId: string; readonly integrationId: string }

/** The first failure was days ago, the last one is now, and between them nothing arrived. */
async function findDead(
  { db, clock }: DriverDeps,
  failing: readonly IntegrationKey[],
): Promise<readonly Omit<Stop, 'state'>[]> {
  return db.execute<Omit<Stop, 'state'>>(sql`
    select f."orgId", f."integrationId", dead.sealed
    from json_to_recordset(${JSON.stringify(failing)}::text::json) as f("orgId" text, "integrationId" text)
    cross join lateral (
      select sealed from integrations
      where org_id = f."orgId" and id = f."integrationId" and state = 'active'
        and failing_since <= ${notAhead(clock())} - make_interval(hours => ${24 * ENDPOINT_DEAD_DAYS}::int)
      limit 1
    ) dead`)
}

const STOPPED = {
  gone: 'endpoint_gone',
  lost: 'integration_lost',
  dead: 'endpoint_dead',
  // The mailbox does not exist any more: whoever has it next must confirm it anew.
  unverified: 'address_suppressed',
} as const satisfies Record<string, DeliveryReason>
const STATES = Object.keys(STOPPED) as (keyof typeof STOPPED)[]

type Stop = IntegrationKey & {
  readonly state: keyof typeof STOPPED
  /** What it was reached with when it failed. */
  readonly sealed: string
}

function stopFor({ message, result }: Failed): Stop[] {
  const { orgId, sealed } = message
  const integrationId = message.integrationId ?? message.workspaceId
  const state = STATES.find((one) => STOPPED[one] === result.reason)
  return state && integrationId !== null && sealed !== null ? [{ orgId, integrationId, state, sealed }] : []
}

/**
 * Unless it is reached with something else by now. Owners and admins learn of it as of everything else: by an event, which
 * goes through the queue.
 */
async function stopIntegration(
  deps: DriverDeps,
  { orgId, integrationId, state, sealed }: Stop,
): Promise<void> {
  const { db, clock } = deps
  const reason = STOPPED[state]
  const isStopped = await withTransaction(db, async (tx) => {
    const [stopped] = await tx
      .update(integrations)
      .set({ state, ...(state === 'unverified' && UNVERIFIED) })
      .where(
        and(
          integrationKey({ orgId, id: integrationId }),
          eq(integrations.state, 'active'),
          eq(integrations.sealed, sealed),
        ),
      )
      .returning({ kind: integrations.kind })
    if (!stopped) return false
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
    await recordStopped(tx, clock, { orgId, id: integrationId, kind: stopped.kind, reason })
    return true
  })
  // Where it was stopped before, each of them is dropped when it is its turn.
  if (isStopped) await dropQueuedMessages(deps, { orgId, target: integrationId, reason })
}

/** In one statement, so that its transaction stays short. */
const BATCH = 10_000

/** Everything that is queued for a target that was stopped. */
async function dropQueuedMessages(
  { db, clock }: DriverDeps,
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
    if (batch!.n > 0) await notify(db, 'attempts', orgId)
    if (batch!.n < BATCH) return
  }
}

/** What they follow is kept: linking again resumes it. */
async function markInactive({ db, clock }: DriverDeps, { orgId, userId }: PreparedMessage): Promise<void> {
  if (userId === null) return
  await db
    .update(chatLinks)
    .set({ inactiveAt: clock() })
    .where(and(eq(chatLinks.orgId, orgId), eq(chatLinks.userId, userId), isNull(chatLinks.inactiveAt)))
}

/** By its digest: a list of addresses that do not work is still a list of addresses. */
async function suppressAddress(
  { db, clock }: DriverDeps,
  { userId, emailDigest }: PreparedMessage,
): Promise<void> {
  if (userId === null || emailDigest === null) return
  await db
    .insert(emailSuppressions)
    .values({ emailDigest, reason: 'bounce', createdAt: clock() })
    .onConflictDoNothing()
}
