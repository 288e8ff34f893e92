/** Ends statements and sessions of tenants that exceed a limit of the server they share. */
import { readTenants, type TenantDeps } from './tenants.ts'

export async function enforceTenantLimits({
  db,
  log,
  tenantServer,
  tenantLimits,
}: TenantDeps): Promise<void> {
  const tenants = tenantServer ? await readTenants(db) : []
  if (!tenantServer || tenants.length === 0) return
  for (const { physicalName, limit } of await tenantServer.endSessionsOverLimits(tenants, tenantLimits)) {
    log.warn('a session of a managed database was over a limit and was ended', {
      database: physicalName,
      limit,
    })
  }
}
