/** Blocks a client for one organization, or unblocks it. */
import { and, eq } from '../../../db/drizzle.ts'
import { organizationClientBlocks } from '../../../db/schema.ts'
import { recordNarrowing, recordWidening } from '../right-versions.ts'
import { write, type Verb } from '../verb.ts'

export const blockOauthClient: Verb<'blockOauthClient'> = write(
  { author: 'admin', audit: ['client.blocked', 'client.unblocked'] },
  async ({ tx, clock, orgId, audit }, { client_id, blocked }) => {
    const changed = blocked
      ? await tx
          .insert(organizationClientBlocks)
          .values({ orgId, clientId: client_id, since: clock() })
          .onConflictDoNothing()
          .returning()
      : await tx
          .delete(organizationClientBlocks)
          .where(
            and(eq(organizationClientBlocks.orgId, orgId), eq(organizationClientBlocks.clientId, client_id)),
          )
          .returning()
    if (changed.length === 0) return {}
    const right = { id: client_id, orgId }
    await (blocked ? recordNarrowing(tx, 'client_block', right) : recordWidening(tx, 'client_block', right))
    await audit(blocked ? 'client.blocked' : 'client.unblocked', client_id)
    return {}
  },
)
