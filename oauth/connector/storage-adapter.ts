/**
 * Stores the library's codes, refresh tokens, interactions and grants. Values are stored as keyed hashes; consuming is
 * compare-and-set, because the library finds and consumes in two steps and two requests may run at once.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import Provider, { errors, type Adapter, type AdapterPayload } from 'oidc-provider'
import { and, eq, isNull, sql } from '../../db/drizzle.ts'
import { oauthArtifacts, platformAccessGrants } from '../../db/schema.ts'
import { CONNECTOR_SECONDS } from '../../src/contracts/limits.ts'
import type { ClientKind } from '../../src/contracts/grants.ts'
import { SCOPE_EDITION, type Resource, type Scope } from '../../src/contracts/scopes.ts'
import { recordAudit, type AuditActor } from '../../src/cores/record-audit.ts'
import { endGrant, findLiveGrant, grantedScopes, payloadWithScopes } from '../../src/cores/grants/index.ts'
import { lockAuthor } from '../../src/cores/lock-author.ts'
import { preparedQuery } from '../../src/cores/prepared-query.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { keyedHash } from '../../src/trust/keyed-hash.ts'
import { clientAdapter, UNUSED_METHODS } from './registered-clients.ts'
import type { ConnectorDeps } from './dependencies.ts'
import { recoverLostRefresh } from './lost-refresh.ts'
import { isStorable } from './is-storable.ts'

/** What the library's grant has no fields for; set around `grant.save()`. */
export type Approval = {
  by: AuditActor & { readonly userId: string }
  /** In which it was approved. */
  sessionId: string
  subject: string
  orgId: string
  clientKind: ClientKind
  clientName: string | null
  redirectHost: string
  documentSha256: string | null
  resource: Resource
  scopes: Scope[]
  /** Ids of data sources; null: all that the user can query. */
  sources: string[] | null
}

export const approval = new AsyncLocalStorage<Approval>()

export const storageAdapter =
  (deps: ConnectorDeps) =>
  (model: string): Adapter => {
    if (model === 'Client') return clientAdapter(deps)
    if (model === 'Grant') return grantAdapter(deps)
    return artifactAdapter(deps, model)
  }

export const artifactId = (deps: ConnectorDeps, kind: string, value: string): string =>
  keyedHash(deps.keyFor('oauth-artifact'), `${kind}:${value}`)

const artifactById = preparedQuery((db) =>
  db
    .select()
    .from(oauthArtifacts)
    .where(eq(oauthArtifacts.id, sql.placeholder('id')))
    .prepare('artifact_by_id'),
)

const upsertArtifact = preparedQuery((db) =>
  db
    .insert(oauthArtifacts)
    .values({
      id: sql.placeholder('id'),
      kind: sql.placeholder('kind'),
      payload: sql.placeholder('payload'),
      grantId: sql.placeholder('grantId'),
      uid: sql.placeholder('uid'),
      expiresAt: sql`${sql.placeholder('expiresAt')}::timestamptz`,
    })
    .onConflictDoUpdate({
      target: oauthArtifacts.id,
      set: {
        payload: sql`excluded.payload`,
        grantId: sql`excluded.grant_id`,
        uid: sql`excluded.uid`,
        expiresAt: sql`excluded.expires_at`,
      },
    })
    .prepare('upsert_artifact'),
)

const consumeArtifact = preparedQuery((db) =>
  db
    .update(oauthArtifacts)
    .set({ consumedAt: sql`${sql.placeholder('now')}::timestamptz` })
    .where(and(eq(oauthArtifacts.id, sql.placeholder('id')), isNull(oauthArtifacts.consumedAt)))
    .returning({ id: oauthArtifacts.id })
    .prepare('consume_artifact'),
)

