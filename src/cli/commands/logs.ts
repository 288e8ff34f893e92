/** `svc apps logs …`. */
import { LOG_WAIT_SECONDS } from '../../contracts/limits.ts'
import type { Input, Output } from '../../contracts/operations.ts'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { refuseYaml } from '../follow-format.ts'
import { formatJson } from '../format-output.ts'
import { declared } from '../declared.ts'
import { operationInput } from '../operation-input.ts'
import { argument, isSet } from '../options.ts'
import { pushLines } from '../push-lines.ts'
import { readPages } from '../read-pages.ts'
import { retryPause } from '../retry-pause.ts'
import { onStopSignals } from '../runner/stop-signals.ts'
import { sanitizeLine, sanitizeLines } from '../terminal-text.ts'
import { usageError } from '../usage-error.ts'

type Line = Output<'listLogs'>['lines'][number]
type Filter = Input<'listLogs'>

export const listLogs: Run = async (ctx, input) => {
  const filter = await operationInput<'listLogs'>(ctx, input, declared('apps logs'))
  if (isSet(input, 'follow')) return followLogs(ctx, filter)
  const found = await readPages(ctx, input, 'listLogs', 'lines', filter)
  // The newest at the bottom, where the prompt is.
  ctx.print(found, { text: found.lines.toReversed().map(lineText).join('') })
}

/** Until it is interrupted. A server that restarts, or is busy, is asked again. */
async function followLogs(ctx: CommandContext, filter: Filter): Promise<void> {
  if (filter.until !== undefined) throw usageError('--follow conflicts with --until', 'Remove one of them')
  refuseYaml(ctx)
  const write = (lines: readonly Line[]) =>
    ctx.environment.stdout.write(lines.map(isJson(ctx) ? jsonText : lineText).join(''))
  const first = await ctx.callOperation('listLogs', filter)
  write(first.lines.toReversed())
  // The answer must come before the time limit of a request.
  const wait_seconds = Math.max(0, Math.min(LOG_WAIT_SECONDS, Math.floor(ctx.settings.timeoutMs / 1000) - 5))
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

/**
 * Text that somebody's program wrote: nothing in it reaches the terminal as a command, and what follows its first line is
 * indented, so that it does not look like another one.
 */
export const lineText = ({ at, level, service, text }: Line): string =>
  `${at} ${level.toUpperCase().padEnd(5)} ${service === null ? '' : `${sanitizeLine(service)} `}${sanitizeLines(text).replaceAll('\n', '\n    ')}\n`

/**
 * From stdin to its end. Ctrl-C and the signal of service managers reach the program in front of it as well, whose last
 * lines say why it ended: the first one is left to it, the second ends this, too.
 */
export const pushLogs: Run = async (ctx, input) => {
  const alias = argument(input, 'app')
  const signals = onStopSignals({
    first: () => {
      signals.off()
      ctx.info('Sending the last lines. Once more: stop at once.')
    },
    second: () => {},
  })
  try {
    const sent = await pushLines(ctx, (body) => ctx.callOperation('pushLogs', { alias, body }))
    ctx.print(sent, { fields: sent })
  } finally {
    signals.off()
  }
}
