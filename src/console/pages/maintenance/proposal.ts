/** One proposal: what it changes, what it rests on, what to look at, and the decision. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { cancelDeployment, listDeployments, showDeployment } from '../../../contracts/deployments.ts'
import { notFound } from '../../../contracts/errors.ts'
import { PULL_REQUEST_CODES } from '../../../contracts/git-hosts.ts'
import { showRunEvidence } from '../../../contracts/maintenance.ts'
import {
  DIFF_FLAGS,
  PATCH_TYPE,
  reasonsToTell,
  type DiffFlag,
} from '../../../contracts/proposal-decisions.ts'
import {
  approveProposal,
  denyProposal,
  downloadProposalPatch,
  showProposal,
  retryProposal,
} from '../../../contracts/proposals.ts'
import { showAppRemote } from '../../../contracts/remotes.ts'
import { barChart } from '../../../pages/bar-chart.ts'
import { inkDefinitions } from '../../../pages/chart-inks.ts'
import { button, card, linkButton, notice, type Content } from '../../../pages/parts.ts'
import { badge, copyable, exactTime, pair, time } from '../../components.ts'
import { act, routeInput } from '../../act.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { formOf } from '../../fields.ts'
import { actAndReturn } from '../../flash.ts'
import { plural } from '../../format.ts'
import { confirmDialog, form, text } from '../../forms.ts'
import { page } from '../../layout.ts'
import { markdown } from '../../markdown.ts'
import { aliasOf, mayOpen, mayWork, readApp, tabParents, type App } from '../apps/app-tabs.ts'
import { deploymentPath, shortId, type Deployment } from '../apps/deployment-labels.ts'
import { diffFiles, diffLineId } from '../apps/diff-files.ts'
import type { Hunk } from '../apps/hunks.ts'
import { diffPath, sourcePath } from '../apps/source-paths.ts'
import { visibleText, visibleWords } from '../apps/source-text.ts'
import { explainedHunks } from './explained-hunks.ts'
import { evidenceText, EXCERPT_LINES } from './evidence-text.ts'
import {
  EVIDENCE_LABELS,
  evidencePath,
  HIDDEN_TEXT,
  proposalBadge,
  proposalPath,
  runPath,
  unlessRefused,
  type ProposalDetails,
} from './maintenance-labels.ts'

export const proposalRoutes = () =>
  createRoutes()
    .get('/apps/:alias/proposals/:proposal_id', showOne)
    .get('/apps/:alias/proposals/:proposal_id/patch', downloadPatch)
    .post('/apps/:alias/proposals/:proposal_id/approve', approve)
    .post('/apps/:alias/proposals/:proposal_id/deny', deny)
    .post('/apps/:alias/proposals/:proposal_id/retry', retry)
    .post('/apps/:alias/proposals/:proposal_id/cancel-deployment', cancel)

const pathOf = (c: PageContext): string => proposalPath(aliasOf(c), routeInput(c, showProposal).proposal_id)

async function showOne(c: PageContext) {
  const [app, one] = await Promise.all([
    readApp(c),
    sessionOf(c).call(showProposal, routeInput(c, showProposal)),
  ])
  const [evidence, target, waiting] = await Promise.all([
    readEvidence(c, app, one),
    one.decision.can.approve ? readTarget(c, app) : undefined,
    readWaiting(c, app, one),
  ])
  return page(c, {
    title: one.title === null ? `Proposal ${one.id.slice(-6)}` : visibleWords(one.title),
    parents: tabParents(app, 'maintenance'),
    lead: html`${proposalBadge(one.state)} ${one.author}, ${time(one.created_at)}`,
    actions: one.diff !== null && linkButton(`${pathOf(c)}/patch`, 'Download .patch', 'quiet'),
    body: html`${one.undone && undoneNotice(app, one)}${one.effect?.came_back_at && cameBackNotice(one)}
      <div class="review">
        <div class="review-main">${effectCard(one)} ${rationaleCard(one)} ${flagsCard(one)}</div>
        <div class="review-side">${decisionCard(c, app, one, target, waiting)}</div>
      </div>
      <div class="review-diff">${diffPart(app, one, evidence)}</div>
      <div class="review">
        <div class="review-main">${evidenceCard(app, one, evidence)}</div>
        <div class="review-side">${detailsCard(c, app, one)}</div>
      </div>
      ${one.diff !== null && reviewBar(one)}`,
  })
}

/** The keys work with the script alone, which shows them; the links work without. */
const reviewBar = ({ decision: { can } }: ProposalDetails) =>
  html`<nav class="review-bar" aria-label="Review">
    <a href="#hunk-0-0">First change</a> <a href="#about-decision">Decision</a>
    <span class="review-keys" data-keys hidden>
      <span><kbd>j</kbd> next change</span> <span><kbd>k</kbd> previous</span>
      ${can.approve && html`<span><kbd>a</kbd> approve, asks first</span>`} ${can.deny && html`<span><kbd>d</kbd> go to deny</span>`}
      <button type="button" class="button button-quiet button-small">Turn keys off</button>
    </span>
  </nav>`

