/** Which login a call uses: the environment's, the one that was named, or the current one. */
import { ServiceError } from '../contracts/errors.ts'
import { apiAddress, isConfidential } from './api-address.ts'
import { configFiles, readLogins, type Context, type Logins } from './config-files.ts'
import type { Machine } from './environment.ts'
import { nearest } from './nearest.ts'
import { usage } from './usage.ts'

export type Login = { readonly name: string; readonly apiUrl: URL; readonly token: string }

/** The context that SVC_API_URL and SVC_API_KEY make; no login can be called so. */
export const FROM_ENVIRONMENT = 'env'

export function chooseLogin(machine: Machine, named: string | undefined): Login {
  const given = fromEnvironment(machine, named)
  if (given) return given
  const { config, credentials } = readLogins(configFiles(machine))
  const name = named ?? (machine.env['SVC_CONTEXT'] || config.current)
  if (name === undefined) throw notLoggedIn(config)
  const context = contextNamed(config, name)
  const token = Object.hasOwn(credentials.tokens, name) ? credentials.tokens[name] : undefined
  if (token === undefined) {
    throw new ServiceError('UNAUTHENTICATED', `There is no API token for the context ${name}`, {
      hint: `Log in again: svc login --api-url ${context.api_url} --context ${name}`,
    })
  }
  const apiUrl = new URL(context.api_url)
  if (!isConfidential(apiUrl) && context.insecure_http !== true) {
    throw usage(
      `The context ${name} would send its token unencrypted to ${apiUrl.origin}`,
      `Log in again with an https:// address, or with --insecure-http on a network you trust`,
    )
  }
  return { name, apiUrl, token }
}

function fromEnvironment({ env }: Machine, named: string | undefined): Login | undefined {
  const [url, token] = [env['SVC_API_URL'], env['SVC_API_KEY']]
  if (!url && !token) {
    if (named !== FROM_ENVIRONMENT) return undefined
    throw usage('The context env is made of SVC_API_URL and SVC_API_KEY, and neither is set', 'Set both')
  }
  // One of them alone would be ignored without a word, and the call would go somewhere else than was meant.
  if (!url || !token) {
    const [set, missing] = url ? ['SVC_API_URL', 'SVC_API_KEY'] : ['SVC_API_KEY', 'SVC_API_URL']
    throw usage(
      `${set} is set and ${missing} is not`,
      `Set ${missing} too, or unset ${set} to use your logins`,
    )
  }
  if (named !== undefined && named !== FROM_ENVIRONMENT) {
    throw usage(
      `--context ${named} contradicts SVC_API_URL and SVC_API_KEY, which are set`,
      'Unset them, or leave --context out',
    )
  }
  const apiUrl = apiAddress(url, 'SVC_API_URL')
  if (!isConfidential(apiUrl) && env['SVC_INSECURE_HTTP'] !== '1') {
    throw usage(
      `SVC_API_URL would send the token unencrypted to ${apiUrl.origin}`,
      'Use https://, or set SVC_INSECURE_HTTP=1 on a network you trust',
    )
  }
  return { name: FROM_ENVIRONMENT, apiUrl, token: checkedToken(token, 'SVC_API_KEY') }
}

/** A header cannot carry anything else; a line end in it would begin another header. */
export function checkedToken(token: string, named: string): string {
  if (/^[\x21-\x7e]{1,8192}$/.test(token)) return token
  throw usage(
    `${named} is not an API token: it is empty, too long, or has spaces, line ends or other signs in it`,
    'Copy it again, whole and alone; it begins with svc_',
  )
}

export function contextNamed({ contexts }: Logins['config'], name: string): Context {
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined
  if (context) return context
  const near = nearest(name, Object.keys(contexts))
  throw new ServiceError('NOT_FOUND', `There is no context ${name}`, {
    hint: `${near === undefined ? '' : `Did you mean ${near}? `}See: svc context list`,
  })
}

const notLoggedIn = ({ contexts }: Logins['config']): ServiceError =>
  Object.keys(contexts).length > 0
    ? new ServiceError('UNAUTHENTICATED', 'No login is the current one', {
        hint: `Choose one: svc context use ${Object.keys(contexts)[0]}`,
      })
    : new ServiceError('UNAUTHENTICATED', 'You are not logged in', {
        hint: 'Log in: svc login --api-url https://api.example.com --api-key - < token.txt',
      })
