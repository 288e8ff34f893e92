/**
 * What an organization may use of the server for managed databases. What a login can SET back is no limit, so each of
 * these is either enforced by the server against that login, or watched by the worker, which ends what exceeds it.
 */

export type TenantLimit = 'statement' | 'idle_transaction' | 'temporary_files' | 'connections' | 'disk'

/** As the health of a data source names it where our login on the server may not enforce it. */
export const TENANT_LIMITS: Record<TenantLimit, string> = {
  statement: 'the time of a statement',
  idle_transaction: 'the time a transaction may be idle',
  temporary_files: 'the size of temporary files',
  connections: 'the number of connections',
  disk: 'the disk quota',
}

export type TenantLimits = {
  readonly statementSeconds: number
  readonly idleTransactionSeconds: number
  /** Of all sessions of the organization together; and of each. */
  readonly temporaryFileBytes: number
  /** Of the organization, and to each of its databases. */
  readonly connections: number
  /** Of all its databases together. */
  readonly diskBytes: number
}

/** Below this part of the quota an organization may connect again: not at the first row it deletes. */
export const DISK_QUOTA_RECOVERED = 0.9
