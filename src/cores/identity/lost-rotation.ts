/** Of a token that is newer than its session: who has it was given it, and the database has lost that. */
import type { Handle } from '../../../db/connect.ts'
import type { sessions } from '../../../db/schema.ts'
import { lostTailOf } from '../timeline.ts'

/** Once for each tail: what was rotated after it is held by somebody else, too. */
export async function mayHaveLost(
  db: Handle,
  session: Pick<typeof sessions.$inferSelect, 'generation' | 'rotatedAt'>,
  token: { readonly generation: number; readonly issuedAt: Date },
): Promise<boolean> {
  if (token.generation <= session.generation) return false
  const tail = await lostTailOf(db, token.issuedAt)
  return tail !== undefined && session.rotatedAt.getTime() <= tail.until
}
