/** API tokens: made once and shown once, listed without their value, ended at once. */
import { and, count, desc, eq, gt, ilike, isNull, lt, or } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { apiTokens, memberships, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { TOKENS_PER_PERSON } from '../../contracts/limits.ts'
import type { Caller, Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { createToken, listTokens, revokeToken } from '../../contracts/tokens.ts'
import { makeApiToken, startOf } from '../../trust/api-token.ts'
import { keyedHash } from '../../trust/keyed-hash.ts'
import { recordAudit, type AuditBy } from '../audit/index.ts'
import { asMember, requireRole } from '../caller.ts'
import type { Keys, Storage } from '../needs.ts'
import { containing } from '../search-text.ts'
import { withTransaction } from '../transaction.ts'

type Row = typeof apiTokens.$inferSelect

export const apiTokenHash = (needs: Keys, token: string): string =>
  keyedHash(needs.keyFor('api-token'), token)

const presentToken = (row: Row, userName: string) => ({
  id: row.id,
  name: row.name,
  user_id: row.userId,
  user_name: userName,
  starts_with: row.startsWith,
  role_cap: row.roleCap,
  scopes: row.scopes,
  audiences: row.audiences,
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt?.toISOString() ?? null,
  last_used_at: row.lastUsedAt?.toISOString() ?? null,
})

const isLive = (clock: Storage['clock']) =>
  and(isNull(apiTokens.revokedAt), or(isNull(apiTokens.expiresAt), gt(apiTokens.expiresAt, clock())))

export const makeToken =
  (needs: Storage & Keys): Handler<typeof createToken> =>
  (who, input) =>
    withTransaction(needs.db, async (tx) => {
      const caller = asMember(who)
      const { orgId, userId } = caller
      await lockMembership(tx, orgId, userId)
      const now = needs.clock()
      const roleCap = input.role_cap ?? (caller.role === 'member' ? 'viewer' : caller.role)
      if (!atLeast(caller.role, roleCap))
        throw new ServiceError('FORBIDDEN', 'Nobody grants a role above their own')
      const [present] = await tx
        .select({ count: count() })
        .from(apiTokens)
        .where(and(eq(apiTokens.orgId, orgId), eq(apiTokens.userId, userId), isLive(needs.clock)))
      if (present!.count >= TOKENS_PER_PERSON) {
        throw new ServiceError('CONFLICT', `You have ${TOKENS_PER_PERSON} API tokens; end one first`)
      }
      const token = makeApiToken()
      const row = await keepToken(tx, needs, caller, token, {
        name: input.name,
        roleCap,
        scopes: input.scopes ?? null,
        audiences: input.audiences,
        expiresAt: expiryOf(caller, now, input.expires_in_days),
      })
      return { ...presentToken(row, caller.userName), token }
    })

/** One at a time: a burst stays below the limit, and no token slips past a removal that is under way. */
async function lockMembership(tx: Transaction, orgId: string, userId: string): Promise<void> {
  const [row] = await tx
    .select({ role: memberships.role })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
    .for('update')
  if (!row) throw new ServiceError('FORBIDDEN')
}

/** Stores what proves the token, and says in the audit trail that it exists. */
export async function keepToken(
  tx: Transaction,
  needs: Storage & Keys,
  by: AuditBy & { userId: string; orgId: string },
  token: string,
  asked: Pick<Row, 'name' | 'roleCap' | 'scopes' | 'audiences' | 'expiresAt'>,
): Promise<Row> {
  const now = needs.clock()
  const [row] = await tx
    .insert(apiTokens)
    .values({
      ...asked,
      orgId: by.orgId,
      id: makeId('tok', now.getTime()),
      userId: by.userId,
      startsWith: startOf(token),
      secretHash: apiTokenHash(needs, token),
      createdAt: now,
    })
    .returning()
  const subject = `${asked.name} (${startOf(token)}…)`
  await recordAudit(tx, needs.clock, by, { orgId: by.orgId, action: 'token.created', subject })
  return row!
}

/** A token made by a token does not outlive it; otherwise a stolen one could make itself permanent. */
function expiryOf(caller: Caller, now: Date, days: number | undefined): Date | null {
  const wanted = days === undefined ? null : new Date(now.getTime() + days * 24 * 60 * 60 * 1000)
  if (caller.kind !== 'api_token' || caller.expiresAt === null) return wanted
  return wanted && wanted < caller.expiresAt ? wanted : caller.expiresAt
}

export const tokensOf =
  ({ db, clock }: Storage): Handler<typeof listTokens> =>
  async (who, { all, search, limit, cursor }) => {
    const caller = asMember(who)
    if (all) requireRole(caller, 'admin', 'Only an owner or admin sees everybody’s tokens')
    const before = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select({ token: apiTokens, userName: users.name })
      .from(apiTokens)
      .innerJoin(users, eq(users.id, apiTokens.userId))
      .where(
        and(
          eq(apiTokens.orgId, caller.orgId),
          all ? undefined : eq(apiTokens.userId, caller.userId),
          search ? ilike(apiTokens.name, containing(search)) : undefined,
          isLive(clock),
          before === undefined ? undefined : lt(apiTokens.id, before),
        ),
      )
      .orderBy(desc(apiTokens.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.token.id])
    return {
      tokens: page.rows.map((row) => presentToken(row.token, row.userName)),
      next_cursor: page.next_cursor,
    }
  }

export const endToken =
  ({ db, clock }: Storage): Handler<typeof revokeToken> =>
  (who, { token_id }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      const [row] = await tx
        .update(apiTokens)
        .set({ revokedAt: clock() })
        .where(
          and(
            eq(apiTokens.orgId, orgId),
            eq(apiTokens.id, token_id),
            // For everybody else a colleague's token is as unknown as none.
            atLeast(caller.role, 'admin') ? undefined : eq(apiTokens.userId, caller.userId),
            isNull(apiTokens.revokedAt),
          ),
        )
        .returning()
      if (!row) throw notFound()
      const subject = `${row.name} (${row.startsWith}…)`
      await recordAudit(tx, clock, caller, { orgId, action: 'token.revoked', subject })
      return {}
    })
