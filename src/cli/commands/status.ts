/** `svc status`: the current login. */
import type { ServiceError } from '../../contracts/errors.ts'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { configPaths } from '../config-files.ts'
import { exitCodeOf, toServiceError } from '../format-error.ts'
import { ENV_CONTEXT } from '../resolve-context.ts'

export const status: Run = async (ctx) => {
  const location = await locationOf(ctx)
  try {
    const { user, organization, role, scopes, audiences, expires_at, kind } = await ctx.callOperation(
      'whoAmI',
      {},
    )
    const state = {
      logged_in: true,
      ...location,
      user,
      organization,
      role,
      kind,
      scopes,
      audiences,
      expires_at,
    }
    ctx.print(state, {
      fields: {
        context: location.context,
        server: location.api_url,
        user: `${user.name} <${user.email}>`,
        organization: organization?.name,
        role,
        scopes: scopes?.join(' ') ?? 'everything the role allows',
        expires: kind === 'cli_session' ? 'renewed by itself' : (expires_at ?? 'never'),
        'token from': location.token_location,
      },
    })
    return 0
  } catch (error) {
    // In JSON and YAML, being logged out is a result too.
    if (!isLoggedOut(error) || (ctx.settings.format ?? 'table') === 'table') throw error
    const { code, message } = error
    ctx.print({ logged_in: false, ...location, error: { code, message } }, { text: '' })
    throw error
  }
}

const isLoggedOut = (error: unknown): error is ServiceError => exitCodeOf(toServiceError(error)) === 3

async function locationOf(ctx: CommandContext) {
  const context = await ctx.resolveContext().catch((error: unknown) => {
    if (!isLoggedOut(error)) throw error
    return undefined
  })
  const token_location =
    context?.name === ENV_CONTEXT ? 'SVC_API_KEY' : configPaths(ctx.environment).credentials
  return {
    context: context?.name ?? null,
    api_url: context?.apiUrl.origin ?? null,
    token_location: context ? token_location : null,
  }
}
