/** The tab Deployments of an app. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { DEPLOYMENT_CODES } from '../../../contracts/deployment-states.ts'
import { createDeployment, listDeployments, rollBackDeployment } from '../../../contracts/deployments.ts'
import { listRevisions } from '../../../contracts/revisions.ts'
import { listCard, time } from '../../components.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { formOf } from '../../fields.ts'
import { listOf } from '../../list-of.ts'
import { redirectWithMessage, setFlash } from '../../flash.ts'
import { attempt, confirmDialog, formCard } from '../../forms.ts'
import { aliasOf, appPage, emptyTab, readApp, type App } from './app-tabs.ts'
import {
  DEPLOYMENT_LABELS,
  deploymentBadge,
  deploymentPath,
  deploymentsPath,
  shortId,
  type Deployment,
} from './deployment-labels.ts'
import { lostNotice, mayDeploy } from './deployment.ts'

const DEPLOYMENTS = listOf(listDeployments, {
  state: { label: 'State', all: 'All states', labels: DEPLOYMENT_LABELS },
})

const DEPLOY = formOf(createDeployment, ['revision_id'], { revision_id: { name: 'revision' } })

type Listed = z.output<typeof listDeployments.output>

export const appDeploymentsRoutes = () =>
  createRoutes()
    .get('/apps/:alias/deployments', showDeployments)
    .post('/apps/:alias/deployments', deploy)
    .post('/apps/:alias/deployments/roll-back', rollBack)

async function showDeployments(c: PageContext) {
  const [app, listed] = await Promise.all([readApp(c), DEPLOYMENTS.call(c, { alias: aliasOf(c) })])
  const lost = listed.deployments.find(({ blocks_next }) => blocks_next)
  return appPage(c, app, 'deployments', {
    actions: mayDeploy(c, app) && listed.deployments.length > 0 && rollBackDialog(c, app),
    body: html`${lost && lostNotice(c, app, lost)} ${await deployCard(c, app)} ${deploymentList(c, app, listed)}`,
  })
}

function deploymentList(c: PageContext, app: App, listed: Listed) {
  if (listed.deployments.length === 0 && !DEPLOYMENTS.isFiltered(c)) {
    return emptyTab(
      'No deployments yet',
      'Push a folder and deploy it. A runner of yours does the work.',
      mayDeploy(c, app) && `svc apps push ${app.alias} --deploy`,
    )
  }
  return listCard(c, {
    changes: 'deployments',
    title: 'Deployments',
    noun: 'deployments',
    ...DEPLOYMENTS.parts(c, listed),
    caption: 'Deployments, newest first',
    columns: ['Deployment', 'State', 'Revision', 'Requested by', 'Requested'],
    rows: listed.deployments.map((one) => [
      html`<a href="${deploymentPath(app.alias, one.id)}">${shortId(one.id)}</a>`,
      stateCell(one),
      shortId(one.revision_id),
      html`${one.requested_by}`,
      time(one.requested_at),
    ]),
  })
}

const stateCell = (one: Deployment) =>
  html`${deploymentBadge(one.state, one.cancel_requested)} ${one.code !== null && html`<span class="note" title="${DEPLOYMENT_CODES[one.code]}">${one.code}</span>`}`

/** The head and the newest revisions. Older ones are deployed again from their own deployment, or with the client. */
async function deployCard(c: PageContext, app: App) {
  if (!mayDeploy(c, app)) return null
  const { revisions, head_id } = await sessionOf(c).call(listRevisions, { alias: app.alias, limit: 20 })
  if (revisions.length === 0) return null
  const newest = revisions.map(({ id, pushed_by, pushed_at, is_head }) => ({
    value: id,
    label: `${id.slice(-6)}${is_head ? ' (head)' : ''}, ${pushed_at.slice(0, 10)} by ${pushed_by}`,
  }))
  const isOlder = head_id !== null && !revisions.some(({ is_head }) => is_head)
  return formCard(c, {
    title: 'Deploy',
    action: deploymentsPath(app.alias),
    className: 'inline',
    of: DEPLOY.show({
      now: { revision_id: head_id },
      with: {
        revision_id: {
          options: isOlder ? [{ value: head_id, label: `${head_id.slice(-6)} (head)` }, ...newest] : newest,
        },
      },
    }),
    submit: 'Deploy',
  })
}

const rollBackDialog = (c: PageContext, app: App) =>
  confirmDialog(c, {
    label: 'Roll back',
    title: `Roll back ${app.name}?`,
    action: `${deploymentsPath(app.alias)}/roll-back`,
    text: 'This deploys the revision that succeeded before the last deployment.',
    kind: 'main',
  })

const deploy = (c: PageContext) =>
  queue(c, () =>
    sessionOf(c).call(createDeployment, {
      ...DEPLOY.read(c.get('form')),
      alias: aliasOf(c),
    }),
  )

const rollBack = (c: PageContext) =>
  queue(c, () => sessionOf(c).call(rollBackDeployment, { alias: aliasOf(c) }))

/** To the new deployment, or back with the reason. */
async function queue(c: PageContext, act: () => Promise<Deployment>): Promise<Response> {
  const result = await attempt(act)
  if ('done' in result) {
    return redirectWithMessage(c, deploymentPath(aliasOf(c), result.done.id), 'Queued for a runner.')
  }
  setFlash(c, 'problem', [result.problem.message, result.problem.hint].filter(Boolean).join('. '))
  return c.redirect(deploymentsPath(aliasOf(c)), 303)
}
