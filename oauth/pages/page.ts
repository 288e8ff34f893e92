/** The clothes of the auth service's own pages: one column, one question. */
import { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { ERRORS, type ServiceError } from '../../src/contracts/errors.ts'
import type { HttpContext } from '../../src/http/context.ts'
import { assetsUnder } from '../../src/pages/assets.ts'
import { brand, skeleton, type Content } from '../../src/pages/skeleton.ts'

export const AUTH_ASSETS = assetsUnder('/auth/assets')

/**
 * No `form-action`: Chromium applies it to the whole chain of redirects, and a sign-in form ends at the identity
 * provider or at the application. No script at all, and no opener policy: an application may have opened a pop-up.
 */
const POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'"

export function page(
  c: HttpContext,
  said: { title: string; lead?: Content; body?: Content; problem?: ServiceError | undefined },
): Response | Promise<Response> {
  const { problem } = said
  if (problem) c.set('failure', problem)
  if (problem?.retryAfterSeconds !== undefined) c.header('retry-after', String(problem.retryAfterSeconds))
  c.header('content-security-policy', POLICY)
  // The address may hold the secret of a link; it must not travel on. `same-origin` keeps Origin on our own forms.
  c.header('referrer-policy', 'same-origin')
  return c.html(
    skeleton(
      { title: `${said.title} · svc`, assets: AUTH_ASSETS, script: false },
      html`<main id="content" class="outside" tabindex="-1">
        ${brand('/console')}
        <h1>${said.title}</h1>
        ${said.lead && html`<p class="lead">${said.lead}</p>`} ${said.body}
      </main>`,
    ),
    problem ? (ERRORS[problem.code].status as ContentfulStatusCode) : 200,
  )
}
