/** `svc status`: where one is logged in and as whom. */
import type { ServiceError } from '../../contracts/errors.ts'
import type { Run } from '../command.ts'
import { configFiles } from '../config-files.ts'
import { FROM_ENVIRONMENT } from '../choose-login.ts'
import { asFailure, exitCodeOf } from '../say-failure.ts'
import type { World } from '../world.ts'

export const status: Run = async (world) => {
  const place = await placeOf(world)
  try {
    const { user, organization, role, scopes, audiences, expires_at, kind } = await world.ask('me.show', {})
    const state = {
      logged_in: true,
      ...place,
      user,
      organization,
      role,
      kind,
      scopes,
      audiences,
      expires_at,
    }
    world.print(state, {
      fields: {
        context: place.context,
        server: place.api_url,
        person: `${user.name} <${user.email}>`,
        organization: organization?.name,
        role,
        scopes: scopes?.join(' ') ?? 'all that the role allows',
        expires: expires_at ?? 'never',
        'token in': place.token_in,
      },
    })
    return 0
  } catch (error) {
    // Who asks for a document gets one: being logged out is an answer to this question.
    if (!isLoggedOut(error) || (world.settings.format ?? 'table') === 'table') throw error
    const { code, message } = error
    world.print({ logged_in: false, ...place, error: { code, message } }, { text: '' })
    throw error
  }
}

const isLoggedOut = (error: unknown): error is ServiceError => exitCodeOf(asFailure(error)) === 3

async function placeOf(world: World) {
  const login = await world.login().catch((error: unknown) => {
    if (!isLoggedOut(error)) throw error
    return undefined
  })
  const token_in = login?.name === FROM_ENVIRONMENT ? 'SVC_API_KEY' : configFiles(world.machine).credentials
  return {
    context: login?.name ?? null,
    api_url: login?.apiUrl.origin ?? null,
    token_in: login ? token_in : null,
  }
}
