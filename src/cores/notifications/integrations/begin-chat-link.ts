import { write, type Verb } from '../../verb.ts'
import { createChatAuthorization, requireChatApp, type ChatDeps } from './chat-authorizations.ts'
import { requireTeams } from './chat-links.ts'

export const beginChatLink: Verb<'beginChatLink', ChatDeps> = write({}, async (context) => {
  const chat = requireChatApp(context)
  const teamId = (await requireTeams(context, context.orgId))[0]!
  const { state, nonce } = await createChatAuthorization(context, context.member, 'link')
  return { url: chat.linkUrl({ state, nonce, teamId }) }
})
