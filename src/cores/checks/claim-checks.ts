/**
 * Takes checks that are due, each for one worker until its lease ends: the oldest first as long as they fit, otherwise as
 * many of each organization. An organization that has its share in flight is skipped, so that slow hosts of one delay
 * nobody else's checks.
 */
import { randomUUID } from 'node:crypto'
import { inArray, isNotNull, sql } from '../../../db/drizzle.ts'
import { checks } from '../../../db/schema.ts'
import type { Storage } from '../dependencies.ts'
import { chooseDue, leased, notAhead } from '../work/index.ts'
import type { Check } from './check-rows.ts'

export type CheckKind = Check['definition']['kind']

export type ClaimCapacity = {
  readonly kind: CheckKind
  /** At most. */
  readonly rows: number
  readonly perOrganization: number
  /** What runs already, by organization. */
  readonly inFlight: Readonly<Record<string, number>>
  readonly leaseSeconds: number
}

/** What a run needs to know. */
export type ClaimedCheck = Pick<
  Check,
  | 'orgId'
  | 'id'
  | 'appId'
  | 'definition'
  | 'sealedSecrets'
  | 'intervalSeconds'
  | 'maintenanceWindows'
  | 'enabled'
> & { readonly claim: string }

/** Of the worker that runs it, until it is settled. */
const checkLease = leased(checks, {
  heldBy: ['orgId', 'id', 'claim'],
  holder: 'claim',
  until: 'leaseUntil',
})

export async function claimChecks(
  { db, clock }: Storage,
  { kind, rows, perOrganization, inFlight, leaseSeconds }: ClaimCapacity,
): Promise<readonly ClaimedCheck[]> {
  const at = notAhead(clock())
  const held = sql`${JSON.stringify(inFlight)}::text::jsonb`
  const capacityOf = (orgId: string) =>
    sql`(${String(perOrganization)}::int - coalesce((${held} ->> ${sql.raw(orgId)})::int, 0))`
  const due = chooseDue(
    {
      table: 'checks',
      isWaiting: sql`(definition ->> 'kind') = ${kind}::text and claim is null and next_run_at is not null`,
      dueAt: 'next_run_at',
      lane: ['org_id'],
    },
    { at, rows, hasCapacity: sql`${capacityOf('l.org_id')} > 0`, capacity: capacityOf('l.org_id') },
  )
  return db.execute<ClaimedCheck>(sql`
    with recursive ${due}, ranked as (
      select *, row_number() over (partition by org_id order by next_run_at) as rank from chosen
    ), locked as materialized (
      select l.* from ranked r cross join lateral (
        select c.org_id, c.id from checks c
        where c.org_id = r.org_id and c.id = r.id and c.claim is null and c.next_run_at <= ${at}
        limit 1 for update skip locked
      ) l
      where r.rank <= ${capacityOf('r.org_id')}
    )
    update checks c set claim = ${randomUUID()}, last_started_at = ${at}, lease_until = ${checkLease.fromNow(leaseSeconds)}
    from locked l where c.org_id = l.org_id and c.id = l.id
    returning c.org_id as "orgId", c.id, c.app_id as "appId", c.definition, c.sealed_secrets as "sealedSecrets",
      c.interval_seconds as "intervalSeconds", c.maintenance_windows as "maintenanceWindows", c.enabled, c.claim`)
}

/** Of workers that died. */
export const expireCheckClaims = ({ db }: Pick<Storage, 'db'>): Promise<void> =>
  checkLease.giveBackOver(db, isNotNull(checks.claim))

/** A worker that stops gives back what it has not settled. */
export async function releaseCheckClaims(
  { db }: Pick<Storage, 'db'>,
  claims: readonly string[],
): Promise<void> {
  if (claims.length > 0) await checkLease.release(db, inArray(checks.claim, [...claims]))
}
