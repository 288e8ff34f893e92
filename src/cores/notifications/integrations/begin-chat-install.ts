import type { Handler } from '../../../contracts/operations.ts'
import { requireMember } from '../../principal.ts'
import { createChatAuthorization, requireChatApp, type ChatDeps } from './chat-authorizations.ts'

export const beginChatInstall =
  (deps: ChatDeps): Handler<'beginChatInstall'> =>
  async (who) => {
    const chat = requireChatApp(deps)
    const { state } = await createChatAuthorization(deps, requireMember(who), 'install')
    return { url: chat.installUrl(state) }
  }
