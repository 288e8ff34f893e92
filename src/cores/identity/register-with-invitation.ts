/** Creates an account with a password from an invitation link, joins the organization and signs in. */
import { eq } from '../../../db/drizzle.ts'
import { isUniqueViolation } from '../../../db/connect.ts'
import { passwords, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { acceptInvitationAs, findInvitation } from '../organizations/index.ts'
import { withTransaction } from '../transaction.ts'
import { insertUser } from './insert-user.ts'
import { startSession, type SignedIn } from './start-session.ts'
import type { PasswordDeps } from './sign-in-with-password.ts'

export async function registerWithInvitation(
  deps: PasswordDeps,
  input: { secret: string; name: string; password: string; device: string; requestId: string },
): Promise<SignedIn & { email: string }> {
  if (!deps.passwordSignIn) throw new ServiceError('FORBIDDEN', 'Password sign-in is turned off')
  const found = await findInvitation(deps, input.secret)
  if (!found) throw new ServiceError('NOT_FOUND', 'This invitation is no longer valid')
  const hash = await deps.passwords.hash(input.password)
  const { email, waitingUserId } = found.invitation
  try {
    return await withTransaction(deps.db, async (tx) => {
      const userId = waitingUserId ?? (await insertUser(tx, deps.clock, { email, name: input.name }))
      if (waitingUserId) await tx.update(users).set({ name: input.name }).where(eq(users.id, userId))
      const actor = { kind: 'user' as const, userId, userName: input.name, requestId: input.requestId }
      // Before the password: a form that is sent twice waits here, and then finds the link used.
      await acceptInvitationAs(tx, deps, actor, input.secret)
      await tx.insert(passwords).values({ userId, email, hash, changedAt: deps.clock() })
      const signedIn = await startSession(tx, deps, actor, { signedInBy: 'password', device: input.device })
      return { ...signedIn, email }
    })
  } catch (error) {
    if (!isUniqueViolation(error, 'passwords_email_unique')) throw error
    throw new ServiceError('CONFLICT', 'An account with this address already exists', {
      hint: 'Sign in first, then open the invitation again.',
    })
  }
}
