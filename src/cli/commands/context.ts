/** `svc context …`: the saved contexts. */
import type { Run } from '../command.ts'
import { configPaths, readConfig, type SavedContext } from '../config-files.ts'
import { tableOf } from '../format-output.ts'
import { argument } from '../options.ts'
import { confirm } from '../prompt.ts'
import { ENV_CONTEXT, findContext, resolveContext } from '../resolve-context.ts'
import { updateConfig } from '../update-config.ts'

export const listContexts: Run = async (ctx) => {
  const { config } = readConfig(configPaths(ctx.environment))
  const contexts = Object.entries(config.contexts)
    .map(([name, context]) => describeContext(name, context, config.current))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const view = tableOf(contexts, {
    CURRENT: ({ current }) => (current ? '*' : ''),
    NAME: 'name',
    SERVER: 'api_url',
    USER: ({ user }) => user.email,
    ORGANIZATION: ({ organization }) => organization?.name,
  })
  ctx.print({ contexts }, view)
  if (ctx.environment.env['SVC_API_URL'] && ctx.environment.env['SVC_API_KEY']) {
    ctx.info('SVC_API_URL and SVC_API_KEY are set and override these contexts.')
  } else if (contexts.length === 0) {
    ctx.info('No contexts yet. Log in with: svc login')
  }
}

export const useContext: Run = async (ctx, input) => {
  const name = argument(input, 'name')
  const context = await updateConfig(configPaths(ctx.environment), ({ config }) => {
    const found = findContext(config, name)
    config.current = name
    return describeContext(name, found, name)
  })
  if ((ctx.settings.format ?? 'table') !== 'table') ctx.print(context, { text: '' })
  ctx.info(`Switched to context ${name}.`)
}

export const showContext: Run = async (ctx, input) => {
  const { config } = readConfig(configPaths(ctx.environment))
  // Without a name: the one that a call would use.
  const name = input.args['name'] ?? resolveContext(ctx.environment, ctx.settings.context).name
  if (name === ENV_CONTEXT) {
    const { apiUrl } = resolveContext(ctx.environment, ENV_CONTEXT)
    ctx.print({ name, api_url: apiUrl.origin }, { fields: { name, server: apiUrl.origin } })
    return
  }
  const shown = describeContext(name, findContext(config, name), config.current)
  ctx.print(shown, {
    fields: {
      name,
      current: shown.current,
      server: shown.api_url,
      user: shown.user.email,
      organization: shown.organization?.name,
    },
  })
}

export const removeContext: Run = async (ctx, input) => {
  const name = argument(input, 'name')
  const paths = configPaths(ctx.environment)
  findContext(readConfig(paths).config, name)
  await confirm(ctx, input, `This removes context ${name} and its saved token.`)
  const isLogin = await updateConfig(paths, ({ config, credentials }) => {
    findContext(config, name)
    const login = credentials.logins?.[name]
    delete config.contexts[name]
    delete credentials.tokens[name]
    delete credentials.logins?.[name]
    if (config.current === name) delete config.current
    return login !== undefined
  })
  ctx.info(
    isLogin
      ? `Removed ${name}. It is still signed in: sign it out in the console under Profile, or use svc logout next time.`
      : `Removed ${name}. Its token is still valid: revoke it in the console if it is no longer needed.`,
  )
}

const describeContext = (
  name: string,
  { api_url, user, organization }: SavedContext,
  current: string | undefined,
) => ({
  name,
  current: name === current,
  api_url,
  user,
  organization,
})
