/** For the author of a webhook receiver: what arrives, how it is signed, and how to verify it. */
import { html } from 'hono/html'
import { card } from '../../../pages/parts.ts'
import { copyable } from '../../components.ts'

/** Run by a test against the same vectors as the signature itself. */
export const VERIFIER = `import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

// url: exactly as you gave it to svc; body: the raw bytes of the request
export function isFromSvc(url, headers, body, now = Date.now()) {
  const timestamp = headers['x-svc-timestamp'] ?? ''
  if (!(Math.abs(now / 1000 - Number(timestamp)) <= 300)) return false
  const key = createHash('sha256').update(url).digest()
  const mac = createHmac('sha256', key).update(timestamp + '.')
  const own = Buffer.from('v1=' + mac.update(body).digest('hex'))
  const given = Buffer.from(headers['x-svc-signature'] ?? '')
  return given.length === own.length && timingSafeEqual(given, own)
}`

export const signatureCard = () =>
  card(
    'Verify webhook signatures',
    html`<ol class="numbered">
        <li><p>The key is the SHA-256 hash of the URL exactly as entered here (32 bytes). An extra slash gives a different key.</p></li>
        <li><p>The signed text is the <code>X-Svc-Timestamp</code> header, a dot, and the raw body. Reject timestamps more than five minutes off to prevent replays.</p></li>
        <li><p><code>X-Svc-Signature</code> is <code>v1=</code> followed by the HMAC-SHA256 of that text in lowercase hex. Compare in constant time.</p></li>
      </ol>
      ${copyable('verifier', VERIFIER, 'Function that verifies the signature')}
      <p class="note">Standard Webhooks libraries also work: the headers <code>webhook-id</code>, <code>webhook-timestamp</code> and <code>webhook-signature</code> are sent as well. The secret is <code>whsec_</code> followed by the key in base64.</p>
      <p class="note">The body is an array of notifications. Each <code>id</code> stays the same on every attempt, so receivers can deduplicate. Respond with 2xx within ten seconds; 410 stops the integration.</p>`,
    'The URL is the secret: anyone who knows it can sign. A new URL changes the key.',
  )
