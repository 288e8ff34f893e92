import { read, type Verb } from '../../verb.ts'
import { connectedTeams, findChatLink, workspaceName } from './chat-links.ts'

export const showChatLink: Verb<'showChatLink'> = read(async (context) => {
  const { db, member, orgId } = context
  const link = await findChatLink(db, member)
  return {
    workspace_connected: (await connectedTeams(context, orgId)).length > 0,
    link: link && {
      workspace: await workspaceName(context, link),
      user_id: link.chatUserId,
      display_name: link.displayName,
      active: link.inactiveAt === null,
      linked_at: link.linkedAt.toISOString(),
    },
  }
})
