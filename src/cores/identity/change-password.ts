import { eq } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { passwords, sessions } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { SIGN_IN_FAILURES_PER_EMAIL } from '../../contracts/limits.ts'
import { resetThrottle, throttle } from '../throttle.ts'
import { endByCause } from '../credentials/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { recordEndedAccess } from './record-ended-access.ts'
import { holdPassword, type PasswordDeps } from './sign-in-with-password.ts'
import { setPassword } from './set-password.ts'

export const changePassword: Verb<'changePassword', PasswordDeps> = writeInSteps(
  { by: 'person', audit: ['password.changed', 'access.ended'] },
  async (context, { current_password, new_password, end_api_tokens }) => {
    const { db, clock, userId, principal, transaction } = context
    const [row] = await db.select().from(passwords).where(eq(passwords.userId, userId))
    if (!row)
      throw new ServiceError('CONFLICT', 'You sign in through an identity provider and have no password')
    // Whoever finds an open browser must not guess here what the sign-in page would throttle.
    // In a bucket of its own: guesses on that page must not keep the person from changing the password here.
    await throttle(context, `password-change:${userId}`, SIGN_IN_FAILURES_PER_EMAIL)
    if (!(await context.passwords.verify(row.hash, current_password))) {
      throw new ServiceError('INVALID_REQUEST', 'The current password is wrong')
    }
    await resetThrottle(context, `password-change:${userId}`)
    const hash = await context.passwords.hash(new_password)
    await transaction(async ({ tx }) => {
      const isHeld =
        (await holdPassword(tx, userId, row.hash)) && (await holdSession(tx, principal.sessionId))
      // Reset, or signed out everywhere, while this was under way: whoever did that has the last word.
      if (!isHeld) throw new ServiceError('UNAUTHENTICATED')
      const actor = { ...principal, userId, orgId: principal.orgId }
      await setPassword(tx, clock, actor, hash, { exceptSessionId: principal.sessionId })
      if (!end_api_tokens) return
      const { tokens } = await endByCause(tx, clock, { cause: 'tokens_ended', userId })
      const ended = tokens.map(({ orgId }) => ({ orgId, kind: 'tokens' as const }))
      await recordEndedAccess(tx, clock, actor, { ended, about: 'with the password' })
    })
    return {}
  },
)

async function holdSession(tx: Transaction, sessionId: string | undefined): Promise<boolean> {
  if (sessionId === undefined) return false
  const [session] = await tx
    .select({ endedAt: sessions.endedAt })
    .from(sessions)
    .where(eq(sessions.id, sessionId))
    .for('share')
  return session !== undefined && session.endedAt === null
}
