/** One deployment: what it deploys, how it goes, what its command writes. */
import { html } from 'hono/html'
import { DEPLOYMENT_CODES } from '../../../contracts/deployment-states.ts'
import {
  cancelDeployment,
  confirmDeploymentEnded,
  readDeploymentOutput,
  reportBrokenRollout,
  showDeployment,
} from '../../../contracts/deployments.ts'
import { ROLLOUT_REPORT_SECONDS } from '../../../contracts/limits.ts'
import { button, card, notice } from '../../../pages/parts.ts'
import { pair, time } from '../../components.ts'
import { act, routeInput } from '../../act.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { confirmDialog, form } from '../../forms.ts'
import { page } from '../../layout.ts'
import { aliasOf, mayOpen, mayWork, readApp, tabParents, type App } from './app-tabs.ts'
import { sourcePath } from './source-paths.ts'
import { deploymentBadge, deploymentPath, deploymentsPath, type Deployment } from './deployment-labels.ts'

export const deploymentRoutes = () =>
  createRoutes()
    .get('/apps/:alias/deployments/:deployment_id', showOne)
    .get('/apps/:alias/deployments/:deployment_id/output', readMore)
    .post('/apps/:alias/deployments/:deployment_id/cancel', cancel)
    .post('/apps/:alias/deployments/:deployment_id/confirm-ended', confirmEnded)
    .post('/apps/:alias/deployments/:deployment_id/broken', reportBroken)

const pathOf = (c: PageContext): string =>
  deploymentPath(aliasOf(c), routeInput(c, showDeployment).deployment_id)

async function showOne(c: PageContext) {
  const [app, one] = await Promise.all([
    readApp(c),
    sessionOf(c).call(showDeployment, routeInput(c, showDeployment)),
  ])
  return page(c, {
    title: `Deployment ${one.id.slice(-6)}`,
    parents: tabParents(app, 'deployments'),
    lead: deploymentBadge(one.state, one.cancel_requested),
    actions: mayDeploy(c, app) && actionsFor(c, app, one),
    body: html`
      ${one.blocks_next && lostNotice(c, app, one)} ${aboutCard(c, app, one)}
      ${mayOpen(sessionOf(c), app, 'logs') && (await outputCard(c, one))}
    `,
  })
}

export const mayDeploy = (c: PageContext, app: App): boolean => mayWork(sessionOf(c), app)

const isOpen = ({ state }: Deployment): boolean => state === 'queued' || state === 'running'

function actionsFor(c: PageContext, app: App, one: Deployment) {
  const path = deploymentPath(app.alias, one.id)
  if (isOpen(one))
    return !one.cancel_requested && form(c, `${path}/cancel`, button('Cancel deployment', 'danger'), '')
  const again = form(
    c,
    deploymentsPath(app.alias),
    html`<input type="hidden" name="revision" value="${one.revision_id}" />${button('Deploy again')}`,
    '',
  )
  return html`${isRecentSuccess(c, one) && brokenDialog(c, path)} ${again}`
}

const isRecentSuccess = (c: PageContext, { state, ended_at }: Deployment): boolean =>
  state === 'succeeded' &&
  ended_at !== null &&
  c.var.deps.clock().getTime() - Date.parse(ended_at) < ROLLOUT_REPORT_SECONDS * 1000

const brokenDialog = (c: PageContext, path: string) =>
  confirmDialog(c, {
    label: 'Report as broken',
    title: 'Is this deployment broken?',
    action: `${path}/broken`,
    text: 'It becomes failed, and everybody who follows failed deploys of the app is notified.',
  })

/** On the tab, too: what is queued waits for this. */
export const lostNotice = (c: PageContext, app: App, { id }: Deployment) =>
  notice(
    'problem',
    html`<p><strong>The runner of <a href="${deploymentPath(app.alias, id)}">deployment ${id.slice(-6)}</a> was lost.</strong> Its command may still be running, so the next deployment waits until the runner reports, or until somebody confirms that the command has ended.</p>
      ${
        mayDeploy(c, app) &&
        html`<div class="actions">${confirmDialog(c, {
          label: 'Confirm that it has ended',
          title: 'Has its command ended?',
          action: `${deploymentPath(app.alias, id)}/confirm-ended`,
          text: 'Check on the machine of the runner. The next deployment begins, even if the command should still be running.',
          submit: 'It has ended',
        })}</div>`
      }`,
  )

const revisionLink = (c: PageContext, app: App, { revision_id }: Deployment) => {
  const name = html`<code class="long">${revision_id}</code>`
  if (!mayOpen(sessionOf(c), app, 'source')) return name
  return html`<a href="${sourcePath(app.alias, { revision: revision_id })}">${name}</a>`
}

const aboutCard = (c: PageContext, app: App, one: Deployment) =>
  card(
    'Details',
    html`<dl class="pairs">
      ${one.code !== null && pair('Reason', html`<code>${one.code}</code> ${DEPLOYMENT_CODES[one.code]}`)}
      ${pair('Revision', revisionLink(c, app, one))}
      ${pair('Requested', html`${time(one.requested_at)} by ${one.requested_by}`)}
      ${one.started_at !== null && pair('Started', time(one.started_at))}
      ${one.ended_at !== null && pair('Ended', time(one.ended_at))}
      ${one.runner !== null && pair('Runner', one.runner)}
      ${one.exit_code !== null && pair('Exit code', one.exit_code)}
      ${pair('ID', html`<code class="long">${one.id}</code>`)}
    </dl>
    ${one.state === 'queued' && html`<p class="note">It waits for a runner, and for deployments before it: <code>svc apps runner ${app.alias} --exec ./deploy.sh</code></p>`}`,
  )

async function outputCard(c: PageContext, one: Deployment) {
  if (one.started_at === null) return null
  const output = await readOutput(c, 0)
  // The script reads on from where the page ends, and loads the page again at the end.
  const more = output.ended ? null : html`data-live="${pathOf(c)}/output?after=${output.next}"`
  return card(
    'Output',
    html`${output.dropped_bytes > 0 && html`<p class="note">${output.dropped_bytes} bytes in the middle were not kept.</p>`}
      <pre class="output" tabindex="0" role="log" aria-label="Output of the command" ${more}>${output.text}</pre>
      ${output.text === '' && html`<p class="note">${output.ended ? 'Nothing was written, or it was too long ago.' : 'Nothing yet.'}</p>`}
      ${!output.ended && html`<noscript><p><a href="${pathOf(c)}">Refresh</a></p></noscript>`}`,
  )
}

/** All of it: what is kept is about a megabyte. */
async function readOutput(c: PageContext, from: number) {
  let text = ''
  for (let after = from; ;) {
    const output = await sessionOf(c).call(readDeploymentOutput, { ...routeInput(c, showDeployment), after })
    text += output.text
    if (output.ended || output.next <= after) return { ...output, text }
    after = output.next
  }
}

async function readMore(c: PageContext) {
  const after = c.req.query('after') ?? '0'
  const { text, next, ended } = await readOutput(c, /^\d{1,15}$/.test(after) ? Number(after) : 0)
  return c.json({ text, more: `${pathOf(c)}/output?after=${next}`, ended })
}

const cancel = act(cancelDeployment, {
  back: pathOf,
  done: 'Canceled. A command that runs is stopped by its runner.',
})

const confirmEnded = act(confirmDeploymentEnded, { back: pathOf, done: 'The next deployment may begin.' })

const reportBroken = act(reportBrokenRollout, { back: pathOf, done: 'Reported as broken.' })
