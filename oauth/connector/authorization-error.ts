/** The page for errors that cannot be redirected to the client: an unknown client, a redirect URI mismatch. */
import type { KoaContextWithOIDC } from 'oidc-provider'
import type { Outcome } from './consent.ts'
import type { ConnectorDeps } from './dependencies.ts'
import { errorPage } from './consent-page.ts'
import { displayText } from './display-text.ts'
import { isDocumentUrl, NOT_FETCHED } from './metadata-documents.ts'

type ErrorBody = { error?: string; error_description?: string }

export function authorizationError(deps: ConnectorDeps, ctx: KoaContextWithOIDC): Outcome {
  const { error = 'invalid_request', error_description = '' } = (ctx.body ?? {}) as ErrorBody
  const { client_id } = ctx.oidc?.params ?? {}
  const isClientError = error.startsWith('invalid_client')
  const page =
    isClientError && typeof client_id === 'string' && isDocumentUrl(client_id)
      ? (describeDocument(deps, client_id, error_description) ?? describe(ctx, error, error_description))
      : describe(ctx, error, error_description)
  return { status: ctx.status, page: errorPage(page) }
}

/** A client that is a document: what went wrong is not the client's registration, and connecting again may not help. */
function describeDocument(deps: ConnectorDeps, url: string, description: string) {
  const details = [['Client', shown(url)] as const]
  if (!deps.documentsOpen) {
    return {
      title: 'Metadata documents are turned off',
      lead: `Your assistant identifies itself by a document on ${new URL(url).host}, and this installation does not fetch such documents. ${
        deps.registrationOpen
          ? 'Remove the connection in your assistant and connect again: it can register instead.'
          : 'Ask the operator of this installation to register it.'
      }`,
      details,
    }
  }
  const [, why] = description.split(`${NOT_FETCHED}: `)
  if (why === undefined) return undefined
  return {
    title: 'Metadata document could not be fetched',
    lead: `Your assistant identifies itself by a document on ${new URL(url).host}, and this installation could not fetch it from there just now: ${why}. Connecting again helps only once it can be fetched. If that lasts, tell the operator.`,
    details,
  }
}

/** As long as a URL may be, without characters that could reorder our own text. */
const shown = (text: unknown): string => displayText(text, 2000) ?? ''

function describe(ctx: KoaContextWithOIDC, error: string, description: string) {
  const params = ctx.oidc?.params ?? {}
  const client = ctx.oidc?.client as { redirectUris?: string[] } | undefined
  // Without a client, the redirect URI is one in its document.
  if (error.startsWith('invalid_client') || (error === 'invalid_redirect_uri' && !client)) {
    return {
      title: 'Unknown assistant',
      lead: 'Its registration has expired or was switched off, or its metadata document cannot be read. Remove the connection in your assistant and connect again.',
      details: [['Client', shown(params.client_id)] as const, ['Reason', shown(description)] as const],
    }
  }
  if (error === 'invalid_redirect_uri' || description.includes('redirect_uri')) {
    const registered = client?.redirectUris ?? []
    return {
      title: 'Redirect URI mismatch',
      lead: 'Your assistant asked for a redirect to an address that it has not registered, so nothing was sent.',
      details: [
        ['Received', shown(params.redirect_uri)] as const,
        ...registered.map((uri) => ['Registered', uri] as const),
      ],
    }
  }
  return {
    title: 'Invalid request',
    lead: 'Start again from your assistant. If it happens again, send the details below to its developer.',
    details: [['Error', error] as const, ['Reason', shown(description)] as const],
  }
}
