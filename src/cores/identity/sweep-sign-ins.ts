/** Deletes expired sign-in attempts, codes and mailed links, and sessions that ended long ago. */
import { and, inArray, isNotNull, isNull, lt, or } from '../../../db/drizzle.ts'
import { cliLogins, mailedLinks, sessions, signInAttempts, signInCodes } from '../../../db/schema.ts'
import type { Storage } from '../dependencies.ts'

/** Ended sessions stay for whoever investigates an incident. */
const SESSION_KEPT_MS = 30 * 24 * 60 * 60 * 1000

/** Whoever types the code of one that is over is told so, for so long. */
const LOGIN_KEPT_MS = 60 * 60 * 1000

export async function sweepSignIns({ db, clock }: Storage): Promise<void> {
  const now = clock()
  const longAgo = new Date(now.getTime() - SESSION_KEPT_MS)
  await db.delete(signInAttempts).where(lt(signInAttempts.expiresAt, now))
  await db.delete(signInCodes).where(lt(signInCodes.expiresAt, now))
  await db.delete(mailedLinks).where(lt(mailedLinks.expiresAt, now))
  // Approved, and never fetched.
  await db
    .update(sessions)
    .set({ endedAt: now })
    .where(
      and(
        isNull(sessions.endedAt),
        inArray(
          sessions.id,
          db
            .select({ id: cliLogins.sessionId })
            .from(cliLogins)
            .where(
              and(lt(cliLogins.expiresAt, now), isNotNull(cliLogins.sessionId), isNull(cliLogins.usedAt)),
            ),
        ),
      ),
    )
  await db.delete(cliLogins).where(lt(cliLogins.expiresAt, new Date(now.getTime() - LOGIN_KEPT_MS)))
  await db.delete(sessions).where(or(lt(sessions.expiresAt, longAgo), lt(sessions.endedAt, longAgo)))
}
