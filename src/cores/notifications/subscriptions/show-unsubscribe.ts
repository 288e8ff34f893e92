import { subscriptions } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { isCurrentMailbox, readToken, subscriptionBy, type UnsubscribeDeps } from './unsubscribe.ts'

/** A forged token, one whose subscription is gone and one of a former mailbox are answered alike. */
export const showUnsubscribe =
  (deps: UnsubscribeDeps & WithDirectory): Handler<'showUnsubscribe'> =>
  async (_nobody, { token }) => {
    const { db, directory } = deps
    const named = readToken(deps, token)
    const [found] = named ? await db.select().from(subscriptions).where(subscriptionBy(named)) : []
    const organization =
      named &&
      found &&
      (await isCurrentMailbox(db, named, found)) &&
      (await directory.readOrganization(db, named.orgId))
    return organization
      ? { pattern: found.pattern, enabled: found.enabled, organization: organization.name }
      : { pattern: null, organization: null, enabled: false }
  }
