/** The whole row behind a handle: exposure, role, grant and limits are checked again, and only configured columns are returned. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { Hit } from '../../contracts/data-sources.ts'
import { notFound } from '../../contracts/errors.ts'
import { ANSWER_MAX_BYTES } from '../../contracts/limits.ts'
import type { Principal } from '../../contracts/operation.ts'
import { requireMember, type MemberPrincipal } from '../principal.ts'
import { openSource, type SourceRow } from '../databases/index.ts'
import { readTable, requireEntries, withDatabaseCheck, type SearchDeps } from './search-entries.ts'
import { cite } from './cite.ts'
import { isOfPassages, readAround, type Around } from './passages.ts'
import { findAskable, requireMinimumRole } from './askable-sources.ts'
import { answerBytes, truncateHit } from './truncate-answer.ts'
import { verifyHandle, type HandleTarget } from './row-handle.ts'
import { hitsOf, rawColumns, textColumns, type FoundRow } from './nearest-rows.ts'
import { parseColumnList, quoteTable } from './quote.ts'
import { countQuestion } from './question-limits.ts'
import { accessConditions, rowAccessOf } from './row-access.ts'
import { recordingActivity, type Trace } from '../activity/index.ts'

type Wanted = {
  readonly handle: string
  /** Of a passage: its document, and not only what is around it. */
  readonly document: boolean
  readonly sourceId?: string
}

export const fetchRow = (deps: SearchDeps, principal: Principal, { handle, document, sourceId }: Wanted) =>
  recordingActivity(deps, principal, handle, async (trace) => {
    const member = requireMember(principal)
    // A source in the path is checked first: whoever may not ask it learns nothing about a handle.
    const requested =
      sourceId === undefined ? undefined : (await findAskable(deps.db, member, sourceId)).source
    if (requested) await checkAccess(deps, member, requested, trace)
    const at = { orgId: member.orgId, sourceId: requested?.id }
    const target = verifyHandle(deps.dataKeys, at, handle, deps.clock())
    const source = requested ?? (await findAskable(deps.db, member, target.sourceId)).source
    if (!requested) await checkAccess(deps, member, source, trace)
    const answer = await readRow(deps, member, source, target, document)
    trace.hits = 1
    trace.answer = JSON.stringify(answer)
    return { source, ...answer }
  })

async function checkAccess(
  deps: SearchDeps,
  member: MemberPrincipal,
  source: SourceRow,
  trace: Trace,
): Promise<void> {
  trace.source = source
  requireMinimumRole(member, source)
  await countQuestion(deps, member.orgId)
}

async function readRow(
  deps: SearchDeps,
  member: MemberPrincipal,
  source: SourceRow,
  { origin, label, id }: HandleTarget,
  document: boolean,
): Promise<FetchedHit> {
  const entry = requireEntries(source).find(
    (one) => one.label === label && (one.fetchable || origin !== 'hit'),
  )
  // Found under an earlier configuration.
  if (!entry) throw notFound()
  const first = quoteIdentifier(parseColumnList(entry.content_columns)[0]!)
  const access = await rowAccessOf(deps, member, source)
  return withDatabaseCheck(deps, source, async () => {
    const queries = openSource(deps, source)
    const seen = accessConditions(access, await readTable(deps, queries, { entry, access }), '$2')
    if (!seen) throw notFound()
    const rows = await queries.query<FoundRow>(
      `select ${textColumns(entry)} from (select ${rawColumns(entry)} from ${quoteTable(entry.table)} ` +
        `where ${[`${first}::text = $1`, ...seen.map(({ text }) => text)].join(' and ')} limit 1) found`,
      [id, ...seen.map(({ parameter }) => parameter)],
    )
    const [hit] = hitsOf(
      { entry, limit: 1 },
      rows.map((row) => ({ ...row, distance: 0 })),
    )
    if (!hit) throw notFound()
    const { _score, ...metadata } = hit.metadata
    const cited = cite(deps, source, entry)({ ...hit, metadata })
    if (!isOfPassages(source, entry)) return truncateHit(cited, ANSWER_MAX_BYTES)
    return withPassages(cited, await readAround(queries, entry, cited, { isWhole: document, seen }), document)
  })
}

type FetchedHit = ReturnType<typeof truncateHit>

/** More than the sentence about what is missing takes. */
const NOTICE_BYTES = 120

/** As many as there is room for: of a document the first ones, otherwise the nearest. */
function withPassages(hit: Hit, { passages, total }: Around, document: boolean): FetchedHit {
  let room = ANSWER_MAX_BYTES
  // A character is at least a byte: what is beyond is not written to be measured.
  const shown = passages.filter(({ passage }) => (room -= passage.length) >= 0 || !document)
  while (
    shown.length > 0 &&
    answerBytes({ hit: { ...hit, passages: shown } }) > ANSWER_MAX_BYTES - NOTICE_BYTES
  ) {
    const at = shown.findIndex(({ id }) => id === hit.id)
    if (document || at < shown.length / 2) shown.pop()
    else shown.shift()
  }
  const answer = truncateHit(shown.length === 0 ? hit : { ...hit, passages: shown }, ANSWER_MAX_BYTES)
  if (!document || shown.length === total) return answer
  const missing = `The document has ${total} passages; the first ${shown.length} are here.`
  return { ...answer, truncated: [answer.truncated, missing].filter(Boolean).join(' ') }
}