const undoneNotice = ({ alias }: App, { new_revision_id }: ProposalDetails) =>
  notice(
    'problem',
    html`<p><strong>A push has undone this change.</strong> Its finding is open again. <a href="${sourcePath(alias)}">Look at the source</a>, or compare it with <a href="${sourcePath(alias, { revision: new_revision_id })}">the proposed revision</a>; whoever pushes should run <code>svc apps pull ${alias}</code> first.</p>`,
  )

const cameBackNotice = ({ effect }: ProposalDetails) =>
  notice(
    'problem',
    html`<p><strong>Its error came back</strong> ${time(effect!.came_back_at!)}. Its finding is open again, and the next run is told.</p>`,
  )

/** In UTC, as everywhere. */
const hourLabel = (at: string): string => at.slice(5, 16).replace('T', ' ')

/** Whether it worked, as far as the log tells. */
const effectCard = ({ effect, effect_hours: hours }: ProposalDetails) =>
  effect &&
  card(
    'Since the deployment',
    html`<p>${effect.text}.</p>
      ${inkDefinitions()}
      ${barChart(
        `Lines of its error by hour, from a day before the deployment: ${effect.text}.`,
        [{ name: 'of its error', ink: 'plain' }],
        hours.map(({ at, errors }) => ({ label: hourLabel(at), values: [errors] })),
      )}
      <p class="note">Deployed ${time(effect.deployed_at)}, last counted ${time(effect.measured_at)}. It is counted for seven days.</p>`,
  )

/** Written by a model that may have read hostile lines: the safe part of Markdown, and said so. */
const rationaleCard = ({ rationale }: ProposalDetails) =>
  card(
    'Rationale',
    rationale === null
      ? html`<p class="note">${HIDDEN_TEXT}</p>`
      : html`${markdown(rationale)}
          <p class="note">Written by the model. Check it against the diff and the evidence.</p>`,
  )

function flagsCard({ flags, files }: ProposalDetails) {
  if (flags === null) return null
  const kinds = [...Map.groupBy(flags, ({ kind }) => kind)]
  return card(
    'Look at',
    kinds.length === 0
      ? html`<p class="note">No automatic warnings. Review the diff anyway.</p>`
      : html`<ul class="flags">${kinds.map(
          ([
            kind,
            found,
          ]) => html`<li><span class="flag-kind">${badge(plural(found.length, 'place'), 'bad')} <strong>${DIFF_FLAGS[kind]}</strong></span>
          <ul class="lines">${found.map((flag) => html`<li>${flagPlace(flag, files ?? [])} <code>${visibleText(flag.detail)}</code></li>`)}</ul></li>`,
        )}</ul>`,
  )
}

type Flag = NonNullable<ProposalDetails['flags']>[number]

function flagPlace({ path, line }: Flag, files: readonly { path: string }[]) {
  const at = files.findIndex((file) => file.path === path)
  const place = html`${visibleText(path)}${line !== null && `:${line}`}`
  return html`<a href="#${line === null ? `file-${at}` : diffLineId(at, line)}">${place}</a>`
}

const FLAG_WORDS: Record<DiffFlag, string> = {
  invisible_character: 'Invisible character',
  mixed_alphabet: 'Another alphabet',
  hidden_by_blanks: 'Behind blanks',
  new_dependency: 'New dependency',
  new_host: 'New host',
  piped_download: 'Piped download',
  dangerous_call: 'Dangerous call',
  removed_test: 'Removed test',
}

