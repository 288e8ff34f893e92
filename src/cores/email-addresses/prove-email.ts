/** An address is proven: by a link we mailed to it, or by a provider that answers for it. */
import { and, eq, isNull, ne } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { mailedLinks, memberships, passwords, users } from '../../../db/schema.ts'
import { recordAudit } from '../record-audit.ts'
import type { Clock } from '../dependencies.ts'

/** For the account that shows this address; the proof of another one says nothing about it. */
export async function proveEmail(
  tx: Transaction,
  clock: Clock,
  userId: string,
  email: string,
): Promise<void> {
  const holds = and(eq(users.id, userId), eq(users.email, email))
  await tx
    .update(users)
    .set({ emailVerifiedAt: clock() })
    .where(and(holds, isNull(users.emailVerifiedAt)))
  const [holder] = await tx.select({ id: users.id }).from(users).where(holds)
  if (holder) await releaseEmail(tx, clock, email, userId)
}

/**
 * Password accounts that never proved the address give way: somebody may have claimed it before its owner came. They keep
 * their sessions, memberships and password, and can add an address of their own. Nothing of theirs passes to `userId`.
 */
export async function releaseEmail(
  tx: Transaction,
  clock: Clock,
  email: string,
  userId: string,
): Promise<void> {
  const unproven = await tx
    .select({ id: users.id, name: users.name })
    .from(passwords)
    .innerJoin(users, eq(users.id, passwords.userId))
    .where(and(eq(passwords.email, email), isNull(users.emailVerifiedAt), ne(users.id, userId)))
    .for('update')
  for (const account of unproven) await takeEmailFrom(tx, clock, account, email)
}

async function takeEmailFrom(
  tx: Transaction,
  clock: Clock,
  { id, name }: { id: string; name: string },
  email: string,
): Promise<void> {
  // The column is never empty. RFC 6761: nothing below `invalid` is ever anybody's address.
  const none = `${id}@address.invalid`
  await tx.update(users).set({ email: none }).where(eq(users.id, id))
  await tx.update(passwords).set({ email: none }).where(eq(passwords.userId, id))
  await tx.delete(mailedLinks).where(eq(mailedLinks.userId, id))
  const orgs = await tx
    .select({ orgId: memberships.orgId })
    .from(memberships)
    .where(eq(memberships.userId, id))
  // Not in the name of whoever proved it: that is nothing to this account's organizations.
  const actor = { kind: 'anonymous' as const, userId: null, userName: 'svc', requestId: 'email-proven' }
  for (const { orgId } of orgs) {
    await recordAudit(tx, clock, actor, { orgId, action: 'profile.email_lost', subject: `${name}: ${email}` })
  }
}
