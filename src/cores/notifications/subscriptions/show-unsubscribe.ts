import { subscriptions } from '../../../../db/schema.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { read, type Verb } from '../../verb.ts'
import {
  endedWith,
  isCurrentMailbox,
  patternsOf,
  readToken,
  subscriptionBy,
  type UnsubscribeDeps,
} from './unsubscribe.ts'

/** A forged token, one whose subscription is gone and one of a former mailbox are answered alike. */
export const showUnsubscribe: Verb<'showUnsubscribe', UnsubscribeDeps & WithDirectory> = read(
  'principal',
  async (context, { token }) => {
    const { db, directory } = context
    const named = readToken(context, token)
    const [found] = named ? await db.select().from(subscriptions).where(subscriptionBy(named)) : []
    const organization =
      named &&
      found &&
      (await isCurrentMailbox(db, named, found)) &&
      (await directory.readOrganization(db, named.orgId))
    return organization
      ? {
          pattern: patternsOf(await endedWith(db, found)),
          enabled: found.enabled,
          organization: organization.name,
        }
      : { pattern: null, organization: null, enabled: false }
  },
)
