import type { LivenessDeps } from '../grants/index.ts'
import { list, type Verb } from '../list.ts'
import { findClients, presentClients } from './allowed-clients.ts'
import { findProvider } from './provider-rows.ts'

export const listIdentityProviderClients: Verb<'listIdentityProviderClients', LivenessDeps> = list(
  { rows: 'clients', cursor: 1 },
  async (context, { limit }) => {
    const { db, orgId, after, page } = context
    const { id } = await findProvider(db, orgId)
    return page({
      rows: () => findClients(db, id, { after: after?.[0] ?? '', limit: limit + 1 }),
      key: ({ client }) => [client.clientId],
      present: (rows) => presentClients(context, id, rows),
    })
  },
)
