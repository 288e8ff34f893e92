/** Tells the server that a login is over. */
import type { CommandContext } from './command-context.ts'
import type { SavedLogin } from './config-files.ts'
import { askLogin } from './login-endpoint.ts'

/** False: it could not be told, and the login goes on until somebody signs it out. */
export const endLogin = (
  { environment, settings: { timeoutMs } }: CommandContext,
  apiUrl: URL,
  { refresh_token: token }: SavedLogin,
): Promise<boolean> =>
  askLogin({ environment, apiUrl, timeoutMs }, 'revoke', { token }).then(
    ({ status }) => status === 200,
    () => false,
  )
