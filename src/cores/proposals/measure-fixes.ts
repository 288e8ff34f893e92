/**
 * Whether a deployed fix worked: how often its error was logged before and since, by hour, beside everything else that the app
 * logged. Looked at for seven days, each time only at what came since the last look. An error that comes back opens its
 * finding again.
 */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { proposals, type FixEffect } from '../../../db/schema.ts'
import { countByHour, findLoggedError } from '../logs/index.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { changeProposal, isProposal, setFinding, type Proposal } from './proposal-rows.ts'

const HOUR_MS = 3_600_000
const BEFORE_MS = 24 * HOUR_MS
const SINCE_MS = 7 * 24 * HOUR_MS
/** What ran before goes on for so long while it is replaced. */
const ROLLOUT_MS = 5 * 60_000
/** In one look; the others have their turn a moment later. */
const BATCH = 200

export async function measureFixes({ db, clock }: Storage, stopping?: AbortSignal): Promise<void> {
  const now = clock()
  for (const proposal of await findToMeasure(db, now)) {
    if (stopping?.aborted) return
    await measure(db, proposal, now)
  }
}

/** Those that were looked at longest ago first. */
const findToMeasure = (db: Handle, now: Date): Promise<Proposal[]> =>
  db
    .select()
    .from(proposals)
    .where(
      and(
        eq(proposals.state, 'deployed'),
        sql`${proposals.changedAt} > ${new Date(now.getTime() - SINCE_MS - BEFORE_MS).toISOString()}::timestamptz`,
        sql`coalesce((${proposals.effect} ->> 'measured_to')::timestamptz < least(${now.toISOString()}::timestamptz,
          ${proposals.changedAt} + interval '7 days'), true)`,
      ),
    )
    .orderBy(sql`${proposals.effect} ->> 'measured_to' nulls first`, proposals.orgId, proposals.id)
    .limit(BATCH)

async function measure(db: Handle, proposal: Proposal, now: Date): Promise<void> {
  const deployedAt = proposal.changedAt
  const to = new Date(Math.min(now.getTime(), deployedAt.getTime() + SINCE_MS))
  const known = proposal.effect?.deployed_at === deployedAt.toISOString() ? proposal.effect : null
  const app = { orgId: proposal.orgId, id: proposal.appId }
  const error = known ? known.error : await findLoggedError(db, app, proposal.evidence)
  const from = known ? new Date(known.measured_to) : new Date(deployedAt.getTime() - BEFORE_MS)
  const hours = error === null ? [] : await countByHour(db, app, { error, deployedAt, from, to })
  const firsts = hours.flatMap(({ first_error_at: first }) => first ?? [])
  const back = firsts.find((first) => Date.parse(first) >= deployedAt.getTime() + ROLLOUT_MS)
  const effect: FixEffect = {
    deployed_at: deployedAt.toISOString(),
    measured_to: to.toISOString(),
    error,
    hours: merged(known?.hours ?? [], hours),
    first_error_at: known?.first_error_at ?? firsts[0] ?? null,
    came_back_at: known?.came_back_at ?? back ?? null,
  }
  await withTransaction(db, async (tx) => {
    const [row] = await tx.select().from(proposals).where(isProposal(proposal)).for('update')
    // Somebody has retried it, or its rollout was reported broken, at this moment.
    if (row?.state !== 'deployed' || row.changedAt.getTime() !== deployedAt.getTime()) return
    await changeProposal(tx, row, { effect })
    if (effect.came_back_at !== null && !known?.came_back_at && row.undoneBy === null)
      await setFinding(tx, row, 'open')
  })
}

/** An hour may have been looked at in two parts. */
function merged(known: FixEffect['hours'], added: FixEffect['hours']): FixEffect['hours'] {
  const byHour = new Map(known.map((hour) => [hour.at, hour]))
  for (const { at, errors, lines } of added) {
    const before = byHour.get(at)
    byHour.set(at, { at, errors: errors + (before?.errors ?? 0), lines: lines + (before?.lines ?? 0) })
  }
  return [...byHour.values()]
}
