/** `svc apps proposals …`. */
import type { Input, Output } from '../../contracts/operations.ts'
import {
  decisionRefused,
  DIFF_FLAGS,
  explainReason,
  reasonsToTell,
  type ProposalAction,
} from '../../contracts/proposal-decisions.ts'
import { cellOf } from '../cells.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { shownDiff } from '../diff-text.ts'
import { formatOutput } from '../format-output.ts'
import { declared } from '../declared.ts'
import { argument, isSet, textOption } from '../options.ts'
import { confirm } from '../prompt.ts'
import { printAnswer } from '../run-operation.ts'
import { visibleLine } from '../terminal-text.ts'

type Proposal = Output<'listProposals'>['proposals'][number]
type Details = Output<'showProposal'>

const proposalOf = (input: CommandInput) => ({
  alias: argument(input, 'app'),
  proposal_id: argument(input, 'proposal_id'),
})

export const showProposal: Run = async (ctx, input) => {
  const proposal = await ctx.callOperation('showProposal', proposalOf(input))
  const withDiff = isSet(input, 'diff')
  // Not into a file or a pipe.
  const color = ctx.settings.color && Boolean(ctx.environment.stdout.isTTY)
  const text = withDiff ? textWithDiff(proposal, color) : headText(proposal)
  const isTable = (ctx.settings.format ?? 'table') === 'table'
  if (!isTable || !(await showInPager(ctx, text))) ctx.print(proposal, { text })
  if (isTable && withDiff && proposal.decision.can.approve) {
    const { app, id, diff_sha256 } = proposal
    ctx.info(
      `Approve exactly this with: svc apps proposals approve ${app} ${id} --diff-sha256 ${diff_sha256}`,
    )
  }
}

/** False: nobody reads it at a terminal, or there is no pager. */
const showInPager = async ({ settings, environment }: CommandContext, text: string): Promise<boolean> =>
  settings.interactive &&
  Boolean(environment.stdout.isTTY) &&
  ((await environment.showInPager?.(text)) ?? false)

export const approveProposal: Run = (ctx, input) =>
  decide(ctx, input, 'approve', (seen) => ctx.callOperation('approveProposal', seen))
export const denyProposal: Run = (ctx, input) =>
  decide(ctx, input, 'deny', (seen) => ctx.callOperation('denyProposal', seen))
export const retryProposal: Run = (ctx, input) =>
  decide(ctx, input, 'retry', (seen) => ctx.callOperation('retryProposal', seen))

const QUESTIONS: Readonly<Record<ProposalAction, string>> = {
  approve: 'Approve',
  deny: 'Deny',
  retry: 'Retry',
}

function consequenceOf(action: ProposalAction, { state }: Proposal): string {
  if (action === 'approve')
    return 'It becomes the head, and is deployed; or a pull request, where the app has a git remote.'
  if (action === 'deny') return 'The agent does not propose it again until the source has changed there.'
  return state === 'failed'
    ? 'It is deployed or opened again, or becomes stale if the source has changed since.'
    : 'It is applied to the new source, and is then to be decided again.'
}

/** What is decided is what was read: just now, or before by whoever names its digest. The server refuses another diff. */
async function decide(
  ctx: CommandContext,
  input: CommandInput,
  action: ProposalAction,
  send: (seen: Input<'approveProposal'>) => Promise<Proposal>,
): Promise<void> {
  const path = proposalOf(input)
  const proposal = await ctx.callOperation('showProposal', path)
  requireAllowed(proposal, action, textOption(input, 'diff-sha256'))
  if (!isSet(input, 'yes') && ctx.settings.interactive) {
    const text = textWithDiff(proposal, ctx.settings.color)
    // With its own colors, and with everything else in it made visible.
    if (!(await showInPager(ctx, text))) ctx.environment.stderr.write(`${text}\n`)
  }
  await confirm(
    ctx,
    input,
    `${QUESTIONS[action]} ${proposal.id} of ${proposal.app}? ${consequenceOf(action, proposal)}`,
  )
  const decided = await send({ ...path, diff_sha256: proposal.diff_sha256 })
  printAnswer(ctx, declared('apps proposals list'), decided)
  if (action !== 'deny' && decided.pull_request?.state === 'opening') {
    ctx.info(`A pull request is being opened: svc apps proposals show ${decided.app} ${decided.id}`)
  }
  if (action !== 'deny' && decided.deployment_id !== null) {
    ctx.info(`Follow it with: svc apps deployments output ${decided.app} ${decided.deployment_id} --follow`)
  }
}

