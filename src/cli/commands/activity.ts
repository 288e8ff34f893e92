/** `svc activity`: the activity list. */
import type { Input } from '../../contracts/operations.ts'
import type { Run } from '../command.ts'
import { tableOf } from '../format-output.ts'
import { textOption, timeOption } from '../options.ts'
import { readPages } from '../read-pages.ts'

type Filters = Input<'listActivity'>

export const listActivity: Run = async (ctx, input) => {
  const filters = {
    // The parser has checked both against their choices.
    type: textOption(input, 'type') as Filters['type'],
    outcome: textOption(input, 'outcome') as Filters['outcome'],
    source: textOption(input, 'source'),
    user_id: textOption(input, 'user'),
    from: timeOption(input, 'from'),
    to: timeOption(input, 'to'),
  }
  const found = await readPages(ctx, input, 'listActivity', 'activity', filters)
  const view = tableOf(found.activity, {
    TIME: 'at',
    TYPE: 'type',
    NAME: 'name',
    USER: ({ user }) => user.name,
    SOURCE: 'source',
    OUTCOME: 'outcome',
    ERROR: 'error',
    HITS: 'hits',
    MS: 'duration_ms',
  })
  ctx.print(found, view)
  if (found.activity.length > 0) return
  const { type, ...others } = filters
  const match = Object.values(others).some((value) => value !== undefined) ? ' match' : ''
  // Whoever asked a question and sees an empty list looks at the other kind of calls.
  ctx.info(
    type === 'data_source'
      ? `No questions to data sources${match}. Other calls: svc activity --type function`
      : `No function calls${match}. Questions to data sources: svc activity --type data_source`,
  )
}
