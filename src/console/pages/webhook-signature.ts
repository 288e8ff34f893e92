/** For whoever writes the receiver of a webhook: what arrives, how it is signed, and how to check it. */
import { html } from 'hono/html'
import { card } from '../../pages/parts.ts'
import { copyable } from '../parts.ts'

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
    'How a receiver checks the signature',
    html`<ol class="numbered">
        <li><p>The key is the SHA-256 of the address, exactly as it was given here: 32 bytes. A slash more is another key.</p></li>
        <li><p>The text is the header <code>X-Svc-Timestamp</code>, a dot, and the raw body. A timestamp more than five minutes away is refused: it may be a recording.</p></li>
        <li><p><code>X-Svc-Signature</code> is <code>v1=</code> and the HMAC-SHA256 of that text in lower-case hex. Compare in constant time.</p></li>
      </ol>
      ${copyable('verifier', VERIFIER, 'A function that checks the signature')}
      <p class="note">Libraries for Standard Webhooks work too: the headers <code>webhook-id</code>, <code>webhook-timestamp</code> and <code>webhook-signature</code> are sent beside ours. Their secret is <code>whsec_</code> and the key in base64.</p>
      <p class="note">The body is an array of notifications. Each <code>id</code> stays the same on every attempt, so a receiver that remembers ids never acts twice. Answer 2xx within ten seconds; 410 stops the connection.</p>`,
    'The address is the secret: whoever knows it can sign. Giving a new one changes the key.',
  )
