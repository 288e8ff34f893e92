/** The endpoints by which the client signs in, renews and signs out. src/contracts/cli-login.ts says which standards. */
import * as z from 'zod'
import { CLI_CLIENT_ID, CLI_PATH, CLI_REDIRECT, DEVICE_GRANT } from '../src/contracts/cli-login.ts'
import { ServiceError, type ErrorCode } from '../src/contracts/errors.ts'
import { CLI_FAILURES_PER_NETWORK, CLI_LOGIN } from '../src/contracts/limits.ts'
import { networkOf } from '../src/contracts/network-of.ts'
import {
  endCliSession,
  redeemAuthorizationCode,
  redeemDeviceCode,
  refreshCliSession,
  startBrowserLogin,
  startDeviceLogin,
  type CliTokenAnswer,
  type GrantRefusal,
} from '../src/cores/identity/index.ts'
import { throttle } from '../src/cores/throttle.ts'
import type { HttpContext } from '../src/http/context.ts'
import { readBytes } from '../src/http/read-body.ts'
import type { ServiceApp } from '../src/http/service-app.ts'
import { displayText } from './connector/display-text.ts'
import type { AuthDeps } from './dependencies.ts'

const Secret = z.string().min(1).max(2000)
const Client = z.object({ client_id: z.string() })
/** What the client says of itself. */
const Asking = z.object({
  client_name: z.string().max(500).optional(),
  host_name: z.string().max(500).optional(),
})
const Pushed = Asking.extend({
  response_type: z.literal('code'),
  redirect_uri: z.string().max(100).regex(CLI_REDIRECT),
  state: z.string().min(1).max(500),
  code_challenge: z.string().regex(/^[\w-]{43}$/),
  code_challenge_method: z.literal('S256'),
})
const Granted = z.discriminatedUnion('grant_type', [
  z.object({ grant_type: z.literal(DEVICE_GRANT), device_code: Secret }),
  z.object({
    grant_type: z.literal('authorization_code'),
    code: Secret,
    code_verifier: z.string().min(43).max(128),
    redirect_uri: z.string().max(100),
  }),
  z.object({ grant_type: z.literal('refresh_token'), refresh_token: Secret }),
])
const GRANT_TYPES = new Set<string | undefined>(Granted.options.map(({ shape }) => shape.grant_type.value))
const Revoked = z.object({ token: Secret })

type Fields = Record<string, string>
type Endpoint = (deps: AuthDeps, c: HttpContext, fields: Fields) => Promise<Response>

const ENDPOINTS: Record<string, Endpoint> = {
  async device_authorization(deps, c, fields) {
    const { deviceCode, userCode } = await startDeviceLogin(deps, asking(c, Asking.parse(fields)))
    // No `verification_uri_complete`: a link that somebody sends must not be all that it takes.
    return c.json({
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: new URL('/auth/device', deps.pagesUrl).href,
      expires_in: CLI_LOGIN.seconds,
      interval: CLI_LOGIN.pollSeconds,
    })
  },
  async par(deps, c, fields) {
    const { redirect_uri, state, code_challenge, ...said } = Pushed.parse(fields)
    const request = { redirectUri: redirect_uri, state, codeChallenge: code_challenge }
    const secret = await startBrowserLogin(deps, asking(c, said), request)
    const authorization_uri = new URL(`/auth/cli/${secret}`, deps.pagesUrl).href
    return c.json({ authorization_uri, expires_in: CLI_LOGIN.seconds }, 201)
  },
  async token(deps, c, fields) {
    if (!GRANT_TYPES.has(fields.grant_type))
      return refuse(c, 'unsupported_grant_type', `grant_type: one of ${[...GRANT_TYPES].join(', ')}`)
    const answer = await grant(deps, c, Granted.parse(fields))
    if (typeof answer !== 'string') return c.json(answer)
    // Waiting is no failure; what is guessed is.
    if (answer === 'invalid_grant') await countFailure(deps, c)
    return refuse(c, answer, REFUSALS[answer])
  },
  async revoke(deps, c, fields) {
    await endCliSession(deps, Revoked.parse(fields).token, c.get('requestId'))
    return c.body(null, 200)
  },
}

