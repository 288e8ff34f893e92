/** Proves the address of a signed-in user by the link that was mailed to it. */
import { eq } from '../../../db/drizzle.ts'
import { isUniqueViolation } from '../../../db/connect.ts'
import type { Transaction } from '../../../db/connect.ts'
import { passwords, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { releaseEmail } from '../email-addresses/index.ts'
import type { Clock, Keys, Storage } from '../dependencies.ts'
import { joinByDomain } from '../organizations/index.ts'
import { withTransaction } from '../transaction.ts'
import { consumeMailedLink, deadLink } from './mailed-links.ts'
import { recordProfileChange } from './record-profile-change.ts'

/**
 * Only for the account that is signed in: otherwise somebody with an account on another person's address could have
 * that person press the button for them.
 */
export async function verifyEmail(
  deps: Storage & Keys,
  userId: string,
  secret: string,
  requestId: string,
): Promise<void> {
  const link = await consumeMailedLink(deps, 'verify-email', secret, userId)
  try {
    await withTransaction(deps.db, async (tx) => {
      const user = await takeEmail(tx, deps.clock, userId, link.email)
      const actor = { kind: 'user' as const, userId, userName: user.name, requestId }
      if (user.before !== link.email) {
        await recordProfileChange(tx, deps.clock, actor, `email: ${user.before} → ${link.email}`)
      }
      await joinByDomain(tx, deps.clock, actor, link.email)
    })
  } catch (error) {
    if (!isUniqueViolation(error, 'passwords_email_unique')) throw error
    throw new ServiceError('CONFLICT', 'Another account has verified this address', {
      hint: 'Sign in with that account, or verify another address.',
    })
  }
}

/** A verified address is not replaced: an old link to another mailbox must not move the account to it. */
async function takeEmail(tx: Transaction, clock: Clock, userId: string, email: string) {
  const [user] = await tx
    .select({ name: users.name, before: users.email, verifiedAt: users.emailVerifiedAt })
    .from(users)
    .where(eq(users.id, userId))
    .for('update')
  if (!user || (user.verifiedAt && user.before !== email)) throw deadLink()
  await tx.update(users).set({ email, emailVerifiedAt: clock() }).where(eq(users.id, userId))
  await releaseEmail(tx, clock, email, userId)
  await tx.update(passwords).set({ email }).where(eq(passwords.userId, userId))
  return user
}
