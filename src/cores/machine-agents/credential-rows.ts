/** The credentials of machine agents: what is stored of them, and how they end. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, arrayOverlaps, eq, gt, inArray, isNull, or } from '../../../db/drizzle.ts'
import { machineAgentCredentials, machineAgents, platformAccessGrants } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { MACHINE_AGENT_CREDENTIALS_PER_KIND } from '../../contracts/limits.ts'
import { atLeast, GRANTABLE_ROLES, type Role } from '../../contracts/roles.ts'
import { SENSITIVE_SCOPES } from '../../contracts/scopes.ts'
import { readPublicKey, type PublicKey } from '../../trust/machine-key.ts'
import { machineSecretHash, machineSecretPrefix, makeMachineSecret } from '../../trust/machine-secret.ts'
import { isOfEpoch } from '../key-epoch.ts'
import type { Clock } from '../dependencies.ts'
import type { MemberPrincipal } from '../principal.ts'
import { recordEnding } from '../record-ending.ts'
import { replaceStandingGrant } from './standing-grant.ts'

export type Credential = typeof machineAgentCredentials.$inferSelect

export type CredentialDeps = { readonly clock: Clock; readonly keyEpoch: string }

export const isLiveCredential = ({ clock, keyEpoch }: CredentialDeps) =>
  and(
    isNull(machineAgentCredentials.revokedAt),
    or(isNull(machineAgentCredentials.expiresAt), gt(machineAgentCredentials.expiresAt, clock())),
    isOfEpoch(machineAgentCredentials.keyEpoch, keyEpoch),
  )

/** A secret is made where no public key was given; null otherwise. In place of another one it has that one's end. */
export async function insertCredential(
  tx: Transaction,
  deps: CredentialDeps,
  member: MemberPrincipal,
  agentId: string,
  given: Readonly<Record<string, unknown>> | undefined,
  before?: Credential,
): Promise<{ credential: Credential; secret: string | null }> {
  const key = given === undefined ? undefined : readPublicKey(given)
  await requireRoom(tx, deps, agentId, key, before)
  const secret = key ? null : makeMachineSecret()
  const now = deps.clock()
  const [credential] = await tx
    .insert(machineAgentCredentials)
    .values({
      id: makeId('crd', now.getTime()),
      agentId,
      kind: key ? 'public_key' : 'secret',
      secretHash: secret && machineSecretHash(secret),
      startsWith: key ? key.thumbprint : machineSecretPrefix(secret!),
      publicKey: key?.jwk ?? null,
      keyEpoch: deps.keyEpoch,
      createdBy: member.userId,
      // A stolen token must not make itself permanent: what it makes ends with it.
      madeWithTokenId: before ? before.madeWithTokenId : (member.tokenId ?? null),
      expiresAt: before ? before.expiresAt : member.tokenId === undefined ? null : member.expiresAt,
      createdAt: now,
    })
    .returning()
  return { credential: credential!, secret }
}

/** The agent's row is locked: of several at once, each counts the others. */
async function requireRoom(
  tx: Transaction,
  deps: CredentialDeps,
  agentId: string,
  key: PublicKey | undefined,
  before: Credential | undefined,
): Promise<void> {
  const kind = key ? 'public_key' : 'secret'
  const live = await tx
    .select()
    .from(machineAgentCredentials)
    .where(and(eq(machineAgentCredentials.agentId, agentId), isLiveCredential(deps)))
  if (key && live.some(({ startsWith }) => startsWith === key.thumbprint))
    throw new ServiceError('CONFLICT', 'The machine agent already has this key')
  const staying = live.filter((one) => one.kind === kind && one.replacedBy === null && one.id !== before?.id)
  if (staying.length < MACHINE_AGENT_CREDENTIALS_PER_KIND) return
  const things = key ? 'public keys' : 'secrets'
  throw new ServiceError(
    'CONFLICT',
    `The machine agent already has ${MACHINE_AGENT_CREDENTIALS_PER_KIND} ${things}. Revoke one first.`,
  )
}

/**
 * A token does not say which credential it came from, so all tokens of their agents end: those with another credential
 * get new ones. Agents first, as everybody locks them. The caller writes the audit row.
 */
export async function revokeCredentials(
  tx: Transaction,
  clock: Clock,
  which: SQL | undefined,
): Promise<readonly Credential[]> {
  const matching = and(which, isNull(machineAgentCredentials.revokedAt))
  const holders = tx
    .select({ id: machineAgentCredentials.agentId })
    .from(machineAgentCredentials)
    .where(matching)
  const agents = await tx
    .select()
    .from(machineAgents)
    .where(inArray(machineAgents.id, holders))
    .orderBy(machineAgents.id)
    .for('update')
  if (agents.length === 0) return []
  const revoked = await tx
    .update(machineAgentCredentials)
    .set({ revokedAt: clock() })
    .where(matching)
    .returning()
  recordCredentials(tx, agents, revoked)
  for (const agent of agents) await replaceStandingGrant(tx, clock, agent, { reason: 'credential_revoked' })
  return revoked
}

/** A credential lies in the organization of its agent. */
function recordCredentials(
  tx: Transaction,
  agents: readonly { readonly id: string; readonly orgId: string }[],
  revoked: readonly Credential[],
): void {
  const organizations = new Map(agents.map(({ id, orgId }) => [id, orgId]))
  recordEnding(
    tx,
    'machine_credential',
    revoked.map(({ id, agentId }) => ({ id, orgId: organizations.get(agentId)! })),
  )
}

/**
 * Whoever made a credential may still have it. Null for `remainingRole`: they are gone, and all of theirs end, whoever
 * answers for the agent. With a lower role those end that they could not make any more.
 */
export function madeByMembers(
  tx: Transaction,
  { orgId, userIds }: { readonly orgId: string; readonly userIds: readonly string[] },
  remainingRole: Role | null,
) {
  const agents = tx
    .select({ id: machineAgents.id })
    .from(machineAgents)
    .leftJoin(
      platformAccessGrants,
      and(eq(platformAccessGrants.machineAgentId, machineAgents.id), isNull(platformAccessGrants.revokedAt)),
    )
    .where(and(eq(machineAgents.orgId, orgId), remainingRole === null ? undefined : isAbove(remainingRole)))
  return and(
    inArray(machineAgentCredentials.createdBy, [...userIds]),
    inArray(machineAgentCredentials.agentId, agents),
  )
}

/** As `mayGive` has it. */
const isAbove = (role: Role) =>
  or(
    inArray(
      machineAgents.role,
      GRANTABLE_ROLES.filter((one) => !atLeast(role, one)),
    ),
    role === 'owner' ? undefined : arrayOverlaps(platformAccessGrants.scopes, [...SENSITIVE_SCOPES]),
  )

export const presentCredential = (row: Credential) => ({
  id: row.id,
  kind: row.kind,
  starts_with: row.startsWith,
  created_at: row.createdAt.toISOString(),
  last_used_at: row.lastUsedAt?.toISOString() ?? null,
  expires_at: row.expiresAt?.toISOString() ?? null,
  replaced_by: row.replacedBy,
})
