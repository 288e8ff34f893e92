import { write, type Verb } from '../../verb.ts'
import { deleteChatLink, findChatLink, workspaceName } from './chat-links.ts'

export const removeChatLink: Verb<'removeChatLink'> = write(
  { audit: 'chat.unlinked' },
  async ({ tx, clock, member, audit }) => {
    const link = await findChatLink(tx, member)
    if (!link) return {}
    await deleteChatLink(tx, link)
    await audit('chat.unlinked', await workspaceName({ db: tx, clock }, link))
    return {}
  },
)
