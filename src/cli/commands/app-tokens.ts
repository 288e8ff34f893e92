/** `svc apps tokens create`: its name is what it is for, unless somebody says otherwise. */
import type { Run } from '../command.ts'
import { declared } from '../declared.ts'
import { operationInput } from '../operation-input.ts'
import { printAnswer } from '../run-operation.ts'

const CREATE = declared('apps tokens create')

export const createAppToken: Run = async (ctx, input) => {
  const { scope, name = scope === 'apps:run' ? 'runner' : 'reporting' } = input.options
  const named = { ...input, options: { ...input.options, name } }
  const given = await operationInput<'createAppToken'>(ctx, named, CREATE)
  printAnswer(ctx, CREATE, await ctx.callOperation('createAppToken', given))
}
