/**
 * Takes checks that are due, each for one worker until its lease ends: the oldest first as long as they fit, otherwise as
 * many of each organization. An organization that has its share in flight is skipped, so that slow hosts of one delay
 * nobody else's checks.
 */
import { randomUUID } from 'node:crypto'
import { sql } from '../../../db/drizzle.ts'
import type { Storage } from '../dependencies.ts'
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

export async function claimChecks(
  { db, clock }: Storage,
  { kind, rows, perOrganization, inFlight, leaseSeconds }: ClaimCapacity,
): Promise<readonly ClaimedCheck[]> {
  const at = notAhead(clock())
  const held = sql`${JSON.stringify(inFlight)}::text::jsonb`
  const claim = randomUUID()
  const isOfKind = sql`(definition ->> 'kind') = ${kind}::text`
  const isDue = sql`${isOfKind} and claim is null and next_run_at <= ${at}`
  const capacityOf = (orgId: string) =>
    sql`(${String(perOrganization)}::int - coalesce((${held} ->> ${sql.raw(orgId)})::int, 0))`
  const most = sql`${String(rows)}::int`
  return db.execute<ClaimedCheck>(sql`
    with recursive oldest as materialized (
      select org_id, id, next_run_at from checks where ${isDue} and ${capacityOf('org_id')} > 0
      order by next_run_at limit ${most} + 1
    ), organization(org_id) as (
      (select org_id from checks
        where ${isOfKind} and claim is null and next_run_at is not null and (select count(*) from oldest) > ${most}
        order by org_id limit 1)
      union all
      select next.org_id from organization o cross join lateral (
        select c.org_id from checks c
        where ${isOfKind} and c.claim is null and c.next_run_at is not null and c.org_id > o.org_id
        order by c.org_id limit 1
      ) next
    ), fair as (
      select due.* from organization o cross join lateral (
        select org_id, id, next_run_at, row_number() over (order by next_run_at) as place from (
          select c.org_id, c.id, c.next_run_at from checks c
          where ${isOfKind} and c.claim is null and c.next_run_at <= ${at} and c.org_id = o.org_id
          order by c.next_run_at limit greatest(${capacityOf('o.org_id')}, 0)
        ) first
      ) due
      order by place, next_run_at limit ${most}
    ), chosen as (
      select org_id, id, next_run_at from fair
      union all
      select org_id, id, next_run_at from oldest where (select count(*) from oldest) <= ${most}
    ), ranked as (
      select *, row_number() over (partition by org_id order by next_run_at) as rank from chosen
    ), locked as materialized (
      select l.* from ranked r cross join lateral (
        select c.org_id, c.id from checks c
        where c.org_id = r.org_id and c.id = r.id and c.claim is null and c.next_run_at <= ${at}
        limit 1 for update skip locked
      ) l
      where r.rank <= ${capacityOf('r.org_id')}
    )
    update checks c set claim = ${claim}, last_started_at = ${at},
      lease_until = clock_timestamp() + make_interval(secs => ${String(leaseSeconds)}::double precision)
    from locked l where c.org_id = l.org_id and c.id = l.id
    returning c.org_id as "orgId", c.id, c.app_id as "appId", c.definition, c.sealed_secrets as "sealedSecrets",
      c.interval_seconds as "intervalSeconds", c.maintenance_windows as "maintenanceWindows", c.enabled, c.claim`)
}

/**
 * The time of this process, but not one that the database has not reached yet: a process whose clock is ahead would find
 * everything due, and give it a next time that is far away.
 */
export const notAhead = (now: Date) => sql`least(${now.toISOString()}::timestamptz, statement_timestamp())`

/** Of workers that died: whether a lease has ended the database's clock decides, which is the same for all of them. */
export async function expireCheckClaims({ db }: Pick<Storage, 'db'>): Promise<void> {
  await db.execute(sql`
    update checks set claim = null, lease_until = null
    where claim is not null and lease_until < clock_timestamp()`)
}

/** A worker that stops gives back what it has not settled. */
export async function releaseCheckClaims(
  { db }: Pick<Storage, 'db'>,
  claims: readonly string[],
): Promise<void> {
  if (claims.length === 0) return
  await db.execute(sql`
    update checks set claim = null, lease_until = null
    where claim is not null and claim in (select * from json_array_elements_text(${JSON.stringify(claims)}::text::json))`)
}
