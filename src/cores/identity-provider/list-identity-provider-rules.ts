import { eq } from '../../../db/drizzle.ts'
import { identityProviderRules } from '../../../db/schema.ts'
import { listVisibleSources } from '../grants/index.ts'
import { list, type Verb } from '../list.ts'
import { findProvider } from './provider-rows.ts'
import { presentRule } from './provider-rules.ts'

export const listIdentityProviderRules: Verb<'listIdentityProviderRules'> = list(
  { rows: 'rules', asc: [identityProviderRules.position] },
  async ({ db, member, orgId, page }) => {
    const { id } = await findProvider(db, orgId)
    return page({
      from: () => db.select().from(identityProviderRules),
      where: eq(identityProviderRules.providerId, id),
      key: (row) => [String(row.position)],
      present: async (rows) => {
        const known = await listVisibleSources(db, member)
        return rows.map((row) => presentRule(row, known))
      },
    })
  },
)
