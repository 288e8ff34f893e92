/**
 * What pages behind a mailed link share. The link is the capability, and opening it must change nothing: scanners and
 * previews open every link. A button acts.
 */
import type { Context, Next } from 'hono'
import { html } from 'hono/html'
import { ServiceError } from '../contracts/errors.ts'
import type { Assets } from '../pages/assets.ts'
import { notice, type Content } from '../pages/parts.ts'
import { skeleton } from '../pages/skeleton.ts'

/** Set by the service app around it. */
export type SiteEnv = { Variables: { route: string; address?: string; requestId?: string } }
export type C = Context<SiteEnv>

export type LinkPage = {
  readonly title: string
  readonly assets: Assets
  /** What is said of a link that is not, or no longer, one of ours. */
  readonly notFound: Content
}

export const tokenOf = (c: C): string => c.req.param('token') ?? ''

export async function respond(c: C, about: LinkPage, make: () => Promise<Content>): Promise<Response> {
  try {
    return c.html(page(about, await make()))
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'UNEXPECTED') throw error
    // An invalid token is an unknown one. A failure must not look like success.
    if (error.code === 'INVALID_REQUEST' || error.code === 'NOT_FOUND') {
      return c.html(page(about, notice('info', about.notFound)))
    }
    return c.html(page(about, notice('problem', html`<p>Something went wrong. Try again later.</p>`)), 503)
  }
}

const page = ({ title, assets }: LinkPage, body: Content) =>
  skeleton(
    { title: `${title} · svc`, assets, script: false },
    html`<main id="content" class="outside" tabindex="-1"><h1>${title}</h1>${body}</main>`,
  )

export const secureHeaders =
  (route: string) =>
  async (c: C, next: Next): Promise<void> => {
    c.set('route', route)
    await next()
    const { headers } = c.res
    headers.set(
      'content-security-policy',
      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    )
    // The URL is the capability: keep it out of other servers' logs, caches and search engines.
    headers.set('referrer-policy', 'no-referrer')
    headers.set('cache-control', 'no-store')
    headers.set('x-robots-tag', 'noindex')
  }
