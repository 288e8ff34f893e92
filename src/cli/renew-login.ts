/**
 * Renews the tokens of a login before they expire. One svc at a time: whoever waited finds what the other one saved. An
 * answer that got lost is asked for again by the next command; the server repeats it.
 */
import { ServiceError } from '../contracts/errors.ts'
import { configPaths, readConfig } from './config-files.ts'
import type { Environment } from './environment.ts'
import { askLogin, tokensIn } from './login-endpoint.ts'
import { replaceFile, withLock } from './private-files.ts'
import { expiresSoon, resolveContext, type ResolvedContext } from './resolve-context.ts'

/** Shorter than a lock is kept. */
const RENEW_TIMEOUT_MS = 8_000

export async function renewLogin(environment: Environment, name: string): Promise<ResolvedContext> {
  const paths = configPaths(environment)
  return withLock(paths.folder, async (assertLocked) => {
    const now = resolveContext(environment, name)
    if (!now.login || !expiresSoon(now)) return now
    const { apiUrl } = now
    const answer = await askLogin({ environment, apiUrl, timeoutMs: RENEW_TIMEOUT_MS }, 'token', {
      grant_type: 'refresh_token',
      refresh_token: now.login.refresh_token,
    })
    if (answer.error !== undefined) throw hasEnded(now, answer.error)
    const { token, login } = tokensIn(answer, apiUrl)
    const { credentials } = readConfig(paths)
    credentials.tokens[name] = token
    credentials.logins = { ...credentials.logins, [name]: login }
    await replaceFile(paths.credentials, `${JSON.stringify(credentials, null, 2)}\n`, assertLocked)
    return { ...now, token, login }
  })
}

const hasEnded = ({ name, apiUrl }: ResolvedContext, error: string) =>
  error === 'invalid_grant'
    ? new ServiceError('UNAUTHENTICATED', 'Your login has ended', {
        hint: `Log in again: svc login --api-url ${apiUrl.origin} --context ${name}`,
      })
    : new ServiceError('UNEXPECTED', `${apiUrl.origin} did not renew your login (${error})`)
