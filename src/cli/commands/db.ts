/** `svc db connect`: with `--quiet` the connection string alone. */
import type { Run } from '../command.ts'
import { declared } from '../declared.ts'
import { argument, isSet } from '../options.ts'
import { printAnswer } from '../run-operation.ts'
import { sanitizeLine } from '../terminal-text.ts'

export const connectDatabase: Run = async (ctx, input) => {
  const connection = await ctx.callOperation('showConnectionString', { name: argument(input, 'name') })
  // With both -q and --json, JSON wins.
  if (isSet(input, 'quiet') && (ctx.settings.format ?? 'table') === 'table') {
    ctx.print(connection, { text: `${sanitizeLine(connection.url)}\n` })
    return
  }
  printAnswer(ctx, declared('db connect'), connection)
}
