/** The page for errors that cannot be redirected to the client: an unknown client, a redirect URI mismatch. */
import type { KoaContextWithOIDC } from 'oidc-provider'
import type { Outcome } from './consent.ts'
import { errorPage } from './consent-page.ts'
import { displayText } from './display-text.ts'

type ErrorBody = { error?: string; error_description?: string }

export async function authorizationError(ctx: KoaContextWithOIDC): Promise<Outcome> {
  const { error = 'invalid_request', error_description } = (ctx.body ?? {}) as ErrorBody
  return { status: ctx.status, page: errorPage(await describe(ctx, error, error_description ?? '')) }
}

/** As long as a URL may be, without characters that could reorder our own text. */
const shown = (text: unknown): string => displayText(text, 2000) ?? ''

async function describe(ctx: KoaContextWithOIDC, error: string, description: string) {
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
