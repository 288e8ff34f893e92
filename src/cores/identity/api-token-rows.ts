/** Rows of API tokens: only a keyed hash of the value is stored. */
import { and, eq, gt, isNull, or } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { apiTokens } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { approvedScopes, SCOPE_EDITION } from '../../contracts/scopes.ts'
import { apiTokenHash, tokenPrefix } from '../../trust/api-token.ts'
import { presentPrevious } from '../previous-value.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { Keys, Storage } from '../dependencies.ts'

type Row = typeof apiTokens.$inferSelect

/** `keyEpoch` is the fingerprint of the secrets that tokens are hashed with. */
export type TokenDeps = Storage & Keys & { readonly keyEpoch: string }

/** A token whose secrets were rotated opens nothing any more, so it is in no list and counts for no limit. */
export const isLive = ({ clock, keyEpoch }: Pick<TokenDeps, 'clock' | 'keyEpoch'>) =>
  and(
    isNull(apiTokens.revokedAt),
    or(isNull(apiTokens.expiresAt), gt(apiTokens.expiresAt, clock())),
    or(isNull(apiTokens.keyEpoch), eq(apiTokens.keyEpoch, keyEpoch)),
  )

export const scopesOf = ({ scopes, scopeEdition }: Pick<Row, 'scopes' | 'scopeEdition'>) =>
  scopes && approvedScopes(scopes, scopeEdition)

/** Stores the hash of a token, with its row in the audit trail. */
export async function insertApiToken(
  tx: Transaction,
  deps: TokenDeps,
  actor: AuditActor & { userId: string; orgId: string },
  token: string,
  input: Pick<
    Row,
    'parentId' | 'name' | 'roleCap' | 'carriesAppRoles' | 'scopes' | 'audiences' | 'expiresAt'
  >,
): Promise<Row> {
  const now = deps.clock()
  const [row] = await tx
    .insert(apiTokens)
    .values({
      ...input,
      orgId: actor.orgId,
      id: makeId('tok', now.getTime()),
      userId: actor.userId,
      startsWith: tokenPrefix(token),
      secretHash: apiTokenHash(deps, token),
      keyEpoch: deps.keyEpoch,
      scopeEdition: SCOPE_EDITION,
      createdAt: now,
    })
    .returning()
  const subject = `${input.name} (${tokenPrefix(token)}…)`
  await recordAudit(tx, deps.clock, actor, { orgId: actor.orgId, action: 'token.created', subject })
  return row!
}

/** As the API returns it, without its value. */
export const presentApiToken = (row: Row, userName: string, now: Date) => ({
  id: row.id,
  name: row.name,
  user_id: row.userId,
  user_name: userName,
  starts_with: row.startsWith,
  role_cap: row.roleCap,
  scopes: scopesOf(row),
  audiences: row.audiences,
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt?.toISOString() ?? null,
  last_used_at: row.lastUsedAt?.toISOString() ?? null,
  previous: presentPrevious(row, now),
})
