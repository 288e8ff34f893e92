/**
 * Whether a deployed fix worked: how often its error was logged before and since, by hour, beside everything else that the app
 * logged. Looked at for seven days, each time only at the lines that have arrived since the last look, whenever they were
 * logged. An error that comes back opens its finding again. What a push has undone is not measured until one restores it.
 */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, isNotNull, isNull, sql } from '../../../db/drizzle.ts'
import { proposals, type FixEffect } from '../../../db/schema.ts'
import { countByHour, findLoggedError } from '../logs/index.ts'
import type { Log, Storage } from '../dependencies.ts'
import { codeOf, withTransaction } from '../transaction.ts'
import { changeProposal, isProposal, setFinding, type Proposal } from './proposal-rows.ts'

const HOUR_MS = 3_600_000
const BEFORE_MS = 24 * HOUR_MS
const SINCE_MS = 7 * 24 * HOUR_MS
/** Lines of the seven days may arrive so much later. */
const LATE_MS = 24 * HOUR_MS
/** What ran before goes on for so long while it is replaced. */
const ROLLOUT_MS = 5 * 60_000
/** Without a deployment of ours only the push is known, and whoever deploys it may take so long. */
const UNSEEN_ROLLOUT_MS = 6 * HOUR_MS
/** In one look; the others have their turn a moment later. All together stay below the lease of the job. */
const BATCH = 200
const COUNT_SECONDS = 2

type Deployed = Proposal & { readonly deployedAt: Date }

export async function measureFixes({ db, clock, log }: Storage & Log, stopping?: AbortSignal): Promise<void> {
  const now = clock()
  for (const proposal of await findToMeasure(db, now)) {
    if (stopping?.aborted) return
    try {
      await measure(db, proposal, now)
    } catch (error) {
      // Too large a log, for one: the others are not to wait for it.
      log.warn('a fix could not be measured', { proposal: proposal.id, error })
      await db
        .update(proposals)
        .set({ measuredAt: now, ...(isTooSlow(error) && { effect: uncounted(proposal, now) }) })
        .where(and(isProposal(proposal), eq(proposals.state, 'deployed')))
    }
  }
}

/** Those that were looked at longest ago first, one of each organization after the other. */
async function findToMeasure(db: Handle, now: Date): Promise<Deployed[]> {
  const turn = sql`row_number() over (partition by ${proposals.orgId} order by ${proposals.measuredAt} nulls first, ${proposals.id})`
  const rows = await db
    .select()
    .from(proposals)
    .where(
      and(
        eq(proposals.state, 'deployed'),
        isNull(proposals.undoneBy),
        isNotNull(proposals.deployedAt),
        sql`${proposals.deployedAt} > ${new Date(now.getTime() - SINCE_MS - LATE_MS).toISOString()}::timestamptz`,
      ),
    )
    .orderBy(turn, sql`${proposals.measuredAt} nulls first`, proposals.orgId)
    .limit(BATCH)
  return rows as Deployed[]
}

const isTooSlow = (error: unknown): boolean => codeOf(error) === '57014'

/** What was counted before stays, and it is said that there may be more. */
function uncounted({ effect, deployedAt }: Deployed, now: Date): FixEffect {
  const deployed_at = deployedAt.toISOString()
  const never = { deployed_at, error: null, hours: [], first_error_at: null, came_back_at: null }
  const known = effect?.deployed_at === deployed_at ? effect : { ...never, measured_to: now.toISOString() }
  return { ...known, uncounted_at: now.toISOString() }
}

async function measure(db: Handle, proposal: Deployed, now: Date): Promise<void> {
  const { deployedAt, restoredAt } = proposal
  const end = new Date(deployedAt.getTime() + SINCE_MS)
  const { known, error, counted } = await withTransaction(db, async (tx) => {
    await tx.execute(sql.raw(`set local statement_timeout = '${COUNT_SECONDS}s'`))
    return count(tx, proposal, end)
  })
  const firsts = counted.hours.flatMap(({ first_error_at: first }) => first ?? [])
  const judgedFrom =
    Math.max(deployedAt.getTime(), restoredAt?.getTime() ?? 0) +
    (proposal.deploymentId === null ? UNSEEN_ROLLOUT_MS : ROLLOUT_MS)
  const back = firsts.find((first) => Date.parse(first) >= judgedFrom)
  const effect: FixEffect = {
    deployed_at: deployedAt.toISOString(),
    measured_to: new Date(Math.min(now.getTime(), end.getTime())).toISOString(),
    measured_number: counted.last,
    error,
    hours: merged(known?.hours ?? [], counted.hours),
    first_error_at: earliest(known?.first_error_at ?? null, firsts[0] ?? null),
    came_back_at: known?.came_back_at ?? back ?? null,
  }
  await withTransaction(db, async (tx) => {
    const [row] = await tx.select().from(proposals).where(isProposal(proposal)).for('update')
    // Retried, reported broken, undone or restored at this moment.
    const isSame =
      row?.state === 'deployed' &&
      row.undoneBy === null &&
      row.deployedAt?.getTime() === deployedAt.getTime() &&
      row.restoredAt?.getTime() === restoredAt?.getTime()
    if (!isSame) return
    await changeProposal(tx, row, { effect, measuredAt: now })
    if (effect.came_back_at !== null && !known?.came_back_at) await setFinding(tx, row, 'open')
  })
}

async function count(db: Handle, proposal: Deployed, to: Date) {
  const { deployedAt, restoredAt, effect } = proposal
  const isKnown = effect?.deployed_at === deployedAt.toISOString() && effect.measured_number !== undefined
  const known = isKnown ? effect : null
  const app = { orgId: proposal.orgId, id: proposal.appId }
  const error = known ? known.error : await findLoggedError(db, app, proposal.evidence)
  const after = known?.measured_number ?? 0
  const from = new Date(deployedAt.getTime() - BEFORE_MS)
  const counted =
    error === null
      ? { hours: [], last: after }
      : await countByHour(db, app, { error, deployedAt, restoredAt, after, from, to })
  return { known, error, counted }
}

const earliest = (one: string | null, other: string | null): string | null =>
  one === null || (other !== null && other < one) ? other : one

/** An hour may have been looked at in parts. */
function merged(known: FixEffect['hours'], added: FixEffect['hours']): FixEffect['hours'] {
  const byHour = new Map(known.map((hour) => [hour.at, hour]))
  for (const { at, errors, lines } of added) {
    const before = byHour.get(at)
    byHour.set(at, { at, errors: errors + (before?.errors ?? 0), lines: lines + (before?.lines ?? 0) })
  }
  return [...byHour.values()].toSorted((one, other) => one.at.localeCompare(other.at))
}
