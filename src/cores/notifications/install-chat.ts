/** Installs the chat app in a workspace, or brings a lost installation back. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { integrations } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import type { beginChatInstall, completeChatInstall } from '../../contracts/integrations.ts'
import type { Handler } from '../../contracts/operation.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, type MemberCaller } from '../caller.ts'
import { withTransaction } from '../transaction.ts'
import { asName, beginAttempt, heard, requireChatApp, takeAttempt, type ChatNeeds } from './chat-attempts.ts'
import type { ChatInstallation } from './channel.ts'
import { digestOf, maskAddress, sealConnection } from './connection-secret.ts'
import {
  bringBack,
  changeConnection,
  lockConnecting,
  presented,
  requireAllowed,
  requireRoom,
  type Connection,
  type ConnectionNeeds,
} from './connections.ts'
import { seedChatTickets } from './default-subscriptions.ts'

export const startInstall =
  (needs: ChatNeeds): Handler<typeof beginChatInstall> =>
  async (who) => {
    const chat = requireChatApp(needs)
    const { state } = await beginAttempt(needs, asMember(who), 'install')
    return { url: chat.installUrl(state) }
  }

export const finishInstall =
  (needs: ConnectionNeeds & ChatNeeds): Handler<typeof completeChatInstall> =>
  async (who, { code, state }) => {
    const caller = asMember(who)
    const { orgId } = caller
    const chat = requireChatApp(needs)
    await takeAttempt(needs, caller, 'install', state)
    const made = named(await heard(chat.install(code)))
    await requireAllowed(needs.checks, made.webhookUrl)
    return withTransaction(needs.db, async (tx) => {
      await lockConnecting(tx, orgId)
      const known = await sameChannel(tx, orgId, made)
      const row = known ? await renewed(tx, needs, known, made) : await added(tx, needs, caller, made)
      const place = `${made.teamId}/${made.channel}`
      await seedChatTickets(tx, needs.clock, { orgId, place, integrationId: row.id })
      await recordAudit(tx, needs.clock, who, { orgId, action: 'integration.connected', subject: row.name })
      return presented(tx, row)
    })
  }

const named = (made: ChatInstallation): ChatInstallation => ({
  ...made,
  teamName: asName(made.teamName) || made.teamId,
  channel: asName(made.channel) || 'channel',
})

async function sameChannel(
  tx: Transaction,
  orgId: string,
  { teamId, channel }: ChatInstallation,
): Promise<Connection | undefined> {
  const rows = await tx
    .select()
    .from(integrations)
    .where(and(eq(integrations.orgId, orgId), eq(integrations.kind, 'chat'), eq(integrations.teamId, teamId)))
    .for('update')
  return rows.find(({ config }) => config['channel'] === channel)
}

const reachedBy = (
  { dataKeys }: ConnectionNeeds,
  at: { readonly orgId: string; readonly id: string },
  { webhookUrl: url, botToken, teamName, channel }: ChatInstallation,
) => ({
  state: 'active' as const,
  config: { address: maskAddress(url), workspace: teamName, channel },
  sealed: sealConnection(dataKeys, at, { url, botToken }),
  digest: digestOf(dataKeys, url),
  failingSince: null,
})

async function renewed(
  tx: Transaction,
  needs: ConnectionNeeds,
  known: Connection,
  made: ChatInstallation,
): Promise<Connection> {
  await bringBack(tx, known)
  return changeConnection(tx, known, reachedBy(needs, known, made))
}

async function added(
  tx: Transaction,
  needs: ConnectionNeeds,
  { orgId, userId }: MemberCaller,
  made: ChatInstallation,
): Promise<Connection> {
  await requireRoom(tx, orgId)
  const now = needs.clock()
  const id = makeId('int', now.getTime())
  const [row] = await tx
    .insert(integrations)
    .values({
      ...reachedBy(needs, { orgId, id }, made),
      orgId,
      id,
      kind: 'chat',
      name: made.channel,
      teamId: made.teamId,
      createdAt: now,
      createdBy: userId,
    })
    .returning()
  return row!
}
