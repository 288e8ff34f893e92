/** Accounts with a password: made from an invitation or at the first start, changed by their owner. */
import { and, eq } from '../../../db/drizzle.ts'
import { isUniqueViolation, type Transaction } from '../../../db/connect.ts'
import { identities, mailedLinks, passwords, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { SIGN_IN_FAILURES_PER_EMAIL } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { changePassword, showProfile, updateProfile } from '../../contracts/people.ts'
import { recordAudit, type AuditBy } from '../audit/index.ts'
import { personOf } from '../caller.ts'
import type { Clock, Mail, Storage } from '../needs.ts'
import { acceptAs, findInvitation } from '../organizations/index.ts'
import { forgetTries, takeTry } from '../throttle.ts'
import { withTransaction } from '../transaction.ts'
import { endSessionsOf, startSession, type SignedIn } from './sessions.ts'
import type { PasswordNeeds } from './sign-in-with-password.ts'

/** A person without an account follows an invitation link, chooses a password and is in. */
export async function registerByInvitation(
  needs: PasswordNeeds,
  given: { secret: string; name: string; password: string; device: string; requestId: string },
): Promise<SignedIn> {
  if (!needs.passwordSignIn) throw new ServiceError('FORBIDDEN', 'Password sign-in is switched off here')
  const found = await findInvitation(needs, given.secret)
  if (!found) throw new ServiceError('NOT_FOUND', 'This invitation is not valid any more')
  const hash = await needs.passwords.hash(given.password)
  const { email, waitingUserId } = found.invitation
  try {
    return await withTransaction(needs.db, async (tx) => {
      const userId = waitingUserId ?? (await insertUser(tx, needs.clock, { email, name: given.name }))
      if (waitingUserId) await tx.update(users).set({ name: given.name }).where(eq(users.id, userId))
      const by = { kind: 'user' as const, userId, userName: given.name, requestId: given.requestId }
      // Before the password: who sends the same form twice waits here, and then finds the link used.
      await acceptAs(tx, needs, by, given.secret)
      await tx.insert(passwords).values({ userId, email, hash, changedAt: needs.clock() })
      return startSession(tx, needs, by, { signedInBy: 'password', device: given.device })
    })
  } catch (error) {
    if (!isUniqueViolation(error, 'passwords_email_unique')) throw error
    throw new ServiceError('CONFLICT', 'There is an account with this address already', {
      hint: 'Sign in first, then open the invitation again.',
    })
  }
}

export async function insertUser(
  tx: Transaction,
  clock: Clock,
  person: { email: string; name: string },
): Promise<string> {
  const now = clock()
  const id = makeId('usr', now.getTime())
  await tx.insert(users).values({ id, email: person.email, name: person.name, createdAt: now })
  return id
}

export const profileOf =
  ({ db, mail }: Pick<Storage, 'db'> & Mail): Handler<typeof showProfile> =>
  async (caller) => {
    const userId = personOf(caller)
    const [row] = await db
      .select({ user: users, passwordFor: passwords.userId })
      .from(users)
      .leftJoin(passwords, eq(passwords.userId, users.id))
      .where(eq(users.id, userId))
    if (!row) throw new ServiceError('UNAUTHENTICATED')
    const linked = await db
      .select({ provider: identities.provider, email: identities.email })
      .from(identities)
      .where(eq(identities.userId, userId))
      .orderBy(identities.createdAt)
    return {
      id: userId,
      name: row.user.name,
      email: row.user.email,
      email_verified: row.user.emailVerifiedAt !== null,
      can_verify_email: mail !== null,
      has_password: row.passwordFor !== null,
      identities: linked,
      created_at: row.user.createdAt.toISOString(),
    }
  }

export const rename =
  (needs: Pick<Storage, 'db'> & Mail): Handler<typeof updateProfile> =>
  async (caller, { name }) => {
    await needs.db
      .update(users)
      .set({ name })
      .where(eq(users.id, personOf(caller)))
    return profileOf(needs)(caller, {})
  }

export const replacePassword =
  (needs: PasswordNeeds): Handler<typeof changePassword> =>
  async (caller, { current_password, new_password }) => {
    const userId = personOf(caller)
    const [row] = await needs.db.select().from(passwords).where(eq(passwords.userId, userId))
    if (!row)
      throw new ServiceError('CONFLICT', 'You sign in through an identity provider, without a password')
    // Whoever found an open browser must not be able to guess here what the sign-in page would not let them.
    await takeTry(needs, `password:${row.email}`, SIGN_IN_FAILURES_PER_EMAIL)
    if (!(await needs.passwords.verify(row.hash, current_password))) {
      throw new ServiceError('INVALID_REQUEST', 'The current password is wrong')
    }
    await forgetTries(needs, `password:${row.email}`)
    const hash = await needs.passwords.hash(new_password)
    await withTransaction(needs.db, (tx) =>
      setPassword(tx, needs.clock, { ...caller, userId, orgId: caller.orgId }, hash, caller.sessionId),
    )
    return {}
  }

/** Every other session and every link to choose a password ends: people do this when they fear somebody is in. */
export async function setPassword(
  tx: Transaction,
  clock: Clock,
  by: AuditBy & { userId: string; orgId: string | null },
  hash: string,
  exceptSessionId?: string,
): Promise<void> {
  await tx
    .update(passwords)
    .set({ hash, changedAt: clock() })
    .where(and(eq(passwords.userId, by.userId)))
  await endSessionsOf(tx, clock, by.userId, exceptSessionId)
  await tx
    .delete(mailedLinks)
    .where(and(eq(mailedLinks.userId, by.userId), eq(mailedLinks.purpose, 'reset-password')))
  if (by.orgId !== null) await recordAudit(tx, clock, by, { orgId: by.orgId, action: 'password.changed' })
}
