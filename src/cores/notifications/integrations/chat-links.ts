/** People's accounts at the chat service, as they are linked in an organization. What they follow stays as it is. */
import type { Transaction } from '../../../../db/connect.ts'
import { and, eq, inArray, isNotNull, sql } from '../../../../db/drizzle.ts'
import { chatAccounts, chatLinks, integrations } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { MemberPrincipal } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'

/** The workspaces with a working app of ours, the newest integration first. */
export async function connectedTeams({ db }: Storage, orgId: string): Promise<string[]> {
  const rows = await db
    .select({ id: integrations.id, teamId: integrations.teamId })
    .from(integrations)
    .where(
      and(
        eq(integrations.orgId, orgId),
        eq(integrations.kind, 'chat'),
        inArray(integrations.state, ['active', 'paused']),
        isNotNull(integrations.teamId),
      ),
    )
  const newestFirst = rows.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  return [...new Set(newestFirst.flatMap(({ teamId }) => teamId ?? []))]
}

export async function requireTeams(deps: Storage, orgId: string): Promise<string[]> {
  const teams = await connectedTeams(deps, orgId)
  if (teams.length > 0) return teams
  throw new ServiceError('CONFLICT', 'Your organization has no connected chat workspace', {
    hint: 'Ask an owner or admin to install the chat app.',
  })
}

type ChatLink = typeof chatLinks.$inferSelect

export async function findChatLink(
  db: Storage['db'],
  { orgId, userId }: Pick<MemberPrincipal, 'orgId' | 'userId'>,
): Promise<ChatLink | null> {
  const [link] = await db
    .select()
    .from(chatLinks)
    .where(and(eq(chatLinks.orgId, orgId), eq(chatLinks.userId, userId)))
  return link ?? null
}

/**
 * Whoever links or unlinks an account takes turns with the others: two people who claim it must see each other, and an
 * unlinking must not delete the account's row under a linking that has just found it.
 */
export async function lockChatAccount(
  tx: Transaction,
  { teamId, chatUserId }: Pick<ChatLink, 'teamId' | 'chatUserId'>,
): Promise<void> {
  await tx.execute(
    sql`select pg_advisory_xact_lock(hashtextextended(${`chat account ${teamId} ${chatUserId}`}, 0))`,
  )
}

/**
 * The account stays this person's as long as another organization has it linked. The link was read before the lock:
 * by now the person may have another account and the account another person, and those rows stay.
 */
export async function deleteChatLink(
  tx: Transaction,
  { orgId, userId, teamId, chatUserId }: ChatLink,
): Promise<void> {
  await lockChatAccount(tx, { teamId, chatUserId })
  const isTheirs = (table: typeof chatLinks | typeof chatAccounts) =>
    and(
      eq(table.orgId, orgId),
      eq(table.userId, userId),
      eq(table.teamId, teamId),
      eq(table.chatUserId, chatUserId),
    )
  await tx.delete(chatLinks).where(isTheirs(chatLinks))
  await tx.delete(chatAccounts).where(isTheirs(chatAccounts))
}

/** The name it was connected under; its id where that integration was removed. */
export async function workspaceName(
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
