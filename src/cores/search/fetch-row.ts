/** The whole row behind a handle: exposure, role, grant and limits are looked at again, and only configured columns leave. */
import type { fetchFound, fetchHit, Hit } from '../../contracts/data-sources.ts'
import { notFound } from '../../contracts/errors.ts'
import { ANSWER_MAX_BYTES } from '../../contracts/limits.ts'
import type { Caller, Handler } from '../../contracts/operation.ts'
import { asMember, type MemberCaller } from '../caller.ts'
import { reach, sourceIdOf, type SourceRow } from '../databases/index.ts'
import { entriesOf, searched, type AskNeeds } from './ask.ts'
import { findAskable, requireMinimumRole } from './askable-sources.ts'
import { cutHit } from './cut-answer.ts'
import { readHandle, type FoundAt } from './hit-handles.ts'
import { hitOf, rawColumns, shownColumns, type FoundRow } from './nearest-rows.ts'
import { columnsOf, quoted, quotedTable } from './quote.ts'
import { takeQuestion } from './question-limits.ts'
import { recordingActivity, type Trace } from './record-activity.ts'

export const fetchRow =
  (needs: AskNeeds): Handler<typeof fetchHit> =>
  async (who, { source_id, handle }) => {
    const { hit, truncated } = await fetchBehind(needs, who, handle, source_id)
    return truncated === undefined ? { hit } : { hit, truncated }
  }

/** The same for who knows the handle only: it names its source. */
export const fetchAnywhere =
  (needs: AskNeeds): Handler<typeof fetchFound> =>
  async (who, { id }) => {
    const { source, ...answer } = await fetchBehind(needs, who, id)
    return { source_id: sourceIdOf(source.name), target: String(answer.hit.metadata['_target']), ...answer }
  }

const fetchBehind = (needs: AskNeeds, who: Caller, handle: string, asked?: string) =>
  recordingActivity(needs, who, handle, async (trace) => {
    const caller = asMember(who)
    // A source named in the path is judged first: for who may not ask it there is nothing to tell about a handle.
    const named = asked === undefined ? undefined : await findAskable(needs.db, caller, asked)
    if (named) await enter(needs, caller, named, trace)
    const at = { orgId: caller.orgId, sourceId: named?.id }
    const found = readHandle(needs.dataKeys, at, handle, needs.clock())
    const source = named ?? (await findAskable(needs.db, caller, found.sourceId))
    if (!named) await enter(needs, caller, source, trace)
    const answer = cutHit(await rowAt(needs, source, found), ANSWER_MAX_BYTES)
    trace.hits = 1
    trace.answer = JSON.stringify(answer)
    return { source, ...answer }
  })

async function enter(needs: AskNeeds, caller: MemberCaller, source: SourceRow, trace: Trace): Promise<void> {
  trace.source = source
  requireMinimumRole(caller, source)
  await takeQuestion(needs, caller.orgId)
}

async function rowAt(needs: AskNeeds, source: SourceRow, { by, label, id }: FoundAt): Promise<Hit> {
  const entry = entriesOf(source).find((one) => one.label === label && (one.fetchable || by === 'search'))
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
  const hit = hitOf(entry, { ...row, distance: 0 })
  const { _score, ...metadata } = hit.metadata
  return { ...hit, metadata }
}
