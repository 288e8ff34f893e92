/** E-mail and password: throttled, and silent about whether the address is known. */
import { eq } from '../../../db/drizzle.ts'
import { passwords, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { SIGN_IN_FAILURES_PER_ADDRESS, SIGN_IN_FAILURES_PER_EMAIL } from '../../contracts/limits.ts'
import type { Caller, Handler } from '../../contracts/operation.ts'
import type { signInWithPassword } from '../../contracts/sessions.ts'
import { joinByDomain } from '../organizations/index.ts'
import type { PasswordHashing } from '../needs.ts'
import { forgetTries, giveBackTry, takeTry } from '../throttle.ts'
import { withTransaction } from '../transaction.ts'
import { sessionToken, startSession, type SessionNeeds, type SignedIn } from './sessions.ts'

export type PasswordNeeds = SessionNeeds & PasswordHashing & { readonly passwordSignIn: boolean }

export const signIn =
  (needs: PasswordNeeds): Handler<typeof signInWithPassword> =>
  async (caller, { email, password }) => {
    const { sessionId } = await checkPassword(needs, caller, email, password, 'a program')
    return sessionToken(needs.db, needs, sessionId)
  }

export async function checkPassword(
  needs: PasswordNeeds,
  caller: Pick<Caller, 'address' | 'requestId'>,
  email: string,
  password: string,
  device: string,
): Promise<SignedIn> {
  if (!needs.passwordSignIn) {
    throw new ServiceError('FORBIDDEN', 'Password sign-in is switched off here', {
      hint: 'Sign in through your identity provider.',
    })
  }
  const byEmail = `password:${email}`
  const byAddress = `password-from:${caller.address}`
  // Tries are taken before the check, so that parallel guesses count too; a success gives them back.
  await takeTry(needs, byAddress, SIGN_IN_FAILURES_PER_ADDRESS)
  await takeTry(needs, byEmail, SIGN_IN_FAILURES_PER_EMAIL)
  const [known] = await needs.db
    .select({ hash: passwords.hash, user: users })
    .from(passwords)
    .innerJoin(users, eq(users.id, passwords.userId))
    .where(eq(passwords.email, email))
  const right = known
    ? await needs.passwords.verify(known.hash, password)
    : await needs.passwords.verifyNothing(password)
  if (!known || !right) throw new ServiceError('UNAUTHENTICATED', 'E-mail or password is wrong')
  await forgetTries(needs, byEmail)
  await giveBackTry(needs, byAddress, SIGN_IN_FAILURES_PER_ADDRESS)
  const { user } = known
  const by = { kind: 'user' as const, userId: user.id, userName: user.name, requestId: caller.requestId }
  return withTransaction(needs.db, async (tx) => {
    if (user.emailVerifiedAt) await joinByDomain(tx, needs.clock, by, user.email)
    return startSession(tx, needs, by, { signedInBy: 'password', device })
  })
}
