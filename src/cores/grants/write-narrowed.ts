/** Leaves a live grant with less, in the transaction that has locked it. The caller writes the audit row. */
import type { Transaction } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { platformAccessGrants } from '../../../db/schema.ts'
import { recordEnding } from '../record-ending.ts'
import type { Rights } from './grant-uses.ts'
import { payloadWithScopes } from './granted-scopes.ts'

type Grant = Pick<typeof platformAccessGrants.$inferSelect, 'id' | 'orgId' | 'payload'>

export async function writeNarrowed(tx: Transaction, grant: Grant, left: Rights) {
  const set = {
    scopes: left.scopes,
    sources: left.sources,
    payload: payloadWithScopes(grant.payload, left.scopes),
    // What they were told of has come to pass, or is another thing now.
    narrowingToldAt: null,
  }
  await tx.update(platformAccessGrants).set(set).where(eq(platformAccessGrants.id, grant.id))
  // It is never widened, so what a later one left is part of this.
  const to = { scopes: left.scopes.join(' '), sources: left.sources?.join(' ') ?? null }
  recordEnding(tx, 'grant_narrowed', [{ id: grant.id, orgId: grant.orgId, to }])
  return set
}
