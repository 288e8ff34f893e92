import { memberships } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireUserId } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { insertOrganization } from './insert-organization.ts'

export const createOrganization =
  ({ db, clock }: Storage): Handler<'createOrganization'> =>
  (principal, { name }) =>
    withTransaction(db, async (tx) => {
      const userId = requireUserId(principal)
      const org = await insertOrganization(tx, clock, name)
      await tx
        .insert(memberships)
        .values({ orgId: org.id, userId, role: 'owner', joinedBy: 'creation', joinedAt: clock() })
      await recordAudit(tx, clock, principal, {
        orgId: org.id,
        action: 'organization.created',
        subject: name,
      })
      return { id: org.id, name: org.name, slug: org.slug, role: 'owner' as const }
    })
