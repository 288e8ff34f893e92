import { eq } from '../../../db/drizzle.ts'
import { organizationIdentityProviders } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { andEnded, endGrantsOf, lockProvider } from './provider-rows.ts'
import { removeOwnClients } from './remove-own-clients.ts'

/** Clients, rules, links, used assertions and refusals go with its row. */
export const deleteIdentityProvider =
  ({ db, clock }: Storage): Handler<'deleteIdentityProvider'> =>
  (principal) =>
    withTransaction(db, async (tx) => {
      const member = await lockAuthor(tx, clock, requireMember(principal), 'admin')
      const provider = await lockProvider(tx, member.orgId)
      const ended = await endGrantsOf(tx, clock, provider, 'provider_removed')
      await removeOwnClients(tx, member.orgId)
      await tx.delete(organizationIdentityProviders).where(eq(organizationIdentityProviders.id, provider.id))
      await recordAudit(tx, clock, member, {
        orgId: member.orgId,
        action: 'identity_provider.removed',
        subject: andEnded(`${provider.name}: ${provider.issuer}`, ended),
      })
      return {}
    })
