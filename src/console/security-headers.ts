/** What every answer of the console tells the browser not to do. */
import type { Next } from 'hono'
import type { PageContext } from './context.ts'

export async function securityHeaders(c: PageContext, next: Next): Promise<void> {
  await next()
  const { headers } = c.res
  headers.set('content-security-policy', policyFor(c.get('deps').appUrl, c.get('deps').signInUrl))
  headers.set('x-content-type-options', 'nosniff')
  // `no-referrer` would turn the Origin of our own forms into `null`.
  headers.set('referrer-policy', 'same-origin')
  headers.set('cross-origin-opener-policy', 'same-origin')
  headers.set('cross-origin-resource-policy', 'same-origin')
  headers.set('x-request-id', c.get('requestId'))
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
}

function policyFor(appUrl: URL, signInUrl: URL): string {
  // Chromium applies form-action to the whole chain of redirects, and a form sent too late ends at sign-in.
  const elsewhere = signInUrl.origin === appUrl.origin ? '' : ` ${signInUrl.origin}`
  return [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    `form-action 'self'${elsewhere}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}
