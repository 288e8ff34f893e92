/**
 * Client ID metadata documents. Fetched at every authorization, and daily for a client that comes in by an identity
 * provider; never at the token endpoint. Stored for the steps in between, with its digest on the grant.
 */
import { errors } from 'oidc-provider'
import { eq } from '../../db/drizzle.ts'
import { oauthMetadataDocuments, platformOauthClients } from '../../db/schema.ts'
import { METADATA_DOCUMENT, METADATA_DOCUMENT_DAYS } from '../../src/contracts/limits.ts'
import { whyUnfetched } from '../../src/contracts/unfetched.ts'
import { readUtf8JsonObject } from '../../src/contracts/read-json.ts'
import { documentDigest } from './canonical-json.ts'
import type { ConnectorDeps } from './dependencies.ts'
import { isStorable } from './is-storable.ts'

type DocumentRow = typeof oauthMetadataDocuments.$inferSelect

/** The page tells this apart: neither the client nor its person can do anything about it. */
export const NOT_FETCHED = 'could not be fetched'

export async function isSwitchedOff({ db }: Pick<ConnectorDeps, 'db'>, clientId: string): Promise<boolean> {
  const [row] = await db
    .select({ isActive: platformOauthClients.isActive })
    .from(platformOauthClients)
    .where(eq(platformOauthClients.clientId, clientId))
  return row?.isActive === false
}

export async function storedDocument({ db }: ConnectorDeps, url: string): Promise<DocumentRow | undefined> {
  const [row] = await db.select().from(oauthMetadataDocuments).where(eq(oauthMetadataDocuments.url, url))
  return row
}

/** Whoever took theirs down wants its keys to be good no longer. */
export async function isRecent(deps: ConnectorDeps, url: string): Promise<boolean> {
  const row = await storedDocument(deps, url)
  const oldest = deps.clock().getTime() - METADATA_DOCUMENT_DAYS * 24 * 60 * 60 * 1000
  return row !== undefined && row.fetchedAt.getTime() >= oldest
}

type FetchDeps = Pick<ConnectorDeps, 'db' | 'clock' | 'guardedFetch' | 'log'>

/** MCP 2026-07-28 pins draft-00 of the documents: a path is required, and these three members. */
export function isDocumentUrl(clientId: string): boolean {
  const url = URL.parse(clientId)
  return (
    url !== null &&
    url.protocol === 'https:' &&
    url.pathname !== '/' &&
    !url.search &&
    clientId.length <= 1024
  )
}

export async function fetchDocument(deps: FetchDeps, url: string): Promise<DocumentRow> {
  const document = await read(deps, url)
  if (document.client_id !== url) throw refusal('does not name its own address as client_id')
  if (typeof document.client_name !== 'string' || document.client_name === '')
    throw refusal('has no client_name')
  if (!Array.isArray(document.redirect_uris) || document.redirect_uris.length === 0) {
    throw refusal('has no redirect_uris')
  }
  if (!isStorable(document)) throw refusal('contains a character that cannot be stored')
  const row = { url, document, sha256: documentDigest(document), fetchedAt: deps.clock() }
  await deps.db
    .insert(oauthMetadataDocuments)
    .values(row)
    .onConflictDoUpdate({ target: oauthMetadataDocuments.url, set: row })
  return row
}

async function read(deps: FetchDeps, url: string): Promise<Record<string, unknown>> {
  const { bytes: maxBytes, ms: deadlineMs } = METADATA_DOCUMENT
  const answer = await deps
    .guardedFetch(url, { headers: { accept: 'application/json' }, maxBytes, deadlineMs })
    .catch((error: unknown) => {
      const reason = (error as { reason?: unknown }).reason
      deps.log.warn('metadata document not fetched', { url, reason })
      throw refusal(`${NOT_FETCHED}: ${whyUnfetched(error)}`)
    })
  if (answer.status !== 200) throw refusal(`${NOT_FETCHED}: it answered with the status ${answer.status}`)
  const type = answer.headers.get('content-type') ?? ''
  if (!/^application\/(json|[\w.-]+\+json)\b/i.test(type)) throw refusal('is not JSON')
  const document = readUtf8JsonObject(answer.body)
  if (!document) throw refusal('is not a JSON object')
  return document
}

const refusal = (problem: string) => new errors.InvalidClient(`the client's metadata document ${problem}`)
