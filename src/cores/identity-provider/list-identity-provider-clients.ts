import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type { LivenessDeps } from '../grants/index.ts'
import { requireMember } from '../principal.ts'
import { findClients, presentClients } from './allowed-clients.ts'
import { findProvider } from './provider-rows.ts'

export const listIdentityProviderClients =
  (deps: LivenessDeps): Handler<'listIdentityProviderClients'> =>
  async (principal, { limit, cursor }) => {
    const { orgId } = requireMember(principal)
    const after = readCursor(cursor, 1)?.[0] ?? ''
    const { id } = await findProvider(deps.db, orgId)
    const rows = await findClients(deps.db, id, { after, limit: limit + 1 })
    const page = pageOf(rows, limit, ({ client }) => [client.clientId])
    return { clients: await presentClients(deps, id, page.rows), next_cursor: page.next_cursor }
  }
