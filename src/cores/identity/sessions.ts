/** Sessions: begun by a sign-in, carried by a token that rotates, ended by hand, by time or by a replay. */
import { and, asc, desc, eq, gt, isNull, lt, ne, sql } from '../../../db/drizzle.ts'
import type { Handle, Transaction } from '../../../db/connect.ts'
import { memberships, organizations, sessions, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { SESSION_SECONDS, USER_TOKEN_SECONDS } from '../../contracts/limits.ts'
import type { Caller, Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type { listSessions, rotateSession, signOut, signOutEverywhere } from '../../contracts/sessions.ts'
import { keyedHash, randomSecret } from '../../trust/keyed-hash.ts'
import type { UserTokens } from '../../trust/user-token.ts'
import { recordAudit, type AuditBy } from '../audit/index.ts'
import { personOf } from '../caller.ts'
import type { Keys, Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'

export type SessionNeeds = Storage & Keys & { readonly userTokens: UserTokens }

export type SignedIn = { sessionId: string; browserSecret: string }

/** A new row, id and secret at every sign-in: nothing that was there before it can be carried over (fixation). */
export async function startSession(
  tx: Transaction,
  needs: SessionNeeds,
  by: AuditBy & { userId: string },
  how: { signedInBy: string; device: string },
): Promise<SignedIn> {
  const now = needs.clock()
  const browserSecret = randomSecret()
  const orgId = (await workplaceOf(tx, by.userId))?.org.id ?? null
  const id = makeId('ses', now.getTime())
  await tx.insert(sessions).values({
    id,
    userId: by.userId,
    orgId,
    signedInBy: how.signedInBy,
    device: how.device.slice(0, 200),
    browserSecretHash: browserHash(needs, browserSecret),
    rotatedAt: now,
    createdAt: now,
    lastUsedAt: now,
    expiresAt: new Date(now.getTime() + SESSION_SECONDS * 1000),
  })
  if (orgId !== null) {
    await recordAudit(tx, needs.clock, by, {
      orgId,
      action: 'session.started',
      subject: `by ${how.signedInBy}`,
    })
  }
  return { sessionId: id, browserSecret }
}

/** Where somebody works: in the organization last chosen while they belong to it, else in the first one they joined. */
export async function workplaceOf(
  db: Handle,
  userId: string,
  chosen: string | null | typeof users.lastOrgId = users.lastOrgId,
) {
  const [row] = await db
    .select({ org: organizations, role: memberships.role })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .innerJoin(organizations, eq(organizations.id, memberships.orgId))
    .where(eq(memberships.userId, userId))
    .orderBy(sql`${memberships.orgId} is distinct from ${chosen}`, asc(memberships.joinedAt))
    .limit(1)
  return row
}

const browserHash = (needs: Keys, secret: string) => keyedHash(needs.keyFor('browser-session'), secret)

/** Whose session this is, while it lives. */
export async function findSession(needs: SessionNeeds, sessionId: string) {
  const [row] = await needs.db
    .select({ userId: users.id, email: users.email, name: users.name })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(and(eq(sessions.id, sessionId), isNull(sessions.endedAt), gt(sessions.expiresAt, needs.clock())))
  return row
}

/** Whose browser this is, on the auth service's own pages. */
export async function findBrowserSession(needs: SessionNeeds, browserSecret: string) {
  const [row] = await needs.db
    .select({ sessionId: sessions.id, userId: users.id, email: users.email, name: users.name })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(
      and(
        eq(sessions.browserSecretHash, browserHash(needs, browserSecret)),
        isNull(sessions.endedAt),
        gt(sessions.expiresAt, needs.clock()),
      ),
    )
  return row
}

/** The token of a session as it stands, with what its holder wants to know first. */
export async function sessionToken(db: Handle, needs: SessionNeeds, sessionId: string) {
  const now = needs.clock()
  const [row] = await db
    .select({ session: sessions, user: users })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(and(eq(sessions.id, sessionId), isNull(sessions.endedAt), gt(sessions.expiresAt, now)))
  if (!row) throw new ServiceError('UNAUTHENTICATED')
  const { session, user } = row
  const place = await workplaceOf(db, user.id, session.orgId)
  const expiresAt = new Date(Math.min(now.getTime() + USER_TOKEN_SECONDS * 1000, session.expiresAt.getTime()))
  const claims = { userId: user.id, sessionId: session.id, generation: session.generation }
  return {
    token: await needs.userTokens.sign(claims, now, expiresAt),
    expires_at: expiresAt.toISOString(),
    user: { id: user.id, email: user.email, name: user.name },
    organization: place
      ? { id: place.org.id, name: place.org.name, slug: place.org.slug, role: place.role }
      : null,
  }
}

/**
 * The old token stays good for a minute (tabs that left with it), then presenting it ends the session: see
 * validate-token. Compare-and-set, so that of two tabs one rotates and the other keeps what it has.
 */
export const renewSession =
  (needs: SessionNeeds): Handler<typeof rotateSession> =>
  (caller) =>
    withTransaction(needs.db, async (tx) => {
      const { sessionId, generation } = sessionOf(caller)
      const [row] = await tx
        .update(sessions)
        .set({ generation: generation + 1, rotatedAt: needs.clock() })
        .where(and(eq(sessions.id, sessionId), eq(sessions.generation, generation)))
        .returning({ id: sessions.id })
      if (!row) throw new ServiceError('CONFLICT', 'The session was renewed a moment ago')
      return sessionToken(tx, needs, sessionId)
    })

function sessionOf(caller: Caller): { sessionId: string; generation: number } {
  if (caller.sessionId !== undefined && caller.sessionGeneration !== undefined) {
    return { sessionId: caller.sessionId, generation: caller.sessionGeneration }
  }
  throw new ServiceError('FORBIDDEN', 'This is for a signed-in person, not for an API token')
}

export const mySessions =
  ({ db, clock }: Storage): Handler<typeof listSessions> =>
  async (caller, { limit, cursor }) => {
    const before = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select()
      .from(sessions)
      .where(
        and(
          eq(sessions.userId, personOf(caller)),
          isNull(sessions.endedAt),
          gt(sessions.expiresAt, clock()),
          before === undefined ? undefined : lt(sessions.id, before),
        ),
      )
      .orderBy(desc(sessions.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    return {
      sessions: page.rows.map((row) => ({
        id: row.id,
        signed_in_by: row.signedInBy,
        device: row.device,
        created_at: row.createdAt.toISOString(),
        last_used_at: row.lastUsedAt.toISOString(),
        expires_at: row.expiresAt.toISOString(),
        current: row.id === caller.sessionId,
      })),
      next_cursor: page.next_cursor,
    }
  }

export const endSession =
  ({ db, clock }: Storage): Handler<typeof signOut> =>
  (caller, { session_id }) =>
    withTransaction(db, async (tx) => {
      const id = session_id === 'current' ? sessionOf(caller).sessionId : session_id
      const [row] = await tx
        .update(sessions)
        .set({ endedAt: clock() })
        .where(and(eq(sessions.id, id), eq(sessions.userId, personOf(caller)), isNull(sessions.endedAt)))
        .returning()
      if (!row) throw notFound()
      const place = await workplaceOf(tx, row.userId, row.orgId)
      if (place) await recordAudit(tx, clock, caller, { orgId: place.org.id, action: 'session.ended' })
      return {}
    })

export const endEverySession =
  ({ db, clock }: Storage): Handler<typeof signOutEverywhere> =>
  (caller) =>
    withTransaction(db, async (tx) => {
      const ended = await endSessionsOf(tx, clock, personOf(caller))
      if (caller.orgId !== null) {
        await recordAudit(tx, clock, caller, { orgId: caller.orgId, action: 'session.all_ended' })
      }
      return { ended }
    })

export async function endSessionsOf(
  tx: Transaction,
  clock: Storage['clock'],
  userId: string,
  exceptSessionId?: string,
): Promise<number> {
  const rows = await tx
    .update(sessions)
    .set({ endedAt: clock() })
    .where(
      and(
        eq(sessions.userId, userId),
        isNull(sessions.endedAt),
        exceptSessionId === undefined ? undefined : ne(sessions.id, exceptSessionId),
      ),
    )
    .returning({ id: sessions.id })
  return rows.length
}
