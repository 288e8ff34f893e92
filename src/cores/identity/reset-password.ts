/** Sets a new password by a mailed link. */
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { users } from '../../../db/schema.ts'
import { withTransaction } from '../transaction.ts'
import { currentMembership } from './current-membership.ts'
import { consumeMailedLink } from './mailed-links.ts'
import { setPassword } from './set-password.ts'
import type { PasswordDeps } from './sign-in-with-password.ts'

export async function resetPassword(
  deps: PasswordDeps,
  secret: string,
  password: string,
  requestId: string,
): Promise<void> {
  const link = await consumeMailedLink(deps, 'reset-password', secret)
  const hash = await deps.passwords.hash(password)
  await withTransaction(deps.db, async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, link.userId))
    if (!user) return
    const actor = {
      kind: 'user' as const,
      userId: user.id,
      userName: user.name,
      requestId,
      orgId: (await currentMembership(tx, user.id))?.org.id ?? null,
    }
    await setPassword(tx, deps.clock, actor, hash)
    // Whoever opened the link reads that mailbox.
    await tx
      .update(users)
      .set({ emailVerifiedAt: deps.clock() })
      .where(and(eq(users.id, user.id), eq(users.email, link.email), isNull(users.emailVerifiedAt)))
  })
}
