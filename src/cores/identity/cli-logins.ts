/**
 * A login of the client, from the request to the decision of its person: in the browser of the same machine (RFC 8252), or
 * by a code that they type (RFC 8628). What the client gets for it is made when it is approved, so that whatever ends
 * credentials meanwhile ends it too.
 */
import { randomBytes } from 'node:crypto'
import { and, asc, eq, isNull } from '../../../db/drizzle.ts'
import { cliLogins, memberships, organizations, sessions } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import {
  CLI_CODE_TRIES_PER_NETWORK,
  CLI_CODE_TRIES_PER_PERSON,
  CLI_LOGIN,
  CLI_LOGINS_PER_NETWORK,
  CLI_SESSION_SECONDS,
} from '../../contracts/limits.ts'
import { networkOf, networksAround } from '../../contracts/network-of.ts'
import { keyedHash, randomSecret } from '../../trust/keyed-hash.ts'
import type { Keys, Storage } from '../dependencies.ts'
import { lockAuthor } from '../lock-author.ts'
import { recordAudit } from '../record-audit.ts'
import { refundThrottle, throttle } from '../throttle.ts'
import { withTransaction } from '../transaction.ts'

export type CliLogin = typeof cliLogins.$inferSelect
type Deps = Storage & Keys

/** RFC 8628, 6.1: consonants, so that no code is a word and none is misread. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const CODE_LENGTH = 8

/** As somebody typed it: in any case, with or without the dash. Undefined: it cannot be one. */
function readUserCode(typed: string): string | undefined {
  const code = typed.toUpperCase().replaceAll(/[^A-Z]/g, '')
  return code.length === CODE_LENGTH && [...code].every((letter) => LETTERS.includes(letter))
    ? code
    : undefined
}

export const showUserCode = (typed: string): string => (readUserCode(typed) ?? '').replace(/^.{4}/, '$&-')

function makeUserCode(): string {
  let code = ''
  // 240 = 12 * 20, so that no letter is likelier than another.
  while (code.length < CODE_LENGTH) {
    for (const byte of randomBytes(CODE_LENGTH)) {
      if (byte < 240 && code.length < CODE_LENGTH) code += LETTERS[byte % LETTERS.length]
    }
  }
  return code
}

export const cliLoginHash = (deps: Keys, secret: string): string =>
  keyedHash(deps.keyFor('cli-login'), secret)

export type Asking = {
  /** What the client says of itself, made safe to show. */
  readonly clientName: string
  readonly hostName: string | null
  readonly address: string
}

export async function startDeviceLogin(deps: Deps, asking: Asking) {
  for (;;) {
    const userCode = makeUserCode()
    const secret = await startLogin(deps, asking, { userCodeHash: cliLoginHash(deps, userCode) })
    // Somebody else has this code at the moment.
    if (secret !== undefined) return { deviceCode: secret, userCode: showUserCode(userCode) }
  }
}

export async function startBrowserLogin(
  deps: Deps,
  asking: Asking,
  request: { redirectUri: string; state: string; codeChallenge: string },
): Promise<string> {
  return (await startLogin(deps, asking, request))!
}

async function startLogin(
  deps: Deps,
  asking: Asking,
  request: Partial<CliLogin>,
): Promise<string | undefined> {
  const network = networkOf(asking.address)
  const { seconds, ...counts } = CLI_LOGINS_PER_NETWORK
  for (const [around, name] of Object.entries({ network, ...networksAround(network) })) {
    const count = counts[around as keyof typeof counts]
    await throttle(deps, `cli-login:${around}:${name}`, { count, seconds })
  }
  const [now, secret] = [deps.clock(), randomSecret()]
  const [row] = await deps.db
    .insert(cliLogins)
    .values({
      ...request,
      ...asking,
      secretHash: cliLoginHash(deps, secret),
      intervalSeconds: CLI_LOGIN.pollSeconds,
      createdAt: now,
      expiresAt: new Date(now.getTime() + CLI_LOGIN.seconds * 1000),
    })
    .onConflictDoNothing({ target: cliLogins.userCodeHash })
    .returning({ secretHash: cliLogins.secretHash })
  return row && secret
}

/** `unknown` also of one that was swept. */
export type LoginState = 'open' | 'unknown' | 'decided' | 'late'

