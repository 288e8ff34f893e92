/** `svc apps tokens create`: its name is what it is for, unless somebody says otherwise. */
import type { Run } from '../command.ts'
import type { AppScope } from '../../contracts/scopes.ts'
import { declared } from '../declared.ts'
import { argument, textOption } from '../options.ts'
import { printAnswer } from '../run-operation.ts'
import { usageError } from '../usage-error.ts'

export const createAppToken: Run = async (ctx, input) => {
  const scope = textOption(input, 'scope') as AppScope | undefined
  if (scope === undefined) {
    throw usageError('Missing option --scope', 'Use apps:report for logs and workers, apps:run for a runner')
  }
  const created = await ctx.callOperation('createAppToken', {
    alias: argument(input, 'app'),
    name: textOption(input, 'name') ?? (scope === 'apps:run' ? 'runner' : 'reporting'),
    scope,
  })
  printAnswer(ctx, declared('apps tokens create'), created)
}
