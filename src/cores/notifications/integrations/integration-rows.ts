/** Rows of integrations: locked, found, changed and presented. */
import type { Handle, Transaction } from '../../../../db/connect.ts'
import { and, count, eq, sql } from '../../../../db/drizzle.ts'
import { integrations, subscriptions } from '../../../../db/schema.ts'
import { notFound, ServiceError } from '../../../contracts/errors.ts'
import { CHANNELS, type IntegrationKind } from '../../../contracts/channels.ts'
import type { IntegrationState } from '../../../contracts/integrations.ts'
import { makeId } from '../../../contracts/ids.ts'
import { INTEGRATIONS_MAX } from '../../../contracts/limits.ts'
import type { DataKeys } from '../../../trust/data-key.ts'
import type { Clock, Storage } from '../../dependencies.ts'
import type { MemberPrincipal } from '../../principal.ts'
import type { EndedRow } from '../../record-ending.ts'
import { recordNarrowing, recordWidening } from '../../right-versions.ts'
import { releaseTarget } from '../delivery/hold-target.ts'
import type { IntegrationChecks } from '../channels/channel-ports.ts'
import { digestOf, maskAddress, sealIntegrationSecret, type IntegrationSecret } from './integration-secret.ts'

export type IntegrationRow = typeof integrations.$inferSelect
export type IntegrationDeps = Storage & { readonly dataKeys: DataKeys; readonly checks: IntegrationChecks }

export const integrationKey = (row: Pick<IntegrationRow, 'orgId' | 'id'>) =>
  and(eq(integrations.orgId, row.orgId), eq(integrations.id, row.id))

export const presentIntegration = (row: IntegrationRow, subscriptionCount: number, waiting: number) => ({
  id: row.id,
  kind: row.kind,
  name: row.name,
  state: row.state,
  address: textOf(row, 'address') ?? '…',
  workspace: textOf(row, 'workspace'),
  channel: textOf(row, 'channel'),
  category: categoryOf(row),
  resend_on_unknown: row.config['resend_on_unknown'] === true,
  subscriptions: subscriptionCount,
  own_secret: row.config['own_secret'] === true,
  previous_secret_until: textOf(row, 'previous_secret_until'),
  waiting,
  failing_since: row.failingSince?.toISOString() ?? null,
  last_success_at: row.lastSuccessAt?.toISOString() ?? null,
  created_at: row.createdAt.toISOString(),
})

function textOf({ config }: IntegrationRow, name: string): string | null {
  const value = config[name]
  return typeof value === 'string' ? value : null
}

export function categoryOf({ config }: IntegrationRow): number | null {
  const { category } = config
  return typeof category === 'number' ? category : null
}

export async function presentWithCount(db: Handle, row: IntegrationRow) {
  const [subscribed, waiting] = [
    await countSubscriptions(db, row.orgId, row.id),
    await countWaiting(db, row.orgId, [row]),
  ]
  return presentIntegration(row, subscribed.get(row.id) ?? 0, waiting.get(row.id) ?? 0)
}

/** Of those that are paused: deliveries that wait for them. */
export async function countWaiting(
  db: Handle,
  orgId: string,
  rows: readonly IntegrationRow[],
): Promise<ReadonlyMap<string, number>> {
  const paused = rows.filter(({ state }) => state === 'paused').map(({ id, kind }) => ({ id, kind }))
  if (paused.length === 0) return new Map()
  const counts = await db.execute<{ id: string; n: number }>(sql`
    select i.id, count(*)::int as n
    from json_to_recordset(${JSON.stringify(paused)}::text::json) as i(id text, kind text)
    join messages m on m.org_id = ${orgId} and m.channel = i.kind and m.target = i.id and m.state in ('open', 'pending')
    join deliveries d on d.org_id = m.org_id and d.message_id = m.id and d.state in ('waiting', 'retrying')
    group by i.id`)
  return new Map(counts.map(({ id, n }) => [id, n]))
}

