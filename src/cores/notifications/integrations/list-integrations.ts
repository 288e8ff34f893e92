import { asc, eq } from '../../../../db/drizzle.ts'
import { integrations } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import type { ChatApp } from '../channels/channel-ports.ts'
import { countSubscriptions, presentIntegration } from './integration-rows.ts'

export type ListIntegrationsDeps = Storage & {
  readonly chatApp: ChatApp | null
  /** The address the installation's mail comes from; null where no mail server is set up. */
  readonly mailFrom: string | null
}

export const listIntegrations =
  ({ db, chatApp, mailFrom }: ListIntegrationsDeps): Handler<'listIntegrations'> =>
  async (who) => {
    const { orgId } = requireMember(who)
    const rows = await db
      .select()
      .from(integrations)
      .where(eq(integrations.orgId, orgId))
      .orderBy(asc(integrations.id))
    const counts = await countSubscriptions(db, orgId)
    return {
      integrations: rows.map((row) => presentIntegration(row, counts.get(row.id) ?? 0)),
      email: { ready: mailFrom !== null, from: mailFrom },
      chat_install: chatApp !== null,
    }
  }
