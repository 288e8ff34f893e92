/** The tokens of a login of the client: for its code, for its refresh token, and their end. */
import { createHash } from 'node:crypto'
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, gt, isNull } from '../../../db/drizzle.ts'
import { cliLogins, sessions, users } from '../../../db/schema.ts'
import { CLI_ACCESS_TOKEN_SECONDS, SESSION_ROTATION_GRACE_SECONDS } from '../../contracts/limits.ts'
import { sameSecret } from '../../trust/keyed-hash.ts'
import type { CliTokens } from '../../trust/user-token.ts'
import type { Keys, Storage } from '../dependencies.ts'
import { recordAudit } from '../record-audit.ts'
import { recordEnding } from '../record-ending.ts'
import { withTransaction } from '../transaction.ts'
import { mayHaveLost } from './lost-rotation.ts'
import { cliLoginHash, type CliLogin } from './cli-logins.ts'

export type CliDeps = Storage & Keys & { readonly cliTokens: CliTokens }

/** RFC 8628, 3.5 and RFC 6749, 5.2. */
export type GrantRefusal =
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token'
  | 'invalid_grant'

/** RFC 8628, 3.5: "the interval MUST be increased by 5 seconds for this and all subsequent requests". */
const SLOWER_SECONDS = 5

type Session = typeof sessions.$inferSelect

/** RFC 6749, 5.1. */
async function tokensOf({ cliTokens, clock }: CliDeps, session: Session, generation: number) {
  const now = clock()
  const claims = { userId: session.userId, sessionId: session.id, generation }
  const expiresAt = new Date(
    Math.min(now.getTime() + CLI_ACCESS_TOKEN_SECONDS * 1000, session.expiresAt.getTime()),
  )
  return {
    access_token: await cliTokens.access.sign(claims, now, expiresAt),
    token_type: 'Bearer',
    expires_in: Math.floor((expiresAt.getTime() - now.getTime()) / 1000),
    refresh_token: await cliTokens.refresh.sign(claims, now, session.expiresAt),
  }
}
export type CliTokenAnswer = Awaited<ReturnType<typeof tokensOf>>

/** Asked again and again by a client that shows a code: the tokens once it is approved. */
export async function redeemDeviceCode(
  deps: CliDeps,
  deviceCode: string,
): Promise<CliTokenAnswer | GrantRefusal> {
  return withTransaction(deps.db, async (tx) => {
    const [login] = await tx
      .select()
      .from(cliLogins)
      .where(eq(cliLogins.secretHash, cliLoginHash(deps, deviceCode)))
      .for('update')
    if (!login || login.userCodeHash === null || login.usedAt !== null) return 'invalid_grant'
    const now = deps.clock()
    if (login.deniedAt !== null) return 'access_denied'
    if (login.expiresAt <= now) return 'expired_token'
    const isEarly =
      login.polledAt !== null && now.getTime() - login.polledAt.getTime() < login.intervalSeconds * 1000
    const intervalSeconds = login.intervalSeconds + (isEarly ? SLOWER_SECONDS : 0)
    await tx
      .update(cliLogins)
      .set({ polledAt: now, intervalSeconds })
      .where(eq(cliLogins.secretHash, login.secretHash))
    if (isEarly) return 'slow_down'
    return login.sessionId === null ? 'authorization_pending' : redeem(tx, deps, login)
  })
}

/** What the browser of the same machine brought. Used up whatever happens next: tried with a wrong verifier it is stolen. */
export async function redeemAuthorizationCode(
  deps: CliDeps,
  { code, verifier, redirectUri }: { code: string; verifier: string; redirectUri: string },
  requestId: string,
): Promise<CliTokenAnswer | GrantRefusal> {
  return withTransaction(deps.db, async (tx) => {
    const [login] = await tx
      .select()
      .from(cliLogins)
      .where(eq(cliLogins.authorizationCodeHash, cliLoginHash(deps, code)))
      .for('update')
    if (!login || login.usedAt !== null || login.expiresAt <= deps.clock()) return 'invalid_grant'
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    if (sameSecret(challenge, login.codeChallenge ?? '') && redirectUri === login.redirectUri)
      return redeem(tx, deps, login)
    const now = deps.clock()
    await tx.update(cliLogins).set({ usedAt: now }).where(eq(cliLogins.secretHash, login.secretHash))
    const session = await lockLive(tx, deps, login.sessionId!)
    if (session) await end(tx, deps, session, 'session.reused', requestId)
    return 'invalid_grant'
  })
}

