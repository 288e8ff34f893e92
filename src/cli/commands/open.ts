/** `svc open`: a page of the console, in the browser or as a URL. */
import { escapePart } from '../../client/request-parts.ts'
import type { Run } from '../command.ts'
import { CONSOLE_PAGES } from '../console-pages.ts'
import { isSet } from '../options.ts'
import { usageError } from '../usage-error.ts'
import { canShow, showInBrowser, webAddress } from '../web-page.ts'

export const openConsole: Run = async (ctx, input) => {
  const { page = 'overview', name } = input.args
  const path = pathOf(page, name)
  const { console_url } = await ctx.callOperation('showInstallation', {})
  const url = webAddress(path, console_url)
  const opened =
    !isSet(input, 'no-browser') && canShow(ctx.environment) && (await showInBrowser(ctx.environment, url))
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
  return item.replace('{name}', escapePart(name))
}
