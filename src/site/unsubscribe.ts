/** The unsubscribe page of a mail. The button unsubscribes, and so does a mailbox by RFC 8058. */
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { html } from 'hono/html'
import { httpClient } from '../client/http-client.ts'
import type { Service } from '../client/service.ts'
import { showUnsubscribe, unsubscribe } from '../contracts/subscriptions.ts'
import { assetsUnder, serveAssets } from '../pages/assets.ts'
import { button, notice } from '../pages/parts.ts'
import { respond, secureHeaders, tokenOf, type C, type LinkPage, type SiteEnv } from './link-page.ts'

export type UnsubscribeDeps = { readonly gateway: Service }

/** `List-Unsubscribe=One-Click`, possibly as a multipart form. */
const BODY_MAX_BYTES = 16 * 1024

export function unsubscribePages({ gateway }: UnsubscribeDeps): Hono<SiteEnv> {
  const assets = assetsUnder('/unsubscribe/assets')
  const about: LinkPage = { title: 'Unsubscribe', assets, notFound: NOT_FOUND }
  const app = new Hono<SiteEnv>()
  serveAssets(app, assets)
  const call = (c: C) => httpClient(gateway, { address: c.get('address'), requestId: c.get('requestId') })

  app.use('/unsubscribe/:token', secureHeaders('unsubscribe'))
  app.get('/unsubscribe/:token', show)
  app.post(
    '/unsubscribe/:token',
    bodyLimit({ maxSize: BODY_MAX_BYTES, onError: (c) => c.text('Too large\n', 413) }),
    async (c) => {
      if (!(await isConfirmed(c))) return show(c)
      return respond(c, about, async () => {
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
    return respond(c, about, async () => {
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

/** From a mailbox (RFC 8058, 3.1: either kind of form) or from our own button; a bare POST does nothing. */
async function isConfirmed(c: C): Promise<boolean> {
  const body: Record<string, unknown> = await c.req.parseBody().catch(() => ({}))
  return body['List-Unsubscribe'] === 'One-Click' || body['confirm'] === '1'
}

const NOT_FOUND = html`<p>This subscription no longer exists.</p>`
