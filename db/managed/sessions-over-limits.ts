/** Which sessions of tenants exceed a limit, and how each is ended. Pure: tenant-sessions.ts reads and ends them. */
import { dropsStagedTable } from './drop-staged-table.ts'
import type { TenantLimit, TenantLimits } from '../../src/contracts/tenant-limits.ts'

export type Tenant = { readonly orgId: string; readonly physicalName: string }

/** Of pg_stat_activity; null is what our login may not see. */
export type TenantSession = {
  readonly pid: number
  /** The role. That of a tenant is also the database. */
  readonly login: string
  /** Its statement, or its last one. */
  readonly query: string | null
  readonly backendStart: string
  readonly queryStart: string | null
  readonly state: string | null
  readonly runningSeconds: number | null
  readonly idleSeconds: number | null
  /** Of its transaction. */
  readonly transactionSeconds: number | null
  readonly isWriting: boolean
  readonly temporaryFileBytes: number
}

export type Ending = {
  readonly session: TenantSession
  readonly limit: TenantLimit
  /** `cancel` ends the statement, `terminate` the session. */
  readonly how: 'cancel' | 'terminate'
}

/** What sessions of our own questions may take. */
export type QuestionLimits = {
  readonly transactionSeconds: number
  readonly idleSeconds: number
  /** Of a statement that makes room: it drops what a load staged. */
  readonly droppingSeconds: number
}

/** A statement that catches its cancellation and goes on has so long. */
export const CANCEL_GRACE_SECONDS = 30

const IDLE_IN_TRANSACTION = new Set(['idle in transaction', 'idle in transaction (aborted)'])
const RUNNING = new Set(['active', 'fastpath function call'])

/** At most one for each session. */
export function sessionsOverLimits(
  sessions: readonly TenantSession[],
  tenants: readonly Tenant[],
  limits: TenantLimits,
): readonly Ending[] {
  const orgOf = new Map(tenants.map(({ physicalName, orgId }) => [physicalName, orgId]))
  const byOrganization = Map.groupBy(
    sessions.filter(({ login }) => orgOf.has(login)),
    ({ login }) => orgOf.get(login)!,
  )
  return [...byOrganization.values()].flatMap((own) => {
    const endings = [
      ...own.flatMap((session) => overTime(session, limits)),
      ...overTemporaryFiles(own, limits),
      ...overConnections(own, limits),
    ]
    return endings.filter(({ session }, at) => endings.findIndex((one) => one.session === session) === at)
  })
}

function overTime(session: TenantSession, limits: TenantLimits): Ending[] {
  const { state, runningSeconds, idleSeconds } = session
  if (state === null) return []
  if (IDLE_IN_TRANSACTION.has(state) && (idleSeconds ?? 0) > limits.idleTransactionSeconds) {
    return [{ session, limit: 'idle_transaction', how: 'terminate' }]
  }
  const overBy = (runningSeconds ?? 0) - limits.statementSeconds
  if (!RUNNING.has(state) || overBy <= 0) return []
  return [{ session, limit: 'statement', how: overBy > CANCEL_GRACE_SECONDS ? 'terminate' : 'cancel' }]
}

/** The largest first, until the others are within the limit. */
function overTemporaryFiles(own: readonly TenantSession[], limits: TenantLimits): Ending[] {
  const endings: Ending[] = []
  let total = own.reduce((sum, session) => sum + session.temporaryFileBytes, 0)
  for (const session of own.toSorted((a, b) => b.temporaryFileBytes - a.temporaryFileBytes)) {
    if (total <= limits.temporaryFileBytes) break
    total -= session.temporaryFileBytes
    endings.push({ session, limit: 'temporary_files', how: 'terminate' })
  }
  return endings
}

/** The newest go, as if they had been refused. */
const overConnections = (own: readonly TenantSession[], limits: TenantLimits): Ending[] =>
  own
    .toSorted((a, b) => (a.backendStart < b.backendStart ? -1 : 1))
    .slice(limits.connections)
    .map((session) => ({ session, limit: 'connections', how: 'terminate' }))

/**
 * Of the logins of our questions. We end each question in time, close what is idle, and write nothing but what drops a
 * staged table: a session that does otherwise is somebody else's, or stuck.
 */
export const questionSessionsOverLimits = (
  sessions: readonly TenantSession[],
  limits: QuestionLimits,
): readonly Ending[] =>
  sessions.flatMap((session): Ending[] => {
    const limit = questionLimitOf(session, limits)
    return limit ? [{ session, limit, how: 'terminate' }] : []
  })

function questionLimitOf(session: TenantSession, limits: QuestionLimits): TenantLimit | undefined {
  const isDropping = session.state === 'active' && dropsStagedTable(session.query ?? '')
  if (session.isWriting && !isDropping) return 'disk'
  const seconds = isDropping ? limits.droppingSeconds : limits.transactionSeconds
  if ((session.transactionSeconds ?? 0) > seconds) return 'statement'
  const isIdle = session.state === 'idle' && (session.idleSeconds ?? 0) > limits.idleSeconds
  return isIdle ? 'connections' : undefined
}
