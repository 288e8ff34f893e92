import type { Handler } from '../../../contracts/operations.ts'
import { requireMember } from '../../principal.ts'
import { createChatAuthorization, requireChatApp, type ChatDeps } from './chat-authorizations.ts'
import { requireTeams } from './chat-links.ts'

export const beginChatLink =
  (deps: ChatDeps): Handler<'beginChatLink'> =>
  async (who) => {
    const principal = requireMember(who)
    const chat = requireChatApp(deps)
    const teamId = (await requireTeams(deps, principal.orgId))[0]!
    const { state, nonce } = await createChatAuthorization(deps, principal, 'link')
    return { url: chat.linkUrl({ state, nonce, teamId }) }
  }
