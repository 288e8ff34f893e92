/** What cannot be redirected is said on a page: an expired registration, a redirect that does not fit. */
import type { KoaContextWithOIDC } from 'oidc-provider'
import type { Outcome } from './consent.ts'
import { errorPage } from './consent-page.ts'
import { shownText } from './shown-text.ts'

type Said = { error?: string; error_description?: string }

export async function readableError(ctx: KoaContextWithOIDC): Promise<Outcome> {
  const { error = 'invalid_request', error_description } = (ctx.body ?? {}) as Said
  return { status: ctx.status, page: errorPage(await wordsFor(ctx, error, error_description ?? '')) }
}

/** As long as an address may be; without what a stranger's text could turn our own words around with. */
const shown = (text: unknown): string => shownText(text, 2000) ?? ''

async function wordsFor(ctx: KoaContextWithOIDC, error: string, description: string) {
  const asked = ctx.oidc?.params ?? {}
  const client = ctx.oidc?.client as { redirectUris?: string[] } | undefined
  // Without a client the redirect in question is one of its own document.
  if (error.startsWith('invalid_client') || (error === 'invalid_redirect_uri' && !client)) {
    return {
      title: 'This assistant is not known here',
      lead: 'Its registration has expired, was switched off, or its metadata document cannot be read. Remove the connection in your assistant and connect again.',
      details: [['Client', shown(asked.client_id)] as const, ['Reason', shown(description)] as const],
    }
  }
  if (error === 'invalid_redirect_uri' || description.includes('redirect_uri')) {
    const registered = client?.redirectUris ?? []
    return {
      title: 'The return address does not fit',
      lead: 'Your assistant asked to send the answer to an address it did not register, so nothing was sent.',
      details: [
        ['Received', shown(asked.redirect_uri)] as const,
        ...registered.map((uri) => ['Registered', uri] as const),
      ],
    }
  }
  return {
    title: 'This request cannot be answered',
    lead: 'Start again from your assistant. If it happens again, tell its makers what stands below.',
    details: [['Error', error] as const, ['Reason', shown(description)] as const],
  }
}
