import type { Handler } from '../../contracts/operations.ts'
import type { Storage } from '../dependencies.ts'
import { requireMember } from '../principal.ts'
import { presentLoad, requireLoad } from './load-rows.ts'

export const showLoad =
  ({ db }: Storage): Handler<'showLoad'> =>
  async (principal, { load_id }) => {
    const { load, source } = await requireLoad(db, requireMember(principal).orgId, load_id)
    return presentLoad(load, source)
  }
