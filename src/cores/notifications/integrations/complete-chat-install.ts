import type { Transaction } from '../../../../db/connect.ts'
import { and, eq } from '../../../../db/drizzle.ts'
import { integrations } from '../../../../db/schema.ts'
import { writeInSteps, type Verb } from '../../verb.ts'
import {
  asName,
  chatServiceAnswer,
  requireChatApp,
  spendChatAuthorization,
  type ChatDeps,
} from './chat-authorizations.ts'
import type { ChatInstallation } from '../channels/channel-ports.ts'
import { alreadyConnected } from './connect-by-address.ts'
import { digestOf } from './integration-secret.ts'
import {
  findByDigest,
  insertIntegration,
  lockIntegrations,
  presentWithCount,
  reconnectIntegration,
  requireAllowed,
  type IntegrationRow,
  type IntegrationDeps,
} from './integration-rows.ts'
import { createChatTicketDefault } from '../fan-out/default-subscriptions.ts'

export const completeChatInstall: Verb<'completeChatInstall', IntegrationDeps & ChatDeps> = writeInSteps(
  { audit: 'integration.connected' },
  async (context, { code, state }) => {
    const { clock, member, orgId, checks, dataKeys, transaction } = context
    const chat = requireChatApp(context)
    await spendChatAuthorization(context, member, 'install', state)
    const installation = withNames(await chatServiceAnswer(chat.install(code)))
    await requireAllowed(checks, orgId, installation.webhookUrl)
    return transaction(async ({ tx, audit }) => {
      await lockIntegrations(tx, orgId)
      const digest = digestOf(dataKeys, installation.webhookUrl)
      const same = await findByDigest(tx, { orgId, kind: 'chat', digest })
      const lost = same?.state === 'lost' ? same : undefined
      const known = (await findSameChannel(tx, orgId, installation)) ?? lost
      // Each would get every message, and the channel all of them twice.
      if (same && same.id !== known?.id) throw alreadyConnected()
      const { webhookUrl: url, botToken, teamId, teamName, channel } = installation
      const columns = { secret: { url, botToken }, config: { workspace: teamName, channel } }
      const row = known
        ? await reconnectIntegration(tx, context, known, columns)
        : await insertIntegration(tx, context, member, { kind: 'chat', name: channel, teamId, ...columns })
      const integrationId = row.id
      await createChatTicketDefault(tx, clock, { orgId, channel: `${teamId}/${channel}`, integrationId })
      await audit('integration.connected', row.name)
      return presentWithCount(tx, row)
    })
  },
)

const withNames = (installation: ChatInstallation): ChatInstallation => ({
  ...installation,
  teamName: asName(installation.teamName) || installation.teamId,
  channel: asName(installation.channel) || 'channel',
})

async function findSameChannel(
  tx: Transaction,
  orgId: string,
  { teamId, channel }: ChatInstallation,
): Promise<IntegrationRow | undefined> {
  const rows = await tx
    .select()
    .from(integrations)
    .where(and(eq(integrations.orgId, orgId), eq(integrations.kind, 'chat'), eq(integrations.teamId, teamId)))
    .for('update')
  return rows.find(({ config }) => config['channel'] === channel)
}
