/** Clients that have a row: pre-registered by the operator, or registered by themselves within three limits. */
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
import type { ConnectorNeeds } from './needs.ts'
import { isStorable } from './storable.ts'

/** Filled when a registration turned out to be one we have already. */
export const reused = new AsyncLocalStorage<{ clientId?: string }>()

/** RFC 6585: too many registrations; when one may try again is said in Retry-After. */
class TooManyClients extends errors.OIDCProviderError {
  constructor(because: string) {
    super(429, 'temporarily_unavailable')
    this.error_description = because
  }
}

/** What the registrant chose; what we add (ids, times, secrets) does not make two registrations different. */
const OURS = new Set([
  'client_id',
  'client_id_issued_at',
  'client_secret',
  'client_secret_expires_at',
  'svc_kind',
])

export function clientStore(needs: ConnectorNeeds): Adapter {
  const { db, clock } = needs
  return {
    async upsert(id, payload) {
      if (!isStorable(payload))
        throw new errors.InvalidClientMetadata('a member contains a character that cannot be kept')
      const metadata = payload as AdapterPayload & { redirect_uris: string[]; client_secret?: string }
      const chosen = Object.fromEntries(Object.entries(metadata).filter(([key]) => !OURS.has(key)))
      const isPublic = metadata.client_secret === undefined
      const registrationHash = isPublic ? digestOf(chosen) : null
      const originKey = originOf(metadata.redirect_uris)
      await withTransaction(db, async (tx) => {
        // All registrations stand in one line: only so are a hundred and five exact.
        await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('svc dynamic registration', 0))`)
        const known = registrationHash && (await findSame(needs, tx, registrationHash))
        if (known) {
          const store = reused.getStore()
          if (store) store.clientId = known
          return
        }
        await makeRoom(needs, tx, originKey)
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
        .where(and(eq(platformOauthClients.clientId, id), isLive(needs)))
      // The row of a metadata URL only blocks; the document itself is the client.
      if (!row || row.kind === 'metadata_document') return undefined
      await slide(needs, row)
      return { ...row.metadata, client_id: row.clientId, svc_kind: row.kind }
    },
    async destroy(id) {
      await db
        .update(platformOauthClients)
        .set({ isActive: false })
        .where(eq(platformOauthClients.clientId, id))
    },
    async findByUid() {
      return undefined
    },
    async findByUserCode() {
      return undefined
    },
    async consume() {},
    async revokeByGrantId() {},
  }
}

/** Nested deeper than any honest registration: the digest would overflow the stack. */
function digestOf(chosen: object): string {
  try {
    return documentDigest(chosen)
  } catch {
    throw new errors.InvalidClientMetadata('the registration is nested too deeply')
  }
}

const isLive = ({ clock }: ConnectorNeeds) =>
  and(
    eq(platformOauthClients.isActive, true),
    or(isNull(platformOauthClients.expiresAt), gt(platformOauthClients.expiresAt, clock())),
  )

/** An https redirect speaks for its web origin; a program on somebody's computer for the address it registers from. */
function originOf(redirectUris: readonly string[]): string {
  const web = redirectUris.find((uri) => uri.startsWith('https://'))
  if (web !== undefined) return new URL(web).origin
  const ctx = Provider.ctx as { get?(name: string): string } | undefined
  return `address:${ctx?.get?.(ADDRESS_HEADER) || 'unknown'}`
}

async function findSame(needs: ConnectorNeeds, tx: Transaction, hash: string): Promise<string | undefined> {
  const [row] = await tx
    .select({ clientId: platformOauthClients.clientId })
    .from(platformOauthClients)
    .where(and(eq(platformOauthClients.registrationHash, hash), isLive(needs)))
  return row?.clientId
}

async function makeRoom(needs: ConnectorNeeds, tx: Transaction, originKey: string): Promise<void> {
  const live = and(eq(platformOauthClients.kind, 'dynamic'), isLive(needs))
  const [taken] = await tx
    .select({
      all: sql<number>`count(*)::int`,
      here: sql<number>`(count(*) filter (where ${platformOauthClients.originKey} = ${originKey}))::int`,
    })
    .from(platformOauthClients)
    .where(live)
  if (taken!.here >= DYNAMIC_CLIENTS.perOrigin) {
    const fromHere = eq(platformOauthClients.originKey, originKey)
    if (!(await evictUnused(needs, tx, fromHere))) {
      throw new TooManyClients(`this origin has ${DYNAMIC_CLIENTS.perOrigin} active registrations`)
    }
    return
  }
  if (taken!.all >= DYNAMIC_CLIENTS.active && !(await evictUnused(needs, tx, undefined))) {
    throw new TooManyClients(`the server has ${DYNAMIC_CLIENTS.active} active registrations`)
  }
}

/** One that never led to a grant and is older than ten minutes gives way, the oldest first. */
async function evictUnused(
  needs: ConnectorNeeds,
  tx: Transaction,
  which: ReturnType<typeof eq> | undefined,
): Promise<boolean> {
  const oldEnough = new Date(needs.clock().getTime() - DYNAMIC_CLIENT_UNUSED_SECONDS * 1000)
  const [unused] = await tx
    .select({ clientId: platformOauthClients.clientId })
    .from(platformOauthClients)
    .where(
      and(
        which,
        eq(platformOauthClients.kind, 'dynamic'),
        // One that has expired or is switched off does not count, so its going makes no room.
        isLive(needs),
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

/** The 30 days slide on use; written at most once a day. */
async function slide(needs: ConnectorNeeds, row: typeof platformOauthClients.$inferSelect): Promise<void> {
  if (row.expiresAt === null) return
  const until = new Date(needs.clock().getTime() + DYNAMIC_CLIENTS.seconds * 1000)
  if (until.getTime() - row.expiresAt.getTime() < 24 * 60 * 60 * 1000) return
  await needs.db
    .update(platformOauthClients)
    .set({ expiresAt: until, lastUsedAt: needs.clock() })
    .where(eq(platformOauthClients.clientId, row.clientId))
}
