/** What cannot be redirected is said on a page: an expired registration, a redirect that does not fit. */
import type { KoaContextWithOIDC } from 'oidc-provider'
import type { Outcome } from './consent.ts'
import { errorPage } from './consent-page.ts'

type Said = { error?: string; error_description?: string }

export async function readableError(ctx: KoaContextWithOIDC): Promise<Outcome> {
  const { error = 'invalid_request', error_description } = (ctx.body ?? {}) as Said
  return { status: ctx.status, page: errorPage(await wordsFor(ctx, error, error_description ?? '')) }
}

async function wordsFor(ctx: KoaContextWithOIDC, error: string, description: string) {
  const asked = ctx.oidc?.params ?? {}
  if (error === 'invalid_client') {
    return {
      title: 'This assistant is not known here',
      lead: 'Its registration has expired, was switched off, or its metadata document cannot be read. Remove the connection in your assistant and connect again.',
      details: [['Client', String(asked.client_id ?? '')] as const, ['Reason', description] as const],
    }
  }
  if (error === 'invalid_redirect_uri' || description.includes('redirect_uri')) {
    const registered = (ctx.oidc?.client as { redirectUris?: string[] } | undefined)?.redirectUris ?? []
    return {
      title: 'The return address does not fit',
      lead: 'Your assistant asked to send the answer to an address it did not register, so nothing was sent.',
      details: [
        ['Received', String(asked.redirect_uri ?? '')] as const,
        ...registered.map((uri) => ['Registered', uri] as const),
      ],
    }
  }
  return {
    title: 'This request cannot be answered',
    lead: 'Start again from your assistant. If it happens again, tell its makers what stands below.',
    details: [['Error', error] as const, ['Reason', description] as const],
  }
}
