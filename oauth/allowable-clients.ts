/** The clients that an organization can allow for its identity provider: of the operator, its own, or a document. */
import { eq } from '../db/drizzle.ts'
import { platformOauthClients } from '../db/schema.ts'
import { ServiceError } from '../src/contracts/errors.ts'
import type * as identityProvider from '../src/cores/identity-provider/index.ts'
import { displayText } from './connector/display-text.ts'
import type { AuthDeps } from './dependencies.ts'

/** Of whatever kind it is, and whose: the same words, which tell nothing. */
function unknownClient({ documentsOpen }: AuthDeps): ServiceError {
  const orDocument = documentsOpen ? ', or the https address of its metadata document' : ''
  return new ServiceError('NOT_FOUND', 'There is no such client', {
    hint: `Give the id of a client that you created here or that the operator registered${orDocument}. Machine agents come in without an identity provider.`,
  })
}

export const findClient =
  (deps: AuthDeps): identityProvider.ClientDeps['findClient'] =>
  async (clientId, orgId) => {
    const [row] = await deps.db
      .select()
      .from(platformOauthClients)
      .where(eq(platformOauthClients.clientId, clientId))
    const isOwn = row?.orgId === orgId
    // Of another organization, it is as unknown as one that does not exist. That of a machine agent is never to be allowed, so
    // whose it is does not matter.
    if (row && (row.kind === 'machine' || (row.orgId !== null && !isOwn))) throw unknownClient(deps)
    if (row?.isActive === false) throw new ServiceError('CONFLICT', 'The operator turned this client off')
    if (row?.kind === 'pre_registered') {
      return { kind: row.kind, name: displayText(row.metadata?.client_name), isOwn }
    }
    // Anybody can register one, under any name.
    if (row) throw new ServiceError('CONFLICT', 'A client that registered itself cannot be allowed')
    return fetchClient(deps, clientId)
  }

/** Kept from now on: at the token endpoint no document is fetched. */
async function fetchClient(deps: AuthDeps, clientId: string): Promise<identityProvider.KnownClient> {
  // The authorization server is loaded when somebody needs it.
  const { fetchDocument, isDocumentUrl } = await import('./connector/metadata-documents.ts')
  if (!isDocumentUrl(clientId) || !deps.documentsOpen) throw unknownClient(deps)
  const { document } = await fetchDocument(deps, clientId).catch((error: unknown) => {
    const { error_description: description } = error as { error_description?: unknown }
    if (typeof description !== 'string') throw error
    throw new ServiceError('INVALID_REQUEST', undefined, { problems: [`client_id: ${description}`] })
  })
  return { kind: 'metadata_document', name: displayText(document.client_name), isOwn: false }
}
