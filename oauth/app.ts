/** The auth service: its operations, its sign-in pages, and token validation. */
import { cors } from 'hono/cors'
import { notFound, ServiceError } from '../src/contracts/errors.ts'
import type { Verbs } from '../src/contracts/operations.ts'
import { SignInRefused, SignInUnavailable } from '../src/contracts/sign-in-errors.ts'
import { isPerson, validateToken as operation } from '../src/contracts/tokens.ts'
import { validateToken } from '../src/cores/identity/index.ts'
import { answer, answerError, formatFor } from '../src/http/answer.ts'
import { bearerIn, bearerOf, type Validate } from '../src/http/authenticate.ts'
import type { HttpContext } from '../src/http/context.ts'
import type { ClientDeps } from '../src/cores/identity-provider/index.ts'
import { received } from '../src/http/in-process.ts'
import { mount } from '../src/http/mount.ts'
import { inputReader, valueReader } from '../src/http/read-input.ts'
import { createServiceApp, type ServiceApp } from '../src/http/service-app.ts'
import { serveAssets } from '../src/pages/assets.ts'
import { freshAnswerIn, rememberAnswer } from '../src/trust/fresh-validations.ts'
import { findClient } from './allowable-clients.ts'
import { VERBS } from './auth-verbs.ts'
import { mountCliLogin } from './cli-login.ts'
import type { AuthDeps } from './dependencies.ts'
import { mountScim } from './scim.ts'
import * as cliLogin from './pages/cli-login.ts'
import * as invitation from './pages/invitation.ts'
import * as mailedLinks from './pages/mailed-links.ts'
import * as messageQueue from './pages/operator-message-queue.ts'
import * as registrations from './pages/operator-registrations.ts'
import * as workloadIdentity from './pages/operator-workload-identity.ts'
import * as operator from './pages/operator.ts'
import { AUTH_ASSETS, problemPage } from './pages/page.ts'
import * as signIn from './pages/sign-in.ts'

/** `validateToken` has a route of its own, because its token may be the bearer. */
const AUTH_VERBS: Omit<Verbs<'auth-service', AuthDeps & ClientDeps>, 'validateToken'> = VERBS

type Page = (deps: AuthDeps, c: HttpContext) => Response | Promise<Response>

/** Every page. GET shows a form, POST submits it. */
const PAGES: readonly [method: 'get' | 'post', path: string, page: Page][] = [
  ['get', '/auth/sign-in', signIn.showSignIn],
  ['post', '/auth/sign-in', signIn.submitPassword],
  ['get', '/auth/forgot', mailedLinks.showForgotPassword],
  ['post', '/auth/forgot', mailedLinks.submitForgotPassword],
  ['get', '/auth/reset/:secret', (deps, c) => mailedLinks.showResetPassword(deps, c)],
  ['post', '/auth/reset/:secret', mailedLinks.submitResetPassword],
  ['get', '/auth/verify/:secret', mailedLinks.showVerifyEmail],
  ['post', '/auth/verify/:secret', mailedLinks.submitVerifyEmail],
  ['get', '/auth/invitation/:secret', (deps, c) => invitation.showInvitation(deps, c)],
  ['post', '/auth/invitation/:secret', invitation.submitInvitation],
  ['get', '/auth/device', cliLogin.showCodeForm],
  ['post', '/auth/device', cliLogin.submitCode],
  ['get', '/auth/cli/:secret', cliLogin.showBrowserLogin],
  ['post', '/auth/cli/:secret', cliLogin.submitBrowserLogin],
  ['post', '/auth/operator', operator.submitOperatorToken],
  ['get', '/auth/operator/message-queue', messageQueue.showMessageQueue],
  ['get', '/auth/operator/workload-identity', workloadIdentity.showWorkloadIdentity],
  ['get', '/auth/operator/registrations', registrations.showRegistrations],
  ['post', '/auth/operator/registrations', registrations.submitEviction],
]

