/**
 * The page behind the link at the foot of a mail. The link alone is the capability, so looking at it must change nothing:
 * scanners and previews open every link they see. One press of the button does it, and so does a mailbox by RFC 8058.
 */
import { Hono, type Context, type Next } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { html } from 'hono/html'
import { caller } from '../client/call.ts'
import type { Service } from '../client/service.ts'
import { ServiceError } from '../contracts/errors.ts'
import { showUnsubscribe, unsubscribe } from '../contracts/subscriptions.ts'
import { assetsUnder, serveAssets, type Assets } from '../pages/assets.ts'
import { button, notice, type Content } from '../pages/parts.ts'
import { skeleton } from '../pages/skeleton.ts'

export type UnsubscribeNeeds = { readonly gateway: Service }

/** What the clothes of every service put on a request; by itself the site has none of it. */
export type SiteEnv = { Variables: { route: string; address?: string; requestId?: string } }
type C = Context<SiteEnv>

/** `List-Unsubscribe=One-Click` with the wrapping of a multipart form around it. */
const BODY_MAX_BYTES = 16 * 1024

export function unsubscribePages({ gateway }: UnsubscribeNeeds): Hono<SiteEnv> {
  const assets = assetsUnder('/unsubscribe/assets')
  const app = new Hono<SiteEnv>()
  serveAssets(app, assets)
  const call = (c: C) => caller(gateway, { address: c.get('address'), requestId: c.get('requestId') })

  app.use('/unsubscribe/:token', guarded)
  app.get('/unsubscribe/:token', show)
  app.post(
    '/unsubscribe/:token',
    bodyLimit({ maxSize: BODY_MAX_BYTES, onError: (c) => c.text('Too large\n', 413) }),
    async (c) => {
      if (!(await isMeant(c))) return show(c)
      return answering(c, assets, async () => {
        // A forged link is answered like a real one: whoever tries learns nothing, and mailboxes take it as done.
        await call(c)(unsubscribe, { token: tokenOf(c) })
        return notice(
          'done',
          html`<p>Done. No more mails will come from the subscription behind this link.</p>`,
        )
      })
    },
  )

  async function show(c: C) {
    return answering(c, assets, async () => {
      const { pattern, organization, enabled } = await call(c)(showUnsubscribe, { token: tokenOf(c) })
      if (pattern === null) return notice('info', NO_SUCH)
      if (!enabled) {
        return notice(
          'done',
          html`<p>The mails of <strong>${organization}</strong> about <code>${pattern}</code> are switched off.</p>`,
        )
      }
      // To this very address: a form without an action posts to where it stands.
      return html`<form method="post" class="card">
        <p>You get mails of <strong>${organization}</strong> about <code>${pattern}</code>.</p>
        <input type="hidden" name="confirm" value="1" />
        ${button('Unsubscribe')}
      </form>`
    })
  }
  return app
}

const tokenOf = (c: C): string => c.req.param('token') ?? ''

/** By a mailbox (RFC 8058, 3.1: as either kind of form) or by our own button; a bare POST means neither. */
async function isMeant(c: C): Promise<boolean> {
  const body: Record<string, unknown> = await c.req.parseBody().catch(() => ({}))
  return body['List-Unsubscribe'] === 'One-Click' || body['confirm'] === '1'
}

async function answering(c: C, assets: Assets, make: () => Promise<Content>): Promise<Response> {
  try {
    return c.html(page(assets, await make()))
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'UNEXPECTED') throw error
    // Too long for one of ours; or not to be had right now, which must not look like done.
    if (error.code === 'INVALID_REQUEST') return c.html(page(assets, notice('info', NO_SUCH)))
    return c.html(
      page(assets, notice('problem', html`<p>That did not work now. Please try again later.</p>`)),
      503,
    )
  }
}

const NO_SUCH = html`<p>This link belongs to no subscription any more.</p>`

const page = (assets: Assets, body: Content) =>
  skeleton(
    { title: 'Unsubscribe · svc', assets, script: false },
    html`<main id="content" class="outside" tabindex="-1"><h1>Unsubscribe</h1>${body}</main>`,
  )

async function guarded(c: C, next: Next): Promise<void> {
  c.set('route', 'unsubscribe')
  await next()
  const { headers } = c.res
  headers.set(
    'content-security-policy',
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  )
  // The address is the capability: it goes into no other server's log, no cache and no search engine.
  headers.set('referrer-policy', 'no-referrer')
  headers.set('cache-control', 'no-store')
  headers.set('x-robots-tag', 'noindex')
}
