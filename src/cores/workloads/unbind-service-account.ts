import { and, eq } from '../../../db/drizzle.ts'
import { workloadBindings } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireAppReader } from '../apps/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { bindingsOf, subjectOf } from './binding-rows.ts'

export const unbindServiceAccount =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'unbindServiceAccount'> =>
  (principal, { alias, binding_id }) =>
    withTransaction(db, async (tx) => {
      const member = await lockAuthor(tx, clock, requireMember(principal), 'admin')
      const app = await requireAppReader(directory, tx, principal, alias)
      const [removed] = await tx
        .delete(workloadBindings)
        .where(and(bindingsOf(app), eq(workloadBindings.id, binding_id)))
        .returning()
      if (!removed) throw notFound()
      await recordAudit(tx, clock, member, {
        orgId: app.orgId,
        action: 'app.service_account_unbound',
        subject: subjectOf(app, removed),
      })
      return {}
    })
