/** Mails a link to choose a new password. */
import { eq } from '../../../db/drizzle.ts'
import { passwords } from '../../../db/schema.ts'
import { receivesMail } from '../../contracts/fields.ts'
import { MAILS_PER_ADDRESS, SIGN_IN_FAILURES_PER_ADDRESS } from '../../contracts/limits.ts'
import type { Principal } from '../../contracts/operation.ts'
import { composeMail } from '../mail-template.ts'
import { networkOf } from '../../contracts/network-of.ts'
import { throttle } from '../throttle.ts'
import { createMailedLink, type LinkDeps } from './mailed-links.ts'

/**
 * Answers the same, and as fast, whether the address is known or not: everything that only a known one meets (its own
 * throttle included) happens after the answer.
 */
export async function requestPasswordReset(
  deps: LinkDeps,
  principal: Pick<Principal, 'address'>,
  email: string,
): Promise<void> {
  if (!deps.mail) return
  await throttle(deps, `reset-from:${networkOf(principal.address)}`, SIGN_IN_FAILURES_PER_ADDRESS)
  mailReset(deps, deps.mail, email).catch((error: unknown) => {
    deps.log.warn('password mail could not be sent', { error })
  })
}

async function mailReset(deps: LinkDeps, mail: NonNullable<LinkDeps['mail']>, email: string): Promise<void> {
  const [known] = await deps.db.select().from(passwords).where(eq(passwords.email, email))
  if (!known || !receivesMail(email)) return
  await throttle(deps, `reset-mail:${email}`, MAILS_PER_ADDRESS)
  const link = await createMailedLink(deps, 'reset-password', known.userId, email)
  const subject = 'Choose a new password'
  const content = composeMail({
    subject,
    heading: subject,
    parts: [
      { text: 'Open this link within an hour to choose a new password:' },
      { button: subject, url: link },
    ],
    footer: 'If you did not ask for it, do nothing: your password stays as it is.',
  })
  await mail({ to: email, ...content })
}
