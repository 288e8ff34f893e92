/** Deletes expired OAuth artifacts, registrations that expired long ago, and metadata documents nobody needs. */
import { and, eq, lt, notExists, sql } from '../../../db/drizzle.ts'
import {
  identityProviderClients,
  oauthArtifacts,
  oauthMetadataDocuments,
  platformOauthClients,
} from '../../../db/schema.ts'
import type { Storage } from '../dependencies.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const CLIENT_KEPT_MS = 30 * DAY_MS
/** A refresh still reads the document of its client, and a grant lives for a year. */
const DOCUMENT_KEPT_MS = 366 * DAY_MS

export async function sweepOauth({ db, clock }: Storage): Promise<void> {
  const now = clock()
  const before = (keptMs: number) => new Date(now.getTime() - keptMs)
  await db.delete(oauthArtifacts).where(lt(oauthArtifacts.expiresAt, now))
  await db.delete(platformOauthClients).where(
    and(
      eq(platformOauthClients.kind, 'dynamic'),
      // One that was switched off is kept: it refuses the same registration.
      eq(platformOauthClients.isActive, true),
      lt(platformOauthClients.expiresAt, before(CLIENT_KEPT_MS)),
    ),
  )
  await db.delete(oauthMetadataDocuments).where(
    and(
      lt(oauthMetadataDocuments.fetchedAt, before(DOCUMENT_KEPT_MS)),
      // Of one that comes in by an identity provider it is read again as long as it is here.
      notExists(
        db
          .select({ one: sql`1` })
          .from(identityProviderClients)
          .where(eq(identityProviderClients.clientId, oauthMetadataDocuments.url)),
      ),
    ),
  )
}
