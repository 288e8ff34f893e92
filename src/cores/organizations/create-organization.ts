/** Somebody founds an organization and owns it. */
import { memberships } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { createOrganization } from '../../contracts/organizations.ts'
import { recordAudit } from '../audit/index.ts'
import { personOf } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { insertWithFreeSlug } from './insert-organization.ts'

export const foundOrganization =
  ({ db, clock }: Storage): Handler<typeof createOrganization> =>
  (caller, { name }) =>
    withTransaction(db, async (tx) => {
      const userId = personOf(caller)
      const org = await insertWithFreeSlug(tx, clock, name)
      await tx
        .insert(memberships)
        .values({ orgId: org.id, userId, role: 'owner', joinedBy: 'creation', joinedAt: clock() })
      await recordAudit(tx, clock, caller, { orgId: org.id, action: 'organization.created', subject: name })
      return { id: org.id, name: org.name, slug: org.slug, role: 'owner' as const }
    })
