/** Signing in as a person: in the browser of this machine, or with a code in any other. */
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { DEVICE_GRANT } from '../contracts/cli-login.ts'
import { ServiceError } from '../contracts/errors.ts'
import { VERSION } from './client-version.ts'
import type { CommandContext } from './command-context.ts'
import { askLogin, tokensIn, type LoginAnswer, type LoginServer, type LoginTokens } from './login-endpoint.ts'
import { mayRetry } from './runner/retry.ts'
import { sanitizeLine } from './terminal-text.ts'
import { showInBrowser, webAddress } from './web-page.ts'

const serverFor = ({ environment, settings }: CommandContext, apiUrl: URL): LoginServer => ({
  environment,
  apiUrl,
  timeoutMs: settings.timeoutMs,
})

const ownNames = () => ({ client_name: `svc ${VERSION}`, host_name: hostname() })
const randomText = () => randomBytes(32).toString('base64url')

/** RFC 8252. Undefined: no browser opened. */
export async function signInByBrowser(ctx: CommandContext, apiUrl: URL): Promise<LoginTokens | undefined> {
  const server = serverFor(ctx, apiUrl)
  const [state, verifier] = [randomText(), randomText()]
  const callback = await listenForCode(state)
  try {
    const asked = await askLogin(server, 'par', {
      ...ownNames(),
      response_type: 'code',
      redirect_uri: callback.redirectUri,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
    if (asked.error !== undefined) throw failed(apiUrl, asked.error)
    const url = webAddress(String(asked.body['authorization_uri']))
    if (!(await showInBrowser(ctx.environment, url))) return undefined
    ctx.info(`Allow it in your browser: ${url}`)
    const code = await callback.code(Number(asked.body['expires_in']) * 1000)
    const answer = await askLogin(server, 'token', {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: callback.redirectUri,
    })
    return tokensOrThrow(answer, apiUrl)
  } finally {
    callback.close()
  }
}

/** RFC 8628. */
export async function signInByDevice(ctx: CommandContext, apiUrl: URL): Promise<LoginTokens> {
  const server = serverFor(ctx, apiUrl)
  const asked = await askLogin(server, 'device_authorization', ownNames())
  if (asked.error !== undefined) throw failed(apiUrl, asked.error)
  const { device_code, user_code, verification_uri, expires_in, interval } = asked.body
  ctx.info(`Open   ${webAddress(String(verification_uri))}`)
  ctx.info(`Code   ${String(user_code)}`)
  ctx.info('Waiting until you have typed it there and allowed it.')
  const deadline = Date.now() + Number(expires_in) * 1000
  let seconds = Number(interval) || 5
  while (Date.now() < deadline) {
    await sleep(seconds * 1000)
    const answer = await askLogin(server, 'token', {
      grant_type: DEVICE_GRANT,
      device_code: String(device_code),
    }).catch(onlyLasting)
    if (answer?.error === 'slow_down') seconds += 5
    else if (answer && answer.error !== 'authorization_pending') return tokensOrThrow(answer, apiUrl)
  }
  throw failed(apiUrl, 'expired_token')
}

/** RFC 8628, 3.5: a server that cannot be reached is asked again. */
function onlyLasting(error: unknown): undefined {
  if (!mayRetry(error)) throw error
}

function tokensOrThrow(answer: LoginAnswer, apiUrl: URL): LoginTokens {
  if (answer.error === undefined) return tokensIn(answer, apiUrl)
  throw failed(apiUrl, answer.error)
}

function failed(apiUrl: URL, error: string): ServiceError {
  const hint = `Start again: svc login --api-url ${apiUrl.origin}`
  if (error === 'access_denied') return new ServiceError('FORBIDDEN', 'The login was denied', { hint })
  if (error === 'expired_token' || error === 'invalid_grant')
    return new ServiceError('TIMEOUT', 'The login was not allowed in time', { hint })
  return new ServiceError('UNEXPECTED', sanitizeLine(`${apiUrl.origin} refused the login (${error})`), {
    hint,
  })
}

const DONE = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<title>svc</title><body><p>You can close this tab and return to your terminal.</p></body></html>`

/** Waits for the browser at an address of this machine, where nobody else's request counts. */
async function listenForCode(state: string) {
  const { promise, resolve, reject } = promiseOf<string>()
  // Awaited late, or never.
  promise.catch(() => {})
  const server = createServer((incoming, outgoing) => {
    // Whoever is on this machine may send anything.
    const target = incoming.url ?? '/'
    const url = URL.canParse(target, redirectUri) ? new URL(target, redirectUri) : new URL(redirectUri)
    const isOurs =
      incoming.method === 'GET' &&
      url.pathname === '/callback' &&
      incoming.headers.host === url.host &&
      url.searchParams.get('state') === state
    outgoing.writeHead(isOurs ? 200 : 404, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'",
      'referrer-policy': 'no-referrer',
      connection: 'close',
    })
    outgoing.end(isOurs ? DONE : '', () => {
      const code = url.searchParams.get('code')
      if (isOurs && code === null)
        reject(new ServiceError('FORBIDDEN', 'The login was denied', { hint: 'Start again: svc login' }))
      else if (isOurs) resolve(code!)
    })
  })
  await new Promise<void>((listening, failing) => {
    server.once('error', failing).listen(0, '127.0.0.1', listening)
  })
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  let timer: NodeJS.Timeout | undefined
  return {
    redirectUri,
    code(ms: number): Promise<string> {
      timer = setTimeout(
        () =>
          reject(
            new ServiceError('TIMEOUT', 'The login was not allowed in time', {
              hint: 'Start again: svc login',
            }),
          ),
        ms,
      )
      return promise
    },
    close() {
      clearTimeout(timer)
      server.close()
      server.closeAllConnections()
    },
  }
}

/** `Promise.withResolvers` for Node 20, which the client has to run on. */
function promiseOf<T>() {
  let [resolve, reject]: [(value: T) => void, (error: Error) => void] = [() => {}, () => {}]
  const promise = new Promise<T>((resolved, rejected) => {
    ;[resolve, reject] = [resolved, rejected]
  })
  return { promise, resolve, reject }
}
