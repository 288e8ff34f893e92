import { and, eq } from '../../../db/drizzle.ts'
import { checkRuns, checks } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { hasCheckKey, lockCheck } from './check-rows.ts'
import type { ChecksDeps } from './checks-deps.ts'

export const removeCheck =
  ({ db, clock, directory }: ChecksDeps): Handler<'removeCheck'> =>
  (principal, { alias, check_id }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
      const { check } = await lockCheck(directory, tx, member, { alias, check_id })
      await tx.delete(checks).where(hasCheckKey(check))
      await tx.delete(checkRuns).where(and(eq(checkRuns.orgId, orgId), eq(checkRuns.checkId, check.id)))
      const subject = `${alias}: ${check.name}`
      await recordAudit(tx, clock, member, { orgId, action: 'check.removed', subject })
      return {}
    })
