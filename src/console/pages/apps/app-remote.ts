/** The git remote of an app: where approved proposals become pull requests, what its token needs, and its webhook. */
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  GIT_HOST_LABELS,
  GIT_HOSTS,
  NEEDED_RIGHTS,
  PULL_REQUEST_CODES,
  RIGHTS,
} from '../../../contracts/git-hosts.ts'
import {
  createRemoteSecret,
  removeAppRemote,
  setAppRemote,
  showAppRemote,
} from '../../../contracts/remotes.ts'
import { card, notice, type Content } from '../../../pages/parts.ts'
import { copyable, emptyState, exactTime, pair } from '../../components.ts'
import { createRoutes, hasRole, sessionOf, type PageContext } from '../../context.ts'
import { act, submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { redirectWithMessage } from '../../flash.ts'
import { attempt, confirmDialog, formCard, statusOf } from '../../forms.ts'
import { page } from '../../layout.ts'
import { appPath } from './app-labels.ts'
import { aliasOf, readApp, tabParents } from './app-tabs.ts'

export const appRemoteRoutes = () =>
  createRoutes()
    .get('/apps/:alias/remote', (c) => show(c))
    .post('/apps/:alias/remote', set)
    .post('/apps/:alias/remote/remove', remove)
    .post('/apps/:alias/remote/secret', makeSecret)

export const remotePath = (alias: string): string => `${appPath(alias)}/remote`

type Remote = NonNullable<z.output<typeof showAppRemote.output>['remote']>
type Secret = z.output<typeof createRemoteSecret.output>

const SET = formOf(setAppRemote, ['host', 'url', 'token'], {
  host: { options: GIT_HOSTS.map((value) => ({ value, label: GIT_HOST_LABELS[value] })) },
  token: { hint: 'Stored encrypted and never shown again. What it needs is listed below.' },
})

async function show(c: PageContext, refused?: Refused, made?: Secret) {
  const app = await readApp(c)
  const session = sessionOf(c)
  const { remote } = await session.call(showAppRemote, { alias: app.alias })
  const mayChange = hasRole(session, 'admin') && session.support === undefined
  return page(c, {
    title: 'Git remote',
    parents: tabParents(app, 'maintenance'),
    lead: 'Approved proposals become pull requests there, instead of being deployed. svc never merges them, and never pushes to the default branch.',
    status: statusOf(refused?.problem),
    actions:
      mayChange &&
      remote !== null &&
      confirmDialog(c, {
        label: 'Remove',
        title: 'Remove the git remote?',
        action: `${remotePath(app.alias)}/remove`,
        text: 'Pull requests stay where they are. Those that are not merged are not watched any more, and their proposals fail. What is approved from then on is deployed.',
        submit: 'Remove remote',
      }),
    body: html`${made && secretNotice(made)} ${remote ? remoteCard(remote) : !mayChange && noRemote}
      ${
        mayChange &&
        formCard(c, {
          title: remote ? 'Change it' : 'Set a remote',
          lead: 'The token is tried before it is saved.',
          action: remotePath(app.alias),
          of: SET.show({ ...(remote && { now: { host: remote.host, url: remote.url } }), refused }),
          submit: 'Save remote',
        })
      }
      ${mayChange && rightsCard()} ${remote && mayChange && webhookCard(c, app.alias, remote)}`,
  })
}

const noRemote = emptyState(
  'No git remote',
  'An owner or admin can set one. Until then, what is approved is deployed.',
)

const remoteCard = (remote: Remote) =>
  card(
    GIT_HOST_LABELS[remote.host],
    html`${remote.trouble !== null && notice('problem', html`<p>${PULL_REQUEST_CODES[remote.trouble]}. <code class="note">${remote.trouble}</code></p>`)}
      ${
        remote.excess.length > 0 &&
        notice(
          'problem',
          html`<p>The token may do more than is needed. Make another one without:</p>
            <ul class="lines">${remote.excess.map(({ text }) => html`<li>${text}</li>`)}</ul>`,
        )
      }
      ${remote.is_public && notice('problem', html`<p>Others than its members may read this repository. Pull requests there have only a link to the proposal, and no excerpts of logs or source.</p>`)}
      <dl class="pairs">
        ${pair('Repository', html`<a class="long" href="${remote.url}" rel="noreferrer">${remote.url}</a>`)}
        ${pair('Set by', html`${remote.set_by}, ${exactTime(remote.set_at)}`)}
      </dl>`,
  )

const rightsCard = () =>
  card(
    'What the token needs',
    html`<dl class="pairs">${GIT_HOSTS.map((host): Content =>
      pair(GIT_HOST_LABELS[host], NEEDED_RIGHTS[host].map((right) => RIGHTS[right]).join(', ')),
    )}</dl>`,
    'And no more: limit it to this one repository where the host can.',
  )

const webhookCard = (c: PageContext, alias: string, { webhook_url, webhook_secret }: Remote) =>
  card(
    'Webhook',
    html`<p>Optional. svc looks at its pull requests by itself, from every minute to every hour; a webhook for pull requests, as JSON, makes it look at once. ${webhook_secret ? 'There is a secret.' : 'It needs a secret.'}</p>
      ${copyable('webhook', webhook_url, 'URL of the webhook')}
      <div class="actions">${confirmDialog(c, {
        label: webhook_secret ? 'Make a new secret' : 'Make a secret',
        title: 'Make a secret for the webhook?',
        action: `${remotePath(alias)}/secret`,
        text: 'It is shown once. The one before, if there is one, ends at once.',
        submit: 'Make secret',
        kind: 'main',
      })}</div>`,
  )

const secretNotice = ({ secret }: Secret) =>
  notice(
    'done',
    html`<p><strong>Store the secret now: it is not shown again.</strong></p>
      ${copyable('secret', secret, 'Secret of the webhook')}`,
  )

const set = submit(SET, {
  again: (c, refused) => show(c, refused),
  done: (_, c) => [remotePath(aliasOf(c)), 'Remote saved.'],
})

const remove = act(removeAppRemote, { back: (c) => remotePath(aliasOf(c)), done: 'Remote removed.' })

async function makeSecret(c: PageContext) {
  const alias = aliasOf(c)
  const result = await attempt(() => sessionOf(c).call(createRemoteSecret, { alias }))
  if ('problem' in result) return redirectWithMessage(c, remotePath(alias), result.problem.message)
  return show(c, undefined, result.done)
}
