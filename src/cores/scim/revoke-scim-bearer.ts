import { and, count, eq, isNull, sql } from '../../../db/drizzle.ts'
import { memberships, provisionedPeople as people, scimBearers } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { revokeScimBearers } from '../credentials/index.ts'
import { write, type Verb } from '../verb.ts'
import { bearerName } from './bearer-rows.ts'

export const revokeScimBearer: Verb<'revokeScimBearer'> = write(
  { author: 'owner', audit: 'scim.revoked' },
  async ({ tx, clock, orgId, audit }) => {
    const [counts] = await tx
      .select({
        members: sql<number>`count(${memberships.id})`.mapWith(Number),
        waiting: sql<number>`count(*) filter (where ${people.active} and ${people.userId} is null)`.mapWith(
          Number,
        ),
        all: count(),
      })
      .from(people)
      .leftJoin(memberships, and(eq(memberships.orgId, people.orgId), eq(memberships.userId, people.userId)))
      .where(and(eq(people.orgId, orgId), isNull(people.deletedAt)))
    const [revoked] = await revokeScimBearers(tx, clock, eq(scimBearers.orgId, orgId))
    if (!revoked) throw notFound()
    const { members, waiting } = counts!
    await audit('scim.revoked', `${bearerName(revoked)}; ${members} members stay as they are`)
    return { members, waiting }
  },
)
