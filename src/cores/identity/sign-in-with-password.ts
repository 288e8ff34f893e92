/** Email and password: throttled, and the answer never tells whether the address is known. */
import type { Transaction } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { passwords, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { SIGN_IN_FAILURES_PER_ADDRESS, SIGN_IN_FAILURES_PER_EMAIL } from '../../contracts/limits.ts'
import type { Principal } from '../../contracts/operation.ts'
import type { Handler } from '../../contracts/operations.ts'
import { joinByDomain } from '../organizations/index.ts'
import type { PasswordHashing } from '../dependencies.ts'
import { networkOf } from '../../contracts/network-of.ts'
import { resetThrottle, refundThrottle, throttle } from '../throttle.ts'
import { withTransaction } from '../transaction.ts'
import { issueSessionToken } from './issue-session-token.ts'
import { startSession, type SessionDeps, type SignedIn } from './start-session.ts'

export type PasswordDeps = SessionDeps & PasswordHashing & { readonly passwordSignIn: boolean }

export const signInWithPassword =
  (deps: PasswordDeps): Handler<'signInWithPassword'> =>
  async (principal, { email, password }) => {
    const { sessionId } = await startPasswordSession(deps, principal, email, password, 'a program')
    return issueSessionToken(deps.db, deps, sessionId)
  }

export async function startPasswordSession(
  deps: PasswordDeps,
  principal: Pick<Principal, 'address' | 'requestId'>,
  email: string,
  password: string,
  device: string,
  knownDevice?: string,
): Promise<SignedIn> {
  if (!deps.passwordSignIn) {
    throw new ServiceError('FORBIDDEN', 'Password sign-in is turned off', {
      hint: 'Sign in through your identity provider.',
    })
  }
  const giveBack = await countTry(deps, principal, email, knownDevice)
  const [known] = await deps.db
    .select({ hash: passwords.hash, user: users })
    .from(passwords)
    .innerJoin(users, eq(users.id, passwords.userId))
    .where(eq(passwords.email, email))
  const right = known
    ? await deps.passwords.verify(known.hash, password)
    : await deps.passwords.verifyNothing(password)
  if (!known || !right) throw new ServiceError('UNAUTHENTICATED', 'Email or password is wrong')
  await giveBack()
  const { user } = known
  const actor = {
    kind: 'user' as const,
    userId: user.id,
    userName: user.name,
    requestId: principal.requestId,
  }
  return withTransaction(deps.db, async (tx) => {
    // Changed or reset while it was being checked: what is made now would outlive that.
    if (!(await holdPassword(tx, user.id, known.hash)))
      throw new ServiceError('UNAUTHENTICATED', 'Email or password is wrong')
    if (user.emailVerifiedAt) await joinByDomain(tx, deps.clock, actor, user.email)
    return startSession(tx, deps, actor, { signedInBy: 'password', device })
  })
}

/** Whether the password is still the one that was checked; it stays so until the end of the transaction. */
export async function holdPassword(tx: Transaction, userId: string, hash: string): Promise<boolean> {
  const [current] = await tx
    .select({ hash: passwords.hash })
    .from(passwords)
    .where(eq(passwords.userId, userId))
    .for('update')
  return current?.hash === hash
}

/** Tries are taken before the check, so that parallel guesses count too; a success gives them back. */
async function countTry(
  deps: PasswordDeps,
  { address }: Pick<Principal, 'address'>,
  email: string,
  knownDevice: string | undefined,
): Promise<() => Promise<void>> {
  if (knownDevice !== undefined) {
    const byDevice = `password-device:${knownDevice}`
    await throttle(deps, byDevice, SIGN_IN_FAILURES_PER_EMAIL)
    // Whoever collected many values, while they could sign in, does not get as many tries.
    await throttle(deps, `password-devices:${email}`, SIGN_IN_FAILURES_PER_ADDRESS)
    return () => resetThrottle(deps, byDevice)
  }
  const byEmail = `password:${email}`
  const byAddress = `password-from:${networkOf(address)}`
  await throttle(deps, byAddress, SIGN_IN_FAILURES_PER_ADDRESS)
  await throttle(deps, byEmail, SIGN_IN_FAILURES_PER_EMAIL)
  return async () => {
    await resetThrottle(deps, byEmail)
    await refundThrottle(deps, byAddress, SIGN_IN_FAILURES_PER_ADDRESS)
  }
}
