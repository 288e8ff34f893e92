import type { Handle } from '../../../db/connect.ts'
import { and, asc, count, eq, gte, sql } from '../../../db/drizzle.ts'
import { maintenanceRuns, proposals, tokenPools } from '../../../db/schema.ts'
import { dayOf } from '../token-pool/index.ts'
import { read, type Verb } from '../verb.ts'
import { readSettings } from './settings-rows.ts'

const DAYS = 30
const DAY_MS = 24 * 60 * 60 * 1000

export const showMaintenanceUsage: Verb<'showMaintenanceUsage'> = read(async ({ db, clock, orgId }) => {
  const now = clock()
  const days = Array.from({ length: DAYS }, (_, n) =>
    dayOf(new Date(now.getTime() - (DAYS - 1 - n) * DAY_MS)),
  )
  const since = new Date(`${days[0]!}T00:00:00Z`)
  const [settings, pools, runs, decided] = await Promise.all([
    readSettings(db, orgId),
    readPools(db, orgId, days[0]!),
    readRuns(db, orgId, since),
    readDecisions(db, orgId, since),
  ])
  const today = pools.get(dayOf(now))
  const outage = (day: string) => pools.get(day)?.outage ?? 0
  const used = (day: string) => (pools.get(day)?.spent ?? 0) + (pools.get(day)?.overage ?? 0) + outage(day)
  return {
    today: {
      day: dayOf(now),
      allowance: settings.tokenAllowance,
      spent: used(dayOf(now)),
      reserved: today?.reserved ?? 0,
      outage: outage(dayOf(now)),
    },
    days: days.map((day) => ({ day, tokens: used(day) })),
    runs: runs.n,
    run_tokens: runs.tokens,
    proposals_decided: decided.all,
    proposals_accepted: decided.accepted,
    acceptance_rate: decided.all === 0 ? null : decided.accepted / decided.all,
    tokens_per_accepted_proposal: decided.accepted === 0 ? null : Math.round(runs.tokens / decided.accepted),
  }
})

async function readPools(db: Handle, orgId: string, since: string) {
  const rows = await db
    .select()
    .from(tokenPools)
    .where(and(eq(tokenPools.orgId, orgId), gte(tokenPools.day, since)))
    .orderBy(asc(tokenPools.day))
  return new Map(rows.map((row) => [row.day, row]))
}

async function readRuns(db: Handle, orgId: string, since: Date): Promise<{ n: number; tokens: number }> {
  const [row] = await db
    .select({ n: count(), tokens: sql<number>`coalesce(sum(${maintenanceRuns.tokens}), 0)::float8` })
    .from(maintenanceRuns)
    .where(and(eq(maintenanceRuns.orgId, orgId), gte(maintenanceRuns.createdAt, since)))
  return row!
}

/** Whatever became of the deployment of one that was accepted. */
async function readDecisions(
  db: Handle,
  orgId: string,
  since: Date,
): Promise<{ all: number; accepted: number }> {
  const [row] = await db
    .select({
      all: count(),
      accepted: sql<number>`count(*) filter (where ${proposals.state} <> 'denied')::int`,
    })
    .from(proposals)
    .where(and(eq(proposals.orgId, orgId), gte(proposals.decidedAt, since)))
  return row!
}
