/** What a failed attempt means beyond its message: an integration is stopped, a chat account marked, an address suppressed. */
import { and, eq, isNull, sql } from '../../../../db/drizzle.ts'
import { chatLinks, emailSuppressions, integrations, subscriptions } from '../../../../db/schema.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import { ENDPOINT_DEAD_DAYS } from '../../../contracts/limits.ts'
import { withTransaction } from '../../transaction.ts'
import type { DriverDeps } from '../channels/channel-driver.ts'
import { UNVERIFIED } from '../integrations/address-verification.ts'
import { integrationKey } from '../integrations/integration-rows.ts'
import { emailDigest } from '../integrations/integration-secret.ts'
import { recordStopped } from '../integrations/record-stopped.ts'
import type { AttemptResult } from './attempts.ts'
import type { PreparedMessage } from './prepare-messages.ts'
import { recordFailureNotices } from './record-failure-notices.ts'

/** After the results are written: rare, and nothing of it decides whether something is sent twice. */
export async function handleFailedAttempts(
  deps: DriverDeps,
  failed: readonly { readonly message: PreparedMessage; readonly result: AttemptResult }[],
): Promise<void> {
  for (const { message, result } of failed) {
    const { orgId } = message
    const integrationId = message.integrationId ?? message.workspaceId
    const state = STATES.find((one) => STOPPED[one] === result.reason)
    if (state && integrationId !== null) await stopIntegration(deps, { orgId, integrationId, state })
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
): Promise<readonly IntegrationKey[]> {
  const longAgo = new Date(clock().getTime() - ENDPOINT_DEAD_DAYS * 24 * 60 * 60 * 1000)
  return db.execute<IntegrationKey>(sql`
    select f."orgId", f."integrationId"
    from json_to_recordset(${JSON.stringify(failing)}::text::json) as f("orgId" text, "integrationId" text)
    cross join lateral (
      select from integrations
      where org_id = f."orgId" and id = f."integrationId" and state = 'active'
        and failing_since <= ${longAgo.toISOString()}::timestamptz
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

type Stop = IntegrationKey & { readonly state: keyof typeof STOPPED }

/** Owners and admins learn of it as of everything else: by an event, which goes through the queue. */
async function stopIntegration(deps: DriverDeps, { orgId, integrationId, state }: Stop): Promise<void> {
  const { db, clock } = deps
  const reason = STOPPED[state]
  await withTransaction(db, async (tx) => {
    const [stopped] = await tx
      .update(integrations)
      .set({ state, ...(state === 'unverified' && UNVERIFIED) })
      .where(and(integrationKey({ orgId, id: integrationId }), eq(integrations.state, 'active')))
      .returning({ kind: integrations.kind })
    if (!stopped) return
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
  })
  await dropQueuedMessages(deps, { orgId, target: integrationId, reason })
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
async function suppressAddress(deps: DriverDeps, { orgId, userId }: PreparedMessage): Promise<void> {
  if (userId === null) return
  const email = (await deps.directory.readPeople(deps.db, [{ orgId, userId }])).get(userId)?.email
  if (email == null) return
  await deps.db
    .insert(emailSuppressions)
    .values({ emailDigest: emailDigest(deps.dataKeys, email), reason: 'bounce', createdAt: deps.clock() })
    .onConflictDoNothing()
}
