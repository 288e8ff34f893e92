/** Links we mail: one proves an address, one lets a person choose a new password. Single use, one hour. */
import { and, eq, gt, isNull } from '../../../db/drizzle.ts'
import { mailedLinks, passwords, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { MAIL_LINK_SECONDS, MAILS_PER_ADDRESS, SIGN_IN_FAILURES_PER_ADDRESS } from '../../contracts/limits.ts'
import type { Caller, Handler } from '../../contracts/operation.ts'
import type { sendEmailVerification } from '../../contracts/people.ts'
import { keyedHash, randomSecret } from '../../trust/keyed-hash.ts'
import { personOf } from '../caller.ts'
import type { Keys, Log, Mail, Storage } from '../needs.ts'
import { joinByDomain } from '../organizations/index.ts'
import { takeTry } from '../throttle.ts'
import { withTransaction } from '../transaction.ts'
import { setPassword } from './accounts.ts'
import { workplaceOf } from './sessions.ts'
import type { PasswordNeeds } from './sign-in-with-password.ts'

export type LinkNeeds = Storage & Keys & Mail & Log & { readonly pagesUrl: URL }
type Purpose = (typeof mailedLinks.$inferSelect)['purpose']

const PAGE: Record<Purpose, string> = { 'verify-email': '/auth/verify/', 'reset-password': '/auth/reset/' }

const linkHash = (needs: Keys, purpose: Purpose, secret: string) =>
  keyedHash(needs.keyFor('mailed-link'), `${purpose}:${secret}`)

async function makeLink(needs: LinkNeeds, purpose: Purpose, userId: string, email: string): Promise<string> {
  const secret = randomSecret()
  await needs.db.insert(mailedLinks).values({
    secretHash: linkHash(needs, purpose, secret),
    purpose,
    userId,
    email,
    expiresAt: new Date(needs.clock().getTime() + MAIL_LINK_SECONDS * 1000),
  })
  return new URL(PAGE[purpose] + secret, needs.pagesUrl).href
}

async function takeLink(needs: Storage & Keys, purpose: Purpose, secret: string, userId?: string) {
  const [row] = await needs.db
    .delete(mailedLinks)
    .where(
      and(
        eq(mailedLinks.secretHash, linkHash(needs, purpose, secret)),
        gt(mailedLinks.expiresAt, needs.clock()),
        userId === undefined ? undefined : eq(mailedLinks.userId, userId),
      ),
    )
    .returning()
  if (!row) throw new ServiceError('NOT_FOUND', 'This link is not valid any more')
  return row
}

export const mailVerification =
  (needs: LinkNeeds): Handler<typeof sendEmailVerification> =>
  async (caller) => {
    if (!needs.mail) throw new ServiceError('CONFLICT', 'This installation has no mail server')
    const [user] = await needs.db
      .select()
      .from(users)
      .where(eq(users.id, personOf(caller)))
    if (!user) throw new ServiceError('UNAUTHENTICATED')
    if (user.emailVerifiedAt) throw new ServiceError('CONFLICT', 'Your address is verified already')
    await takeTry(needs, `mail:${user.email}`, MAILS_PER_ADDRESS)
    const link = await makeLink(needs, 'verify-email', user.id, user.email)
    const text = `Open this link within an hour to confirm that this address is yours:\n\n${link}\n\nIf you did not ask for it, do nothing.`
    try {
      await needs.mail({ to: user.email, subject: 'Confirm your e-mail address', text })
    } catch (error) {
      needs.log.warn('verification mail could not be sent', { error })
      throw new ServiceError('CONFLICT', 'The mail could not be sent', {
        hint: 'Try again in a few minutes.',
      })
    }
    return {}
  }

/**
 * Only for the account that is signed in: otherwise somebody with an account on a foreign address could have its
 * owner press the button for them.
 */
export async function verifyAddress(
  needs: Storage & Keys,
  userId: string,
  secret: string,
  requestId: string,
): Promise<void> {
  const link = await takeLink(needs, 'verify-email', secret, userId)
  await withTransaction(needs.db, async (tx) => {
    const [user] = await tx
      .update(users)
      .set({ emailVerifiedAt: needs.clock() })
      // The address may have changed since the mail left.
      .where(and(eq(users.id, link.userId), eq(users.email, link.email)))
      .returning()
    if (!user) return
    const by = { kind: 'user' as const, userId: user.id, userName: user.name, requestId }
    await joinByDomain(tx, needs.clock, by, user.email)
  })
}

/**
 * Answers the same, and as soon, whether the address is known or not: everything that only a known one meets
 * (its own throttle included) happens behind the answer's back.
 */
export async function askForReset(
  needs: LinkNeeds,
  caller: Pick<Caller, 'address'>,
  email: string,
): Promise<void> {
  if (!needs.mail) return
  await takeTry(needs, `reset-from:${caller.address}`, SIGN_IN_FAILURES_PER_ADDRESS)
  mailReset(needs, needs.mail, email).catch((error: unknown) => {
    needs.log.warn('password mail could not be sent', { error })
  })
}

async function mailReset(
  needs: LinkNeeds,
  mail: NonNullable<LinkNeeds['mail']>,
  email: string,
): Promise<void> {
  const [known] = await needs.db.select().from(passwords).where(eq(passwords.email, email))
  if (!known) return
  await takeTry(needs, `mail:${email}`, MAILS_PER_ADDRESS)
  const link = await makeLink(needs, 'reset-password', known.userId, email)
  const text = `Open this link within an hour to choose a new password:\n\n${link}\n\nIf you did not ask for it, do nothing: your password stays as it is.`
  await mail({ to: email, subject: 'Choose a new password', text })
}

export async function resetPassword(
  needs: PasswordNeeds,
  secret: string,
  password: string,
  requestId: string,
): Promise<void> {
  const link = await takeLink(needs, 'reset-password', secret)
  const hash = await needs.passwords.hash(password)
  await withTransaction(needs.db, async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, link.userId))
    if (!user) return
    const by = {
      kind: 'user' as const,
      userId: user.id,
      userName: user.name,
      requestId,
      orgId: (await workplaceOf(tx, user.id))?.org.id ?? null,
    }
    await setPassword(tx, needs.clock, by, hash)
    // Whoever opened the link reads that mailbox.
    await tx
      .update(users)
      .set({ emailVerifiedAt: needs.clock() })
      .where(and(eq(users.id, user.id), eq(users.email, link.email), isNull(users.emailVerifiedAt)))
  })
}
