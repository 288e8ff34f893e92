/** The layout of the auth service's own pages: one column. */
import { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { ERRORS, type ServiceError } from '../../src/contracts/errors.ts'
import { asServiceError } from '../../src/http/answer.ts'
import type { HttpContext } from '../../src/http/context.ts'
import { assetsUnder } from '../../src/pages/assets.ts'
import { linkButton, problemNotice } from '../../src/pages/parts.ts'
import { brand, skeleton, type Content } from '../../src/pages/skeleton.ts'

export const AUTH_ASSETS = assetsUnder('/auth/assets')

/**
 * No `form-action`: Chromium applies it to the whole redirect chain, and a sign-in form ends at the identity provider
 * or at the application. No scripts, and no opener policy: an application may have opened a pop-up.
 */
const POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'"

export function page(
  c: HttpContext,
  content: {
    title: string
    lead?: Content
    body?: Content
    problem?: ServiceError | undefined
    /** Asks for an approval: whatever decides is in view at once. */
    isConsent?: boolean
  },
): Response | Promise<Response> {
  const { problem } = content
  if (problem) c.set('failure', problem)
  if (problem?.retryAfterSeconds !== undefined) c.header('retry-after', String(problem.retryAfterSeconds))
  c.header('content-security-policy', POLICY)
  // The URL may contain the secret of a link and must not leak. `same-origin` keeps Origin on our own forms.
  c.header('referrer-policy', 'same-origin')
  return c.html(
    skeleton(
      { title: `${content.title} · svc`, assets: AUTH_ASSETS, script: false },
      html`<main id="content" class="outside ${content.isConsent && 'consent'}" tabindex="-1">
        ${brand('/console')}
        <h1>${content.title}</h1>
        ${content.lead && html`<p class="lead">${content.lead}</p>`} ${content.body}
      </main>`,
    ),
    problem ? (ERRORS[problem.code].status as ContentfulStatusCode) : 200,
  )
}

export function problemPage(c: HttpContext, error: unknown) {
  const problem = asServiceError(error)
  return page(c, {
    title: 'Something went wrong',
    problem,
    body: html`${problemNotice(problem)}
      <p>${linkButton('/console', 'Go to the console', 'quiet')}</p>
      <p class="note">Request ${c.get('requestId')}</p>`,
  })
}