function diffPart(
  { alias }: App,
  { id, diff, files, flags, new_revision_id: revision, execution_id, ...one }: ProposalDetails,
  evidence: readonly Cited[],
) {
  if (diff === null || files === null)
    return card(
      'Changes',
      html`<p>${plural(one.files_changed, 'file')}, ${plural(one.added_lines, 'line')} added, ${one.removed_lines} removed.</p><p class="note">${HIDDEN_TEXT}</p>`,
    )
  const notes = (path: string, line: number) =>
    (flags ?? [])
      .filter((flag) => flag.path === path && flag.line === line)
      .map(({ kind, detail }) => `${FLAG_WORDS[kind]}: ${detail}`)
  const beside = (path: string, { old, now }: Hunk) => {
    const cited = evidence.filter(
      ({ explains }) =>
        explains?.path === path &&
        explains.hunk.old?.from === old?.from &&
        explains.hunk.now?.from === now?.from,
    )
    return (
      cited.length > 0 &&
      html`<p class="note">The exact lines that the run read.</p>
        ${cited.map((one) => evidencePart(alias, execution_id, one))}`
    )
  }
  return diffFiles({
    alias,
    revision,
    diff,
    files,
    notes,
    beside,
    rest: copyable('command', `svc apps proposals show ${alias} ${id} --diff`, 'Command'),
  })
}

const NOTE = formOf(denyProposal, ['note'])

/** Where an approved proposal goes, as the confirmation names it. */
type Target = {
  readonly remote: string | null
  readonly runner: string | null
  readonly running: string | null
  readonly waiting: number
}

/** Of the newest deployments: who ran one, what runs now, and what is before it. */
const DEPLOYMENTS_READ = 20

async function readTarget(c: PageContext, { alias }: App): Promise<Target> {
  const { call } = sessionOf(c)
  const [{ remote }, { deployments }] = await Promise.all([
    call(showAppRemote, { alias }),
    call(listDeployments, { alias, limit: DEPLOYMENTS_READ }),
  ])
  return {
    remote: remote?.url ?? null,
    runner: deployments.find(({ runner }) => runner !== null)?.runner ?? null,
    running: deployments.find(({ state }) => state === 'succeeded')?.revision_id ?? null,
    waiting: deployments.filter(({ state }) => state === 'queued' || state === 'running').length,
  }
}

/** Its deployment, as long as no runner has taken it and the reader may cancel it. */
async function readWaiting(c: PageContext, app: App, { state, deployment_id }: ProposalDetails) {
  if (state !== 'approved' || deployment_id === null || !mayWork(sessionOf(c), app)) return undefined
  const one = await unlessRefused(sessionOf(c).call(showDeployment, { alias: app.alias, deployment_id }))
  return one?.state === 'queued' ? one : undefined
}

/** What will be deployed, and where. */
const targetText = (app: App, one: ProposalDetails, { remote, runner, running, waiting }: Target) => {
  const what = html`Revision ${shortId(one.new_revision_id)} (${plural(one.files_changed, 'file')}, +${one.added_lines} −${one.removed_lines})`
  if (remote !== null)
    return html`${what} of <strong>${app.name}</strong> becomes a pull request at <strong>${remote}</strong>. Nothing is deployed until it is merged there and pushed.`
  return html`${what} becomes the head of <strong>${app.name}</strong> and is deployed
    ${runner === null ? 'by the first runner that comes; none has deployed it so far' : html`by the runner <strong>${runner}</strong>`}${running !== null && html`, in place of ${shortId(running)}`}.
    ${waiting > 0 && `${plural(waiting, 'deployment')} ${waiting === 1 ? 'is' : 'are'} before it.`}`
}

/** What the reader may do is the gateway's word; nothing is computed here. */
function decisionCard(
  c: PageContext,
  app: App,
  one: ProposalDetails,
  target: Target | undefined,
  waiting: Deployment | undefined,
) {
  const { decision, decided } = one
  const { deny: mayDeny, retry: mayRetry } = decision.can
  const reasons = reasonsToTell(decision.reasons)
  return card(
    'Decision',
    html`${decided && decidedText(one, decided)}
      ${waiting && cancelForm(c)}
      ${
        reasons.length > 0 &&
        html`<ul class="reasons" aria-label="What you may not do, and why">${reasons.map(({ actions, code, message }) => html`<li><strong>${actions.join(', ')}</strong>: ${message}. <code class="note">${code}</code></li>`)}</ul>`
      }
      ${
        (target || mayRetry) &&
        html`<div class="actions">
          ${target && approveDialog(c, app, one, target)}
          ${mayRetry && decide(c, one, 'retry', button('Retry'))}
        </div>`
      }
      ${mayDeny && decide(c, one, 'deny', html`${NOTE.show().field('note', { id: 'deny-note' })}<button type="submit" class="button button-quiet" data-key="d">Deny</button>`, 'stack')}
      <p class="note">${mayDeny && 'What is denied is not proposed again until the source has changed there.'} Only ${decision.required_roles.map((role) => `${role}s`).join(' and ')} may approve it, and never whoever started the run or changed the agent’s settings within a day before it.</p>`,
  )
}

