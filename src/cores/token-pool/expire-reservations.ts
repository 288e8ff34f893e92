/** Closes the reservations of whoever died before they could. */
import { and, eq, sql } from '../../../db/drizzle.ts'
import { tokenReservations } from '../../../db/schema.ts'
import type { Log, Storage } from '../dependencies.ts'
import { handleInTurns } from '../work/index.ts'
import { closeReservations } from './settle-tokens.ts'

const EXPIRED = {
  rows: sql`select org_id as "orgId", id, expires_at as place from token_reservations
    where state in ('held', 'sent') and expires_at <= statement_timestamp()`,
  warning: 'a reservation of tokens was not closed',
  named: 'reservation',
}

export async function expireReservations(
  deps: Pick<Storage, 'db'> & Log,
  stopping?: AbortSignal,
): Promise<void> {
  const expire = () =>
    handleInTurns(deps, {
      ...EXPIRED,
      stopping,
      async handle(tx, { orgId, id }) {
        const own = and(eq(tokenReservations.orgId, orgId), eq(tokenReservations.id, id))
        return (await closeReservations(tx, own)) > 0
      },
    })
  while ((await expire()) > 0);
}
