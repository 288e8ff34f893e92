import { write, type Verb } from '../../verb.ts'
import { createChatAuthorization, requireChatApp, type ChatDeps } from './chat-authorizations.ts'

export const beginChatInstall: Verb<'beginChatInstall', ChatDeps> = write({}, async (context) => {
  const chat = requireChatApp(context)
  const { state } = await createChatAuthorization(context, context.member, 'install')
  return { url: chat.installUrl(state) }
})
