import { organizations } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { presentForOperator } from './present-organization.ts'
import { listDomainsByOrganization } from './organization-domains.ts'

export const listOrganizationsAsOperator: Verb<'listOrganizationsAsOperator'> = list(
  { by: 'principal', rows: 'organizations', asc: [organizations.name, organizations.id] },
  async ({ db, page }) =>
    page({
      from: () => db.select().from(organizations),
      where: undefined,
      key: (row) => [row.name, row.id],
      present: async (rows) => {
        const ids = rows.map((row) => row.id)
        const domains = await listDomainsByOrganization(db, ids)
        return rows.map((row) => presentForOperator(row, domains.get(row.id) ?? []))
      },
    }),
)
