import type { Handler } from '../../contracts/operations.ts'
import { requireMember } from '../principal.ts'
import { presentCheck, requireCheck } from './check-rows.ts'
import type { ChecksDeps } from './checks-deps.ts'

export const showCheck =
  ({ db, clock, directory, judge }: ChecksDeps): Handler<'showCheck'> =>
  async (principal, path) => {
    const { check, seesQuery } = await requireCheck(directory, db, requireMember(principal), path)
    return presentCheck({ judge, db }, check, { now: clock(), seesQuery })
  }
