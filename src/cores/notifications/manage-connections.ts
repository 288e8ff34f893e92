/** Connections as admins keep them: listed masked, renamed, given a new address, switched off and on, removed. */
import type { Transaction } from '../../../db/connect.ts'
import { and, asc, eq } from '../../../db/drizzle.ts'
import { integrations, subscriptions } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { listIntegrations, removeIntegration, updateIntegration } from '../../contracts/integrations.ts'
import type { Handler } from '../../contracts/operation.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import type { ChatApp } from './channel.ts'
import { connectedAlready } from './connect-address.ts'
import { digestOf, maskAddress, sealConnection } from './connection-secret.ts'
import {
  bringBack,
  changeConnection,
  findByDigest,
  lockConnecting,
  lockConnection,
  presentConnection,
  presented,
  requireAllowed,
  subscribedTo,
  type Connection,
  type ConnectionNeeds,
} from './connections.ts'

export type ListNeeds = Storage & {
  readonly chatApp: ChatApp | null
  /** The address the platform's mail comes from; null where no mail server is set up. */
  readonly mailFrom: string | null
}

export const allConnections =
  ({ db, chatApp, mailFrom }: ListNeeds): Handler<typeof listIntegrations> =>
  async (who) => {
    const { orgId } = asMember(who)
    const rows = await db
      .select()
      .from(integrations)
      .where(eq(integrations.orgId, orgId))
      .orderBy(asc(integrations.id))
    const subscribed = await subscribedTo(db, orgId)
    return {
      integrations: rows.map((row) => presentConnection(row, subscribed.get(row.id) ?? 0)),
      email: { ready: mailFrom !== null, from: mailFrom },
      chat_install: chatApp !== null,
    }
  }

type Change = {
  readonly name?: string | undefined
  readonly url?: string | undefined
  readonly enabled?: boolean | undefined
  readonly resend_on_unknown?: boolean | undefined
}

export const reviseConnection =
  (needs: ConnectionNeeds): Handler<typeof updateIntegration> =>
  async (who, { integration_id, ...asked }) => {
    const { orgId } = asMember(who)
    if (asked.url !== undefined) await requireAllowed(needs.checks, asked.url)
    return withTransaction(needs.db, async (tx) => {
      await lockConnecting(tx, orgId)
      const row = await lockConnection(tx, orgId, integration_id)
      const next = { ...(await readdressed(tx, needs, row, asked.url)), ...revised(row, asked) }
      const resend = resending(row, asked)
      if (Object.keys({ ...next, ...resend }).length === 0) return presented(tx, row)
      const config = { ...row.config, ...next.config, ...resend }
      const changed = await changeConnection(tx, row, { ...next, config })
      if (row.state !== 'active' && changed.state === 'active') await bringBack(tx, row)
      const subject = changed.name
      await recordAudit(tx, needs.clock, who, { orgId, action: 'integration.changed', subject })
      return presented(tx, changed)
    })
  }

/** A new address is a new key, and an end to whatever was wrong with the old one; who switched it off keeps it off. */
async function readdressed(
  tx: Transaction,
  { dataKeys }: ConnectionNeeds,
  row: Connection,
  url: string | undefined,
): Promise<Partial<Connection>> {
  if (url === undefined) return {}
  if (row.kind === 'forum' || row.teamId !== null) {
    throw new ServiceError('CONFLICT', 'The address of this connection comes from connecting it', {
      hint: 'Connect it again.',
    })
  }
  const digest = digestOf(dataKeys, url)
  const same = await findByDigest(tx, { orgId: row.orgId, kind: row.kind, digest })
  if (same && same.id !== row.id) throw connectedAlready()
  return {
    digest,
    sealed: sealConnection(dataKeys, row, { url }),
    config: { address: maskAddress(url) },
    failingSince: null,
    state: row.state === 'off' ? 'off' : 'active',
  }
}

/** Switching on again is an admin's word that it works: what was lost, gone or dead is tried anew. */
const revised = (row: Connection, { name, enabled }: Change): Partial<Connection> => ({
  ...(name !== undefined && name !== row.name && { name }),
  ...(enabled === true && row.state !== 'active' && { state: 'active' as const, failingSince: null }),
  ...(enabled === false && row.state !== 'off' && { state: 'off' as const }),
})

function resending({ kind, config }: Connection, { resend_on_unknown: resend }: Change) {
  if (resend === undefined) return {}
  if (kind !== 'webhook') {
    throw new ServiceError('INVALID_REQUEST', 'Only the receiver of a webhook can tell repetitions', {
      problems: ['resend_on_unknown: only of a webhook'],
    })
  }
  return (config['resend_on_unknown'] === true) === resend ? {} : { resend_on_unknown: resend }
}

/** What is queued for it is dropped by whoever sends next, with that reason in the ledger. */
export const dropConnection =
  ({ db, clock }: Storage): Handler<typeof removeIntegration> =>
  (who, { integration_id }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = asMember(who)
      const row = await lockConnection(tx, orgId, integration_id)
      await tx
        .delete(subscriptions)
        .where(and(eq(subscriptions.orgId, orgId), eq(subscriptions.integrationId, row.id)))
      await tx.delete(integrations).where(and(eq(integrations.orgId, orgId), eq(integrations.id, row.id)))
      await recordAudit(tx, clock, who, { orgId, action: 'integration.removed', subject: row.name })
      return {}
    })