async function redeem(
  tx: Transaction,
  deps: CliDeps,
  { secretHash, sessionId }: CliLogin,
): Promise<CliTokenAnswer | GrantRefusal> {
  await tx.update(cliLogins).set({ usedAt: deps.clock() }).where(eq(cliLogins.secretHash, secretHash))
  const session = await lockLive(tx, deps, sessionId!)
  return session ? tokensOf(deps, session, session.generation) : 'access_denied'
}

async function lockLive(tx: Transaction, { clock }: CliDeps, id: string): Promise<Session | undefined> {
  const [session] = await tx
    .select()
    .from(sessions)
    .where(
      and(
        eq(sessions.id, id),
        eq(sessions.kind, 'cli'),
        isNull(sessions.endedAt),
        gt(sessions.expiresAt, clock()),
      ),
    )
    .for('update')
  return session
}

/**
 * Rotates. The previous refresh token gets the same successors again: for a minute, because two commands may have renewed at
 * once, and for as long as nobody has used them, because the answer may have been lost. After that it is held by two, and
 * both lose it.
 */
export async function refreshCliSession(
  deps: CliDeps,
  refreshToken: string,
  requestId: string,
): Promise<CliTokenAnswer | GrantRefusal> {
  const now = deps.clock()
  const claims = await deps.cliTokens.refresh.verify(refreshToken, now)
  if (!claims) return 'invalid_grant'
  return withTransaction(deps.db, async (tx) => {
    const session = await lockLive(tx, deps, claims.sessionId)
    if (session?.userId !== claims.userId) return 'invalid_grant'
    if (claims.generation === session.generation || (await mayHaveLost(tx, session, claims))) {
      const generation = claims.generation + 1
      await tx
        .update(sessions)
        .set({ generation, rotatedAt: now, lastUsedAt: now })
        .where(eq(sessions.id, session.id))
      return tokensOf(deps, session, generation)
    }
    if (claims.generation === session.generation - 1 && mayRepeat(session, now))
      return tokensOf(deps, session, session.generation)
    await end(tx, deps, session, 'session.reused', requestId)
    return 'invalid_grant'
  })
}

const mayRepeat = ({ rotatedAt, lastUsedAt }: Session, now: Date): boolean =>
  now.getTime() < rotatedAt.getTime() + SESSION_ROTATION_GRACE_SECONDS * 1000 || lastUsedAt <= rotatedAt

/** `svc logout`. RFC 7009, 2.2: what is not a token any more is no error. */
export async function endCliSession(deps: CliDeps, refreshToken: string, requestId: string): Promise<void> {
  const claims = await deps.cliTokens.refresh.verify(refreshToken, deps.clock())
  if (!claims) return
  await withTransaction(deps.db, async (tx) => {
    const session = await lockLive(tx, deps, claims.sessionId)
    if (session) await end(tx, deps, session, 'session.ended', requestId)
  })
}

async function end(
  tx: Transaction,
  { clock }: CliDeps,
  { id, userId, orgId }: Session,
  action: 'session.ended' | 'session.reused',
  requestId: string,
): Promise<void> {
  await tx.update(sessions).set({ endedAt: clock() }).where(eq(sessions.id, id))
  recordEnding(tx, 'session', [{ id, orgId }])
  const [user] = await tx.select({ name: users.name }).from(users).where(eq(users.id, userId))
  const actor = { kind: 'cli_session' as const, userId, userName: user!.name, requestId }
  await recordAudit(tx, clock, actor, { orgId: orgId!, action, subject: 'by svc login' })
}
