import { and, eq } from '../../../db/drizzle.ts'
import { identityProviderClients as clients, platformAccessGrants } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { andEnded, endGrantsOf, lockProvider } from './provider-rows.ts'
import { removeOwnClients } from './remove-own-clients.ts'

/** Its agents that their people approved themselves go on: to end those too, the client is blocked. */
export const forbidIdentityProviderClient =
  ({ db, clock }: Storage): Handler<'forbidIdentityProviderClient'> =>
  (principal, { client_id }) =>
    withTransaction(db, async (tx) => {
      const member = await lockAuthor(tx, clock, requireMember(principal), 'admin')
      const provider = await lockProvider(tx, member.orgId)
      const [forbidden] = await tx
        .delete(clients)
        .where(and(eq(clients.providerId, provider.id), eq(clients.clientId, client_id)))
        .returning()
      if (!forbidden) throw notFound()
      const ofClient = eq(platformAccessGrants.clientId, client_id)
      await removeOwnClients(tx, member.orgId, client_id)
      const ended = await endGrantsOf(tx, clock, provider, 'client_forbidden', ofClient)
      await recordAudit(tx, clock, member, {
        orgId: member.orgId,
        action: 'identity_provider.client_forbidden',
        subject: andEnded(forbidden.name ?? client_id, ended),
      })
      return {}
    })
