/** Removes an organization: what both who may do it have in common. */
import type { Transaction } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { checks, integrations, pipelines, receipts, trailStreams } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Principal } from '../../contracts/operation.ts'
import { RECEIPT_WAIT_SECONDS } from '../../contracts/receipts.ts'
import type { Clock, Storage } from '../dependencies.ts'
import { endAllMemberships, lockOrganization } from '../organizations/index.ts'
import { recordAudit } from '../record-audit.ts'
import { endingsIn } from '../record-ending.ts'
import { waitUntil } from '../work/index.ts'
import { endOrganization } from './end-organization.ts'
import { readRemains } from './read-remains.ts'
import { presentReceipt } from './receipt-rows.ts'

export async function endAndRemove(
  tx: Transaction,
  clock: Clock,
  principal: Principal,
  { orgId, confirm }: { readonly orgId: string; readonly confirm: string },
): Promise<string> {
  const organization = await lockOrganization(tx, orgId)
  if (!organization) throw notFound()
  if (confirm !== organization.name)
    throw new ServiceError('INVALID_REQUEST', 'The name and its confirmation differ', {
      hint: 'Send the name of the organization as confirm: everything in it is deleted.',
    })
  // A session is its person's, and opens their other organizations.
  await endOrganization(tx, clock, orgId, { sessionId: principal.sessionId }, 'leave')
  await endAllMemberships(tx, clock, organization)
  // What acts by itself stops with it; everything else is deleted afterwards.
  for (const table of [trailStreams, integrations, checks, pipelines])
    await tx.delete(table).where(eq(table.orgId, orgId))
  const now = clock()
  const rows = endingsIn(tx)
  const byKind = Map.groupBy(rows, ({ kind }) => kind)
  const id = makeId('rct', now.getTime())
  await tx.insert(receipts).values({
    id,
    orgId,
    ofKind: 'organization',
    ofId: orgId,
    ofName: organization.name,
    byId: principal.userId,
    byName: principal.userName,
    isRehearsal: false,
    beganAt: now,
    ended: Object.fromEntries([...byKind].map(([kind, { length }]) => [kind, length])),
    // Managed databases are dropped later: until then a connection string that was read works.
    remains: await readRemains(tx, orgId, null),
    whose: [...new Set([orgId, ...rows.map((row) => row.id)])],
  })
  await recordAudit(tx, clock, principal, {
    orgId,
    action: 'organization.removed',
    subject: organization.name,
  })
  await notify(tx, 'endings')
  return id
}

/** Nobody is a member who could ask for it later, so it is waited for. */
export async function finalReceipt({ db }: Storage, id: string, signal: AbortSignal | undefined) {
  const find = async () => (await db.select().from(receipts).where(eq(receipts.id, id)))[0]!
  await waitUntil(
    db,
    { topic: 'endings', key: id },
    { seconds: RECEIPT_WAIT_SECONDS, signal },
    async () => (await find()).finalAt !== null,
  )
  return presentReceipt(db, await find())
}
