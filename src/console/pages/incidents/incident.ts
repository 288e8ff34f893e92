/** One thing that is wrong with an app, told on one page: the error, what was found, the fix, and what to do next. */
import { html } from 'hono/html'
import { rollBackDeployment } from '../../../contracts/deployments.ts'
import { showIncident } from '../../../contracts/incidents.ts'
import { startMaintenanceRun } from '../../../contracts/maintenance.ts'
import { approveProposal } from '../../../contracts/proposals.ts'
import { card, linkButton, type Content } from '../../../pages/parts.ts'
import { copyable, exactTime, pair, time } from '../../components.ts'
import { act, routeInput } from '../../act.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { plural } from '../../format.ts'
import { confirmDialog, form } from '../../forms.ts'
import { page } from '../../layout.ts'
import { appPath } from '../apps/app-labels.ts'
import { aliasOf, readApp, type App } from '../apps/app-tabs.ts'
import { newCheckPath } from '../apps/check-editor.ts'
import { checkPath } from '../apps/check-labels.ts'
import { checkBadge, checkStrip } from '../apps/check-strip.ts'
import { deploymentBadge, deploymentPath, shortId, type Deployment } from '../apps/deployment-labels.ts'
import { diffFiles } from '../apps/diff-files.ts'
import { visibleText, visibleWords } from '../apps/source-text.ts'
import {
  effectBadge,
  findingBadge,
  findingPath,
  HIDDEN_TEXT,
  proposalBadge,
  proposalPath,
  runPath,
} from '../maintenance/maintenance-labels.ts'
import { incidentBadge, incidentPath, pageOf, type Incident } from './incident-labels.ts'
import { incidentLog } from './incident-log.ts'

export const incidentRoutes = () =>
  createRoutes()
    .get('/apps/:alias/incidents/:incident_id', showOne)
    .post('/apps/:alias/incidents/:incident_id/approve', approve)
    .post('/apps/:alias/incidents/:incident_id/look', look)
    .post('/apps/:alias/incidents/:incident_id/roll-back', rollBack)

const pathOf = (c: PageContext): string => incidentPath(aliasOf(c), routeInput(c, showIncident).incident_id)

async function showOne(c: PageContext) {
  const key = routeInput(c, showIncident)
  const [app, one] = await Promise.all([readApp(c), sessionOf(c).call(showIncident, key)])
  // One address for one trouble, whichever of its parts somebody came from.
  if (one.id !== key.incident_id) return c.redirect(incidentPath(app.alias, one.id), 302)
  return page(c, {
    title: visibleWords(one.title),
    parents: [{ label: app.name, href: appPath(app.alias) }],
    lead: html`${incidentBadge(one.state)} ${lead(one)}`,
    body: html`${nextSteps(c, app, one)}
      <div class="review">
        <div class="review-main">
          ${one.log !== null && incidentLog(app, one.log, c.var.deps.clock())}
          ${one.log_timed_out && html`<p class="note">The log has too many lines to count them here now. Try again later.</p>`}
          ${findingCard(one)} ${proposalPart(app, one)}
        </div>
        <div class="review-side">${storyCard(one)} ${checksCard(one)} ${deploymentsCard(one)}</div>
      </div>`,
  })
}

function lead({ log, finding }: Incident): Content {
  if (log !== null) return html`${plural(log.count, 'line')} in seven days, the last ${time(log.last_at)}.`
  if (finding !== null)
    return html`Found ${finding.times_found === 1 ? 'once' : `${finding.times_found} times`}, the last time ${time(finding.last_found_at)}.`
  return null
}

/** What the reader may do is the gateway's word. The first is what brings the end nearest. */
function nextSteps(c: PageContext, app: App, one: Incident) {
  const steps = [
    one.proposal?.decision.can.approve === true && approveDialog(c, app, one.proposal),
    one.proposal !== null &&
      one.proposal.state === 'ready' &&
      linkButton(proposalPath(app.alias, one.proposal.id), 'Review the fix', 'quiet'),
    one.can.start_run &&
      one.proposal === null &&
      form(
        c,
        `${pathOf(c)}/look`,
        html`<button type="submit" class="button">Ask the agent to look</button>`,
        '',
      ),
    one.can.create_check &&
      one.suggested_check !== null &&
      linkButton(
        newCheckPath(app.alias, 'logs', one.suggested_check),
        'Make a check of this',
        one.can.start_run && one.proposal === null ? 'quiet' : 'main',
      ),
    one.can.roll_back && rollBackDialog(c, app, one),
  ].filter((step) => step !== false)
  if (steps.length === 0 && one.run === null && one.run_from === null) return null
  return card(
    'Next',
    html`${steps.length > 0 && html`<div class="actions">${steps}</div>`} ${runNote(app, one)}`,
  )
}

function runNote({ alias }: App, { run, run_from }: Incident): Content {
  if (run === null)
    return run_from === null
      ? null
      : html`<p class="note">The agent can be asked again ${time(run_from)}.</p>`
  const link = html`<a href="${runPath(alias, run.execution_id)}">run of the maintenance agent</a>`
  return run.status === 'ended'
    ? html`<p class="note">The latest ${link}, ${time(run.created_at)}: ${run.chip ?? 'Unrecognised result'}.</p>`
    : html`<p role="status">A ${link} looks at the app now.</p>`
}

type Proposal = NonNullable<Incident['proposal']>

