import { count, eq } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { memberships, organizations, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Storage } from '../dependencies.ts'
import { write, type Verb } from '../verb.ts'
import { insertOrganization } from './insert-organization.ts'

export type FoundingDeps = Storage & { readonly organizationsPerPerson: number }

export const createOrganization: Verb<'createOrganization', FoundingDeps> = write(
  { by: 'person', audit: 'organization.created' },
  async ({ tx, clock, userId, organizationsPerPerson, audit }, { name }) => {
    await refuseTooMany(tx, userId, organizationsPerPerson)
    const org = await insertOrganization(tx, clock, { name, foundedBy: userId })
    await tx
      .insert(memberships)
      .values({ orgId: org.id, userId, role: 'owner', joinedBy: 'creation', joinedAt: clock() })
    await audit('organization.created', name, { orgId: org.id })
    return { id: org.id, name: org.name, slug: org.slug, role: 'owner' as const }
  },
)

/** Those that the founder has left count too: otherwise leaving would be a way to found without end. */
async function refuseTooMany(tx: Transaction, userId: string, most: number): Promise<void> {
  // One at a time, so that a burst stays below the limit.
  await tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).for('update')
  const [founded] = await tx
    .select({ count: count() })
    .from(organizations)
    .where(eq(organizations.foundedBy, userId))
  if (founded!.count < most) return
  throw new ServiceError('CONFLICT', `You have founded ${most} organizations, which is the limit`, {
    hint: 'Ask the operator of this installation to create another one.',
  })
}
