import { and, desc, lt } from '../../../db/drizzle.ts'
import { workloadBindings } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireAppReader } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import type { BindingDeps } from './bind-service-account.ts'
import { bindingsOf, presentBindings } from './binding-rows.ts'

export const listServiceAccounts =
  ({
    db,
    directory,
    workloadAudience,
  }: Storage & WithDirectory & Pick<BindingDeps, 'workloadAudience'>): Handler<'listServiceAccounts'> =>
  async (principal, { alias, limit, cursor }) => {
    const before = readCursor(cursor, 1)?.[0]
    const app = await requireAppReader(directory, db, principal, alias)
    const rows = await db
      .select()
      .from(workloadBindings)
      .where(and(bindingsOf(app), before === undefined ? undefined : lt(workloadBindings.id, before)))
      .orderBy(desc(workloadBindings.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    return {
      audience: workloadAudience ?? null,
      service_accounts: await presentBindings(db, page.rows),
      next_cursor: page.next_cursor,
    }
  }
