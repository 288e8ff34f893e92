/** Clients with a row: pre-registered by the operator, or registered dynamically within limits. */
import { AsyncLocalStorage } from 'node:async_hooks'
import Provider, { errors, type Adapter, type AdapterPayload } from 'oidc-provider'
import type { Transaction } from '../../db/connect.ts'
import { and, eq, exists, gt, inArray, isNull, max, or, sql } from '../../db/drizzle.ts'
import { platformAccessGrants, platformOauthClients } from '../../db/schema.ts'
import { ADDRESS_HEADER } from '../../src/client/service.ts'
import { DYNAMIC_CLIENTS } from '../../src/contracts/limits.ts'
import { isLiveGrant } from '../../src/cores/grants/index.ts'
import { networkOf } from '../../src/contracts/network-of.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { sha256 } from '../../src/trust/keyed-hash.ts'
import { documentDigest } from './canonical-json.ts'
import type { ConnectorDeps } from './dependencies.ts'
import { isStorable } from './is-storable.ts'
import { machineClient } from './machine-clients.ts'
import { withoutLoopbackPort } from './redirect-uri.ts'
import { chooseEvictions, type Newcomer, type Slot } from './registration-slots.ts'

/** What the answer to a registration needs to know beside the library's own result. */
export type RegistrationOutcome = {
  /** The client id of an equal registration that exists. */
  clientId?: string
  retryAfterSeconds?: number
}

export const registrationOutcome = new AsyncLocalStorage<RegistrationOutcome>()

const report = (outcome: RegistrationOutcome): void =>
  void Object.assign(registrationOutcome.getStore() ?? {}, outcome)

/** RFC 6585, 4; `adjustResponse` adds Retry-After. */
class TooManyClients extends errors.OIDCProviderError {
  constructor(reason: string) {
    super(429, 'temporarily_unavailable')
    this.error_description = reason
  }
}

/** Otherwise whoever was switched off would come back under another id. */
class SwitchedOff extends errors.OIDCProviderError {
  constructor() {
    super(403, 'access_denied')
    this.error_description = 'this registration was switched off by the operator'
  }
}

/** Added by the server: these do not make two registrations different. */
const SERVER_FIELDS = new Set([
  'client_id',
  'client_id_issued_at',
  'client_secret',
  'client_secret_expires_at',
  'svc_kind',
])

/** The library calls these for codes and tokens only. */
export const UNUSED_METHODS = {
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => {},
  revokeByGrantId: async () => {},
}

