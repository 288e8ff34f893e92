/**
 * Every write that gives somebody a right, or that an assistant may make, reads the role of its author again, under a lock in its own transaction: a
 * removal, a lowered role or an ended credential either waits for the write and then ends what it gave, or comes first
 * and the write is refused.
 */
import type { Transaction } from '../../db/connect.ts'
import { and, eq, gt, isNull } from '../../db/drizzle.ts'
import {
  apiTokens,
  memberships,
  organizations,
  platformAccessGrants,
  sessions,
  supportSessions,
  validatedMembers,
} from '../../db/schema.ts'
import { ServiceError } from '../contracts/errors.ts'
import { atLeast, lowerOf, type Role } from '../contracts/roles.ts'
import type { Clock } from './dependencies.ts'
import { liveMachineAgent, machineAgentRole } from './live-machine-agent.ts'
import type { MemberPrincipal } from './principal.ts'

export type Author = Pick<
  MemberPrincipal,
  'orgId' | 'userId' | 'role' | 'sessionId' | 'cliSessionId' | 'tokenId' | 'grantId' | 'supportSessionId'
>

/** With the role of this moment, and the membership it comes from; null for support staff and machine agents. */
export type LockedAuthor<Given extends Author> = Given & { readonly membershipId: string | null }

/** `update` where the writes of one person must also wait for each other. */
export async function lockAuthor<Given extends Author>(
  tx: Transaction,
  clock: Clock,
  author: Given,
  minimum: Role,
  strength: 'share' | 'update' = 'share',
): Promise<LockedAuthor<Given>> {
  const locked = await lockStanding(tx, clock, author, strength)
  const role = lowerOf(author.role, locked.role)
  if (!atLeast(role, minimum)) throw new ServiceError('FORBIDDEN')
  await lockCredential(tx, clock, author)
  return { ...author, role, membershipId: locked.membershipId }
}

async function lockStanding(
  tx: Transaction,
  clock: Clock,
  author: Author,
  strength: 'share' | 'update',
): Promise<{ role: Role; membershipId: string | null }> {
  const { orgId, userId, supportSessionId } = author
  if (!(await isOurs(tx, orgId))) return readValidated(tx, author)
  if (supportSessionId !== undefined) {
    await lockSupportSession(tx, clock, orgId, supportSessionId)
    return { role: author.role, membershipId: null }
  }
  const [membership] = await tx
    .select({ role: memberships.role, membershipId: memberships.id })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
    .for(strength)
  if (membership) return membership
  // It is no member: it stands on the membership of whoever answers for it, and has no part of its own in anything.
  const [agent] = await liveMachineAgent(tx, { orgId, userId, now: clock() }).for('share')
  if (!agent) throw new ServiceError('FORBIDDEN')
  return { role: machineAgentRole(agent), membershipId: null }
}

/** With hosted auth the organization is not in this database. */
async function isOurs(tx: Transaction, orgId: string): Promise<boolean> {
  const [organization] = await tx
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.id, orgId))
  return organization !== undefined
}

/** Memberships and support sessions of others are not ours to lock: the validation of this call has stored which it is. */
async function readValidated(
  tx: Transaction,
  { orgId, userId, role, supportSessionId }: Author,
): Promise<{ role: Role; membershipId: string | null }> {
  if (supportSessionId !== undefined) return { role, membershipId: null }
  const [validated] = await tx
    .select({ membershipId: validatedMembers.membershipId })
    .from(validatedMembers)
    .where(and(eq(validatedMembers.orgId, orgId), eq(validatedMembers.userId, userId)))
  return { role, membershipId: validated?.membershipId ?? userId }
}

async function lockSupportSession(tx: Transaction, clock: Clock, orgId: string, id: string): Promise<void> {
  const [live] = await tx
    .select({ id: supportSessions.id })
    .from(supportSessions)
    .where(
      and(
        eq(supportSessions.orgId, orgId),
        eq(supportSessions.id, id),
        isNull(supportSessions.endedAt),
        gt(supportSessions.expiresAt, clock()),
      ),
    )
    .for('share')
  if (!live) throw new ServiceError('FORBIDDEN')
}

/** Ended in between: what is made with it now would outlive it. With hosted auth it has no row here. */
async function lockCredential(
  tx: Transaction,
  clock: Clock,
  { orgId, sessionId: browserSessionId, cliSessionId, tokenId, grantId }: Author,
): Promise<void> {
  const sessionId = browserSessionId ?? cliSessionId
  if (sessionId !== undefined) {
    const [session] = await tx
      .select({ endedAt: sessions.endedAt })
      .from(sessions)
      .where(eq(sessions.id, sessionId))
      .for('share')
    if (session && session.endedAt !== null) throw new ServiceError('UNAUTHENTICATED')
  }
  if (tokenId !== undefined) {
    const [token] = await tx
      .select({ revokedAt: apiTokens.revokedAt, expiresAt: apiTokens.expiresAt })
      .from(apiTokens)
      .where(and(eq(apiTokens.orgId, orgId), eq(apiTokens.id, tokenId)))
      .for('share')
    const isExpired = token?.expiresAt != null && token.expiresAt <= clock()
    if (token && (token.revokedAt !== null || isExpired)) throw new ServiceError('UNAUTHENTICATED')
  }
  if (grantId !== undefined) {
    const [grant] = await tx
      .select({ revokedAt: platformAccessGrants.revokedAt })
      .from(platformAccessGrants)
      .where(eq(platformAccessGrants.id, grantId))
      .for('share')
    if (grant && grant.revokedAt !== null) throw new ServiceError('UNAUTHENTICATED')
  }
}
