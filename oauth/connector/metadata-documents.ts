/**
 * Clients whose id is the https address of a document about themselves. Fetched at every authorization and at no
 * other time; what was fetched is kept for the steps in between, the digest of it stands on the grant.
 */
import { errors } from 'oidc-provider'
import { eq } from '../../db/drizzle.ts'
import { oauthMetadataDocuments, platformOauthClients } from '../../db/schema.ts'
import { METADATA_DOCUMENT } from '../../src/contracts/limits.ts'
import { documentDigest } from './canonical-json.ts'
import type { ConnectorNeeds } from './needs.ts'
import { isStorable } from './storable.ts'

type Kept = typeof oauthMetadataDocuments.$inferSelect

export async function isSwitchedOff({ db }: ConnectorNeeds, clientId: string): Promise<boolean> {
  const [row] = await db
    .select({ isActive: platformOauthClients.isActive })
    .from(platformOauthClients)
    .where(eq(platformOauthClients.clientId, clientId))
  return row?.isActive === false
}

export async function keptDocument({ db }: ConnectorNeeds, url: string): Promise<Kept | undefined> {
  const [row] = await db.select().from(oauthMetadataDocuments).where(eq(oauthMetadataDocuments.url, url))
  return row
}

/** MCP 2026-07-28 pins draft-00 of the documents: a path is required, and these three members. */
export function mayBeDocument(clientId: string): boolean {
  const url = URL.parse(clientId)
  return (
    url !== null &&
    url.protocol === 'https:' &&
    url.pathname !== '/' &&
    !url.search &&
    clientId.length <= 1024
  )
}

export async function fetchDocument(needs: ConnectorNeeds, url: string): Promise<Kept> {
  const document = await read(needs, url)
  if (document.client_id !== url) throw refusal('does not name its own address as client_id')
  if (typeof document.client_name !== 'string' || document.client_name === '')
    throw refusal('has no client_name')
  if (!Array.isArray(document.redirect_uris) || document.redirect_uris.length === 0) {
    throw refusal('has no redirect_uris')
  }
  if (!isStorable(document)) throw refusal('contains a character that cannot be kept')
  const row = { url, document, sha256: documentDigest(document), fetchedAt: needs.clock() }
  await needs.db
    .insert(oauthMetadataDocuments)
    .values(row)
    .onConflictDoUpdate({ target: oauthMetadataDocuments.url, set: row })
  return row
}

async function read(needs: ConnectorNeeds, url: string): Promise<Record<string, unknown>> {
  const { bytes: maxBytes, ms: deadlineMs } = METADATA_DOCUMENT
  const answer = await needs
    .guardedFetch(url, { headers: { accept: 'application/json' }, maxBytes, deadlineMs })
    .catch((error: unknown) => {
      const reason = (error as { reason?: unknown }).reason
      needs.log.warn('metadata document not fetched', { url, reason })
      throw refusal('could not be fetched')
    })
  if (answer.status !== 200) throw refusal('could not be fetched')
  const type = answer.headers.get('content-type') ?? ''
  if (!/^application\/(json|[\w.-]+\+json)\b/i.test(type)) throw refusal('is not JSON')
  try {
    const document: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(answer.body))
    if (typeof document === 'object' && document !== null && !Array.isArray(document)) {
      return document as Record<string, unknown>
    }
  } catch {
    // Falls through: what exactly is broken in a foreign document is for its author to find out.
  }
  throw refusal('is not a JSON object')
}

const refusal = (what: string) => new errors.InvalidClient(`the client's metadata document ${what}`)
