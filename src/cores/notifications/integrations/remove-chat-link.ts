import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { withTransaction } from '../../transaction.ts'
import { deleteChatLink, findChatLink, workspaceName } from './chat-links.ts'

export const removeChatLink =
  ({ db, clock }: Storage): Handler<'removeChatLink'> =>
  (who) =>
    withTransaction(db, async (tx) => {
      const principal = requireMember(who)
      const link = await findChatLink(tx, principal)
      if (!link) return {}
      await deleteChatLink(tx, link)
      const subject = await workspaceName({ db: tx, clock }, link)
      await recordAudit(tx, clock, who, { orgId: principal.orgId, action: 'chat.unlinked', subject })
      return {}
    })
