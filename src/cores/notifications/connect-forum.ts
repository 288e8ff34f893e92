/** Connects the organization's forum with a key for all users, and says where in it to post. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { integrations } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { configureForum, connectForum } from '../../contracts/integrations.ts'
import type { Handler } from '../../contracts/operation.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import { withTransaction } from '../transaction.ts'
import type { ConnectionChecks } from './channel.ts'
import { digestOf, maskAddress, openConnection, sealConnection } from './connection-secret.ts'
import {
  bringBack,
  categoryOf,
  changeConnection,
  lockConnecting,
  presented,
  requireAllowed,
  requireRoom,
  type Connection,
  type ConnectionNeeds,
} from './connections.ts'

/** One forum an organization; connected again, it gets the new address and key and keeps its subscriptions. */
export const addForum =
  (needs: ConnectionNeeds): Handler<typeof connectForum> =>
  async (who, { url: given, api_key: apiKey }) => {
    const { orgId, userId } = asMember(who)
    const url = withoutSlash(given)
    await requireAllowed(needs.checks, url)
    await requireKey(needs.checks, { url, apiKey })
    return withTransaction(needs.db, async (tx) => {
      await lockConnecting(tx, orgId)
      const known = await theForum(tx, orgId)
      const now = needs.clock()
      const id = known?.id ?? makeId('int', now.getTime())
      const reached = {
        state: 'active' as const,
        sealed: sealConnection(needs.dataKeys, { orgId, id }, { url, apiKey }),
        digest: digestOf(needs.dataKeys, url),
        failingSince: null,
      }
      if (!known) await requireRoom(tx, orgId)
      const row = known
        ? // A category of another forum would mean another place.
          await changeConnection(tx, known, {
            ...reached,
            config: { ...(known.digest === reached.digest && known.config), address: maskAddress(url) },
          })
        : await added(tx, { ...reached, orgId, id, createdAt: now, createdBy: userId }, maskAddress(url))
      if (known && known.state !== 'active') await bringBack(tx, row)
      await recordAudit(tx, needs.clock, who, { orgId, action: 'integration.connected', subject: row.name })
      return presented(tx, row)
    })
  }

async function added(
  tx: Transaction,
  row: Omit<typeof integrations.$inferInsert, 'kind' | 'name' | 'config'>,
  address: string,
): Promise<Connection> {
  const [made] = await tx
    .insert(integrations)
    .values({ ...row, kind: 'forum', name: 'Forum', config: { address } })
    .returning()
  return made!
}

async function requireKey(
  checks: ConnectionChecks,
  forum: { readonly url: string; readonly apiKey: string },
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

/**
 * The address must be the one the key was given for: otherwise whoever may change settings could have the key sent to a
 * place of their own.
 */
export const setUpForum =
  (needs: ConnectionNeeds): Handler<typeof configureForum> =>
  (who, { config: { url, category } }) =>
    withTransaction(needs.db, async (tx) => {
      const { orgId } = asMember(who)
      await lockConnecting(tx, orgId)
      const row = await theForum(tx, orgId)
      if (!row) {
        throw new ServiceError('CONFLICT', 'No forum is connected', {
          hint: 'Connect it with its API key first.',
        })
      }
      if (openConnection(needs.dataKeys, row).url !== withoutSlash(url)) {
        throw new ServiceError('CONFLICT', 'The connected forum has another address', {
          hint: 'Connect the forum at this address with an API key of its own.',
        })
      }
      if (categoryOf(row) === category) return presented(tx, row)
      const changed = await changeConnection(tx, row, { config: { ...row.config, category } })
      await recordAudit(tx, needs.clock, who, { orgId, action: 'integration.changed', subject: row.name })
      return presented(tx, changed)
    })

const withoutSlash = (url: string): string => url.replace(/\/+$/, '')

async function theForum(tx: Transaction, orgId: string): Promise<Connection | undefined> {
  const [row] = await tx
    .select()
    .from(integrations)
    .where(and(eq(integrations.orgId, orgId), eq(integrations.kind, 'forum')))
    .for('update')
  return row
}
