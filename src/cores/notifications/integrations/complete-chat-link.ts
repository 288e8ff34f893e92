import type { Transaction } from '../../../../db/connect.ts'
import { and, eq } from '../../../../db/drizzle.ts'
import { chatAccounts, chatLinks } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { MemberPrincipal } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import type { ChatPerson } from '../channels/channel-ports.ts'
import { writeInSteps, type Verb } from '../../verb.ts'
import {
  asName,
  chatServiceAnswer,
  requireChatApp,
  spendChatAuthorization,
  type ChatDeps,
} from './chat-authorizations.ts'
import { deleteChatLink, findChatLink, lockChatAccount, requireTeams, workspaceName } from './chat-links.ts'

export const completeChatLink: Verb<'completeChatLink', ChatDeps> = writeInSteps(
  { audit: 'chat.linked' },
  async (context, { code, state }) => {
    const { member, orgId, transaction } = context
    const chat = requireChatApp(context)
    const { nonce } = await spendChatAuthorization(context, member, 'link', state)
    const person = await chatServiceAnswer(chat.identify({ code, nonce }))
    return transaction(async ({ tx, audit }) => {
      const teams = await requireTeams({ ...context, db: tx }, orgId)
      if (!teams.includes(person.teamId)) {
        throw new ServiceError('CONFLICT', 'This chat account belongs to a different workspace', {
          hint: 'Sign in to the workspace that your organization has connected.',
        })
      }
      await claimChatAccount(tx, member, person)
      const displayName = await saveChatLink(tx, context, member, person)
      const workspace = await workspaceName({ ...context, db: tx }, { orgId, ...person })
      await audit('chat.linked', workspace)
      return { workspace, display_name: displayName }
    })
  },
)

/** An account belongs to one person, in every organization; who that is, nobody else learns. */
async function claimChatAccount(
  tx: Transaction,
  { orgId, userId }: MemberPrincipal,
  { teamId, chatUserId }: ChatPerson,
): Promise<void> {
  await lockChatAccount(tx, { teamId, chatUserId })
  const accounts = await tx
    .select({ userId: chatAccounts.userId })
    .from(chatAccounts)
    .where(and(eq(chatAccounts.teamId, teamId), eq(chatAccounts.chatUserId, chatUserId)))
  if (accounts.some((account) => account.userId !== userId)) {
    throw new ServiceError('CONFLICT', 'This chat account is already linked to another user', {
      hint: 'Sign in to the chat service as yourself.',
    })
  }
  // Updated although nothing changes: that locks a row that is there already, so that it is there at the commit too.
  await tx
    .insert(chatAccounts)
    .values({ teamId, chatUserId, orgId, userId })
    .onConflictDoUpdate({
      target: [chatAccounts.teamId, chatAccounts.chatUserId, chatAccounts.orgId],
      set: { userId },
    })
}

async function saveChatLink(
  tx: Transaction,
  { clock }: Storage,
  principal: MemberPrincipal,
  { teamId, chatUserId, displayName }: ChatPerson,
): Promise<string> {
  const { orgId, userId } = principal
  const before = await findChatLink(tx, principal)
  if (before && (before.teamId !== teamId || before.chatUserId !== chatUserId)) {
    await deleteChatLink(tx, before)
  }
  const name = asName(displayName) || chatUserId
  const link = { teamId, chatUserId, displayName: name, inactiveAt: null, linkedAt: clock() }
  await tx
    .insert(chatLinks)
    .values({ orgId, userId, ...link })
    .onConflictDoUpdate({ target: [chatLinks.orgId, chatLinks.userId], set: link })
  return name
}
