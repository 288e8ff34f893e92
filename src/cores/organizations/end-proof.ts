/** Takes the proof from an identity provider: it is a draft again, nobody comes in by it, and only a new proof turns it on. */
import type { Transaction } from '../../../db/connect.ts'
import { eq, sql } from '../../../db/drizzle.ts'
import { organizationIdentityProviders as providers, platformAccessGrants } from '../../../db/schema.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { Clock } from '../dependencies.ts'
import { recordEnding } from '../record-ending.ts'
import { andEnded, endGrants } from '../grants/index.ts'

/** Says how many agents that ends. */
export async function endProof(tx: Transaction, clock: Clock, id: string): Promise<number> {
  const [draft] = await tx
    .update(providers)
    .set({
      state: 'draft',
      provenBy: null,
      provenAt: null,
      provenDomain: null,
      edition: sql`${providers.edition} + 1`,
    })
    .where(eq(providers.id, id))
    .returning({ orgId: providers.orgId, edition: providers.edition })
  if (draft)
    recordEnding(tx, 'identity_provider', [
      { id, orgId: draft.orgId, to: { edition: String(draft.edition) } },
    ])
  const ended = await endGrants(tx, clock, eq(platformAccessGrants.identityProviderId, id), 'provider_paused')
  return ended.length
}

/** When the organization has lost the domain that proved it. */
export async function endProofByDomain(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  { orgId, domains }: { readonly orgId: string; readonly domains: readonly string[] },
): Promise<void> {
  // Whoever is turning it on at this moment is waited for, or sees the domains of now.
  const [provider] = await tx.select().from(providers).where(eq(providers.orgId, orgId)).for('update')
  if (!provider || provider.provenDomain === null || domains.includes(provider.provenDomain)) return
  const ended = await endProof(tx, clock, provider.id)
  await recordAudit(tx, clock, actor, {
    orgId,
    action: 'identity_provider.paused',
    subject: andEnded(`${provider.name}: ${provider.provenDomain} is no longer a domain of yours`, ended),
  })
}
