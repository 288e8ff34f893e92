/** Sets a new password by a link: one that we mailed, or one that the operator handed over. */
import { eq } from '../../../db/drizzle.ts'
import { passwords, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { receivesMail } from '../../contracts/fields.ts'
import type { Log, Mail } from '../dependencies.ts'
import { proveEmail } from '../email-addresses/index.ts'
import { composeMail } from '../mail-template.ts'
import { withTransaction } from '../transaction.ts'
import { currentMembership } from '../organizations/index.ts'
import { endCredentials } from './end-credentials.ts'
import { consumeResetLink, deadLink } from './mailed-links.ts'
import { setPassword } from './set-password.ts'
import type { PasswordDeps } from './sign-in-with-password.ts'

/** The address whose password it is now. */
export async function resetPassword(
  deps: PasswordDeps & Mail & Log,
  secret: string,
  password: string,
  { requestId, endsAccess }: { requestId: string; endsAccess: boolean },
): Promise<string> {
  if (!deps.passwordSignIn) throw new ServiceError('FORBIDDEN', 'Password sign-in is turned off')
  const link = await consumeResetLink(deps, secret)
  const byOperator = link.purpose === 'operator-reset'
  const hash = await deps.passwords.hash(password)
  await withTransaction(deps.db, async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, link.userId)).for('update')
    if (!user) return
    const [signsIn] = await tx.select().from(passwords).where(eq(passwords.userId, user.id))
    // It has verified another address since: whoever has the mailbox of the former one need not be that person.
    if (signsIn?.email !== link.email) throw deadLink()
    const actor = {
      kind: 'user' as const,
      userId: user.id,
      userName: user.name,
      requestId,
      orgId: (await currentMembership(tx, user.id))?.org.id ?? null,
    }
    await setPassword(tx, deps.clock, actor, hash, byOperator ? { subject: 'by a link of the operator' } : {})
    // Until now anybody could have claimed the address, and made tokens for the day its owner would take the account.
    const isFirstProof = !byOperator && !user.emailVerifiedAt
    if (endsAccess || isFirstProof) await endCredentials(tx, deps.clock, actor)
    if (byOperator) return
    // Whoever opened the link reads that mailbox.
    await proveEmail(tx, deps.clock, user.id, link.email)
  })
  if (byOperator) mailNotice(deps, link.email)
  return link.email
}

/** After the answer: a person must learn of a password that somebody else may have chosen. */
function mailNotice({ mail, log }: Mail & Log, email: string): void {
  if (!mail || !receivesMail(email)) return
  const subject = 'Your password was changed'
  const content = composeMail({
    subject,
    heading: subject,
    parts: [
      {
        text: 'Your password was changed by a link that the operator of this installation created, and all your sessions were ended.',
      },
    ],
    footer: 'If that was not you, tell the operator.',
  })
  mail({ to: email, ...content }).catch((error: unknown) => {
    log.warn('notice of a changed password could not be mailed', { error })
  })
}
