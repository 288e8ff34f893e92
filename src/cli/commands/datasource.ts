/** `svc datasource query`: who reads a table does not see that it was cut. */
import type { Run } from '../command.ts'
import { declared } from '../declared.ts'
import { operationInput } from '../operation-input.ts'
import { printAnswer } from '../run-operation.ts'

const QUERY = declared('datasource query')

export const queryDataSource: Run = async (ctx, input) => {
  const question = await operationInput<'queryDataSource'>(ctx, input, QUERY)
  const answer = await ctx.callOperation('queryDataSource', question)
  printAnswer(ctx, QUERY, answer)
  if (answer.weak && ctx.settings.format === 'table') {
    ctx.info('The answer is weak: probably none of these hits answers the question')
  }
  if (answer.truncated !== undefined && ctx.settings.format === 'table') {
    ctx.info('The result was truncated: narrow the question, or request fewer hits with --top-k')
  }
}
