import { subscriptions } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { readToken, subscriptionBy, type UnsubscribeDeps } from './unsubscribe.ts'

/** A forged token and one whose subscription is gone are answered alike. */
export const showUnsubscribe =
  (deps: UnsubscribeDeps & WithDirectory): Handler<'showUnsubscribe'> =>
  async (_nobody, { token }) => {
    const named = readToken(deps, token)
    const [found] = named
      ? await deps.db
          .select({ pattern: subscriptions.pattern, enabled: subscriptions.enabled })
          .from(subscriptions)
          .where(subscriptionBy(named))
      : []
    const organization = named && found && (await deps.directory.readOrganization(deps.db, named.orgId))
    return organization
      ? { ...found, organization: organization.name }
      : { pattern: null, organization: null, enabled: false }
  }
