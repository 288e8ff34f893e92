/** A person's own account at the chat service: linked, shown, unlinked. What they follow stays as it is. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, ne, notExists, sql } from '../../../db/drizzle.ts'
import { chatAccounts, chatLinks, integrations } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type {
  beginChatLink,
  completeChatLink,
  removeChatLink,
  showChatLink,
} from '../../contracts/integrations.ts'
import type { Handler } from '../../contracts/operation.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, type MemberCaller } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import {
  asName,
  beginAttempt,
  connectedTeams,
  heard,
  requireChatApp,
  takeAttempt,
  type ChatNeeds,
} from './chat-attempts.ts'
import type { ChatPerson } from './channel.ts'

export const readLink =
  (needs: Storage): Handler<typeof showChatLink> =>
  async (who) => {
    const caller = asMember(who)
    const link = await linkOf(needs.db, caller)
    return {
      workspace_connected: (await connectedTeams(needs, caller.orgId)).length > 0,
      link: link && {
        workspace: await workspaceOf(needs, link),
        user_id: link.chatUserId,
        display_name: link.displayName,
        active: link.inactiveAt === null,
        linked_at: link.linkedAt.toISOString(),
      },
    }
  }

export const startLink =
  (needs: ChatNeeds): Handler<typeof beginChatLink> =>
  async (who) => {
    const caller = asMember(who)
    const chat = requireChatApp(needs)
    const teamId = (await requireTeams(needs, caller.orgId))[0]!
    const { state, nonce } = await beginAttempt(needs, caller, 'link')
    return { url: chat.linkUrl({ state, nonce, teamId }) }
  }

export const finishLink =
  (needs: ChatNeeds): Handler<typeof completeChatLink> =>
  async (who, { code, state }) => {
    const caller = asMember(who)
    const { orgId } = caller
    const chat = requireChatApp(needs)
    const { nonce } = await takeAttempt(needs, caller, 'link', state)
    const person = await heard(chat.identify({ code, nonce }))
    return withTransaction(needs.db, async (tx) => {
      const teams = await requireTeams({ ...needs, db: tx }, orgId)
      if (!teams.includes(person.teamId)) {
        throw new ServiceError('CONFLICT', 'This chat account belongs to a different workspace', {
          hint: 'Sign in to the workspace that your organization has connected.',
        })
      }
      await claim(tx, caller, person)
      const { displayName } = await keep(tx, needs, caller, person)
      const workspace = await workspaceOf({ ...needs, db: tx }, { orgId, ...person })
      await recordAudit(tx, needs.clock, who, { orgId, action: 'chat.linked', subject: workspace })
      return { workspace, display_name: displayName }
    })
  }

export const unlink =
  ({ db, clock }: Storage): Handler<typeof removeChatLink> =>
  (who) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const link = await linkOf(tx, caller)
      if (!link) return {}
      await forget(tx, link)
      const subject = await workspaceOf({ db: tx, clock }, link)
      await recordAudit(tx, clock, who, { orgId: caller.orgId, action: 'chat.unlinked', subject })
      return {}
    })

async function requireTeams(needs: Storage, orgId: string): Promise<string[]> {
  const teams = await connectedTeams(needs, orgId)
  if (teams.length > 0) return teams
  throw new ServiceError('CONFLICT', 'Your organization has no connected chat workspace', {
    hint: 'Ask an owner or admin to install the chat app.',
  })
}

type Link = typeof chatLinks.$inferSelect

async function linkOf(
  db: Storage['db'],
  { orgId, userId }: Pick<MemberCaller, 'orgId' | 'userId'>,
): Promise<Link | null> {
  const [link] = await db
    .select()
    .from(chatLinks)
    .where(and(eq(chatLinks.orgId, orgId), eq(chatLinks.userId, userId)))
  return link ?? null
}

/** An account belongs to one person; who that is, nobody else is told. */
async function claim(tx: Transaction, { userId }: MemberCaller, person: ChatPerson): Promise<void> {
  const { teamId, chatUserId } = person
  await tx.insert(chatAccounts).values({ teamId, chatUserId, userId }).onConflictDoNothing()
  const [account] = await tx
    .select()
    .from(chatAccounts)
    .where(and(eq(chatAccounts.teamId, teamId), eq(chatAccounts.chatUserId, chatUserId)))
    .for('update')
  if (account?.userId === userId) return
  throw new ServiceError('CONFLICT', 'This chat account is already linked to another user', {
    hint: 'Sign in to the chat service as yourself.',
  })
}

async function keep(
  tx: Transaction,
  { clock }: Storage,
  caller: MemberCaller,
  { teamId, chatUserId, displayName }: ChatPerson,
): Promise<{ readonly displayName: string }> {
  const { orgId, userId } = caller
  const before = await linkOf(tx, caller)
  if (before && (before.teamId !== teamId || before.chatUserId !== chatUserId)) await forget(tx, before)
  const now = {
    teamId,
    chatUserId,
    displayName: asName(displayName) || chatUserId,
    inactiveAt: null,
    linkedAt: clock(),
  }
  await tx
    .insert(chatLinks)
    .values({ orgId, userId, ...now })
    .onConflictDoUpdate({ target: [chatLinks.orgId, chatLinks.userId], set: now })
  return now
}

/** The account is free again once no organization of this person has it. */
async function forget(tx: Transaction, { orgId, userId, teamId, chatUserId }: Link): Promise<void> {
  await tx.delete(chatLinks).where(and(eq(chatLinks.orgId, orgId), eq(chatLinks.userId, userId)))
  const elsewhere = tx
    .select({ one: sql`1` })
    .from(chatLinks)
    .where(
      and(
        eq(chatLinks.userId, userId),
        eq(chatLinks.teamId, teamId),
        eq(chatLinks.chatUserId, chatUserId),
        ne(chatLinks.orgId, orgId),
      ),
    )
  await tx
    .delete(chatAccounts)
    .where(
      and(
        eq(chatAccounts.teamId, teamId),
        eq(chatAccounts.chatUserId, chatUserId),
        eq(chatAccounts.userId, userId),
        notExists(elsewhere),
      ),
    )
}

/** By the name it was connected under; its id where that connection is gone. */
async function workspaceOf(
  { db }: Storage,
  { orgId, teamId }: { readonly orgId: string; readonly teamId: string },
): Promise<string> {
  const rows = await db
    .select({ config: integrations.config })
    .from(integrations)
    .where(and(eq(integrations.orgId, orgId), eq(integrations.teamId, teamId)))
  const names = rows.map(({ config }) => config['workspace'])
  return names.find((name) => typeof name === 'string') ?? teamId
}
