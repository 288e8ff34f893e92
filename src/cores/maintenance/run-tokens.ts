/** The tokens of a run: set aside under its lease, settled once, and counted on the run. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, eq, inArray, sql } from '../../../db/drizzle.ts'
import { tokenReservations } from '../../../db/schema.ts'
import { AGENT_LIMITS } from '../../contracts/agent-tools.ts'
import { MAINTENANCE } from '../../contracts/limits.ts'
import { isOutage, type ModelOutcome } from '../../contracts/model-port.ts'
import type { Storage } from '../dependencies.ts'
import {
  closeReservations,
  outageState,
  outcomeNote,
  reservationParts,
  settlementParts,
  takeProbe,
} from '../token-pool/index.ts'
import { Fenced, heldLease, type RunKey } from './lease.ts'

/** Closed by the end of the run at the latest; this is for what outlives even that. */
const RESERVATION_SECONDS = 2 * AGENT_LIMITS.seconds

/** Null: there is not so much left today, or the model is left alone. */
type Reserved = { readonly id: string | null; readonly isLeftAlone: boolean }

type RunOfModel = RunKey & { readonly model: string }

export async function reserveRunTokens(deps: Storage, run: RunOfModel, amount: number): Promise<Reserved> {
  const { id, own, everybody } = await reserve(deps, run, amount)
  if (id === null) return { id, isLeftAlone: own || everybody }
  // Only whoever can pay for the question takes the one probe that all of them have.
  if (!everybody || (await takeProbe(deps, run.model))) return { id, isLeftAlone: false }
  await settleRunTokens(deps.db, run, id, 0)
  return { id: null, isLeftAlone: true }
}

/** One statement, with the lease, the allowance and what is known of the model at this moment. */
async function reserve(
  { db, clock }: Storage,
  run: RunOfModel,
  amount: number,
): Promise<{ readonly id: string | null; readonly own: boolean; readonly everybody: boolean }> {
  const { orgId, executionId, model } = run
  const { pool, reservation } = reservationParts(
    {
      orgId,
      amount,
      allowance: sql`(select tokens from allowed)`,
      purpose: executionId,
      now: clock(),
      leaseSeconds: RESERVATION_SECONDS,
    },
    { state: 'sent', condition: sql`exists (select from held) and (select not own from outage)` },
  )
  const [asked] = await db.execute<{
    held: boolean
    id: string | null
    own: boolean
    everybody: boolean
  }>(sql`
    with held as (${heldLease(run)}),
    outage as (${outageState({ orgId, model, now: clock() })}),
    allowed as (
      select coalesce((select token_allowance from maintenance_settings where org_id = ${orgId}),
        ${String(MAINTENANCE.tokenAllowance)}::bigint) as tokens
    ),
    pool as (${pool}), reservation as (${reservation})
    select exists (select from held) as held, (select id from reservation) as id, own, everybody from outage`)
  if (!asked!.held) throw new Fenced()
  return asked!
}

/** What the transcript keeps of a question to the model. */
export type AskedStep = {
  readonly requestSha256: string
  readonly resultSha256: string
  readonly sealed: string
  readonly ms: number
  readonly at: Date
  readonly model: string
  readonly outcome: ModelOutcome
}

/**
 * Null: nobody knows, and all that was reserved counts, unless the provider is down: then a part of the day at most. What was used is settled also for a run that is over; its step is
 * there only while it holds the app. One statement: neither is there without the other. False: it was closed already, or is
 * not the run's.
 */
export async function settleRunTokens(
  db: Handle,
  run: RunKey,
  id: string,
  actual: number | null,
  step?: AskedStep,
): Promise<boolean> {
  const { orgId, executionId } = run
  // The lease before the reservation, as everybody who locks both.
  const { own, pool, closed } = settlementParts(
    { orgId, id },
    executionId,
    { tokens: actual, isOutage: isOutage(step?.outcome) },
    sql`(select count(*) from held) >= 0`,
  )
  const settled = await db.execute(sql`
    with held as (${heldLease(run)}),
    own as (${own}), pool as (${pool}), closed as (${closed}),
    run as (
      update maintenance_runs set tokens = tokens + closed.actual from closed
      where org_id = ${orgId} and id = ${executionId}
    )
    ${step ? sql`, step as (${stepInsert(run, step)})` : sql``}
    ${step && step.outcome !== 'refused' ? sql`, noted as (${outcomeNote({ orgId, model: step.model, now: step.at }, step.outcome, sql`exists (select from closed)`)})` : sql``}
    select actual from closed`)
  return settled.length === 1
}

const stepInsert = ({ orgId, executionId }: RunKey, step: AskedStep) => sql`
  insert into run_steps
    (org_id, execution_id, number, tool, result, request_sha256, result_sha256, tokens, ms, at, sealed_transcript)
  select ${orgId}, ${executionId},
    (select coalesce(max(number), 0) + 1 from run_steps where org_id = ${orgId} and execution_id = ${executionId}),
    null, 'ok', ${step.requestSha256}, ${step.resultSha256}, closed.actual, ${String(step.ms)}::int,
    ${step.at.toISOString()}::timestamptz, ${step.sealed}
  from closed where exists (select from held)`

/** When runs end, however: what was sent counts in full, what was not is free again. */
export async function closeRunTokens(
  tx: Transaction,
  orgId: string,
  executionIds: readonly string[],
): Promise<void> {
  if (executionIds.length === 0) return
  await closeReservations(
    tx,
    and(eq(tokenReservations.orgId, orgId), inArray(tokenReservations.purpose, [...executionIds])),
  )
}

/** What a run has used so far. */
export const tokensOf = (orgId: string) => sql<number>`(
  select coalesce(sum(actual), 0) from token_reservations
  where token_reservations.org_id = ${orgId} and purpose = maintenance_runs.id and state in ('settled', 'released'))`