export function stateOf(login: CliLogin | undefined, now: Date): LoginState {
  if (!login) return 'unknown'
  if (login.sessionId !== null || login.deniedAt !== null) return 'decided'
  return login.expiresAt <= now ? 'late' : 'open'
}

/** By the address of its page. */
export async function findBrowserLogin(deps: Deps, secret: string): Promise<CliLogin | undefined> {
  const [row] = await deps.db
    .select()
    .from(cliLogins)
    .where(and(eq(cliLogins.secretHash, cliLoginHash(deps, secret)), isNull(cliLogins.userCodeHash)))
  return row
}

/** By the code that a signed-in person types. What finds nothing open is counted, for them and for their network. */
export async function findDeviceLogin(
  deps: Deps,
  typed: string,
  by: { readonly userId: string; readonly address: string },
): Promise<CliLogin | undefined> {
  const counted = [
    [`cli-code:${by.userId}`, CLI_CODE_TRIES_PER_PERSON],
    [`cli-code:${networkOf(by.address)}`, CLI_CODE_TRIES_PER_NETWORK],
  ] as const
  for (const [key, limit] of counted) await throttle(deps, key, limit)
  const code = readUserCode(typed)
  if (code === undefined) return undefined
  const [row] = await deps.db
    .select()
    .from(cliLogins)
    .where(eq(cliLogins.userCodeHash, cliLoginHash(deps, code)))
  if (stateOf(row, deps.clock()) === 'open')
    for (const [key, limit] of counted) await refundThrottle(deps, key, limit)
  return row
}

export const organizationsOf = ({ db }: Storage, userId: string) =>
  db
    .select({ id: organizations.id, name: organizations.name })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.orgId))
    .where(eq(memberships.userId, userId))
    .orderBy(asc(organizations.name), asc(organizations.id))

type Person = { readonly sessionId: string; readonly userId: string; readonly name: string }

/** The authorization code for the browser to take along; null for a device. Undefined when it is no longer open. */
export async function approveCliLogin(
  deps: Deps,
  { secretHash }: Pick<CliLogin, 'secretHash'>,
  { person, orgId, requestId }: { person: Person; orgId: string; requestId: string },
): Promise<string | null | undefined> {
  return withTransaction(deps.db, async (tx) => {
    const now = deps.clock()
    // Of two that decide at once, one does.
    const [login] = await tx
      .select()
      .from(cliLogins)
      .where(eq(cliLogins.secretHash, secretHash))
      .for('update')
    if (!login || stateOf(login, now) !== 'open') return undefined
    const { userId, sessionId } = person
    await lockAuthor(tx, deps.clock, { orgId, userId, role: 'owner', sessionId }, 'viewer')
    const device = `${login.clientName}${login.hostName === null ? '' : ` on ${login.hostName}`}`
    const id = makeId('ses', now.getTime())
    await tx.insert(sessions).values({
      id,
      kind: 'cli',
      userId,
      orgId,
      signedInBy: 'svc login',
      device: device.slice(0, 200),
      roleCap: 'owner',
      carriesAppRoles: true,
      rotatedAt: now,
      createdAt: now,
      lastUsedAt: now,
      expiresAt: new Date(now.getTime() + CLI_SESSION_SECONDS * 1000),
    })
    const code = login.redirectUri === null ? null : randomSecret()
    await tx
      .update(cliLogins)
      .set({
        sessionId: id,
        ...(code !== null && {
          authorizationCodeHash: cliLoginHash(deps, code),
          expiresAt: new Date(now.getTime() + CLI_LOGIN.codeSeconds * 1000),
        }),
      })
      .where(eq(cliLogins.secretHash, secretHash))
    const actor = { kind: 'user' as const, userId, userName: person.name, requestId }
    const subject = `by svc login: ${device}, asked from ${login.address}`
    await recordAudit(tx, deps.clock, actor, { orgId, action: 'session.started', subject })
    return code
  }).catch((error: unknown) => {
    // They left the organization, or their session ended, at this moment.
    if (error instanceof ServiceError) return undefined
    throw error
  })
}

export async function denyCliLogin(deps: Deps, { secretHash }: Pick<CliLogin, 'secretHash'>): Promise<void> {
  await deps.db
    .update(cliLogins)
    .set({ deniedAt: deps.clock() })
    .where(and(eq(cliLogins.secretHash, secretHash), isNull(cliLogins.sessionId)))
}
