/** The auth service: its operations, its sign-in pages, and the answer to "whose token is this". */
import type { Hono } from 'hono'
import { cors } from 'hono/cors'
import { notFound, ServiceError } from '../src/contracts/errors.ts'
import { SignInRefused, SignInUnavailable } from '../src/contracts/sign-in-errors.ts'
import type { HttpContext, HttpEnv } from '../src/http/context.ts'
import { mount } from '../src/http/mount.ts'
import { createServiceApp } from '../src/http/service-app.ts'
import { serveAssets } from '../src/pages/assets.ts'
import type { AuthNeeds } from './needs.ts'
import { AUTH_OPERATIONS } from './operations.ts'
import { showInvitation, takeInvitation } from './pages/invitation.ts'
import { showForgot, showReset, showVerify, takeForgot, takeReset, takeVerify } from './pages/mailed-links.ts'
import { AUTH_ASSETS } from './pages/page.ts'
import { problemPage } from './pages/problem.ts'
import { leaveForProvider, returnFromProvider, showSignIn, takePassword } from './pages/sign-in.ts'
import { mountValidation, validateHere } from './validate-route.ts'

type Page = (needs: AuthNeeds, c: HttpContext) => Response | Promise<Response>

/** Every page, in the order a person might meet them. GET shows, POST does. */
const PAGES: readonly [method: 'get' | 'post', path: string, page: Page][] = [
  ['get', '/auth/sign-in', showSignIn],
  ['post', '/auth/sign-in', takePassword],
  ['get', '/auth/forgot', showForgot],
  ['post', '/auth/forgot', takeForgot],
  ['get', '/auth/reset/:secret', (needs, c) => showReset(needs, c)],
  ['post', '/auth/reset/:secret', takeReset],
  ['get', '/auth/verify/:secret', showVerify],
  ['post', '/auth/verify/:secret', takeVerify],
  ['get', '/auth/invitation/:secret', (needs, c) => showInvitation(needs, c)],
  ['post', '/auth/invitation/:secret', takeInvitation],
]

export function createAuthService(needs: AuthNeeds): Hono<HttpEnv> {
  const app = createServiceApp('auth-service', needs)
  app.use('/api/*', cors({ origin: '*', exposeHeaders: ['x-request-id', 'retry-after'], maxAge: 600 }))
  mountValidation(app, needs)
  mount(app, AUTH_OPERATIONS, needs, { validate: validateHere(needs), operatorToken: needs.operatorToken })
  serveAssets(app, AUTH_ASSETS)
  for (const [method, path, show] of PAGES) mountPage(app, needs, method, path, show)
  for (const provider of needs.providers) {
    mountPage(app, needs, 'post', `/auth/${provider.name}`, (own, c) => leaveForProvider(own, c, provider))
    mountPage(app, needs, 'get', `/auth/${provider.name}/callback`, (own, c) =>
      returnFromProvider(own, c, provider),
    )
  }
  // A person who lands beside a page (a form's address opened by hand, a cut-off link) reads words, not JSON.
  mountPage(app, needs, 'get', '/auth/*', () => {
    throw notFound()
  })
  return app
}

function mountPage(
  app: Hono<HttpEnv>,
  needs: AuthNeeds,
  method: 'get' | 'post',
  path: string,
  show: Page,
): void {
  app[method](path, async (c) => {
    c.set('route', path)
    // Redirects too: they carry codes and set cookies.
    c.header('cache-control', 'no-store')
    try {
      return await show(needs, c)
    } catch (error) {
      return problemPage(c, readable(needs, error))
    }
  })
}

/** What an identity provider did wrong is for the log; the person hears what to do. */
function readable(needs: AuthNeeds, error: unknown): unknown {
  if (error instanceof SignInRefused) {
    needs.log.warn('sign-in refused', { reason: error.reason })
    return new ServiceError('UNAUTHENTICATED', 'Your identity provider did not confirm who you are', {
      hint: 'Start again from the sign-in page.',
    })
  }
  if (error instanceof SignInUnavailable) {
    needs.log.warn('identity provider unavailable', { reason: error.reason })
    return new ServiceError('TIMEOUT', 'Your identity provider cannot be reached now', {
      hint: 'Try again in a minute.',
    })
  }
  return error
}
