/** The rows of connections: shown, found, changed, and brought back. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, count, eq, sql } from '../../../db/drizzle.ts'
import { integrations, subscriptions } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { IntegrationKind } from '../../contracts/integrations.ts'
import { CONNECTIONS_MAX } from '../../contracts/limits.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import type { Storage } from '../needs.ts'
import type { ConnectionChecks } from './channel.ts'

export type Connection = typeof integrations.$inferSelect
export type ConnectionNeeds = Storage & { readonly dataKeys: DataKeys; readonly checks: ConnectionChecks }

const at = (row: Pick<Connection, 'orgId' | 'id'>) =>
  and(eq(integrations.orgId, row.orgId), eq(integrations.id, row.id))

export const presentConnection = (row: Connection, subscribed: number) => ({
  id: row.id,
  kind: row.kind,
  name: row.name,
  state: row.state,
  address: textOf(row, 'address') ?? '…',
  workspace: textOf(row, 'workspace'),
  channel: textOf(row, 'channel'),
  category: categoryOf(row),
  resend_on_unknown: row.config['resend_on_unknown'] === true,
  subscriptions: subscribed,
  failing_since: row.failingSince?.toISOString() ?? null,
  last_success_at: row.lastSuccessAt?.toISOString() ?? null,
  created_at: row.createdAt.toISOString(),
})

function textOf({ config }: Connection, name: string): string | null {
  const value = config[name]
  return typeof value === 'string' ? value : null
}

export function categoryOf({ config }: Connection): number | null {
  const { category } = config
  return typeof category === 'number' ? category : null
}

export async function presented(db: Handle, row: Connection) {
  return presentConnection(row, (await subscribedTo(db, row.orgId, row.id)).get(row.id) ?? 0)
}

export async function subscribedTo(
  db: Handle,
  orgId: string,
  integrationId?: string,
): Promise<ReadonlyMap<string | null, number>> {
  const rows = await db
    .select({ id: subscriptions.integrationId, n: count() })
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.orgId, orgId),
        integrationId === undefined ? undefined : eq(subscriptions.integrationId, integrationId),
      ),
    )
    .groupBy(subscriptions.integrationId)
  return new Map(rows.map(({ id, n }) => [id, n]))
}

/** Held until the transaction ends: what is decided about a connection is decided by one at a time. */
export async function lockConnection(tx: Transaction, orgId: string, id: string): Promise<Connection> {
  const [row] = await tx.select().from(integrations).where(at({ orgId, id })).for('update')
  if (!row) throw notFound()
  return row
}

/** Whoever connects counts and looks for the same address alone. */
export async function lockConnecting(tx: Transaction, orgId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`connections of ${orgId}`}, 0))`)
}

export async function requireRoom(tx: Transaction, orgId: string): Promise<void> {
  const [found] = await tx.select({ n: count() }).from(integrations).where(eq(integrations.orgId, orgId))
  if (found!.n < CONNECTIONS_MAX) return
  throw new ServiceError('CONFLICT', `An organization may have at most ${CONNECTIONS_MAX} connections`, {
    hint: 'Remove one that is not used any more.',
  })
}

export async function findByDigest(
  tx: Transaction,
  { orgId, kind, digest }: { orgId: string; kind: IntegrationKind; digest: string },
): Promise<Connection | undefined> {
  const [row] = await tx
    .select()
    .from(integrations)
    .where(and(eq(integrations.orgId, orgId), eq(integrations.kind, kind), eq(integrations.digest, digest)))
    .for('update')
  return row
}

export async function changeConnection(
  tx: Transaction,
  row: Connection,
  to: Partial<typeof integrations.$inferInsert>,
): Promise<Connection> {
  const [changed] = await tx.update(integrations).set(to).where(at(row)).returning()
  return changed!
}

/** It works again: what its loss had switched off goes on; what a person paused stays paused. */
export async function bringBack(tx: Transaction, row: Pick<Connection, 'orgId' | 'id'>): Promise<void> {
  await tx
    .update(subscriptions)
    .set({ enabled: true, disabledReason: null })
    .where(
      and(
        eq(subscriptions.orgId, row.orgId),
        eq(subscriptions.integrationId, row.id),
        eq(subscriptions.disabledReason, 'connection_lost'),
      ),
    )
}

/** The address itself is never said back: it is the secret. */
export async function requireAllowed(checks: ConnectionChecks, url: string): Promise<void> {
  if (await checks.isAllowed(url)) return
  throw new ServiceError('INVALID_REQUEST', 'This address cannot be sent to', {
    problems: [
      'url: must be an https address that leads to a public network, without a name or password in it',
    ],
  })
}
