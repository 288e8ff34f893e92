/**
 * Reads the metadata documents of clients that come in by an identity provider again, at least once a day: nobody
 * authorizes those, so a key that a client replaced would stay good. What has changed counts from then on, and ends nothing
 * by itself. What cannot be read is kept, and is too old after a week: see the grant of assertions.
 */
import { and, asc, eq, inArray, lt } from '../db/drizzle.ts'
import { identityProviderClients, oauthMetadataDocuments as documents } from '../db/schema.ts'
import type { GuardedFetch, Storage } from '../src/cores/dependencies.ts'
import type { Logger } from '../src/observe/log.ts'

type Deps = Storage & { readonly guardedFetch: GuardedFetch; readonly log: Logger }

/** The job comes every hour. */
const FRESH_MS = 22 * 60 * 60 * 1000
const AT_ONCE = 10

export async function refreshDocuments(deps: Deps, stopping?: AbortSignal): Promise<void> {
  const { db, clock } = deps
  const due = await db
    .select({ url: documents.url })
    .from(documents)
    .where(
      and(
        lt(documents.fetchedAt, new Date(clock().getTime() - FRESH_MS)),
        inArray(
          documents.url,
          db
            .select({ id: identityProviderClients.clientId })
            .from(identityProviderClients)
            .where(eq(identityProviderClients.kind, 'metadata_document')),
        ),
      ),
    )
    .orderBy(asc(documents.fetchedAt))
  if (due.length === 0) return
  // The authorization server is loaded when somebody needs it.
  const { fetchDocument } = await import('./connector/metadata-documents.ts')
  for (let at = 0; at < due.length; at += AT_ONCE) {
    if (stopping?.aborted) return
    const some = due.slice(at, at + AT_ONCE)
    const outcomes = await Promise.allSettled(some.map(({ url }) => fetchDocument(deps, url)))
    outcomes.forEach((outcome, index) => {
      if (outcome.status === 'fulfilled') return
      const { error_description: reason } = outcome.reason as { error_description?: unknown }
      deps.log.warn('document of an allowed client not read', { url: some[index]!.url, reason })
    })
  }
}
