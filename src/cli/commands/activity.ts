/** `svc activity`: the activity list, and where else to look if it is empty. */
import type { Run } from '../command.ts'
import { declared } from '../declared.ts'
import { operationInput } from '../operation-input.ts'
import { readPages } from '../read-pages.ts'
import { printAnswer } from '../run-operation.ts'

const ACTIVITY = declared('activity')

export const listActivity: Run = async (ctx, input) => {
  const filters = await operationInput<'listActivity'>(ctx, input, ACTIVITY)
  const found = await readPages(ctx, input, 'listActivity', 'activity', filters)
  printAnswer(ctx, ACTIVITY, found)
  if (found.activity.length > 0) return
  const { type, ...others } = filters
  if (type === 'all') return
  const match = Object.keys(others).length > 0 ? ' match' : ''
  // Whoever asked a question and sees an empty list looks at the other kind of calls.
  ctx.info(
    type === 'data_source'
      ? `No questions to data sources${match}. Other calls: svc activity --type function`
      : `No function calls${match}. Questions to data sources: svc activity --type data_source`,
  )
}
