import { ServiceError } from '../../../contracts/errors.ts'
import { write, type Verb } from '../../verb.ts'
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
export const configureForum: Verb<'configureForum', IntegrationDeps> = write(
  { audit: 'integration.changed' },
  async ({ tx, orgId, dataKeys, audit }, { config: { url, category } }) => {
    await lockIntegrations(tx, orgId)
    const row = await findForum(tx, orgId)
    if (!row) {
      throw new ServiceError('CONFLICT', 'No forum is connected', {
        hint: 'Connect it with its API key first.',
      })
    }
    if (openIntegrationSecret(dataKeys, row).url !== withoutSlash(url)) {
      throw new ServiceError('CONFLICT', 'The connected forum has a different address', {
        hint: 'Connect the forum at this address with its own API key.',
      })
    }
    if (categoryOf(row) === category) return presentWithCount(tx, row)
    const changed = await updateIntegrationRow(tx, row, { config: { ...row.config, category } })
    await audit('integration.changed', row.name)
    return presentWithCount(tx, changed)
  },
)
