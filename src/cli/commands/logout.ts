/** `svc logout`: ends the login of a context and forgets it. */
import type { Run } from '../command.ts'
import { configPaths } from '../config-files.ts'
import { endLogin } from '../end-login.ts'
import { ENV_CONTEXT, findContext, selectedContext } from '../resolve-context.ts'
import { updateConfig } from '../update-config.ts'
import { usageError } from '../usage-error.ts'

export const logout: Run = async (ctx) => {
  const name = selectedContext(ctx.environment, ctx.settings.context)
  if (name === ENV_CONTEXT) throw usageError('The login comes from SVC_API_URL and SVC_API_KEY', 'Unset both')
  const { apiUrl, login } = await updateConfig(configPaths(ctx.environment), ({ config, credentials }) => {
    const { api_url } = findContext(config, name)
    const found = credentials.logins?.[name]
    delete config.contexts[name]
    delete credentials.tokens[name]
    delete credentials.logins?.[name]
    if (config.current === name) delete config.current
    return { apiUrl: new URL(api_url), login: found }
  })
  if (!login) {
    ctx.info(
      `Removed ${name}. Its API token is still valid: revoke it in the console if it is no longer needed.`,
    )
    return
  }
  const ended = await endLogin(ctx, apiUrl, login)
  ctx.info(
    ended
      ? `Logged out of ${name}.`
      : `Removed ${name}, but ${apiUrl.origin} could not be told. Sign it out in the console under Profile.`,
  )
}
