import { and, eq } from '../../../db/drizzle.ts'
import { platformAccessGrants, platformOauthClients } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { write, type Verb } from '../verb.ts'
import { endGrant } from './end-grant.ts'
import { isLive } from './grant-filters.ts'
import type { LivenessDeps } from './live-grant.ts'

/** Its grants end with it, each with a row in the audit trail of its organization. */
export const evictRegistration: Verb<'evictRegistration', LivenessDeps> = write(
  { by: 'principal', audit: 'grant.revoked' },
  async (context, { client_id }) => {
    const { tx, clock, principal } = context
    const [evicted] = await tx
      .delete(platformOauthClients)
      .where(and(eq(platformOauthClients.clientId, client_id), eq(platformOauthClients.kind, 'dynamic')))
      .returning({ id: platformOauthClients.clientId })
    if (!evicted) throw notFound()
    const grants = await tx
      .select({ id: platformAccessGrants.id })
      .from(platformAccessGrants)
      .where(and(eq(platformAccessGrants.clientId, client_id), isLive(context)))
    for (const { id } of grants) await endGrant(tx, clock, principal, id, 'revoked')
    return {}
  },
)
