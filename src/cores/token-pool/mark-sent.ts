/** From here on the request may have been worked on: without an answer its tokens count in full. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { tokenReservations } from '../../../db/schema.ts'
import type { Reservation } from './reserve-tokens.ts'

/** False: it was closed in the meantime, and nothing may be sent for it. */
export async function markSent(db: Handle, { orgId, id }: Reservation): Promise<boolean> {
  const marked = await db
    .update(tokenReservations)
    .set({ state: 'sent' })
    .where(
      and(
        eq(tokenReservations.orgId, orgId),
        eq(tokenReservations.id, id),
        eq(tokenReservations.state, 'held'),
      ),
    )
    .returning({ id: tokenReservations.id })
  return marked.length === 1
}
