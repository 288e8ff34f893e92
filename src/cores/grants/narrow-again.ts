/** Takes again what a lost tail of the database gave back: scopes and sources of a grant, a client that was blocked. */
import type { Transaction } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { organizationClientBlocks, platformAccessGrants } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import type { EndedRow } from '../record-ending.ts'
import { grantedScopes, payloadWithScopes } from './granted-scopes.ts'

/** False: it has no more than that. */
export async function narrowGrantAgain(
  tx: Transaction,
  { id, to }: Pick<EndedRow, 'id' | 'to'>,
): Promise<boolean> {
  const isIt = eq(platformAccessGrants.id, id)
  const [grant] = await tx.select().from(platformAccessGrants).where(isIt).for('update')
  if (!grant || grant.revokedAt !== null) return false
  const granted = grantedScopes(grant)
  const scopes = granted.filter((scope) => wordsIn(to!.scopes!).includes(scope))
  const kept = to!.sources === null ? null : wordsIn(to!.sources!)
  const sources = kept === null ? grant.sources : (grant.sources ?? kept).filter((one) => kept.includes(one))
  if (scopes.length === granted.length && sources?.length === grant.sources?.length) return false
  const payload = payloadWithScopes(grant.payload, scopes)
  await tx.update(platformAccessGrants).set({ scopes, sources, payload }).where(isIt)
  return true
}

const wordsIn = (text: string): string[] => text.split(' ').filter((word) => word !== '')

export async function blockClientAgain(
  tx: Transaction,
  clock: Clock,
  { id, orgId }: EndedRow,
): Promise<boolean> {
  const blocked = await tx
    .insert(organizationClientBlocks)
    .values({ orgId: orgId!, clientId: id, since: clock() })
    .onConflictDoNothing()
    .returning()
  return blocked.length > 0
}
