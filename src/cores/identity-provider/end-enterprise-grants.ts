import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { andEnded, endGrantsOf, lockProvider } from './provider-rows.ts'

/** They can come back with the next assertion: whoever wants to stop that pauses the provider or forbids the client. */
export const endEnterpriseGrants =
  ({ db, clock }: Storage): Handler<'endEnterpriseGrants'> =>
  (principal) =>
    withTransaction(db, async (tx) => {
      const member = await lockAuthor(tx, clock, requireMember(principal), 'admin')
      const provider = await lockProvider(tx, member.orgId)
      const ended = await endGrantsOf(tx, clock, provider, 'revoked')
      if (ended > 0) {
        await recordAudit(tx, clock, member, {
          orgId: member.orgId,
          action: 'identity_provider.grants_ended',
          subject: andEnded(provider.name, ended),
        })
      }
      return { ended }
    })
