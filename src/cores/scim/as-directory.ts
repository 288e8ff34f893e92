/** One request of a directory that changes something: one transaction, with its bearer held until the end. */
import { isUniqueViolation } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { scimBearers } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import type { ScimContext, ScimPrincipal } from './dependencies.ts'
import { ScimError } from './scim-error.ts'

/** What is taken, by the index that refuses it. */
const TAKEN: Readonly<Record<string, string>> = {
  provisioned_people_by_name: 'Somebody has this userName already',
  provisioned_people_by_email: 'Somebody has this email address already',
  provisioned_people_by_external_id: 'Somebody has this externalId already',
  provisioned_people_by_user: 'Somebody has the account with this externalId already',
  groups_by_name: 'A group of this name exists already',
}

export async function asDirectory<Result>(
  { db, clock }: Storage,
  bearer: ScimPrincipal,
  work: (context: ScimContext) => Promise<Result>,
): Promise<Result> {
  const { orgId, tokenId } = bearer
  try {
    return await withTransaction(db, async (tx) => {
      // Not in the way of calls that are counted in the row; revoking it takes a stronger lock and waits.
      const [held] = await tx
        .select({ revokedAt: scimBearers.revokedAt })
        .from(scimBearers)
        .where(and(eq(scimBearers.orgId, orgId), eq(scimBearers.id, tokenId)))
        .for('key share')
      if (!held || held.revokedAt !== null) throw new ServiceError('UNAUTHENTICATED')
      return work({ tx, clock, orgId, bearer })
    })
  } catch (error) {
    const index = Object.keys(TAKEN).find((one) => isUniqueViolation(error, one))
    throw index === undefined ? error : new ScimError('uniqueness', TAKEN[index]!, 'CONFLICT')
  }
}
