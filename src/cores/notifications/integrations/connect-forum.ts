/** One forum an organization; connected again, it gets the new address and key and keeps its subscriptions. */
import type { Transaction } from '../../../../db/connect.ts'
import { and, eq } from '../../../../db/drizzle.ts'
import { integrations } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { IntegrationChecks } from '../channels/channel-ports.ts'
import { writeInSteps, type Verb } from '../../verb.ts'
import { digestOf } from './integration-secret.ts'
import {
  insertIntegration,
  lockIntegrations,
  presentWithCount,
  reconnectIntegration,
  requireAllowed,
  type IntegrationRow,
  type IntegrationDeps,
} from './integration-rows.ts'

export const connectForum: Verb<'connectForum', IntegrationDeps> = writeInSteps(
  { audit: 'integration.connected' },
  async (context, { url: asked, api_key: apiKey }) => {
    const { member, orgId, checks, dataKeys, transaction } = context
    const url = withoutSlash(asked)
    await requireAllowed(checks, orgId, url)
    await requireKey(checks, { orgId, url, apiKey })
    return transaction(async ({ tx, audit }) => {
      await lockIntegrations(tx, orgId)
      const known = await findForum(tx, orgId)
      const secret = { url, apiKey }
      // The category of another forum means nothing here.
      const config = known?.digest === digestOf(dataKeys, url) ? known.config : {}
      const row = known
        ? await reconnectIntegration(tx, context, known, { secret, config })
        : await insertIntegration(tx, context, member, { kind: 'forum', name: 'Forum', secret })
      await audit('integration.connected', row.name)
      return presentWithCount(tx, row)
    })
  },
)

async function requireKey(
  checks: IntegrationChecks,
  forum: { readonly orgId: string; readonly url: string; readonly apiKey: string },
): Promise<void> {
  const key = await checks.forumKey(forum)
  if (key === 'all_users') return
  if (key === 'not_reached') {
    throw new ServiceError('TIMEOUT', 'The forum did not answer', {
      hint: 'Check the address and try again.',
    })
  }
  throw new ServiceError('INVALID_REQUEST', 'The forum cannot be connected with this key', {
    problems: [
      key === 'refused'
        ? 'api_key: the forum does not accept it'
        : // With such a key every post would be the owner's, whoever caused it.
          'api_key: is the key of a single user; a key for all users is needed',
    ],
  })
}

export const withoutSlash = (url: string): string => url.replace(/\/+$/, '')

export async function findForum(tx: Transaction, orgId: string): Promise<IntegrationRow | undefined> {
  const [row] = await tx
    .select()
    .from(integrations)
    .where(and(eq(integrations.orgId, orgId), eq(integrations.kind, 'forum')))
    .for('update')
  return row
}
