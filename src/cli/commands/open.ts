/** `svc open`: a page of the console, in the browser or as a URL. */
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
  const url = new URL(path, console_url).href
  const opened = !isSet(input, 'no-browser') && canShow(ctx) && (await openInBrowser(ctx, url))
  if (opened && (ctx.settings.format ?? 'table') === 'table') return ctx.info(`Opened ${url}`)
  ctx.print({ url, opened }, { text: `${url}\n` })
}

function pathOf(page: string, name: string | undefined): string {
  // The parser has checked it against the choices.
  const { path, item } = CONSOLE_PAGES[page]!
  if (name === undefined) return path
  if (item === undefined) {
    throw usageError(`The page ${page} has no parts`, `Open it without ${name}`)
  }
  return item.replace('{name}', encodeURIComponent(name))
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
