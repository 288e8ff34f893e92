import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type { Storage } from '../dependencies.ts'
import { listVisibleSources } from '../grants/index.ts'
import { requireMember } from '../principal.ts'
import { findProvider } from './provider-rows.ts'
import { findRules, presentRule } from './provider-rules.ts'

export const listIdentityProviderRules =
  ({ db }: Pick<Storage, 'db'>): Handler<'listIdentityProviderRules'> =>
  async (principal, { limit, cursor }) => {
    const member = requireMember(principal)
    const after = Number(readCursor(cursor, 1)?.[0] ?? 0)
    const { id } = await findProvider(db, member.orgId)
    const rows = await findRules(db, id, Number.isSafeInteger(after) ? after : 0).limit(limit + 1)
    const page = pageOf(rows, limit, ({ position }) => [String(position)])
    const known = await listVisibleSources(db, member)
    return { rules: page.rows.map((row) => presentRule(row, known)), next_cursor: page.next_cursor }
  }
