import { ServiceError } from '../../../contracts/errors.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { requireMember } from '../../principal.ts'
import { withTransaction } from '../../transaction.ts'
import { openIntegrationSecret } from './integration-secret.ts'
import {
  categoryOf,
  updateIntegrationRow,
  lockIntegrations,
  presentWithCount,
  type IntegrationDeps,
} from './integration-rows.ts'
import { findForum, withoutSlash } from './connect-forum.ts'

/**
 * The address must be the one the key was given for: otherwise whoever may change settings could have the key sent to an
 * address of their own.
 */
export const configureForum =
  (deps: IntegrationDeps): Handler<'configureForum'> =>
  (who, { config: { url, category } }) =>
    withTransaction(deps.db, async (tx) => {
      const { orgId } = requireMember(who)
      await lockIntegrations(tx, orgId)
      const row = await findForum(tx, orgId)
      if (!row) {
        throw new ServiceError('CONFLICT', 'No forum is connected', {
          hint: 'Connect it with its API key first.',
        })
      }
      if (openIntegrationSecret(deps.dataKeys, row).url !== withoutSlash(url)) {
        throw new ServiceError('CONFLICT', 'The connected forum has a different address', {
          hint: 'Connect the forum at this address with its own API key.',
        })
      }
      if (categoryOf(row) === category) return presentWithCount(tx, row)
      const changed = await updateIntegrationRow(tx, row, { config: { ...row.config, category } })
      await recordAudit(tx, deps.clock, who, { orgId, action: 'integration.changed', subject: row.name })
      return presentWithCount(tx, changed)
    })
