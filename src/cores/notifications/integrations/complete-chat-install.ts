import type { Transaction } from '../../../../db/connect.ts'
import { and, eq } from '../../../../db/drizzle.ts'
import { integrations } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { requireMember } from '../../principal.ts'
import { withTransaction } from '../../transaction.ts'
import {
  asName,
  chatServiceAnswer,
  requireChatApp,
  spendChatAuthorization,
  type ChatDeps,
} from './chat-authorizations.ts'
import type { ChatInstallation } from '../channels/channel-ports.ts'
import {
  insertIntegration,
  lockIntegrations,
  presentWithCount,
  reconnectIntegration,
  requireAllowed,
  type IntegrationRow,
  type IntegrationDeps,
} from './integration-rows.ts'
import { createChatTicketDefault } from '../fan-out/default-subscriptions.ts'

export const completeChatInstall =
  (deps: IntegrationDeps & ChatDeps): Handler<'completeChatInstall'> =>
  async (who, { code, state }) => {
    const principal = requireMember(who)
    const { orgId } = principal
    const chat = requireChatApp(deps)
    await spendChatAuthorization(deps, principal, 'install', state)
    const installation = withNames(await chatServiceAnswer(chat.install(code)))
    await requireAllowed(deps.checks, installation.webhookUrl)
    return withTransaction(deps.db, async (tx) => {
      await lockIntegrations(tx, orgId)
      const known = await findSameChannel(tx, orgId, installation)
      const { webhookUrl: url, botToken, teamId, teamName, channel } = installation
      const columns = { secret: { url, botToken }, config: { workspace: teamName, channel } }
      const row = known
        ? await reconnectIntegration(tx, deps, known, columns)
        : await insertIntegration(tx, deps, principal, { kind: 'chat', name: channel, teamId, ...columns })
      const integrationId = row.id
      await createChatTicketDefault(tx, deps.clock, { orgId, channel: `${teamId}/${channel}`, integrationId })
      await recordAudit(tx, deps.clock, who, { orgId, action: 'integration.connected', subject: row.name })
      return presentWithCount(tx, row)
    })
  }

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
