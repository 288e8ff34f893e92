import { eq } from '../../../db/drizzle.ts'
import { passwords } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { SIGN_IN_FAILURES_PER_EMAIL } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireUserId } from '../principal.ts'
import { resetThrottle, throttle } from '../throttle.ts'
import { withTransaction } from '../transaction.ts'
import type { PasswordDeps } from './sign-in-with-password.ts'
import { setPassword } from './set-password.ts'

export const changePassword =
  (deps: PasswordDeps): Handler<'changePassword'> =>
  async (principal, { current_password, new_password }) => {
    const userId = requireUserId(principal)
    const [row] = await deps.db.select().from(passwords).where(eq(passwords.userId, userId))
    if (!row)
      throw new ServiceError('CONFLICT', 'You sign in through an identity provider and have no password')
    // Whoever finds an open browser must not guess here what the sign-in page would throttle.
    await throttle(deps, `password:${row.email}`, SIGN_IN_FAILURES_PER_EMAIL)
    if (!(await deps.passwords.verify(row.hash, current_password))) {
      throw new ServiceError('INVALID_REQUEST', 'The current password is wrong')
    }
    await resetThrottle(deps, `password:${row.email}`)
    const hash = await deps.passwords.hash(new_password)
    await withTransaction(deps.db, (tx) =>
      setPassword(
        tx,
        deps.clock,
        { ...principal, userId, orgId: principal.orgId },
        hash,
        principal.sessionId,
      ),
    )
    return {}
  }