function grant(
  deps: AuthDeps,
  c: HttpContext,
  asked: z.output<typeof Granted>,
): Promise<CliTokenAnswer | GrantRefusal> {
  switch (asked.grant_type) {
    case DEVICE_GRANT:
      return redeemDeviceCode(deps, asked.device_code)
    case 'authorization_code': {
      const { code, code_verifier: verifier, redirect_uri: redirectUri } = asked
      return redeemAuthorizationCode(deps, { code, verifier, redirectUri }, c.get('requestId'))
    }
    case 'refresh_token':
      return refreshCliSession(deps, asked.refresh_token, c.get('requestId'))
  }
}

const REFUSALS: Record<GrantRefusal, string> = {
  authorization_pending: 'nobody has approved it yet',
  slow_down: 'wait five seconds longer between requests',
  access_denied: 'it was denied, or ended since it was approved',
  expired_token: 'the code has expired',
  invalid_grant: 'it is not valid',
}

const asking = (c: HttpContext, { client_name, host_name }: z.output<typeof Asking>) => ({
  clientName: displayText(client_name, 60) ?? 'unnamed',
  hostName: displayText(host_name, 60),
  address: c.get('address'),
})

export function mountCliLogin(app: ServiceApp, deps: AuthDeps): void {
  for (const [name, answer] of Object.entries(ENDPOINTS)) {
    app.post(`${CLI_PATH}/${name}`, async (c) => {
      c.set('route', `cli ${name}`)
      c.header('cache-control', 'no-store')
      try {
        return await answer(deps, c, await readFields(c))
      } catch (error) {
        if (error instanceof z.ZodError) return refuse(c, 'invalid_request', problemOf(error))
        if (!(error instanceof ServiceError)) throw error
        return refuseFor(c, error)
      }
    })
  }
}

/** RFC 6749, appendix B. */
async function readFields(c: HttpContext): Promise<Fields> {
  // A page in somebody's browser would ask from their address, and in their place.
  if (c.req.header('origin') !== undefined) throw new ServiceError('FORBIDDEN', 'not for browsers')
  if (c.req.header('content-type')?.split(';')[0]?.trim() !== 'application/x-www-form-urlencoded')
    throw new ServiceError('INVALID_REQUEST', 'send application/x-www-form-urlencoded')
  const text = new TextDecoder().decode(await readBytes(c.req.raw, 16 * 1024))
  const fields = Object.fromEntries(
    [...new URLSearchParams(text)].map(([name, value]) => [name, value.replaceAll('\0', '')]),
  )
  if (Client.parse(fields).client_id !== CLI_CLIENT_ID)
    throw new ServiceError('UNAUTHENTICATED', 'this is for the svc client alone')
  return fields
}

const problemOf = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')

const countFailure = (deps: AuthDeps, c: HttpContext): Promise<void> =>
  throttle(deps, `cli-token:${networkOf(c.get('address'))}`, CLI_FAILURES_PER_NETWORK)

/** RFC 6749, 5.2. */
const ERROR_NAMES: Partial<Record<ErrorCode, readonly [string, 400 | 401 | 403 | 429]>> = {
  RATE_LIMITED: ['temporarily_unavailable', 429],
  UNAUTHENTICATED: ['invalid_client', 401],
  FORBIDDEN: ['unauthorized_client', 403],
  INVALID_REQUEST: ['invalid_request', 400],
  TOO_LARGE: ['invalid_request', 400],
}

function refuseFor(c: HttpContext, error: ServiceError): Response {
  const known = ERROR_NAMES[error.code]
  if (!known) throw error
  c.set('failure', error)
  if (error.retryAfterSeconds !== undefined) c.header('retry-after', String(error.retryAfterSeconds))
  const [name, status] = known
  return refuse(c, name, error.message, status)
}

const refuse = (c: HttpContext, error: string, description: string, status: 400 | 401 | 403 | 429 = 400) =>
  c.json({ error, error_description: description }, status)
