/** What the authorization server knows of a machine agent: how it proves itself, and the grant that it gets tokens on. */
import { locally } from '../../../db/commit-locally.ts'
import type { Handle } from '../../../db/connect.ts'
import { and, asc, eq, inArray, isNull, lt, or } from '../../../db/drizzle.ts'
import { machineAgentCredentials, machineAgents, platformAccessGrants } from '../../../db/schema.ts'
import { findLiveGrant, type LivenessDeps } from '../grants/index.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { isLiveCredential } from './credential-rows.ts'
import { isStanding, replaceStandingGrant } from './standing-grant.ts'

export type MachineCredential = {
  readonly id: string
  /** Of a secret. */
  readonly hash: string | null
  /** Of a key. */
  readonly jwk: Record<string, unknown> | null
  readonly expiresAt: Date | null
}

/** Empty for who has none any more, as after a rotation, or is removed. Whether it may do anything is asked of its grant. */
export async function listMachineCredentials(
  { db, ...deps }: Pick<LivenessDeps, 'db' | 'clock' | 'keyEpoch'>,
  clientId: string,
): Promise<readonly MachineCredential[]> {
  return db
    .select({
      id: machineAgentCredentials.id,
      hash: machineAgentCredentials.secretHash,
      jwk: machineAgentCredentials.publicKey,
      expiresAt: machineAgentCredentials.expiresAt,
    })
    .from(machineAgents)
    .innerJoin(machineAgentCredentials, eq(machineAgentCredentials.agentId, machineAgents.id))
    .where(and(eq(machineAgents.clientId, clientId), isNull(machineAgents.removedAt), isLiveCredential(deps)))
    .orderBy(asc(machineAgentCredentials.id))
}

/** Undefined when it has ended, by whatever means; but rotated keys end credentials and tokens, not agents. */
export async function findStandingGrant(deps: LivenessDeps, clientId: string) {
  const found = await readStanding(deps.db, clientId)
  if (!found) return undefined
  const isRotated = found.grant.keyEpoch !== deps.keyEpoch
  const id = isRotated ? await renewStanding(deps, found.agent.id) : found.grant.id
  return id === undefined ? undefined : findLiveGrant(deps, id)
}

async function readStanding(db: Handle, clientId: string) {
  const [found] = await db
    .select({ agent: machineAgents, grant: platformAccessGrants })
    .from(machineAgents)
    .innerJoin(platformAccessGrants, eq(platformAccessGrants.machineAgentId, machineAgents.id))
    .where(
      and(
        eq(machineAgents.clientId, clientId),
        isNull(machineAgents.removedAt),
        isNull(platformAccessGrants.revokedAt),
      ),
    )
  return found
}

/** Of several requests at once, the first renews it. */
const renewStanding = (deps: LivenessDeps, agentId: string): Promise<string | undefined> =>
  withTransaction(deps.db, async (tx) => {
    const [agent] = await tx.select().from(machineAgents).where(eq(machineAgents.id, agentId)).for('update')
    const [grant] = await tx.select().from(platformAccessGrants).where(isStanding(agentId))
    if (!agent || !grant) return undefined
    if (grant.keyEpoch === deps.keyEpoch) return grant.id
    const renewed = { reason: 'keys_rotated', keyEpoch: deps.keyEpoch } as const
    return (await replaceStandingGrant(tx, deps.clock, agent, renewed))?.id
  })

/** For people who tidy up: a minute is precise enough. */
const LAST_USED_PRECISION_MS = 60_000

export async function touchCredentials({ db, clock }: Storage, ids: readonly string[]): Promise<void> {
  const now = clock()
  await db
    .update(machineAgentCredentials)
    .set({ lastUsedAt: now })
    .where(
      and(
        inArray(machineAgentCredentials.id, [...ids]),
        or(
          isNull(machineAgentCredentials.lastUsedAt),
          lt(machineAgentCredentials.lastUsedAt, new Date(now.getTime() - LAST_USED_PRECISION_MS)),
        ),
        locally,
      ),
    )
}
