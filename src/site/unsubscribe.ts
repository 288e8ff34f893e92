/**
 * The unsubscribe page of a mail. The link is the capability, and opening it must change nothing: scanners and previews
 * open every link. The button unsubscribes, and so does a mailbox by RFC 8058.
 */
import { Hono, type Context, type Next } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { html } from 'hono/html'
import { httpClient } from '../client/http-client.ts'
import type { Service } from '../client/service.ts'
import { ServiceError } from '../contracts/errors.ts'
import { showUnsubscribe, unsubscribe } from '../contracts/subscriptions.ts'
import { assetsUnder, serveAssets, type Assets } from '../pages/assets.ts'
import { button, notice, type Content } from '../pages/parts.ts'
import { skeleton } from '../pages/skeleton.ts'

export type UnsubscribeDeps = { readonly gateway: Service }

/** Set by the service app around it. */
export type SiteEnv = { Variables: { route: string; address?: string; requestId?: string } }
type C = Context<SiteEnv>

/** `List-Unsubscribe=One-Click`, possibly as a multipart form. */
const BODY_MAX_BYTES = 16 * 1024

export function unsubscribePages({ gateway }: UnsubscribeDeps): Hono<SiteEnv> {
  const assets = assetsUnder('/unsubscribe/assets')
  const app = new Hono<SiteEnv>()
  serveAssets(app, assets)
  const call = (c: C) => httpClient(gateway, { address: c.get('address'), requestId: c.get('requestId') })

  app.use('/unsubscribe/:token', secureHeaders)
  app.get('/unsubscribe/:token', show)
  app.post(
    '/unsubscribe/:token',
    bodyLimit({ maxSize: BODY_MAX_BYTES, onError: (c) => c.text('Too large\n', 413) }),
    async (c) => {
      if (!(await isConfirmed(c))) return show(c)
      return respond(c, assets, async () => {
        // A forged link is answered like a real one: guessing reveals nothing.
        await call(c)(unsubscribe, { token: tokenOf(c) })
        return notice(
          'done',
          html`<p>You have been unsubscribed. You will get no more email from this subscription.</p>`,
        )
      })
    },
  )

  async function show(c: C) {
    return respond(c, assets, async () => {
      const { pattern, organization, enabled } = await call(c)(showUnsubscribe, { token: tokenOf(c) })
      if (pattern === null) return notice('info', NOT_FOUND)
      if (!enabled) {
        return notice(
          'done',
          html`<p>Email from <strong>${organization}</strong> about <code>${pattern}</code> is turned off.</p>`,
        )
      }
      // A form without an action posts to the URL of the page.
      return html`<form method="post" class="card">
        <p>You receive email from <strong>${organization}</strong> about <code>${pattern}</code>.</p>
        <input type="hidden" name="confirm" value="1" />
        ${button('Unsubscribe')}
      </form>`
    })
  }
  return app
}

const tokenOf = (c: C): string => c.req.param('token') ?? ''

/** From a mailbox (RFC 8058, 3.1: either kind of form) or from our own button; a bare POST does nothing. */
async function isConfirmed(c: C): Promise<boolean> {
  const body: Record<string, unknown> = await c.req.parseBody().catch(() => ({}))
  return body['List-Unsubscribe'] === 'One-Click' || body['confirm'] === '1'
}

async function respond(c: C, assets: Assets, make: () => Promise<Content>): Promise<Response> {
  try {
    return c.html(page(assets, await make()))
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'UNEXPECTED') throw error
    // An invalid token is an unknown one. A failure must not look like success.
    if (error.code === 'INVALID_REQUEST') return c.html(page(assets, notice('info', NOT_FOUND)))
    return c.html(page(assets, notice('problem', html`<p>Something went wrong. Try again later.</p>`)), 503)
  }
}

const NOT_FOUND = html`<p>This subscription no longer exists.</p>`

const page = (assets: Assets, body: Content) =>
  skeleton(
    { title: 'Unsubscribe · svc', assets, script: false },
    html`<main id="content" class="outside" tabindex="-1"><h1>Unsubscribe</h1>${body}</main>`,
  )

async function secureHeaders(c: C, next: Next): Promise<void> {
  c.set('route', 'unsubscribe')
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
