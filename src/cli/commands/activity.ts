/** `svc activity`: who asked what kind of thing when. */
import type { Run } from '../command.ts'
import { textOption, timeOption } from '../options.ts'
import { readPages } from '../read-pages.ts'
import type { Operations } from '../requests.ts'
import type * as z from 'zod'

type Filters = z.input<Operations['activity.list']['input']>

export const listActivity: Run = async (world, call) => {
  const filters = {
    // Both are checked against their choices when the command line is read.
    type: textOption(call, 'type') as Filters['type'],
    outcome: textOption(call, 'outcome') as Filters['outcome'],
    source: textOption(call, 'source'),
    user_id: textOption(call, 'user'),
    from: timeOption(call, 'from'),
    to: timeOption(call, 'to'),
  }
  const found = await readPages(world, call, 'activity', (page) =>
    world.ask('activity.list', { ...filters, ...page }),
  )
  world.print(found, {
    columns: ['AT', 'TYPE', 'NAME', 'PERSON', 'SOURCE', 'OUTCOME', 'ERROR', 'HITS', 'MS'],
    rows: found.activity.map((row) => [
      row.at,
      row.type,
      row.name,
      row.user.name,
      row.source,
      row.outcome,
      row.error,
      row.hits,
      row.duration_ms,
    ]),
  })
}
