/** `svc open`: a page of the console, in the browser or as a URL. */
import { escapePart } from '../../client/fill-path.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { CONSOLE_PAGES } from '../console-pages.ts'
import { isAgent } from '../environment.ts'
import { isSet } from '../options.ts'
import { usageError } from '../usage-error.ts'

export const openConsole: Run = async (ctx, input) => {
  const { page = 'overview', name } = input.args
  const path = pathOf(page, name)
  const { console_url } = await ctx.callOperation('showInstallation', {})
  const url = pageUrl(path, console_url)
  const opened = !isSet(input, 'no-browser') && canShow(ctx) && (await openInBrowser(ctx, url))
  if (opened && (ctx.settings.format ?? 'table') === 'table') return ctx.info(`Opened ${url}`)
  ctx.print({ url, opened }, { text: `${url}\n` })
}

/**
 * The desktop starts whatever a URL asks for, so of what the server answers only a plain web address goes there: no
 * other scheme, no user, no sign that a shell could read in the name of the host.
 */
function pageUrl(path: string, consoleUrl: string): string {
  const url = URL.canParse(path, consoleUrl) ? new URL(path, consoleUrl) : undefined
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password === ''
  if (isWeb && /^[\w.\-:[\]]+$/.test(url.host)) return url.href
  throw new ServiceError('UNEXPECTED', 'The server answered with an address of the console that is not one', {
    hint: 'Ask whoever runs it to check its settings.',
  })
}

function pathOf(page: string, name: string | undefined): string {
  // The parser has checked it against the choices.
  const { path, item } = CONSOLE_PAGES[page]!
  if (name === undefined) return path
  if (item === undefined) {
    throw usageError(`The page ${page} has no parts`, `Open it without ${name}`)
  }
  return item.replace('{name}', escapePart(name))
}

/** Not for programs, and not where nobody sits at the machine. */
function canShow({ environment }: CommandContext): boolean {
  const { env, platform, stdout } = environment
  if (isAgent(environment) || !stdout.isTTY) return false
  if (env['BROWSER']) return true
  if (env['SSH_CONNECTION']) return false
  return platform !== 'linux' || Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY'])
}

const openInBrowser = async ({ environment }: CommandContext, url: string): Promise<boolean> =>
  (await environment.openInBrowser?.(url)) ?? false
