import type { Handler } from '../../../contracts/operations.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { connectedTeams, findChatLink, workspaceName } from './chat-links.ts'

export const showChatLink =
  (deps: Storage): Handler<'showChatLink'> =>
  async (who) => {
    const principal = requireMember(who)
    const link = await findChatLink(deps.db, principal)
    return {
      workspace_connected: (await connectedTeams(deps, principal.orgId)).length > 0,
      link: link && {
        workspace: await workspaceName(deps, link),
        user_id: link.chatUserId,
        display_name: link.displayName,
        active: link.inactiveAt === null,
        linked_at: link.linkedAt.toISOString(),
      },
    }
  }
