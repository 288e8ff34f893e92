/** Links a subject of the identity provider to a member. A link never moves: it is removed, and made anew. */
import { and, eq } from '../../../db/drizzle.ts'
import { identityLinks } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import { lockAuthor } from '../lock-author.ts'
import { findMember, refuseHigherRole } from '../organizations/index.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { presentLink } from './identity-links.ts'
import { lockProvider } from './provider-rows.ts'

export const linkIdentity =
  ({ db, clock }: Storage): Handler<'linkIdentity'> =>
  (principal, { subject, user_id }) =>
    withTransaction(db, async (tx) => {
      const member = await lockAuthor(tx, clock, requireMember(principal), 'admin')
      const provider = await lockProvider(tx, member.orgId)
      const target = await findMember(tx, member.orgId, user_id)
      refuseHigherRole(member, target.role)
      const now = clock()
      const [link] = await tx
        .insert(identityLinks)
        .values({
          id: makeId('idl', now.getTime()),
          providerId: provider.id,
          subject,
          userId: user_id,
          linkedBy: 'admin',
          createdAt: now,
        })
        .onConflictDoNothing()
        .returning()
      const user = { id: user_id, email: target.email, name: target.name }
      if (!link) {
        const [known] = await tx
          .select()
          .from(identityLinks)
          .where(and(eq(identityLinks.providerId, provider.id), eq(identityLinks.subject, subject)))
        // Asked for twice, perhaps because the answer was lost.
        if (known?.userId === user_id) return presentLink({ link: known, user })
        throw new ServiceError('CONFLICT', 'This subject is linked already', {
          hint: 'Remove its link first.',
        })
      }
      await recordAudit(tx, clock, member, {
        orgId: member.orgId,
        action: 'identity_link.created',
        subject: `${subject}: ${target.email}`,
      })
      return presentLink({ link, user })
    })
