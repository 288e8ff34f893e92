/** Starts a session after a sign-in. */
import type { Transaction } from '../../../db/connect.ts'
import { sessions } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { SESSION_SECONDS } from '../../contracts/limits.ts'
import { keyedHash, randomSecret } from '../../trust/keyed-hash.ts'
import type { UserTokens } from '../../trust/user-token.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { Keys, Storage } from '../dependencies.ts'
import { currentMembership } from '../organizations/index.ts'

export type SessionDeps = Storage & Keys & { readonly userTokens: UserTokens }

export type SignedIn = { sessionId: string; browserSecret: string }

/** A new row, id and secret at every sign-in: nothing that was there before it can be carried over (fixation). */
export async function startSession(
  tx: Transaction,
  deps: SessionDeps,
  actor: AuditActor & { userId: string },
  options: { signedInBy: string; device: string },
): Promise<SignedIn> {
  const now = deps.clock()
  const browserSecret = randomSecret()
  const orgId = (await currentMembership(tx, actor.userId))?.org.id ?? null
  const id = makeId('ses', now.getTime())
  await tx.insert(sessions).values({
    id,
    userId: actor.userId,
    orgId,
    signedInBy: options.signedInBy,
    device: options.device.slice(0, 200),
    roleCap: 'owner',
    carriesAppRoles: true,
    browserSecretHash: browserHash(deps, browserSecret),
    rotatedAt: now,
    createdAt: now,
    lastUsedAt: now,
    expiresAt: new Date(now.getTime() + SESSION_SECONDS * 1000),
  })
  if (orgId !== null) {
    await recordAudit(tx, deps.clock, actor, {
      orgId,
      action: 'session.started',
      subject: `by ${options.signedInBy}`,
    })
  }
  return { sessionId: id, browserSecret }
}

export const browserHash = (deps: Keys, secret: string) => keyedHash(deps.keyFor('browser-session'), secret)
