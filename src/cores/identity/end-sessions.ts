/** Ends every live session of a user, or every one but the session in use. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNull, ne } from '../../../db/drizzle.ts'
import { sessions } from '../../../db/schema.ts'
import type { Storage } from '../dependencies.ts'

export async function endSessions(
  tx: Transaction,
  clock: Storage['clock'],
  userId: string,
  exceptSessionId?: string,
): Promise<number> {
  const rows = await tx
    .update(sessions)
    .set({ endedAt: clock() })
    .where(
      and(
        eq(sessions.userId, userId),
        isNull(sessions.endedAt),
        exceptSessionId === undefined ? undefined : ne(sessions.id, exceptSessionId),
      ),
    )
    .returning({ id: sessions.id })
  return rows.length
}
