import { count, eq, sql } from '../../../db/drizzle.ts'
import { groups } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { GROUPS_MAX } from '../../contracts/limits.ts'
import { write, type Verb } from '../verb.ts'
import { presentGroup, TAKEN } from './group-rows.ts'

export const createGroup: Verb<'createGroup'> = write(
  { author: 'admin', audit: 'group.created', taken: TAKEN },
  async ({ tx, clock, orgId, userId, audit }, { name }) => {
    // Counted one after the other, so that two cannot both be the last.
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`groups of ${orgId}`}, 0))`)
    const [found] = await tx.select({ n: count() }).from(groups).where(eq(groups.orgId, orgId))
    if (found!.n >= GROUPS_MAX) {
      throw new ServiceError('CONFLICT', `An organization has at most ${GROUPS_MAX} groups`)
    }
    const createdAt = clock()
    const [group] = await tx
      .insert(groups)
      .values({ orgId, id: makeId('grp', createdAt.getTime()), name, createdAt, createdBy: userId })
      .returning()
    await audit('group.created', name)
    return presentGroup(group!, 0)
  },
)
