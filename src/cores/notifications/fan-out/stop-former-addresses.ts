/**
 * decisions, 11: when a member is removed, or leaves, email integrations to their verified addresses are turned off, and
 * owners and admins are told. By the event of the removal, because the auth service has no key to find the addresses by.
 */
import type { Transaction } from '../../../../db/connect.ts'
import { and, eq, inArray, ne } from '../../../../db/drizzle.ts'
import { integrations } from '../../../../db/schema.ts'
import type { DataKeys } from '../../../trust/data-key.ts'
import type { Clock } from '../../dependencies.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { releaseTarget } from '../delivery/hold-target.ts'
import { UNVERIFIED } from '../integrations/address-verification.ts'
import { digestOf, mailtoUrl } from '../integrations/integration-secret.ts'
import { recordStopped } from '../integrations/record-stopped.ts'
import type { EventRow } from './insert-deliveries.ts'

type Deps = WithDirectory & { readonly clock: Clock; readonly dataKeys: DataKeys }

/** In the transaction of the fan-out: once, whatever becomes of the worker. */
export async function stopFormerAddresses(
  { clock, dataKeys, directory }: Deps,
  tx: Transaction,
  batch: readonly EventRow[],
): Promise<void> {
  for (const { orgId, type, data } of batch) {
    const userId = data['user_id']
    if (type !== 'org.member.removed' || userId === undefined) continue
    const emails = await directory.readFormerEmails(tx, { orgId, userId })
    if (emails.length === 0) continue
    const digests = emails.map((email) => digestOf(dataKeys, mailtoUrl(email)))
    const theirs = and(
      eq(integrations.orgId, orgId),
      eq(integrations.kind, 'email'),
      inArray(integrations.digest, digests),
    )
    const stopped = await tx
      .update(integrations)
      .set({ state: 'off' })
      .where(and(theirs, ne(integrations.state, 'off')))
      .returning({ orgId: integrations.orgId, id: integrations.id, kind: integrations.kind })
    // Also of one that is off already: turned on, it would send to whoever left, and so would a link they still have.
    await tx.update(integrations).set(UNVERIFIED).where(theirs)
    for (const one of stopped) {
      // What waited while it was paused is dropped with the rest.
      await releaseTarget(tx, clock, one)
      await recordStopped(tx, clock, { ...one, reason: 'not_a_member' })
    }
  }
}