export async function countSubscriptions(
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

/** Until the transaction ends: changes to an integration are made one at a time. */
export async function lockIntegration(tx: Transaction, orgId: string, id: string): Promise<IntegrationRow> {
  const [row] = await tx.select().from(integrations).where(integrationKey({ orgId, id })).for('update')
  if (!row) throw notFound()
  return row
}

/** Counting integrations and looking for the same address is done by one at a time. */
export async function lockIntegrations(tx: Transaction, orgId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`integrations of ${orgId}`}, 0))`)
}

type NewIntegration = Pick<typeof integrations.$inferInsert, 'kind' | 'name' | 'teamId'> & {
  readonly secret: IntegrationSecret
  readonly config?: IntegrationRow['config']
}

export async function insertIntegration(
  tx: Transaction,
  { clock, dataKeys }: IntegrationDeps,
  { orgId, userId }: MemberPrincipal,
  { secret, config, ...row }: NewIntegration,
): Promise<IntegrationRow> {
  await requireBelowLimit(tx, orgId)
  const createdAt = clock()
  const id = makeId('int', createdAt.getTime())
  const columns = connectedColumns(dataKeys, { orgId, id, kind: row.kind }, secret, config)
  const [inserted] = await tx
    .insert(integrations)
    .values({ ...row, ...columns, orgId, id, createdAt, createdBy: userId })
    .returning()
  return inserted!
}

async function requireBelowLimit(tx: Transaction, orgId: string): Promise<void> {
  if ((await tx.$count(integrations, eq(integrations.orgId, orgId))) < INTEGRATIONS_MAX) return
  throw new ServiceError('CONFLICT', `An organization may have at most ${INTEGRATIONS_MAX} integrations`, {
    hint: 'Remove one that is no longer used.',
  })
}

/** Connected again, with another secret: it keeps its id, its name and its subscriptions. */
export async function reconnectIntegration(
  tx: Transaction,
  { dataKeys }: IntegrationDeps,
  row: IntegrationRow,
  { secret, config }: Pick<NewIntegration, 'secret' | 'config'>,
): Promise<IntegrationRow> {
  await resumeSubscriptions(tx, row)
  return updateIntegrationRow(tx, row, connectedColumns(dataKeys, row, secret, config))
}

/** An address that must be confirmed begins, and begins again, unverified. */
export const isVerified = ({ kind, verifiedAt }: Pick<IntegrationRow, 'kind' | 'verifiedAt'>): boolean =>
  !CHANNELS[kind].verifiesAddress || verifiedAt !== null

/** What it is when nobody has turned it off and nothing is wrong with it. */
export const workingState = (row: Pick<IntegrationRow, 'kind' | 'verifiedAt'>): IntegrationState =>
  isVerified(row) ? 'active' : 'unverified'

const connectedColumns = (
  dataKeys: DataKeys,
  key: {
    readonly orgId: string
    readonly id: string
    readonly kind: IntegrationKind
    readonly state?: IntegrationState
  },
  secret: IntegrationSecret,
  config: IntegrationRow['config'] = {},
) => ({
  state: key.state === 'paused' ? key.state : workingState({ ...key, verifiedAt: null }),
  config: { ...config, address: maskAddress(secret.url) },
  sealed: sealIntegrationSecret(dataKeys, key, secret),
  digest: digestOf(dataKeys, secret.url),
  failingSince: null,
})

export async function findByDigest(
  tx: Transaction,
  { orgId, kind, digest }: { orgId: string; kind: IntegrationKind; digest: string },
): Promise<IntegrationRow | undefined> {
  const [row] = await tx
    .select()
    .from(integrations)
    .where(and(eq(integrations.orgId, orgId), eq(integrations.kind, kind), eq(integrations.digest, digest)))
    .for('update')
  return row
}

export async function updateIntegrationRow(
  tx: Transaction,
  row: IntegrationRow,
  to: Partial<typeof integrations.$inferInsert>,
): Promise<IntegrationRow> {
  const [changed] = await tx.update(integrations).set(to).where(integrationKey(row)).returning()
  if (row.state !== 'off' && changed!.state === 'off') await recordTurnedOff(tx, row)
  if (row.state === 'off' && changed!.state !== 'off') await recordWidening(tx, 'integration', row)
  return changed!
}

/** Nothing more goes there. */
export const recordTurnedOff = (tx: Transaction, { id, orgId }: IntegrationRow): Promise<void> =>
  recordNarrowing(tx, 'integration', { id, orgId })

/** After a lost tail, also one that was removed: whoever removes it again finds it turned off. */
export async function turnOffAgain(tx: Transaction, clock: Clock, { id, orgId }: EndedRow): Promise<boolean> {
  const isIt = integrationKey({ orgId: orgId!, id })
  const [row] = await tx.select().from(integrations).where(isIt).for('update')
  if (!row || row.state === 'off') return false
  await tx.update(integrations).set({ state: 'off' }).where(isIt)
  if (row.state === 'paused') await releaseTarget(tx, clock, row)
  return true
}

/** It works again: what its loss had disabled resumes; what a person paused stays paused. */
export async function resumeSubscriptions(
  tx: Transaction,
  row: Pick<IntegrationRow, 'orgId' | 'id'>,
): Promise<void> {
  await tx
    .update(subscriptions)
    .set({ enabled: true, disabledReason: null })
    .where(
      and(
        eq(subscriptions.orgId, row.orgId),
        eq(subscriptions.integrationId, row.id),
        eq(subscriptions.disabledReason, 'integration_lost'),
      ),
    )
}

/** The address itself is never returned: it is the secret. */
export async function requireAllowed(checks: IntegrationChecks, orgId: string, url: string): Promise<void> {
  if (await checks.isAllowed(url, orgId)) return
  throw new ServiceError('INVALID_REQUEST', 'This address is not allowed', {
    problems: ['url: must be an https address on a public network, without a user name or password'],
  })
}

export function requireActive({ state }: IntegrationRow): void {
  if (state === 'active') return
  throw new ServiceError('CONFLICT', 'The integration is not active', {
    hint: state === 'paused' ? 'Resume it first.' : 'Connect it again or turn it on first.',
  })
}

export function requireWebhook({ kind }: IntegrationRow): void {
  if (kind === 'webhook') return
  throw new ServiceError('CONFLICT', 'Only webhooks are signed')
}