const approveDialog = (c: PageContext, app: App, one: ProposalDetails, target: Target) =>
  confirmDialog(c, {
    id: 'approve',
    label: 'Approve',
    title: target.remote === null ? `Approve and deploy to ${app.name}?` : 'Approve and open a pull request?',
    action: `${pathOf(c)}/approve`,
    text: targetText(app, one, target),
    fields: html`${diffField(one)}${NOTE.show().field('note', { id: 'approve-note' })}`,
    submit: 'Approve',
    kind: 'main',
    isMain: true,
    key: 'a',
  })

const cancelForm = (c: PageContext) =>
  html`${form(c, `${pathOf(c)}/cancel-deployment`, button('Cancel deployment', 'danger'), '')}
    <p class="note">Until a runner takes it. The approval stands; Retry deploys it after all.</p>`

const VIA = {
  console: 'in the console',
  cli: 'with the client',
  api: 'over the API',
  mcp: 'over MCP',
} as const

const decidedText = (
  { state, deployment_id, app, pull_request }: ProposalDetails,
  { approved, by, via, token, agent, at, note }: NonNullable<ProposalDetails['decided']>,
) =>
  html`<p>${approved ? 'Approved' : 'Denied'} by <strong>${by}</strong> ${VIA[via]}${token && html`, with the API token <strong>${token.name ?? token.id}</strong>`}${agent && html`, by the agent <strong>${visibleWords(agent.name ?? agent.id)}</strong>`}, ${exactTime(at)}.</p>
    ${note !== null && html`<p class="written">${visibleText(note)}</p>`}
    ${pull_request && pullRequestText(pull_request)}
    ${deployment_id !== null && html`<p>${proposalBadge(state)} <a href="${deploymentPath(app, deployment_id)}">Deployment ${deployment_id.slice(-6)}</a></p>`}`

const PULL_REQUEST_WORDS = {
  opening: 'is being opened',
  open: 'is open',
  merged: 'was merged',
  closed: 'was closed',
  failed: 'failed',
} as const

const pullRequestText = ({
  state,
  number,
  url,
  code,
  landed_by,
}: NonNullable<ProposalDetails['pull_request']>) =>
  html`<p>${url === null ? 'The pull request' : html`<a href="${url}" rel="noreferrer">Pull request ${number}</a>`} ${PULL_REQUEST_WORDS[state]}${code !== null && html`: ${PULL_REQUEST_CODES[code]} <code class="note">${code}</code>`}.
    ${state === 'merged' && landed_by === null && code === null && 'It counts as deployed once its lines are pushed. Until then it can be denied.'}</p>`

/** What is decided on is what was on the page: another diff is refused. */
const diffField = ({ diff_sha256 }: ProposalDetails) =>
  html`<input type="hidden" name="diff_sha256" value="${diff_sha256}" />`

const decide = (c: PageContext, one: ProposalDetails, action: string, submit: Content, className = '') =>
  form(c, `${pathOf(c)}/${action}`, html`${diffField(one)}${submit}`, className)

/** Calls per page: a proposal cites few. */
const EVIDENCE_SHOWN = 12

type Cited = ProposalDetails['evidence'][number] & {
  readonly found: z.output<typeof showRunEvidence.output> | undefined
  readonly explains: ReturnType<typeof explainedHunks>[number]
}

/** What it cites, with the lines of the first ones, and which part of the diff each of them explains. */
async function readEvidence(
  c: PageContext,
  { alias }: App,
  { execution_id, evidence, diff, files }: ProposalDetails,
): Promise<Cited[]> {
  const { call } = sessionOf(c)
  const read = await Promise.all(
    evidence
      .slice(0, EVIDENCE_SHOWN)
      .map(async ({ ref }) =>
        ref === null ? undefined : unlessRefused(call(showRunEvidence, { alias, execution_id, ref })),
      ),
  )
  const explained = diff === null || files === null ? [] : explainedHunks(diff, files, read)
  return evidence.map((one, at) => ({ ...one, found: read[at], explains: explained[at] }))
}