export function createAuthService(deps: AuthDeps): ServiceApp {
  const app = createServiceApp('auth-service', deps)
  app.use('/api/*', cors({ origin: '*', exposeHeaders: ['x-request-id', 'retry-after'], maxAge: 600 }))
  mountTokenValidation(app, deps)
  mount(
    app,
    AUTH_VERBS,
    { ...deps, findClient: findClient(deps) },
    { validate: validateLocally(deps), operatorToken: deps.operatorToken, oldReads: deps.oldReads },
  )
  mountCliLogin(app, deps)
  mountScim(app, deps)
  serveAssets(app, AUTH_ASSETS)
  for (const [method, path, show] of PAGES) mountPage(app, deps, method, path, show)
  for (const provider of deps.providers) {
    mountPage(app, deps, 'post', `/auth/${provider.name}`, (own, c) =>
      signIn.startProviderSignIn(own, c, provider),
    )
    mountPage(app, deps, 'get', `/auth/${provider.name}/callback`, (own, c) =>
      signIn.finishProviderSignIn(own, c, provider),
    )
  }
  // A mistyped or truncated link gets a page, not JSON.
  mountPage(app, deps, 'get', '/auth/*', () => {
    throw notFound()
  })
  return app
}

/** `POST /api/v1/tokens/validate`: the token in the body, or as the bearer. */
function mountTokenValidation(app: ServiceApp, deps: AuthDeps): void {
  const read = inputReader(operation)
  const readValues = valueReader(operation)
  const validate = validateToken(deps)
  app.post(operation.http.path, async (c) => {
    c.set('route', operation.name)
    c.set('isRelayed', true)
    const format = formatFor(c.req.header('accept'), 'json')
    try {
      const { token = bearerOf(c), ...asked } = await read(c)
      if (token === undefined) throw new ServiceError('UNAUTHENTICATED')
      const as = { requestId: c.get('requestId'), address: c.get('address') }
      const valid = await validate({ token, ...asked, ...as })
      return await answer(c, operation.output.parse(valid), 200, format)
    } catch (error) {
      return await answerError(c, error, format)
    }
  })
  app.inProcess.add(operation, async ({ input, options, variables }) => {
    variables.isRelayed = true
    const bearer = bearerIn(options.token && `Bearer ${options.token}`)
    const { token = bearer, ...asked } = readValues(input)
    if (token === undefined) throw new ServiceError('UNAUTHENTICATED')
    const { requestId, address } = variables
    const valid = await validate({ token, ...asked, requestId, address })
    return rememberAnswer(received(operation.output.parse(valid)), token)
  })
}

/** How the auth service validates the tokens of its own requests, without HTTP. */
function validateLocally(deps: AuthDeps): Validate {
  const validate = validateToken(deps)
  return async ({ token, organization, requestId, address, validation }) => {
    const known = freshAnswerIn(validation, token, organization)
    return known && isPerson(known)
      ? known
      : validate({ token, organization, audience: 'api', requestId, address })
  }
}

function mountPage(app: ServiceApp, deps: AuthDeps, method: 'get' | 'post', path: string, show: Page): void {
  app[method](path, async (c) => {
    c.set('route', path)
    // Redirects too: they carry codes and set cookies.
    c.header('cache-control', 'no-store')
    try {
      return await show(deps, c)
    } catch (error) {
      return problemPage(c, asPageError(deps, error))
    }
  })
}

/** What an identity provider did wrong goes to the log; the page says what to do. */
function asPageError(deps: AuthDeps, error: unknown): unknown {
  if (error instanceof SignInRefused) {
    deps.log.warn('sign-in refused', { reason: error.reason })
    return new ServiceError('UNAUTHENTICATED', 'Your identity provider could not confirm who you are', {
      hint: 'Start again from the sign-in page.',
    })
  }
  if (error instanceof SignInUnavailable) {
    deps.log.warn('identity provider unavailable', { reason: error.reason })
    return new ServiceError('TIMEOUT', 'Your identity provider cannot be reached', {
      hint: 'Try again in a minute.',
    })
  }
  return error
}
