/** The tool `proposal_show`: one proposal with its diff and what may be decided, or a list of them. */
import * as z from 'zod'
import { appAlias } from '../../src/contracts/apps.ts'
import { notFound, ServiceError } from '../../src/contracts/errors.ts'
import { idPattern } from '../../src/contracts/ids.ts'
import { ANSWER_MAX_BYTES, PAGE_DEFAULT } from '../../src/contracts/limits.ts'
import { showRunEvidence } from '../../src/contracts/maintenance.ts'
import { showProposal, listProposalQueue, listProposals } from '../../src/contracts/proposals.ts'
import { fitPage, fitPart, fits, truncate } from '../answer-size.ts'
import { CardAnswer } from '../card-answer.ts'
import { hidePattern, tool, type ToolContext } from '../tool.ts'
import { proposalLine, type ProposalDetails } from './proposals.ts'

/** Of the model's own words, and of each list: the diff is what counts. */
const RATIONALE_CHARACTERS = 2_000
const LISTED = 20
/** As long as the first part of the diff is at least, if it is that long. */
const FIRST_PART = 'x'.repeat(4_000)

export const proposalShow = tool({
  name: 'proposal_show',
  resource: 'platform',
  title: 'Show proposals',
  description:
    'One proposal with its diff, diff_sha256 and what you may decide. Without proposal_id, those of an app; without app, all that wait.',
  operations: [showProposal, listProposals, listProposalQueue, showRunEvidence],
  input: z.strictObject({
    app: hidePattern(appAlias.alias).optional(),
    proposal_id: z.string().max(60).optional(),
    cursor: z.string().max(1_000).optional(),
  }),
  isUntrusted: true,
  card: 'proposal',
  notFoundText: 'No such app or proposal. Call proposal_show without proposal_id.',
  async run({ app, proposal_id, cursor }, context) {
    if (proposal_id === undefined) return listThem(context, app, cursor)
    if (app === undefined) throw invalid('app: is required with proposal_id')
    // An invalid id is answered like an unknown one.
    if (!idPattern('pr').test(proposal_id)) throw notFound()
    const proposal = await context.call(showProposal, { alias: app, proposal_id })
    const offset = offsetIn(cursor)
    const answer = showDiffFrom(context, proposal, offset)
    if (offset > 0 || !context.client.drawsCards) return answer
    return new CardAnswer(answer, { 'svc/evidence': await evidenceLines(context, proposal) })
  },
})

/** On a card, beside the diff. The rest is on the page. */
const EVIDENCE_READ = 6
const EVIDENCE_LINES = 40

/** The exact lines, of what may be read and is still there. */
async function evidenceLines({ call }: ToolContext, { app, execution_id, evidence }: ProposalDetails) {
  const read = await Promise.all(
    evidence.slice(0, EVIDENCE_READ).map(async ({ ref }) => {
      if (ref === null) return []
      const { text } = await call(showRunEvidence, { alias: app, execution_id, ref }).catch(noText)
      return text === null ? [] : [{ ref, text: text.split('\n', EVIDENCE_LINES).join('\n') }]
    }),
  )
  let bytes = 0
  return read.flat().filter(({ text }) => (bytes += Buffer.byteLength(text)) <= ANSWER_MAX_BYTES)
}

/** A card without these lines is a card. */
function noText(error: unknown) {
  if (error instanceof ServiceError) return { text: null }
  throw error
}

function listThem({ call, principal, appUrl }: ToolContext, alias: string | undefined, cursor?: string) {
  return fitPage(
    PAGE_DEFAULT,
    async (limit) => {
      const page = { limit, cursor }
      const { proposals, next_cursor } =
        alias === undefined
          ? await call(listProposalQueue, { org_id: principal.orgId, ...page })
          : await call(listProposals, { alias, ...page })
      return { rows: proposals, next_cursor }
    },
    (rows) => ({ proposals: rows.map((proposal) => proposalLine(appUrl, proposal)) }),
  )
}

/** Everything about it with the first part of its diff; further parts alone. */
function showDiffFrom({ appUrl }: ToolContext, proposal: ProposalDetails, offset: number): object {
  const { id, diff_sha256, diff } = proposal
  const head = offset === 0 ? headOf(appUrl, proposal) : { proposal_id: id, diff_sha256 }
  if (diff === null) return { ...head, diff: null, note: 'You may not read the source of this app.' }
  return fitPart(diff, offset, (part, next) => ({
    ...head,
    diff: part,
    ...(next !== undefined && {
      next_cursor: String(next),
      more: 'Pass next_cursor as cursor for the rest.',
    }),
  }))
}

/** Without what others wrote at length, if that would leave no room for the diff. */
function headOf(appUrl: URL, proposal: ProposalDetails): object {
  const { rationale, flags, evidence, ...rest } = details(appUrl, proposal)
  const whole = { ...rest, rationale, flags, evidence }
  if (fits({ ...whole, diff: FIRST_PART })) return whole
  const truncated = `Left out: the rationale, ${flags.length} flags and ${evidence.length} references. They are on its page.`
  return { ...rest, truncated }
}

const details = (appUrl: URL, proposal: ProposalDetails) => ({
  ...proposalLine(appUrl, proposal),
  author: proposal.author,
  run_id: proposal.execution_id,
  requested_by: proposal.requested_by?.name ?? null,
  decided: proposal.decided,
  deployment_id: proposal.deployment_id,
  ...(proposal.pull_request && { pull_request: proposal.pull_request }),
  undone: proposal.undone,
  decision: proposal.decision,
  rationale: proposal.rationale && truncate(proposal.rationale, RATIONALE_CHARACTERS),
  flags: some(
    proposal.flags?.map(({ kind, path, line, detail }) => `${kind} ${path}:${line ?? '-'} ${detail}`),
  ),
  evidence: some(proposal.evidence.map(({ ref, kind }) => ref ?? kind)),
  diff_sha256: proposal.diff_sha256,
})

const some = (lines: readonly string[] = []): string[] =>
  lines.length <= LISTED
    ? lines.map((line) => truncate(line, 200))
    : [...some(lines.slice(0, LISTED)), `${lines.length - LISTED} more`]

/** The cursor of a diff is how much of it was shown. */
function offsetIn(cursor: string | undefined): number {
  if (cursor === undefined) return 0
  if (/^\d{1,9}$/.test(cursor)) return Number(cursor)
  throw invalid('cursor: is not one of this proposal')
}

const invalid = (problem: string) =>
  new ServiceError('INVALID_REQUEST', 'The arguments are not valid', { problems: [problem] })
