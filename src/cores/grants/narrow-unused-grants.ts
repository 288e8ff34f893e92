/** The recurring job that takes from agents what they do not use, in the organizations that want it. */
import type { Transaction } from '../../../db/connect.ts'
import { and, asc, eq, gt, isNotNull, lt, or } from '../../../db/drizzle.ts'
import { grantUses, machineAgents, organizations, platformAccessGrants } from '../../../db/schema.ts'
import type { EventType } from '../../contracts/events.ts'
import { UNUSED_NOTICE_DAYS } from '../../contracts/limits.ts'
import type { Clock, Storage } from '../dependencies.ts'
import { readKeyEpoch } from '../key-epoch.ts'
import { recordEvent } from '../outbox.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import { separately } from '../separately.ts'
import { withTransaction } from '../transaction.ts'
import { endGrant } from './end-grant.ts'
import { isLive } from './grant-filters.ts'
import { readGrantUses } from './grant-uses.ts'
import { grantedScopes } from './granted-scopes.ts'
import { describeApproval, sourceNames } from './granted-sources.ts'
import { unusedStep, type UnusedSettings, type UnusedStep } from './unused-step.ts'
import { writeNarrowed } from './write-narrowed.ts'

type Grant = typeof platformAccessGrants.$inferSelect
type Judging = Storage & { readonly keyEpoch: string; readonly enterpriseAuth: boolean }

const GRANTS_AT_ONCE = 200
const DAY_MS = 24 * 60 * 60 * 1000
/** Longer than a grant lives. */
const USES_KEPT_MS = 400 * DAY_MS

const BY_ITSELF: AuditActor = { kind: 'anonymous', userId: null, userName: 'svc', requestId: 'unused agents' }

export async function narrowUnusedGrants({ db, clock }: Storage, stopping?: AbortSignal): Promise<void> {
  await db.delete(grantUses).where(lt(grantUses.lastUsedAt, new Date(clock().getTime() - USES_KEPT_MS)))
  const keyEpoch = await readKeyEpoch(db)
  if (keyEpoch === null) return
  const judging = { db, clock, keyEpoch, enterpriseAuth: true }
  const parts = separately(stopping)
  const wanting = await db
    .select({
      orgId: organizations.id,
      narrowUnusedAfterDays: organizations.narrowUnusedAfterDays,
      endUnusedAfterDays: organizations.endUnusedAfterDays,
    })
    .from(organizations)
    .where(or(isNotNull(organizations.narrowUnusedAfterDays), isNotNull(organizations.endUnusedAfterDays)))
    .orderBy(asc(organizations.id))
  for (const { orgId, ...settings } of wanting)
    await parts.run(() => judgeOrganization(judging, orgId, settings, stopping))
  parts.end()
}

async function judgeOrganization(
  judging: Judging,
  orgId: string,
  settings: UnusedSettings,
  stopping: AbortSignal | undefined,
): Promise<void> {
  const parts = separately(stopping)
  let after = ''
  for (;;) {
    const page = await judging.db
      .select()
      .from(platformAccessGrants)
      .where(and(eq(platformAccessGrants.orgId, orgId), gt(platformAccessGrants.id, after), isLive(judging)))
      .orderBy(asc(platformAccessGrants.id))
      .limit(GRANTS_AT_ONCE)
    const due = await stepsOf(judging, orgId, page, settings)
    for (const [grantId] of due) await parts.run(() => takeStep(judging, orgId, grantId, settings))
    if (page.length < GRANTS_AT_ONCE || stopping?.aborted) break
    after = page.at(-1)!.id
  }
  parts.end()
}

async function stepsOf(
  { db, clock }: Storage,
  orgId: string,
  grants: readonly Grant[],
  settings: UnusedSettings,
): Promise<ReadonlyMap<string, UnusedStep>> {
  const ids = grants.map(({ id }) => id)
  const uses = Map.groupBy(await readGrantUses(db, orgId, ids), ({ grantId }) => grantId)
  return new Map(
    grants.flatMap((grant) => {
      const rights = { ...grant, scopes: grantedScopes(grant) }
      const step = unusedStep(rights, uses.get(grant.id) ?? [], settings, clock())
      return step ? [[grant.id, step] as const] : []
    }),
  )
}

/** Judged again under its lock: it may have been used, narrowed or ended meanwhile. */
const takeStep = (judging: Judging, orgId: string, grantId: string, settings: UnusedSettings) =>
  withTransaction(judging.db, async (tx) => {
    const [grant] = await tx
      .select()
      .from(platformAccessGrants)
      .where(and(eq(platformAccessGrants.id, grantId), isLive(judging)))
      .for('update')
    if (!grant) return
    const inside = { ...judging, db: tx }
    const step = (await stepsOf(inside, orgId, [grant], settings)).get(grantId)
    if (step) await done[step.do](tx, judging.clock, grant, step)
  })

type Done = (tx: Transaction, clock: Clock, grant: Grant, step: UnusedStep) => Promise<void>

const done: Record<UnusedStep['do'], Done> = {
  async tell_narrowing(tx, clock, grant) {
    await tell(tx, clock, grant, { narrowingToldAt: clock() }, 'narrowed')
  },
  async tell_ending(tx, clock, grant) {
    await tell(tx, clock, grant, { endingToldAt: clock() }, 'ended')
  },
  async narrow(tx, clock, grant, step) {
    if (step.do !== 'narrow') return
    const { left } = step
    await writeNarrowed(tx, grant, left)
    const names = left.sources && (await sourceNames(tx, grant.orgId, left.sources))
    await recordAudit(tx, clock, BY_ITSELF, {
      orgId: grant.orgId,
      action: 'grant.narrowed',
      subject: `${grant.clientName ?? grant.clientId}: ${describeApproval(left.scopes, names)}`,
    })
    await recordAgentEvent(tx, clock, grant, 'agent.narrowed')
  },
  async end(tx, clock, grant) {
    if (await endGrant(tx, clock, BY_ITSELF, grant.id, 'unused'))
      await recordAgentEvent(tx, clock, grant, 'agent.ended')
  },
}

async function tell(
  tx: Transaction,
  clock: Clock,
  grant: Grant,
  told: Partial<Pick<Grant, 'narrowingToldAt' | 'endingToldAt'>>,
  next: 'narrowed' | 'ended',
): Promise<void> {
  await tx.update(platformAccessGrants).set(told).where(eq(platformAccessGrants.id, grant.id))
  const on = new Date(clock().getTime() + UNUSED_NOTICE_DAYS * DAY_MS).toISOString().slice(0, 10)
  await recordAgentEvent(tx, clock, grant, 'agent.unused', { next, on })
}

async function recordAgentEvent(
  tx: Transaction,
  clock: Clock,
  { id, orgId, userId, machineAgentId }: Grant,
  type: Extract<EventType, `agent.${string}`>,
  data: Record<string, string> = {},
): Promise<void> {
  await recordEvent(tx, clock, {
    orgId,
    type,
    subject: `agents/${id}`,
    source: 'agents',
    dedupKey: `${[type, ...Object.values(data)].join(':')}:${id}:${clock().toISOString()}`,
    actorId: null,
    concernsId: machineAgentId === null ? userId : await ownerOf(tx, machineAgentId),
    data: { grant_id: id, ...data },
  })
}

/** A machine agent reads no messages: whoever answers for it does. */
async function ownerOf(tx: Transaction, agentId: string): Promise<string | null> {
  const [agent] = await tx
    .select({ ownerId: machineAgents.ownerId })
    .from(machineAgents)
    .where(eq(machineAgents.id, agentId))
  return agent?.ownerId ?? null
}
