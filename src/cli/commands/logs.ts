/** `svc apps logs …`. */
import { LOG_WAIT } from '../../contracts/limits.ts'
import type { LogLevel } from '../../contracts/log-levels.ts'
import type { Input, Output } from '../../contracts/operations.ts'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { formatJson } from '../format-output.ts'
import { argument, isSet, sinceOption, textOption } from '../options.ts'
import { pushLines } from '../push-lines.ts'
import { readPages } from '../read-pages.ts'
import { retryPause } from '../retry-pause.ts'
import { sanitizeLine, sanitizeLines } from '../terminal-text.ts'

type Line = Output<'listLogs'>['lines'][number]
type Filter = Pick<Input<'listLogs'>, 'alias' | 'since' | 'level' | 'text'>

export const listLogs: Run = async (ctx, input) => {
  const filter: Filter = {
    alias: argument(input, 'app'),
    since: sinceOption(input, 'since'),
    level: textOption(input, 'level') as LogLevel | undefined,
    text: textOption(input, 'grep'),
  }
  if (isSet(input, 'follow')) return followLogs(ctx, filter)
  const found = await readPages(ctx, input, 'listLogs', 'lines', filter)
  // The newest at the bottom, where the prompt is.
  ctx.print(found, { text: found.lines.toReversed().map(lineText).join('') })
}

/** Until it is interrupted. A server that restarts, or is busy, is asked again. */
async function followLogs(ctx: CommandContext, filter: Filter): Promise<void> {
  const write = (lines: readonly Line[]) =>
    ctx.environment.stdout.write(lines.map(isJson(ctx) ? jsonText : lineText).join(''))
  const first = await ctx.callOperation('listLogs', filter)
  write(first.lines.toReversed())
  // The answer must come before the time limit of a request.
  const wait_seconds = Math.max(0, Math.min(LOG_WAIT.seconds, Math.floor(ctx.settings.timeoutMs / 1000) - 5))
  const pause = retryPause(ctx)
  for (let { after } = first; ;) {
    try {
      const found = await ctx.callOperation('listLogs', { ...filter, since: undefined, after, wait_seconds })
      write(found.lines)
      after = found.after
      pause.succeeded()
      if (wait_seconds === 0) await pause.briefly()
    } catch (error) {
      await pause.afterFailure(error)
    }
  }
}

const isJson = ({ settings }: CommandContext): boolean => settings.format === 'json'

const jsonText = (line: Line): string => formatJson(line, 0)

/** Text that somebody's program wrote: nothing in it reaches the terminal as a command. */
const lineText = ({ at, level, service, text }: Line): string =>
  `${at} ${level.toUpperCase().padEnd(5)} ${service === null ? '' : `${sanitizeLine(service)} `}${sanitizeLines(text)}\n`

/** From stdin to its end. */
export const pushLogs: Run = async (ctx, input) => {
  const alias = argument(input, 'app')
  const sent = await pushLines(ctx, (body) => ctx.callOperation('pushLogs', { alias, body }))
  ctx.print(sent, { fields: sent })
}