/** The server has said it with the proposal: nobody is asked about what it would refuse. */
function requireAllowed(proposal: Details, action: ProposalAction, seen: string | undefined): void {
  const { app, id, decision, diff_sha256 } = proposal
  const reasons = decision.reasons[action]
  if (reasons.length > 0) throw decisionRefused(reasons)
  if (seen !== undefined && seen !== diff_sha256) {
    const hint = `Look at it again: svc apps proposals show ${app} ${id} --diff`
    throw decisionRefused([explainReason('DIFF_CHANGED')], hint)
  }
}

function headText(proposal: Details): string {
  const { decision, decided } = proposal
  const fields = {
    proposal: proposal.id,
    app: proposal.app,
    state: proposal.state,
    title: proposal.title && visibleLine(proposal.title),
    author: proposal.author,
    'requested by': proposal.requested_by?.name ?? 'schedule',
    run: proposal.execution_id,
    base: proposal.base_revision_id,
    revision: proposal.new_revision_id,
    changes: `${proposal.files_changed} files, +${proposal.added_lines} -${proposal.removed_lines}`,
    diff_sha256: proposal.diff_sha256,
    'you may': cellOf('decision.can:granted', proposal),
    decided: decided && `${decided.approved ? 'approved' : 'denied'} by ${deciderOf(decided)}, ${decided.at}`,
    deployment: proposal.deployment_id,
    'pull request':
      proposal.pull_request &&
      [proposal.pull_request.state, proposal.pull_request.code, proposal.pull_request.url]
        .filter(Boolean)
        .join(' '),
    undone: proposal.undone,
  }
  const lists: [title: string, lines: readonly string[]][] = [
    [
      'What you may not do, and why',
      reasonsToTell(decision.reasons).map(({ actions, message }) => `${actions.join(', ')}: ${message}`),
    ],
    ['Look at', (proposal.flags ?? []).map(flagText)],
    ['Evidence', proposal.evidence.map(({ ref, kind, sha256 }) => `${ref ?? kind} ${sha256.slice(0, 12)}`)],
  ]
  return [
    formatOutput(proposal, { fields }, 'table'),
    ...(proposal.rationale === null
      ? []
      : [`\n${proposal.rationale.split(/\r?\n/).map(visibleLine).join('\n')}\n`]),
    ...lists
      .filter(([, lines]) => lines.length > 0)
      .map(([title, lines]) => `\n${title}:\n${lines.map((line) => `  ${visibleLine(line)}\n`).join('')}`),
  ].join('')
}

const deciderOf = ({ by, token, agent }: NonNullable<Details['decided']>): string => {
  if (token !== null) return `${by} with the API token ${token.name ?? token.id}`
  return agent ? `${by} by the agent ${agent.name ?? agent.id}` : by
}

const flagText = ({ kind, path, line, detail }: NonNullable<Details['flags']>[number]): string =>
  `${path}${line === null ? '' : `:${line}`} ${DIFF_FLAGS[kind]}: ${detail}`

function textWithDiff(proposal: Details, color: boolean): string {
  if (proposal.diff === null) return `${headText(proposal)}\nYou may not read the source of this app.\n`
  const diff = shownDiff(proposal.diff, color)
  return `${headText(proposal)}\n${diff}${diff.endsWith('\n') ? '' : '\n'}`
}
