/** Managed databases on a server, as the worker watches them: whose each is, and what the server lets us do. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, isNotNull, isNull } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import type { TenantLimit, TenantLimits } from '../../contracts/tenant-limits.ts'
import type { Log, Storage } from '../dependencies.ts'

export type Tenant = { readonly orgId: string; readonly sourceId: string; readonly physicalName: string }

/** The server on which managed databases are created, by our own login there. */
export type TenantServer = {
  endSessionsOverLimits(
    tenants: readonly Pick<Tenant, 'orgId' | 'physicalName'>[],
    limits: TenantLimits,
  ): Promise<readonly { readonly physicalName: string; readonly limit: TenantLimit }[]>
  /** In bytes. */
  readDatabaseSizes(physicalNames: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Of the tenants' own logins; ends the sessions of those that are refused. */
  setConnectRights(rights: {
    readonly allowed: readonly string[]
    readonly refused: readonly string[]
  }): Promise<void>
  unenforcedLimits(physicalNames: readonly string[]): Promise<readonly TenantLimit[]>
}

export type TenantDeps = Storage &
  Log & {
    /** Undefined where managed databases are embedded: there the wire gateway enforces its limits itself. */
    readonly tenantServer: TenantServer | undefined
    readonly tenantLimits: TenantLimits
  }

/** Without those that are being created: nobody may connect to them yet. */
export async function readTenants(db: Handle): Promise<readonly Tenant[]> {
  const rows = await db
    .select({ orgId: dataSources.orgId, sourceId: dataSources.id, physicalName: dataSources.physicalName })
    .from(dataSources)
    .where(
      and(
        eq(dataSources.kind, 'postgres'),
        isNotNull(dataSources.physicalName),
        isNull(dataSources.preparingUntil),
      ),
    )
  return rows.map((row) => ({ ...row, physicalName: row.physicalName! }))
}