function artifactAdapter(deps: ConnectorDeps, kind: string): Adapter {
  const { db, clock } = deps
  const idOf = (value: string) => artifactId(deps, kind, value)
  const until = (seconds: number | undefined) =>
    seconds === undefined ? null : new Date(clock().getTime() + seconds * 1000)

  function read(
    row: typeof oauthArtifacts.$inferSelect | undefined,
    value?: string,
  ): AdapterPayload | undefined {
    if (!row || (row.expiresAt && row.expiresAt <= clock())) return undefined
    const payload = { ...row.payload, ...(value === undefined ? {} : { jti: value }) } as AdapterPayload
    const isSpent = row.consumedAt !== null && !inGrace(deps, kind, row.consumedAt)
    return isSpent ? { ...payload, consumed: Math.floor(row.consumedAt!.getTime() / 1000) } : payload
  }

  return {
    async upsert(value, payload, expiresIn) {
      // The library puts the bearer value itself into the payload as jti.
      const { jti: _bearer, ...rest } = payload
      // Otherwise somebody else who signs in in this browser is sent to the library's sign-out page, which is not served.
      if (kind === 'Session') delete rest.accountId
      if (!isStorable(rest))
        throw new errors.InvalidRequest('a parameter contains a character that cannot be stored')
      const row = {
        payload: rest,
        grantId: payload.grantId ?? null,
        uid: payload.uid ?? null,
        expiresAt: until(expiresIn),
      }
      if (kind === 'ReplayDetection') {
        // The library checks and stores in two steps: of two requests at once, the second finds the row here.
        const [mine] = await db
          .insert(oauthArtifacts)
          .values({ id: idOf(value), kind, ...row })
          .onConflictDoNothing()
          .returning({ id: oauthArtifacts.id })
        if (!mine) throw new errors.InvalidClientAuth('client assertion tokens must only be used once')
        return
      }
      const expiresAt = row.expiresAt?.toISOString() ?? null
      await upsertArtifact(db).execute({ id: idOf(value), kind, ...row, expiresAt })
    },
    async find(value) {
      const id = idOf(value)
      const [row] = await artifactById(db).execute({ id })
      const isLost = !row && kind === 'RefreshToken'
      return read(isLost ? await recoverLostRefresh(deps, value, id) : row, value)
    },
    async findByUid(uid) {
      const [row] = await db
        .select()
        .from(oauthArtifacts)
        .where(and(eq(oauthArtifacts.kind, kind), eq(oauthArtifacts.uid, uid)))
      return read(row)
    },
    async findByUserCode() {
      return undefined
    },
    async consume(value) {
      const [mine] = await consumeArtifact(db).execute({ id: idOf(value), now: clock().toISOString() })
      if (mine) return
      const [row] = await artifactById(db).execute({ id: idOf(value) })
      if (row?.consumedAt && inGrace(deps, kind, row.consumedAt)) return
      if (row?.grantId) await endAsReused(deps, row.grantId)
      throw new errors.InvalidGrant(`${kind} already used`)
    },
    async destroy(value) {
      await db.delete(oauthArtifacts).where(eq(oauthArtifacts.id, idOf(value)))
    },
    async revokeByGrantId(grantId) {
      await db
        .delete(oauthArtifacts)
        .where(and(eq(oauthArtifacts.grantId, grantId), eq(oauthArtifacts.kind, kind)))
    },
  }
}

/** Clients refresh in parallel or lose the answer: within the grace period a used refresh token is not theft. */
export const inGrace = (deps: ConnectorDeps, kind: string, consumedAt: Date): boolean =>
  kind === 'RefreshToken' && deps.clock().getTime() - consumedAt.getTime() < deps.refreshGraceSeconds * 1000

async function endAsReused(deps: ConnectorDeps, grantId: string): Promise<void> {
  const by = { kind: 'anonymous' as const, userId: null, userName: 'an agent', requestId: 'token' }
  await withTransaction(deps.db, (tx) => endGrant(tx, deps.clock, by, grantId, 'reuse_detected'))
}

function grantAdapter(deps: ConnectorDeps): Adapter {
  const { db, clock } = deps
  return {
    async upsert(id, payload, expiresIn) {
      const approved = approval.getStore()
      if (!approved) {
        await db
          .update(platformAccessGrants)
          .set({ payload: { ...payload } })
          .where(eq(platformAccessGrants.id, id))
        return
      }
      const { by, sessionId, subject, ...columns } = approved
      const now = clock()
      const row = {
        ...columns,
        id,
        userId: payload.accountId!,
        clientId: payload.clientId!,
        payload: { ...payload },
        roleCap: 'owner' as const,
        carriesAppRoles: true,
        scopeEdition: SCOPE_EDITION,
        keyEpoch: deps.keyEpoch,
        createdAt: now,
        usesSince: now,
        expiresAt: new Date(now.getTime() + (expiresIn ?? CONNECTOR_SECONDS.grant) * 1000),
      }
      await withTransaction(db, async (tx) => {
        // Removed, or signed out everywhere, while the page was open: nothing is granted any more.
        await lockAuthor(
          tx,
          clock,
          { orgId: row.orgId, userId: by.userId, role: 'owner', sessionId },
          'viewer',
        )
        await tx.insert(platformAccessGrants).values(row)
        await recordAudit(tx, clock, by, { orgId: row.orgId, action: 'grant.created', subject })
      })
    },
    async find(id) {
      const grant = (await findLiveGrant(deps, id))?.grant
      return grant && payloadWithScopes(grant.payload, grantedScopes(grant))
    },
    async destroy(id) {
      const route = (Provider.ctx as { oidc?: { route?: string } } | undefined)?.oidc?.route
      const reason = route === 'revocation' ? 'token_revoked' : 'reuse_detected'
      const by = {
        kind: 'anonymous' as const,
        userId: null,
        userName: 'an agent',
        requestId: route ?? 'oauth',
      }
      await withTransaction(db, (tx) => endGrant(tx, clock, by, id, reason))
    },
    ...UNUSED_METHODS,
  }
}
