/** Clients with a row: pre-registered by the operator, or registered dynamically within limits. */
import { AsyncLocalStorage } from 'node:async_hooks'
import Provider, { errors, type Adapter, type AdapterPayload } from 'oidc-provider'
import type { Transaction } from '../../db/connect.ts'
import { and, asc, eq, gt, isNull, lt, notExists, or, sql } from '../../db/drizzle.ts'
import { platformAccessGrants, platformOauthClients } from '../../db/schema.ts'
import { ADDRESS_HEADER } from '../../src/client/service.ts'
import { DYNAMIC_CLIENTS, DYNAMIC_CLIENT_UNUSED_SECONDS } from '../../src/contracts/limits.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { sha256 } from '../../src/trust/keyed-hash.ts'
import { documentDigest } from './canonical-json.ts'
import type { ConnectorDeps } from './dependencies.ts'
import { isStorable } from './is-storable.ts'

/** Set when an identical registration exists. */
export const reusedRegistration = new AsyncLocalStorage<{ clientId?: string }>()

/** RFC 6585, 4; `adjustResponse` adds Retry-After. */
class TooManyClients extends errors.OIDCProviderError {
  constructor(reason: string) {
    super(429, 'temporarily_unavailable')
    this.error_description = reason
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
      const metadata = payload as AdapterPayload & { redirect_uris: string[]; client_secret?: string }
      const chosen = Object.fromEntries(Object.entries(metadata).filter(([key]) => !SERVER_FIELDS.has(key)))
      const isPublic = metadata.client_secret === undefined
      const registrationHash = isPublic ? digestOf(chosen) : null
      const originKey = originOf(metadata.redirect_uris)
      await withTransaction(db, async (tx) => {
        // Registrations are serialized: otherwise two at once could exceed the limits.
        await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('svc dynamic registration', 0))`)
        const known = registrationHash && (await findSame(deps, tx, registrationHash))
        if (known) {
          const store = reusedRegistration.getStore()
          if (store) store.clientId = known
          return
        }
        await enforceLimits(deps, tx, originKey)
        const now = clock()
        await tx.insert(platformOauthClients).values({
          clientId: id,
          kind: 'dynamic',
          metadata: isPublic ? metadata : { ...metadata, client_secret: sha256(metadata.client_secret!) },
          originKey,
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
      if (!row || row.kind === 'metadata_document') return undefined
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

/** The web origin of an https redirect; for a program on somebody's computer, the address it registers from. */
function originOf(redirectUris: readonly string[]): string {
  const web = redirectUris.find((uri) => uri.startsWith('https://'))
  if (web !== undefined) return new URL(web).origin
  const ctx = Provider.ctx as { get?(name: string): string } | undefined
  return `address:${ctx?.get?.(ADDRESS_HEADER) || 'unknown'}`
}

async function findSame(deps: ConnectorDeps, tx: Transaction, hash: string): Promise<string | undefined> {
  const [row] = await tx
    .select({ clientId: platformOauthClients.clientId })
    .from(platformOauthClients)
    .where(and(eq(platformOauthClients.registrationHash, hash), isLive(deps)))
  return row?.clientId
}

async function enforceLimits(deps: ConnectorDeps, tx: Transaction, originKey: string): Promise<void> {
  const live = and(eq(platformOauthClients.kind, 'dynamic'), isLive(deps))
  const [taken] = await tx
    .select({
      all: sql<number>`count(*)::int`,
      here: sql<number>`(count(*) filter (where ${platformOauthClients.originKey} = ${originKey}))::int`,
    })
    .from(platformOauthClients)
    .where(live)
  if (taken!.here >= DYNAMIC_CLIENTS.perOrigin) {
    const fromHere = eq(platformOauthClients.originKey, originKey)
    if (!(await evictUnused(deps, tx, fromHere))) {
      throw new TooManyClients(`this origin has ${DYNAMIC_CLIENTS.perOrigin} active registrations`)
    }
    return
  }
  if (taken!.all >= DYNAMIC_CLIENTS.active && !(await evictUnused(deps, tx, undefined))) {
    throw new TooManyClients(`the server has ${DYNAMIC_CLIENTS.active} active registrations`)
  }
}

/** Deletes the oldest client that never led to a grant and is older than ten minutes. */
async function evictUnused(
  deps: ConnectorDeps,
  tx: Transaction,
  which: ReturnType<typeof eq> | undefined,
): Promise<boolean> {
  const oldEnough = new Date(deps.clock().getTime() - DYNAMIC_CLIENT_UNUSED_SECONDS * 1000)
  const [unused] = await tx
    .select({ clientId: platformOauthClients.clientId })
    .from(platformOauthClients)
    .where(
      and(
        which,
        eq(platformOauthClients.kind, 'dynamic'),
        // An expired or inactive one does not count, so deleting it would not help.
        isLive(deps),
        lt(platformOauthClients.createdAt, oldEnough),
        notExists(
          tx
            .select({ one: sql`1` })
            .from(platformAccessGrants)
            .where(eq(platformAccessGrants.clientId, platformOauthClients.clientId)),
        ),
      ),
    )
    .orderBy(asc(platformOauthClients.createdAt))
    .limit(1)
  if (!unused) return false
  await tx.delete(platformOauthClients).where(eq(platformOauthClients.clientId, unused.clientId))
  return true
}

/** 30 days from the last use; written at most once a day. */
async function extendExpiry(
  deps: ConnectorDeps,
  row: typeof platformOauthClients.$inferSelect,
): Promise<void> {
  if (row.expiresAt === null) return
  const until = new Date(deps.clock().getTime() + DYNAMIC_CLIENTS.seconds * 1000)
  if (until.getTime() - row.expiresAt.getTime() < 24 * 60 * 60 * 1000) return
  await deps.db
    .update(platformOauthClients)
    .set({ expiresAt: until, lastUsedAt: deps.clock() })
    .where(eq(platformOauthClients.clientId, row.clientId))
}
