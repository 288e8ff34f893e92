/** Throws away what has expired. Nothing depends on it: expired rows are refused wherever they are read. */
import { and, eq, isNotNull, lt, or } from '../../db/drizzle.ts'
import {
  activity,
  idempotencyKeys,
  invitations,
  mailedLinks,
  oauthArtifacts,
  oauthMetadataDocuments,
  platformOauthClients,
  sessions,
  signInAttempts,
  signInCodes,
  throttles,
} from '../../db/schema.ts'
import type { Storage } from '../cores/needs.ts'

/** Ended sessions and invitations stay visible to whoever investigates yesterday's trouble. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000

/** A refresh still reads the document of its client, and a grant lives for a year. */
const DOCUMENT_KEPT_MS = 366 * 24 * 60 * 60 * 1000

export async function sweep({ db, clock }: Storage): Promise<void> {
  const now = clock()
  const longAgo = new Date(now.getTime() - KEPT_MS)
  const veryLongAgo = new Date(now.getTime() - DOCUMENT_KEPT_MS)
  await db.delete(signInAttempts).where(lt(signInAttempts.expiresAt, now))
  await db.delete(signInCodes).where(lt(signInCodes.expiresAt, now))
  await db.delete(mailedLinks).where(lt(mailedLinks.expiresAt, now))
  await db.delete(throttles).where(lt(throttles.fullUntil, now))
  await db.delete(idempotencyKeys).where(lt(idempotencyKeys.expiresAt, now))
  await db.delete(oauthArtifacts).where(lt(oauthArtifacts.expiresAt, now))
  await db
    .delete(platformOauthClients)
    .where(and(eq(platformOauthClients.kind, 'dynamic'), lt(platformOauthClients.expiresAt, longAgo)))
  await db.delete(oauthMetadataDocuments).where(lt(oauthMetadataDocuments.fetchedAt, veryLongAgo))
  await db.delete(sessions).where(or(lt(sessions.expiresAt, longAgo), lt(sessions.endedAt, longAgo)))
  await db
    .delete(invitations)
    .where(
      or(
        lt(invitations.expiresAt, longAgo),
        and(isNotNull(invitations.acceptedAt), lt(invitations.acceptedAt, longAgo)),
      ),
    )
}

export type ActivityNeeds = Storage & { readonly activityDays: number }

/** Once a day, because it reads the whole table: an index by time would cost every question a write. */
export async function sweepActivity({ db, clock, activityDays }: ActivityNeeds): Promise<void> {
  await db
    .delete(activity)
    .where(lt(activity.at, new Date(clock().getTime() - activityDays * 24 * 60 * 60 * 1000)))
}
