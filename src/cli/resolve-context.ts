/** Which server and token a call uses: those of the environment, of --context, or of the current context. */
import { ServiceError } from '../contracts/errors.ts'
import { isConfidential, parseApiUrl } from './api-url.ts'
import {
  configPaths,
  readConfig,
  type SavedContext,
  type SavedLogin,
  type StoredConfig,
} from './config-files.ts'
import { didYouMean } from '../contracts/did-you-mean.ts'
import type { Environment } from './environment.ts'
import { usageError } from './usage-error.ts'

export type ResolvedContext = {
  readonly name: string
  readonly apiUrl: URL
  readonly token: string
  /** Of a login as a person: see renew-login. */
  readonly login?: SavedLogin | undefined
}

/** The name of the context made of SVC_API_URL and SVC_API_KEY; no saved context can have it. */
export const ENV_CONTEXT = 'env'

export function resolveContext(environment: Environment, named: string | undefined): ResolvedContext {
  const fromEnv = envContext(environment, named)
  if (fromEnv) return fromEnv
  const { config, credentials } = readConfig(configPaths(environment))
  const name = selectedIn(environment, config, named)
  const context = findContext(config, name)
  const token = Object.hasOwn(credentials.tokens, name) ? credentials.tokens[name] : undefined
  if (token === undefined) {
    throw new ServiceError('UNAUTHENTICATED', `No API token saved for context ${name}`, {
      hint: `Log in again: svc login --api-url ${context.api_url} --context ${name}`,
    })
  }
  const apiUrl = new URL(context.api_url)
  if (!isConfidential(apiUrl) && context.insecure_http !== true) {
    throw usageError(
      `Context ${name} would send its token unencrypted to ${apiUrl.origin}`,
      `Log in again with an https:// address, or with --insecure-http on a network you trust`,
    )
  }
  return { name, apiUrl, token, login: credentials.logins?.[name] }
}

/** With what expires sooner a call might be refused. */
const SOON_MS = 60_000

export const expiresSoon = ({ login }: ResolvedContext): boolean =>
  login !== undefined && Date.parse(login.expires_at) - Date.now() < SOON_MS

/** The name alone, also of one whose token is gone. */
export const selectedContext = (environment: Environment, named: string | undefined): string =>
  envContext(environment, named)?.name ??
  selectedIn(environment, readConfig(configPaths(environment)).config, named)

function selectedIn({ env }: Environment, config: StoredConfig['config'], named: string | undefined): string {
  const name = named ?? (env['SVC_CONTEXT'] || config.current)
  if (name === undefined) throw notLoggedIn(config)
  return name
}

function envContext({ env }: Environment, named: string | undefined): ResolvedContext | undefined {
  const [url, token] = [env['SVC_API_URL'], env['SVC_API_KEY']]
  if (!url && !token) {
    if (named !== ENV_CONTEXT) return undefined
    throw usageError('The context env requires SVC_API_URL and SVC_API_KEY', 'Set both')
  }
  // One of them alone would be silently ignored, and the call would go to another server than intended.
  if (!url || !token) {
    const [set, missing] = url ? ['SVC_API_URL', 'SVC_API_KEY'] : ['SVC_API_KEY', 'SVC_API_URL']
    throw usageError(
      `${set} is set but ${missing} is not`,
      `Set ${missing} too, or unset ${set} to use your saved contexts`,
    )
  }
  if (named !== undefined && named !== ENV_CONTEXT) {
    throw usageError(
      `--context ${named} conflicts with SVC_API_URL and SVC_API_KEY`,
      'Unset the variables or remove --context',
    )
  }
  const apiUrl = parseApiUrl(url, 'SVC_API_URL')
  if (!isConfidential(apiUrl) && env['SVC_INSECURE_HTTP'] !== '1') {
    throw usageError(
      `SVC_API_URL would send the token unencrypted to ${apiUrl.origin}`,
      'Use https://, or set SVC_INSECURE_HTTP=1 on a network you trust',
    )
  }
  return { name: ENV_CONTEXT, apiUrl, token: checkedToken(token, 'SVC_API_KEY') }
}

/** What a header can carry; a line break would start another header. */
export function checkedToken(token: string, named: string): string {
  if (/^[\x21-\x7e]{1,8192}$/.test(token)) return token
  throw usageError(
    `${named} is not an API token: it is empty, too long, or contains spaces or line breaks`,
    'Copy the whole token; it starts with svc_',
  )
}

export function findContext({ contexts }: StoredConfig['config'], name: string): SavedContext {
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined
  if (context) return context
  throw new ServiceError('NOT_FOUND', `Unknown context: ${name}`, {
    hint: `${didYouMean(name, Object.keys(contexts))}Run: svc context list`,
  })
}

const notLoggedIn = ({ contexts }: StoredConfig['config']): ServiceError =>
  Object.keys(contexts).length > 0
    ? new ServiceError('UNAUTHENTICATED', 'No context is selected', {
        hint: `Select one: svc context use ${Object.keys(contexts)[0]}`,
      })
    : new ServiceError('UNAUTHENTICATED', 'You are not logged in', {
        hint: 'Log in: svc login --api-url https://api.example.com',
      })
