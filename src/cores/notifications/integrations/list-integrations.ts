import { asc, eq } from '../../../../db/drizzle.ts'
import { integrations } from '../../../../db/schema.ts'
import type { Storage } from '../../dependencies.ts'
import type { ChatApp } from '../channels/channel-ports.ts'
import { read, type Verb } from '../../verb.ts'
import { countSubscriptions, countWaiting, presentIntegration } from './integration-rows.ts'

export type ListIntegrationsDeps = Storage & {
  readonly chatApp: ChatApp | null
  /** The address the installation's mail comes from; null where no mail server is set up. */
  readonly mailFrom: string | null
}

export const listIntegrations: Verb<'listIntegrations', ListIntegrationsDeps> = read(
  async ({ db, orgId, chatApp, mailFrom }) => {
    const rows = await db
      .select()
      .from(integrations)
      .where(eq(integrations.orgId, orgId))
      .orderBy(asc(integrations.id))
    const counts = await countSubscriptions(db, orgId)
    const waiting = await countWaiting(db, orgId, rows)
    return {
      integrations: rows.map((row) =>
        presentIntegration(row, counts.get(row.id) ?? 0, waiting.get(row.id) ?? 0),
      ),
      email: { ready: mailFrom !== null, from: mailFrom },
      chat_install: chatApp !== null,
    }
  },
)