export function clientAdapter(deps: ConnectorDeps): Adapter {
  const { db, clock } = deps
  return {
    async upsert(id, payload) {
      if (!isStorable(payload))
        throw new errors.InvalidClientMetadata('a member contains a character that cannot be stored')
      const asked = payload as AdapterPayload & { redirect_uris: string[]; client_secret?: string }
      const metadata = { ...asked, redirect_uris: storedRedirects(deps, asked) }
      const chosen = Object.fromEntries(Object.entries(metadata).filter(([key]) => !SERVER_FIELDS.has(key)))
      const hasSecret = metadata.client_secret !== undefined
      const registrationHash = hasSecret ? null : digestOf(chosen)
      const newcomer = newcomerOf(metadata.redirect_uris)
      await withTransaction(db, async (tx) => {
        // Registrations are serialized: otherwise two at once could exceed the limits.
        await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('svc dynamic registration', 0))`)
        const known = registrationHash && (await findSame(deps, tx, registrationHash))
        if (known) return report({ clientId: known })
        await evictFor(deps, tx, newcomer)
        const now = clock()
        await tx.insert(platformOauthClients).values({
          ...newcomer,
          clientId: id,
          kind: 'dynamic',
          metadata: hasSecret ? { ...metadata, client_secret: sha256(metadata.client_secret!) } : metadata,
          registrationHash,
          createdAt: now,
          expiresAt: new Date(now.getTime() + DYNAMIC_CLIENTS.seconds * 1000),
        })
      })
    },
    async find(id) {
      if (!isStorable(id)) return undefined
      const [row] = await db
        .select()
        .from(platformOauthClients)
        .where(and(eq(platformOauthClients.clientId, id), isLive(deps)))
      // A row for a metadata document only switches it off; the client is the document.
      if (!row || row.kind === 'metadata_document' || isHidden(row)) return undefined
      if (row.kind === 'machine') return machineClient(deps, row.clientId)
      await extendExpiry(deps, row)
      return { ...row.metadata, client_id: row.clientId, svc_kind: row.kind }
    },
    async destroy(id) {
      await db
        .update(platformOauthClients)
        .set({ isActive: false })
        .where(eq(platformOauthClients.clientId, id))
    },
    ...UNUSED_METHODS,
  }
}

/** Where clients prove who they are, and an answer tells nothing before they did. */
const PROVING_ROUTES: unknown[] = ['token', 'revocation']

/**
 * Machine agents and clients of an organization have nobody to ask. On pages that anybody can open without signing in, and
 * wherever else the library looks for a client, they are as unknown as an id that nobody has.
 */
const isHidden = ({ kind, orgId }: typeof platformOauthClients.$inferSelect): boolean =>
  (kind === 'machine' || orgId !== null) && !PROVING_ROUTES.includes(Provider.ctx?.oidc?.route)

/** The digest of an absurdly nested registration overflows the stack. */
function digestOf(chosen: object): string {
  try {
    return documentDigest(chosen)
  } catch {
    throw new errors.InvalidClientMetadata('the registration is nested too deeply')
  }
}

const isLive = ({ clock }: ConnectorDeps) =>
  and(
    eq(platformOauthClients.isActive, true),
    or(isNull(platformOauthClients.expiresAt), gt(platformOauthClients.expiresAt, clock())),
  )

/**
 * A public program on somebody's computer takes whichever port is free, and some register it anew each time: without
 * the port it is one registration, which matches any port. A client with keys or a secret is left as it is.
 */
function storedRedirects(
  { loopbackPorts }: ConnectorDeps,
  asked: { redirect_uris: readonly string[]; token_endpoint_auth_method?: unknown },
): string[] {
  const isFolded = loopbackPorts !== 'exact' && asked.token_endpoint_auth_method === 'none'
  return isFolded ? [...new Set(asked.redirect_uris.map(withoutLoopbackPort))] : [...asked.redirect_uris]
}

/** Whom it counts against. The origin is that of an https redirect; a program on a computer has only its address. */
function newcomerOf(redirectUris: readonly string[]): Newcomer {
  const ctx = Provider.ctx as { get?(name: string): string } | undefined
  const registeredFrom = networkOf(ctx?.get?.(ADDRESS_HEADER) || 'unknown')
  const web = redirectUris.find((uri) => uri.startsWith('https://'))
  return {
    originKey: web === undefined ? `address:${registeredFrom}` : new URL(web).origin,
    registeredFrom,
  }
}

/** The client id of the same registration, unless it has expired. */
async function findSame(deps: ConnectorDeps, tx: Transaction, hash: string): Promise<string | undefined> {
  const rows = await tx
    .select({ clientId: platformOauthClients.clientId, isActive: platformOauthClients.isActive })
    .from(platformOauthClients)
    .where(
      and(
        eq(platformOauthClients.registrationHash, hash),
        or(isLive(deps), eq(platformOauthClients.isActive, false)),
      ),
    )
  if (rows.some(({ isActive }) => !isActive)) throw new SwitchedOff()
  return rows[0]?.clientId
}

async function evictFor(deps: ConnectorDeps, tx: Transaction, newcomer: Newcomer): Promise<void> {
  const evictions = chooseEvictions(await activeSlots(deps, tx), newcomer, deps.clock())
  if ('problem' in evictions) {
    report({ retryAfterSeconds: evictions.retryAfterSeconds })
    throw new TooManyClients(evictions.problem)
  }
  if (evictions.evicted.length === 0) return
  await tx.delete(platformOauthClients).where(inArray(platformOauthClients.clientId, [...evictions.evicted]))
}

/** At most as many as the limits allow. */
function activeSlots(deps: ConnectorDeps, tx: Transaction): Promise<Slot[]> {
  return tx
    .select({
      clientId: platformOauthClients.clientId,
      originKey: platformOauthClients.originKey,
      registeredFrom: platformOauthClients.registeredFrom,
      createdAt: platformOauthClients.createdAt,
      expiresAt: platformOauthClients.expiresAt,
      grantsUntil: max(platformAccessGrants.expiresAt),
    })
    .from(platformOauthClients)
    .leftJoin(
      platformAccessGrants,
      and(eq(platformAccessGrants.clientId, platformOauthClients.clientId), isLiveGrant(deps)),
    )
    .where(and(eq(platformOauthClients.kind, 'dynamic'), isLive(deps)))
    .groupBy(platformOauthClients.clientId)
}

/** 30 days from the last use while somebody approves of it; written at most once a day. */
async function extendExpiry(
  deps: ConnectorDeps,
  row: typeof platformOauthClients.$inferSelect,
): Promise<void> {
  if (row.expiresAt === null) return
  const until = new Date(deps.clock().getTime() + DYNAMIC_CLIENTS.seconds * 1000)
  if (until.getTime() - row.expiresAt.getTime() < 24 * 60 * 60 * 1000) return
  const approval = deps.db
    .select({ id: platformAccessGrants.id })
    .from(platformAccessGrants)
    .where(and(eq(platformAccessGrants.clientId, row.clientId), isLiveGrant(deps)))
  await deps.db
    .update(platformOauthClients)
    .set({ expiresAt: until, lastUsedAt: deps.clock() })
    .where(and(eq(platformOauthClients.clientId, row.clientId), exists(approval)))
}
