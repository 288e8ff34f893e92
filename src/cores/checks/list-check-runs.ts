import { and, eq } from '../../../db/drizzle.ts'
import { checkRuns } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { requireCheck } from './check-rows.ts'
import type { ChecksDeps } from './checks-deps.ts'

export const listCheckRuns: Verb<'listCheckRuns', ChecksDeps> = list(
  { rows: 'runs', desc: [checkRuns.id] },
  async ({ db, member, directory, page }, { result, ...path }) => {
    const { check } = await requireCheck(directory, db, member, path)
    return page({
      from: () => db.select().from(checkRuns),
      where: and(
        eq(checkRuns.orgId, check.orgId),
        eq(checkRuns.checkId, check.id),
        result && eq(checkRuns.result, result),
      ),
      key: (row) => [row.id],
      present: (rows) =>
        rows.map(({ id, at, result, ms, status, reason, detail }) => ({
          id,
          at: at.toISOString(),
          result,
          ms,
          status,
          reason,
          detail,
        })),
    })
  },
)
