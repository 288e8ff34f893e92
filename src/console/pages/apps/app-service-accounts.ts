/** Service accounts of the cluster that report about an app, on its page People: who they are, and which pods came in. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import {
  bindServiceAccount,
  listServiceAccounts,
  unbindServiceAccount,
} from '../../../contracts/workloads.ts'
import { linkButton } from '../../../pages/parts.ts'
import { copyable, emptyState, listCard, time } from '../../components.ts'
import { act, submit } from '../../act.ts'
import { createRoutes, hasRole, sessionOf, type PageContext } from '../../context.ts'
import { formOf, type Refused } from '../../fields.ts'
import { confirmDialog, formCard, statusOf } from '../../forms.ts'
import { page } from '../../layout.ts'
import { appPath } from './app-labels.ts'
import { aliasOf, readApp, tabParents, tabPath, type App } from './app-tabs.ts'

type Listed = z.output<typeof listServiceAccounts.output>
type Binding = Listed['service_accounts'][number]

export const appServiceAccountRoutes = () =>
  createRoutes()
    .get('/apps/:alias/service-accounts/new', (c) => showNew(c))
    .post('/apps/:alias/service-accounts/new', bind)
    .post('/apps/:alias/service-accounts/:binding_id/remove', unbind)

/** Nothing where workload identity is off, and nothing was ever bound. */
export async function serviceAccountsCard(c: PageContext, { alias }: App) {
  const session = sessionOf(c)
  if (session.support !== undefined) return null
  const { audience, service_accounts } = await session.call(listServiceAccounts, { alias, limit: PAGE_MAX })
  if (audience === null && service_accounts.length === 0) return null
  const mayBind = hasRole(session, 'admin')
  return listCard(c, {
    title: 'Service accounts',
    caption: 'Service accounts whose pods report about the app',
    columns: ['Service account', 'Bound by', 'Last used', 'Pods', '(Actions)'],
    rows: service_accounts.map((one) => bindingRow(c, alias, one, mayBind)),
    empty: emptyState(
      'No service accounts',
      'Pods of a service account that is bound to the app send logs and run pipelines without a stored token.',
    ),
    after:
      mayBind &&
      audience !== null &&
      html`<div class="actions">
        ${linkButton(`${appPath(alias)}/service-accounts/new`, 'Bind a service account', 'quiet')}
      </div>`,
  })
}

const bindingRow = (c: PageContext, alias: string, binding: Binding, mayRemove: boolean) => {
  const name = `${binding.namespace}/${binding.service_account}`
  return [
    html`<div class="two-lines"><strong>${name}</strong><code class="note">${binding.uid}</code></div>`,
    html`${binding.created_by}`,
    binding.last_used_at === null ? html`<span class="note">Never</span>` : time(binding.last_used_at),
    podList(binding),
    mayRemove &&
      html`<div class="row-actions">${confirmDialog(c, {
        label: 'Remove',
        name: `Remove ${name}`,
        title: `Remove ${name}?`,
        action: `${appPath(alias)}/service-accounts/${binding.id}/remove`,
        text: 'Its pods cannot send logs or run pipelines of this app any more. You can bind it again.',
        submit: 'Remove service account',
      })}</div>`,
  ]
}

const podList = ({ pods }: Binding) =>
  pods.length === 0
    ? html`<span class="note">None yet</span>`
    : html`<ul class="lines">
        ${pods.map(({ name, last_seen_at }) => html`<li><code>${name}</code> ${time(last_seen_at)}</li>`)}
      </ul>`

const BIND = formOf(bindServiceAccount, ['namespace', 'service_account'])

async function showNew(c: PageContext, refused?: Refused) {
  const app = await readApp(c)
  const { audience } = await sessionOf(c).call(listServiceAccounts, { alias: app.alias, limit: 1 })
  return page(c, {
    title: 'Bind a service account',
    parents: tabParents(app, 'people'),
    lead: 'Its pods can then send logs and run pipelines of this app, without a stored token.',
    status: statusOf(refused?.problem),
    body: html`${formCard(c, {
      action: `${appPath(app.alias)}/service-accounts/new`,
      of: BIND.show({ refused }),
      submit: 'Bind service account',
      cancel: tabPath(app.alias, 'people'),
    })}
    ${
      audience !== null &&
      html`<div class="card">
        <h2>In the pod</h2>
        <p>Mount a token for svc. The worker SDK finds it there.</p>
        ${copyable('volume', projectedVolume(audience), 'Volume of the pod')}
      </div>`
    }`,
  })
}

/** Where the worker SDK looks for it. */
const projectedVolume = (audience: string): string =>
  [
    'volumes:',
    '  - name: svc-token',
    '    projected:',
    '      sources:',
    `        - serviceAccountToken: { path: token, audience: ${JSON.stringify(audience)}, expirationSeconds: 3600 }`,
    '# in the container',
    'volumeMounts:',
    '  - { name: svc-token, mountPath: /var/run/secrets/svc, readOnly: true }',
  ].join('\n')

const backToPeople = (c: PageContext): string => tabPath(aliasOf(c), 'people')

const bind = submit(BIND, {
  again: showNew,
  done: (_, c) => [backToPeople(c), 'Service account bound.'],
})

const unbind = act(unbindServiceAccount, { back: backToPeople, done: 'Service account removed.' })
