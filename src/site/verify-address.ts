/** The page behind the link that is mailed to an address of an email integration. The button confirms the address. */
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { html } from 'hono/html'
import { httpClient } from '../client/http-client.ts'
import type { Service } from '../client/service.ts'
import { showAddressVerification, verifyAddress } from '../contracts/integrations.ts'
import { assetsUnder, serveAssets } from '../pages/assets.ts'
import { button, notice } from '../pages/parts.ts'
import { respond, secureHeaders, tokenOf, type C, type LinkPage, type SiteEnv } from './link-page.ts'

const BODY_MAX_BYTES = 1024

export function verifyAddressPages({ gateway }: { readonly gateway: Service }): Hono<SiteEnv> {
  const assets = assetsUnder('/verify-address/assets')
  const about: LinkPage = { title: 'Confirm address', assets, notFound: NOT_FOUND }
  const app = new Hono<SiteEnv>()
  serveAssets(app, assets)
  const call = (c: C) => httpClient(gateway, { address: c.get('address'), requestId: c.get('requestId') })

  app.use('/verify-address/:token', secureHeaders('verify-address'))
  app.get('/verify-address/:token', show)
  app.post(
    '/verify-address/:token',
    bodyLimit({ maxSize: BODY_MAX_BYTES, onError: (c) => c.text('Too large\n', 413) }),
    async (c) => {
      const body: Record<string, unknown> = await c.req.parseBody().catch(() => ({}))
      if (body['confirm'] !== '1') return show(c)
      return respond(c, about, async () => {
        await call(c)(verifyAddress, { token: tokenOf(c) })
        return notice('done', CONFIRMED)
      })
    },
  )

  async function show(c: C) {
    return respond(c, about, async () => {
      const { organization, address, verified } = await call(c)(showAddressVerification, {
        token: tokenOf(c),
      })
      if (organization === null) return notice('info', NOT_FOUND)
      if (verified) return notice('done', CONFIRMED)
      return html`<form method="post" class="card">
        <p><strong>${organization}</strong> wants to send its notifications to <code>${address}</code>. Every email has an unsubscribe link.</p>
        <input type="hidden" name="confirm" value="1" />
        ${button('Confirm address')}
      </form>`
    })
  }
  return app
}

const NOT_FOUND = html`<p>This link is no longer valid. Ask whoever connected the address to send another one.</p>`
const CONFIRMED = html`<p>The address is confirmed. Notifications are sent to it from now on.</p>`
