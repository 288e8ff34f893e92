/** Pages that the client shows in the browser of the desktop. */
import { ServiceError } from '../contracts/errors.ts'
import { isAgent, type Environment } from './environment.ts'

/**
 * The desktop starts whatever a URL asks for, so of what the server answers only a plain web address goes there: no
 * other scheme, no user, no sign that a shell could read in the name of the host.
 */
export function webAddress(path: string, base?: string): string {
  const url = URL.canParse(path, base) ? new URL(path, base) : undefined
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password === ''
  if (isWeb && /^[\w.\-:[\]]+$/.test(url.host)) return url.href
  throw new ServiceError('UNEXPECTED', 'The server answered with an address of the console that is not one', {
    hint: 'Ask whoever runs it to check its settings.',
  })
}

/** Not for programs, and not where nobody sits at the machine. */
export function canShow(environment: Environment): boolean {
  const { env, platform, stdout } = environment
  if (isAgent(environment) || !stdout.isTTY) return false
  if (env['BROWSER']) return true
  if (env['SSH_CONNECTION']) return false
  return platform !== 'linux' || Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY'])
}

export const showInBrowser = async (environment: Environment, url: string): Promise<boolean> =>
  (await environment.openInBrowser?.(url)) ?? false
