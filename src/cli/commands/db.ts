/** `svc db …`: managed databases. */
import { cellOf } from '../cells.ts'
import type { Run } from '../command.ts'
import { declared } from '../declared.ts'
import { argument, isSet } from '../options.ts'
import { confirm } from '../prompt.ts'
import { printAnswer } from '../run-operation.ts'
import { sanitizeLine } from '../terminal-text.ts'

export const showDatabase: Run = async (ctx, input) => {
  const source = await ctx.callOperation('showDataSource', { source_id: `db_${argument(input, 'name')}` })
  const { source_id, name, description, kind, ready, enabled, exposed, minimum_role, health } = source
  ctx.print(source, {
    fields: {
      id: source_id,
      name,
      description,
      kind,
      ready,
      enabled,
      exposed,
      'minimum role': minimum_role,
      health: cellOf('health:health', source),
      checked: health.checked_at,
      'last error': health.last_error && `${health.last_error.at} ${health.last_error.cause}`,
    },
  })
  if ((ctx.settings.format ?? 'table') !== 'table') return
  for (const { text } of health.problems) ctx.info(text)
}

export const connectDatabase: Run = async (ctx, input) => {
  const connection = await ctx.callOperation('showConnectionString', { name: argument(input, 'name') })
  // With both -q and --json, JSON wins.
  if (isSet(input, 'quiet') && (ctx.settings.format ?? 'table') === 'table') {
    ctx.print(connection, { text: `${sanitizeLine(connection.url)}\n` })
    return
  }
  printAnswer(ctx, declared('db connect'), connection)
}

export const removeDatabase: Run = async (ctx, input) => {
  const name = argument(input, 'name')
  await confirm(
    ctx,
    input,
    `This deletes database ${name} and all its data (an attached database is only detached).`,
    name,
  )
  await ctx.callOperation('removeDatabase', { name, confirm: name })
  ctx.info(`Removed ${name}`)
}
