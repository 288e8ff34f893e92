import { and, eq } from '../../../../db/drizzle.ts'
import { follows } from '../../../../db/schema.ts'
import { notFound, ServiceError } from '../../../contracts/errors.ts'
import { CATEGORIES, type Category } from '../../../contracts/channels.ts'
import { findApp, findAppRole } from '../../apps/index.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { write, type Verb } from '../../verb.ts'
import { lastDeliveries, presentFollow, type FollowRow } from './follow-rows.ts'

/** Whoever has no role on the app any more may still unfollow it. */
export const setFollow: Verb<'setFollow', WithDirectory> = write(
  { author: 'viewer', audit: 'follow.changed' },
  async ({ tx, clock, member, orgId, userId, directory, audit }, { alias, categories: asked, frequency }) => {
    const app = await findApp(tx, orgId, alias)
    if (!app) throw notFound()
    if (asked.length > 0 && !(await findAppRole(directory, tx, member, app.id))) {
      throw new ServiceError('FORBIDDEN', 'You may follow only apps that you build, maintain or administer')
    }
    const categories = CATEGORIES.filter((category) => asked.includes(category))
    const follow = { orgId, userId, appId: app.id, categories, frequency, changedAt: clock() }
    const own = and(eq(follows.orgId, orgId), eq(follows.userId, userId), eq(follows.appId, app.id))
    const [before] = await tx.select().from(follows).where(own).for('update')
    if (!isSame(before, categories, frequency)) {
      if (categories.length === 0) await tx.delete(follows).where(own)
      else {
        await tx
          .insert(follows)
          .values(follow)
          .onConflictDoUpdate({
            target: [follows.orgId, follows.userId, follows.appId],
            set: { categories, frequency, changedAt: follow.changedAt },
          })
      }
      await audit('follow.changed', `${alias}: ${categories.join(', ') || 'nothing'}`)
    }
    return presentFollow(
      app,
      categories.length === 0 ? null : follow,
      await lastDeliveries(tx, member, [app.id]),
    )
  },
)

const isSame = (
  before: FollowRow | undefined,
  categories: readonly Category[],
  frequency: FollowRow['frequency'],
): boolean =>
  categories.length === 0
    ? before === undefined
    : before?.frequency === frequency && before.categories.join() === categories.join()
