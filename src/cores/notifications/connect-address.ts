/** Connects what is reached by an address alone: a signed webhook, or a chat channel by its incoming webhook. */
import type { Transaction } from '../../../db/connect.ts'
import { integrations } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { connectChatWebhook, connectWebhook } from '../../contracts/integrations.ts'
import type { Handler } from '../../contracts/operation.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, type MemberCaller } from '../caller.ts'
import { withTransaction } from '../transaction.ts'
import { digestOf, maskAddress, sealConnection } from './connection-secret.ts'
import {
  bringBack,
  changeConnection,
  findByDigest,
  lockConnecting,
  presented,
  requireAllowed,
  requireRoom,
  type Connection,
  type ConnectionNeeds,
} from './connections.ts'
import { seedChatTickets } from './default-subscriptions.ts'

type Asked = {
  readonly kind: 'webhook' | 'chat'
  readonly name: string
  readonly url: string
  readonly resendOnUnknown: boolean
}

export const addWebhook =
  (needs: ConnectionNeeds): Handler<typeof connectWebhook> =>
  (who, { name, url, resend_on_unknown }) =>
    connect(needs, asMember(who), { kind: 'webhook', name, url, resendOnUnknown: resend_on_unknown })

export const addChatWebhook =
  (needs: ConnectionNeeds): Handler<typeof connectChatWebhook> =>
  (who, { name, url }) =>
    connect(needs, asMember(who), { kind: 'chat', name, url, resendOnUnknown: false })

async function connect(needs: ConnectionNeeds, who: MemberCaller, asked: Asked) {
  const { orgId } = who
  // Before the transaction: it asks the network.
  await requireAllowed(needs.checks, asked.url)
  const digest = digestOf(needs.dataKeys, asked.url)
  return withTransaction(needs.db, async (tx) => {
    await lockConnecting(tx, orgId)
    const known = await findByDigest(tx, { orgId, kind: asked.kind, digest })
    if (known && known.state !== 'lost') throw connectedAlready()
    const row = known ? await reconnected(tx, known, asked.name) : await added(tx, needs, who, asked, digest)
    if (row.kind === 'chat') {
      await seedChatTickets(tx, needs.clock, { orgId, place: digest, integrationId: row.id })
    }
    await recordAudit(tx, needs.clock, who, { orgId, action: 'integration.connected', subject: row.name })
    return presented(tx, row)
  })
}

export const connectedAlready = () =>
  new ServiceError('CONFLICT', 'This address is connected already', {
    hint: 'Look for it in the list of connections; it may be switched off.',
  })

async function reconnected(tx: Transaction, known: Connection, name: string): Promise<Connection> {
  await bringBack(tx, known)
  return changeConnection(tx, known, { name, state: 'active', failingSince: null })
}

async function added(
  tx: Transaction,
  needs: ConnectionNeeds,
  { orgId, userId }: MemberCaller,
  { kind, name, url, resendOnUnknown }: Asked,
  digest: string,
): Promise<Connection> {
  await requireRoom(tx, orgId)
  const now = needs.clock()
  const id = makeId('int', now.getTime())
  const [row] = await tx
    .insert(integrations)
    .values({
      orgId,
      id,
      kind,
      name,
      state: 'active',
      config: { address: maskAddress(url), ...(resendOnUnknown && { resend_on_unknown: true }) },
      sealed: sealConnection(needs.dataKeys, { orgId, id }, { url }),
      digest,
      createdAt: now,
      createdBy: userId,
    })
    .returning()
  return row!
}