/** What no part of the diff has at its side. */
function evidenceCard({ alias }: App, { execution_id, evidence }: ProposalDetails, cited: readonly Cited[]) {
  const others = cited.filter(({ explains }) => explains === undefined)
  if (others.length === 0 && cited.length > 0) return null
  return card(
    cited.length === others.length ? 'Evidence' : 'Further evidence',
    html`${evidence.length === 0 && html`<p class="note">None.</p>`} ${others.map((one) => evidencePart(alias, execution_id, one))}`,
    evidence.some(({ ref }) => ref === null) ? HIDDEN_TEXT : 'The exact lines that the run read.',
  )
}

const evidencePart = (alias: string, execution_id: string, { ref, kind, sha256, found }: Cited) =>
  html`<div class="evidence">
    <p>${badge(EVIDENCE_LABELS[kind], 'off')} ${ref === null ? html`<code title="${sha256}">${sha256.slice(0, 12)}…</code>` : html`<a class="long" href="${evidencePath(alias, execution_id, ref)}">${visibleText(ref)}</a>`}</p>
    ${found && evidenceText(found, EXCERPT_LINES)}
  </div>`

function detailsCard(c: PageContext, app: App, one: ProposalDetails) {
  const { alias } = app
  const readsSource = mayOpen(sessionOf(c), app, 'source')
  const revision = (id: string, href: string) =>
    readsSource ? html`<a href="${href}">${shortId(id)}</a>` : shortId(id)
  return card(
    'Details',
    html`<dl class="pairs">
      ${pair('Run', html`<a href="${runPath(alias, one.execution_id)}">${shortId(one.execution_id)}</a>`)}
      ${pair('Requested by', one.requested_by?.name ?? 'The schedule')}
      ${one.settings_changed_by.length > 0 && pair('Settings changed by', one.settings_changed_by.map(({ name }) => name).join(', '))}
      ${pair('Base', revision(one.base_revision_id, sourcePath(alias, { revision: one.base_revision_id })))}
      ${pair('Proposed', revision(one.new_revision_id, diffPath(alias, one.new_revision_id, one.base_revision_id)))}
      ${pair('SHA-256 of the diff', html`<code class="long">${one.diff_sha256}</code>`)}
      ${pair('ID', html`<code class="long">${one.id}</code>`)}
    </dl>`,
  )
}

async function downloadPatch(c: PageContext) {
  const { alias, proposal_id } = routeInput(c, showProposal)
  const { body } = await sessionOf(c).call(downloadProposalPatch, { alias, proposal_id })
  return c.body(new Uint8Array(body), 200, {
    'content-type': `${PATCH_TYPE}; charset=utf-8`,
    'content-disposition': `attachment; filename="${alias}-${proposal_id}.patch"`,
  })
}

/** Of what was looked at. */
const withNote = (sent: FormData) => ({ diff_sha256: text(sent, 'diff_sha256'), ...NOTE.read(sent) })

const approve = act(approveProposal, {
  input: withNote,
  back: pathOf,
  done: ({ pull_request }) =>
    pull_request === null
      ? 'Approved. It is deployed by the next runner.'
      : 'Approved. A pull request is being opened.',
})

/** Not what a runner has taken meanwhile: its command may be half done. */
const cancel = (c: PageContext) =>
  actAndReturn(c, pathOf(c), 'Canceled. The approval stands.', async () => {
    const { call } = sessionOf(c)
    const key = routeInput(c, showProposal)
    const { deployment_id } = await call(showProposal, key)
    if (deployment_id === null) throw notFound()
    return call(cancelDeployment, { alias: key.alias, deployment_id, only_queued: true })
  })

const deny = act(denyProposal, { input: withNote, back: pathOf, done: 'Denied.' })

const retry = act(retryProposal, {
  input: ['diff_sha256'],
  back: pathOf,
  done: ({ state }) => RETRIED[state] ?? 'Retried.',
})

const RETRIED: Partial<Record<ProposalDetails['state'], string>> = {
  ready: 'Applied to the new source: review it again.',
  approved: 'On its way again.',
  deploying: 'Waiting for its lines to be pushed and deployed.',
  stale: 'The source has changed since: retry once more to apply it to the new source.',
}
