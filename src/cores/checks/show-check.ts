import { read, type Verb } from '../verb.ts'
import { presentCheck, requireCheck } from './check-rows.ts'
import type { ChecksDeps } from './checks-deps.ts'

export const showCheck: Verb<'showCheck', ChecksDeps> = read(
  async ({ db, clock, member, directory, judge }, path) => {
    const { check, seesQuery } = await requireCheck(directory, db, member, path)
    return presentCheck({ judge, db }, check, { now: clock(), seesQuery })
  },
)
