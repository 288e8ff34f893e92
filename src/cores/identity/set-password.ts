/** Sets a new password and ends what the old one opened. */
import { and, eq, inArray } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { mailedLinks, passwords } from '../../../db/schema.ts'
import { endByCause } from '../credentials/index.ts'
import { recordEnding } from '../record-ending.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { Clock } from '../dependencies.ts'
import { RESET_PURPOSES } from './mailed-links.ts'

/** Every other session and every reset link ends: people do this when they fear that somebody else has access. */
export async function setPassword(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor & { userId: string; orgId: string | null },
  hash: string,
  { exceptSessionId, subject }: { exceptSessionId?: string | undefined; subject?: string } = {},
): Promise<void> {
  const isTheirs = eq(passwords.userId, actor.userId)
  const [before] = await tx.select({ hash: passwords.hash }).from(passwords).where(isTheirs).for('update')
  await tx.update(passwords).set({ hash, changedAt: clock() }).where(isTheirs)
  if (before)
    recordEnding(tx, 'password', [{ id: actor.userId, orgId: actor.orgId, was: before.hash, to: { hash } }])
  await endByCause(tx, clock, { cause: 'password_set', userId: actor.userId, exceptSessionId })
  await tx
    .delete(mailedLinks)
    .where(and(eq(mailedLinks.userId, actor.userId), inArray(mailedLinks.purpose, [...RESET_PURPOSES])))
  if (actor.orgId !== null)
    await recordAudit(tx, clock, actor, {
      orgId: actor.orgId,
      action: 'password.changed',
      ...(subject === undefined ? {} : { subject }),
    })
}