/** It says what will be deployed, and where. */
const approveDialog = (c: PageContext, app: App, proposal: Proposal) =>
  confirmDialog(c, {
    label: 'Approve',
    title: `Approve and deploy to ${app.name}?`,
    action: `${pathOf(c)}/approve`,
    text: html`${shortId(proposal.new_revision_id)} becomes the head of <strong>${app.alias}</strong> and is deployed:
      ${changeText(proposal)}. Where the app has a git remote, it opens a pull request there instead.`,
    fields: html`<input type="hidden" name="proposal_id" value="${proposal.id}" /><input type="hidden" name="diff_sha256" value="${proposal.diff_sha256}" />`,
    submit: 'Approve and deploy',
    kind: 'main',
    isMain: true,
  })

const changeText = ({ files_changed, added_lines, removed_lines }: Proposal): string =>
  `${plural(files_changed, 'file')}, ${plural(added_lines, 'line')} added, ${removed_lines} removed`

const rollBackDialog = (c: PageContext, app: App, { deployments: { roll_back_to } }: Incident) =>
  confirmDialog(c, {
    label: 'Roll back',
    title: `Roll back ${app.name}?`,
    action: `${pathOf(c)}/roll-back`,
    text: html`This deploys ${shortId(roll_back_to ?? '')} to <strong>${app.alias}</strong>: the revision that succeeded before the last deployment.`,
  })

const findingCard = ({ app, finding }: Incident) =>
  finding &&
  card(
    'What the agent found',
    html`${finding.summary === null ? html`<p class="note">${HIDDEN_TEXT}</p>` : html`<p class="written">${visibleText(finding.summary)}</p>`}
      <dl class="pairs">
        ${finding.location !== null && pair('Where', html`<code class="long">${visibleText(finding.location)}</code>`)}
        ${pair('State', findingBadge(finding.state))}
        ${pair('Found', finding.times_found === 1 ? 'Once' : `${finding.times_found} times`)}
      </dl>
      <p><a href="${findingPath(app, finding.id)}">The finding and its evidence</a></p>`,
  )

function proposalPart({ alias }: App, { proposal }: Incident) {
  if (proposal === null) return null
  const { id, diff, files, title, new_revision_id: revision, effect } = proposal
  const href = proposalPath(alias, id)
  return html`${card(
    'The fix',
    html`<p>${proposalBadge(proposal.state)}${effectBadge(proposal)} <a href="${href}">${title === null ? `Proposal ${id.slice(-6)}` : visibleWords(title)}</a></p>
      <p>${changeText(proposal)}.${effect && ` ${effect.text}.`}</p>
      ${diff === null && html`<p class="note">${HIDDEN_TEXT}</p>`}`,
  )}
  ${
    diff !== null &&
    files !== null &&
    diffFiles({
      alias,
      revision,
      diff,
      files,
      rest: copyable('command', `svc apps proposals show ${alias} ${id} --diff`, 'Command'),
    })
  }`
}

const storyCard = ({ app, timeline }: Incident) =>
  card(
    'Who did what when',
    timeline.length === 0
      ? html`<p class="note">Nothing yet.</p>`
      : html`<ol class="story" aria-label="Who did what when, oldest first">${timeline.map(
          ({ at, text: what, by, id }) => {
            const href = pageOf(app, id)
            return html`<li>
            <span class="note">${exactTime(at)}</span>
            <span>${href === undefined ? what : html`<a href="${href}">${what}</a>`}${by !== null && html`<span class="note">: ${visibleWords(by)}</span>`}</span>
          </li>`
          },
        )}</ol>`,
  )

function checksCard({ app, checks, can, suggested_check }: Incident) {
  if (checks.length === 0)
    return can.create_check && suggested_check !== null
      ? card(
          'Check',
          html`<p>No check looks for it: nobody is told when it comes back.</p>
            <p><a href="${newCheckPath(app, 'logs', suggested_check)}">More than 0 × <code>${visibleText(suggested_check.pattern)}</code> in ${suggested_check.window_minutes} minutes</a></p>`,
        )
      : null
  return card(
    checks.length === 1 ? 'Check' : 'Checks',
    html`<ul class="plain">${checks.map(({ id, name, state, paused, recent }) => html`<li>${checkBadge({ state, paused })} <a href="${checkPath(app, id)}">${name}</a> ${recent.length > 0 && html`<br />${checkStrip(recent)}`}</li>`)}</ul>`,
  )
}

function deploymentsCard({ app, deployments: { before, fix } }: Incident) {
  if (before === null && fix === null) return null
  return card(
    'Deployments',
    html`<dl class="pairs">
      ${before && pair('Before it began', deploymentText(app, before))}
      ${fix && pair('Of the fix', deploymentText(app, fix))}
    </dl>`,
  )
}

const deploymentText = (alias: string, one: Deployment) =>
  html`<a href="${deploymentPath(alias, one.id)}">${shortId(one.revision_id)}</a> ${deploymentBadge(one.state, one.cancel_requested)}<br /><span class="note">${one.requested_by}, ${time(one.ended_at ?? one.requested_at)}</span>`

/** What is approved is what was on the page: another diff is refused. */
const approve = act(approveProposal, {
  input: ['proposal_id', 'diff_sha256'],
  back: pathOf,
  done: 'Approved. The deployment is below.',
})

const look = act(startMaintenanceRun, { back: pathOf, done: 'The maintenance agent was asked to look.' })

const rollBack = act(rollBackDeployment, {
  back: pathOf,
  done: ({ id }) => `Deployment ${id.slice(-6)} is queued for a runner.`,
})
