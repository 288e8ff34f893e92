import { and, eq } from '../../../db/drizzle.ts'
import { checkRuns, checks } from '../../../db/schema.ts'
import { write, type Verb } from '../verb.ts'
import { hasCheckKey, lockCheck } from './check-rows.ts'
import type { ChecksDeps } from './checks-deps.ts'

export const removeCheck: Verb<'removeCheck', ChecksDeps> = write(
  { audit: 'check.removed' },
  async ({ tx, member, orgId, directory, audit }, { alias, check_id }) => {
    const { check } = await lockCheck(directory, tx, member, { alias, check_id })
    await tx.delete(checks).where(hasCheckKey(check))
    await tx.delete(checkRuns).where(and(eq(checkRuns.orgId, orgId), eq(checkRuns.checkId, check.id)))
    await audit('check.removed', `${alias}: ${check.name}`)
    return {}
  },
)
