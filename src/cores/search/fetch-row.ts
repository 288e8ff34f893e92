/** The whole row behind a handle: exposure, role, grant and limits are looked at again, and only configured columns leave. */
import type { fetchHit } from '../../contracts/data-sources.ts'
import { notFound } from '../../contracts/errors.ts'
import { ANSWER_MAX_BYTES } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operation.ts'
import { asMember } from '../caller.ts'
import { reach } from '../databases/index.ts'
import { entriesOf, placeOfHandles, searched, type AskNeeds } from './ask.ts'
import { findAskable, requireMinimumRole } from './askable-sources.ts'
import { cutHit } from './cut-answer.ts'
import { readHandle } from './hit-handles.ts'
import { hitOf, rawColumns, shownColumns, type FoundRow } from './nearest-rows.ts'
import { columnsOf, quoted, quotedTable } from './quote.ts'
import { takeQuestion } from './question-limits.ts'
import { recordingActivity } from './record-activity.ts'

export const fetchRow =
  (needs: AskNeeds): Handler<typeof fetchHit> =>
  (who, { source_id, handle }) =>
    recordingActivity(needs, who, handle, async (trace) => {
      const caller = asMember(who)
      const source = await findAskable(needs.db, caller, source_id)
      trace.source = source
      requireMinimumRole(caller, source)
      await takeQuestion(needs, caller.orgId)
      const { label, id } = readHandle(needs.dataKeys, placeOfHandles(source), handle, needs.clock())
      const entry = entriesOf(source).find((one) => one.label === label && one.fetchable)
      // Found under a configuration that is gone.
      if (!entry) throw notFound()
      const first = quoted(columnsOf(entry.content_columns)[0]!)
      const [row] = await searched(needs, source, () =>
        reach(needs, source).query<FoundRow>(
          `select ${shownColumns(entry)} from (select ${rawColumns(entry)} from ${quotedTable(entry.table)} ` +
            `where ${first}::text = $1 limit 1) found`,
          [id],
        ),
      )
      if (!row) throw notFound()
      const { _score, ...metadata } = hitOf(entry, { ...row, distance: 0 }).metadata
      const answer = cutHit({ ...hitOf(entry, { ...row, distance: 0 }), metadata }, ANSWER_MAX_BYTES)
      trace.hits = 1
      trace.answer = JSON.stringify(answer)
      return answer
    })
