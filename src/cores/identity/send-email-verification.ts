import { eq } from '../../../db/drizzle.ts'
import { users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { receivesMail } from '../../contracts/fields.ts'
import { MAILS_PER_ADDRESS, VERIFICATIONS_PER_PERSON } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { composeMail } from '../mail-template.ts'
import { requireUserId } from '../principal.ts'
import { throttle } from '../throttle.ts'
import { type LinkDeps, createMailedLink } from './mailed-links.ts'

export const sendEmailVerification =
  (deps: LinkDeps): Handler<'sendEmailVerification'> =>
  async (principal, { email }) => {
    if (!deps.mail) throw new ServiceError('CONFLICT', 'This installation has no mail server')
    const [user] = await deps.db
      .select()
      .from(users)
      .where(eq(users.id, requireUserId(principal)))
    if (!user) throw new ServiceError('UNAUTHENTICATED')
    if (user.emailVerifiedAt) throw new ServiceError('CONFLICT', 'Your email address is already verified')
    const to = email ?? user.email
    if (!receivesMail(to)) {
      throw new ServiceError('CONFLICT', 'No mail can reach this address', {
        hint: 'Give an address at which you read mail.',
      })
    }
    await throttle(deps, `verifications-by:${user.id}`, VERIFICATIONS_PER_PERSON)
    await throttle(deps, `verification-mail:${user.id}:${to}`, MAILS_PER_ADDRESS)
    const link = await createMailedLink(deps, 'verify-email', user.id, to)
    const subject = 'Confirm your email address'
    const content = composeMail({
      subject,
      heading: subject,
      parts: [
        { text: 'Open this link within an hour to confirm that this address is yours:' },
        { button: 'Confirm email address', url: link },
      ],
      footer: 'If you did not ask for it, do nothing.',
    })
    try {
      await deps.mail({ to, ...content })
    } catch (error) {
      deps.log.warn('verification mail could not be sent', { error })
      throw new ServiceError('CONFLICT', 'The mail could not be sent', {
        hint: 'Try again in a few minutes.',
      })
    }
    return {}
  }
