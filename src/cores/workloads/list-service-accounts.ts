import { workloadBindings } from '../../../db/schema.ts'
import { requireAppReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { list, type Verb } from '../list.ts'
import type { BindingDeps } from './bind-service-account.ts'
import { bindingsOf, presentBindings } from './binding-rows.ts'

export const listServiceAccounts: Verb<
  'listServiceAccounts',
  WithDirectory & Pick<BindingDeps, 'workloadAudience'>
> = list(
  { by: 'principal', rows: 'service_accounts', desc: [workloadBindings.id] },
  async ({ db, principal, directory, workloadAudience, page }, { alias }) => {
    const app = await requireAppReader(directory, db, principal, alias)
    return {
      ...(await page({
        from: () => db.select().from(workloadBindings),
        where: bindingsOf(app),
        key: (row) => [row.id],
        present: (rows) => presentBindings(db, rows),
      })),
      audience: workloadAudience ?? null,
    }
  },
)
