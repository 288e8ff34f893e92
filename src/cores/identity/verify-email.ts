/** Proves the address of a signed-in user by the link that was mailed to it. */
import { and, eq } from '../../../db/drizzle.ts'
import { users } from '../../../db/schema.ts'
import type { Keys, Storage } from '../dependencies.ts'
import { joinByDomain } from '../organizations/index.ts'
import { withTransaction } from '../transaction.ts'
import { consumeMailedLink } from './mailed-links.ts'

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
  await withTransaction(deps.db, async (tx) => {
    const [user] = await tx
      .update(users)
      .set({ emailVerifiedAt: deps.clock() })
      // The address may have changed since the mail left.
      .where(and(eq(users.id, link.userId), eq(users.email, link.email)))
      .returning()
    if (!user) return
    const actor = { kind: 'user' as const, userId: user.id, userName: user.name, requestId }
    await joinByDomain(tx, deps.clock, actor, user.email)
  })
}
