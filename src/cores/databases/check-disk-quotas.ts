/**
 * Measures what an organization's managed databases take on the server. Over the quota their own logins may not connect
 * until it is well below again; questions still work, by a login of ours. The state of an organization is written first, in
 * one transaction with its event, and the rights on the server follow from it: whatever is killed in between, the
 * next look completes it.
 */
import type { Transaction } from '../../../db/connect.ts'
import { eq, isNotNull, sql } from '../../../db/drizzle.ts'
import { diskUse } from '../../../db/schema.ts'
import type { SourceProblem } from '../../contracts/source-health.ts'
import { DISK_QUOTA_RECOVERED, TENANT_LIMITS, type TenantLimit } from '../../contracts/tenant-limits.ts'
import { recordEvent } from '../outbox.ts'
import { withTransaction } from '../transaction.ts'
import { readTenants, type Tenant, type TenantDeps } from './tenants.ts'

const MIB = 1024 * 1024

export async function checkDiskQuotas(deps: TenantDeps): Promise<void> {
  const { db, tenantServer } = deps
  if (!tenantServer) return
  const tenants = await readTenants(db)
  const names = tenants.map(({ physicalName }) => physicalName)
  const sizes = names.length > 0 ? await tenantServer.readDatabaseSizes(names) : new Map<string, number>()
  const over = new Set<string>()
  for (const [orgId, bytes] of await bytesByOrganization(deps, tenants, sizes)) {
    if (await recordDiskUse(deps, orgId, bytes)) over.add(orgId)
  }
  if (tenants.length === 0) return
  await tenantServer.setConnectRights({
    allowed: tenants.filter(({ orgId }) => !over.has(orgId)).map(({ physicalName }) => physicalName),
    refused: tenants.filter(({ orgId }) => over.has(orgId)).map(({ physicalName }) => physicalName),
  })
  await recordServerProblems(deps, tenants, over, await tenantServer.unenforcedLimits(names))
}

/** Also of those that were over the quota and have no database any more. */
async function bytesByOrganization(
  { db }: TenantDeps,
  tenants: readonly Tenant[],
  sizes: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const over = await db.select({ orgId: diskUse.orgId }).from(diskUse).where(isNotNull(diskUse.overSince))
  const bytes = new Map(over.map(({ orgId }) => [orgId, 0]))
  for (const { orgId, physicalName } of tenants) {
    bytes.set(orgId, (bytes.get(orgId) ?? 0) + (sizes.get(physicalName) ?? 0))
  }
  return bytes
}

/** Whether the organization is over its quota now. Of several workers one records the change. */
const recordDiskUse = (deps: TenantDeps, orgId: string, bytes: number): Promise<boolean> =>
  withTransaction(deps.db, async (tx) => {
    const measuredAt = deps.clock()
    const quota = deps.tenantLimits.diskBytes
    await tx.insert(diskUse).values({ orgId, bytes, measuredAt }).onConflictDoNothing()
    const [before] = await tx.select().from(diskUse).where(eq(diskUse.orgId, orgId)).for('update')
    const wasOver = before?.overSince ?? null
    const isOver = bytes > quota || (wasOver !== null && bytes > quota * DISK_QUOTA_RECOVERED)
    const overSince = isOver ? (wasOver ?? measuredAt) : null
    await tx.update(diskUse).set({ bytes, measuredAt, overSince }).where(eq(diskUse.orgId, orgId))
    if (isOver !== (wasOver !== null)) {
      await recordQuotaEvent(deps, tx, { orgId, bytes, isOver, since: overSince ?? wasOver ?? measuredAt })
    }
    return isOver
  })

async function recordQuotaEvent(
  { clock, tenantLimits }: TenantDeps,
  tx: Transaction,
  { orgId, bytes, isOver, since }: { orgId: string; bytes: number; isOver: boolean; since: Date },
): Promise<void> {
  const type = isOver ? 'org.disk_quota.exceeded' : 'org.disk_quota.recovered'
  await recordEvent(tx, clock, {
    orgId,
    type,
    subject: `organizations/${orgId}`,
    source: 'disk-quota',
    dedupKey: `${type}:${since.toISOString()}`,
    actorId: null,
    data: { used_mib: wholeMib(bytes), quota_mib: wholeMib(tenantLimits.diskBytes) },
  })
}

const wholeMib = (bytes: number): string => String(Math.ceil(bytes / MIB))

/** Where they differ from what is known already. */
async function recordServerProblems(
  { db, tenantLimits }: TenantDeps,
  tenants: readonly Tenant[],
  over: ReadonlySet<string>,
  unenforced: readonly TenantLimit[],
): Promise<void> {
  const notEnforced = unenforced.map(notEnforcedProblem)
  for (const { orgId, sourceId } of tenants) {
    const problems = [...(over.has(orgId) ? [quotaProblem(tenantLimits.diskBytes)] : []), ...notEnforced]
    // Finds the source again, which may have been removed meanwhile.
    await db.execute(sql`
      insert into data_source_health (org_id, source_id, server_problems)
      select org_id, id, ${JSON.stringify(problems)}::jsonb from data_sources
      where org_id = ${orgId} and id = ${sourceId}
      on conflict (org_id, source_id) do update set server_problems = excluded.server_problems
      where data_source_health.server_problems is distinct from excluded.server_problems`)
  }
}

const quotaProblem = (bytes: number): SourceProblem => ({
  kind: 'over_disk_quota',
  text: `The databases of the organization are over their disk quota of ${wholeMib(bytes)} MiB, so their own logins may not connect. Questions still work.`,
})

const notEnforcedProblem = (limit: TenantLimit): SourceProblem => ({
  kind: 'limit_not_enforced',
  text: `Our login on the server may not enforce ${TENANT_LIMITS[limit]}: it needs to be a superuser, or rights that one grants.`,
})
