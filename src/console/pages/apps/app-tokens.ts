/** Tokens of an app, among its settings: one for its logs and workers, one for its runner. */
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  createAppToken,
  listAppTokens,
  revokeAppToken,
  rotateAppToken,
} from '../../../contracts/app-tokens.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { APP_SCOPES, type AppScope } from '../../../contracts/scopes.ts'
import { linkButton, notice } from '../../../pages/parts.ts'
import { copyable, emptyState, listCard } from '../../components.ts'
import { act, routeInput } from '../../act.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { formOf, refuse, type Refused } from '../../fields.ts'
import { attempt, confirmDialog, formCard, statusOf, text } from '../../forms.ts'
import { page } from '../../layout.ts'
import { lastUsed, rotate, rotateDialog, tokenRotated } from '../../rotation.ts'
import { appPath } from './app-labels.ts'
import { aliasOf, mayWork, readApp, tabPath, type App } from './app-tabs.ts'

const NEW_TOKEN = formOf(createAppToken, ['name'])

type Token = z.output<typeof listAppTokens.output>['tokens'][number]

export const appTokenRoutes = () =>
  createRoutes()
    .get('/apps/:alias/tokens/new', (c) => showNew(c, scopeOf(c.req.query('scope'))))
    .post('/apps/:alias/tokens/new', create)
    .post('/apps/:alias/tokens/:token_id/rotate', rotateToken)
    .post('/apps/:alias/tokens/:token_id/revoke', revoke)

const KINDS: Record<AppScope, { noun: string; about: string; example: string }> = {
  'apps:report': {
    noun: 'reporting token',
    about: 'For the app itself: it sends logs and runs pipelines, and can read nothing.',
    example: 'Such as “Production”.',
  },
  'apps:run': {
    noun: 'runner token',
    about: 'For a runner: it claims deployments of this app and downloads what it deploys.',
    example: 'Such as “Runner on web-1”.',
  },
}

const scopeOf = (value: string | undefined): AppScope =>
  APP_SCOPES.find((scope) => scope === value) ?? 'apps:report'
const newPath = (alias: string, scope: AppScope): string =>
  `${appPath(alias)}/tokens/new?${new URLSearchParams({ scope })}`

export async function appTokensCard(c: PageContext, app: App) {
  const session = sessionOf(c)
  if (!mayWork(session, app)) return null
  const { alias } = app
  const { tokens } = await session.call(listAppTokens, { alias, limit: PAGE_MAX })
  return listCard(c, {
    title: 'Tokens',
    caption: 'Tokens of the app',
    columns: ['Token', 'For', 'Created by', 'Last used', '(Actions)'],
    rows: tokens.map((token) => tokenRow(c, alias, token)),
    empty: emptyState(
      'No tokens yet',
      'A token belongs to the app: it keeps working when whoever created it leaves.',
    ),
    after: html`<div class="actions">
      ${APP_SCOPES.map((scope) => linkButton(newPath(alias, scope), `Create a ${KINDS[scope].noun}`, 'quiet'))}
    </div>`,
  })
}

const tokenRow = (c: PageContext, alias: string, token: Token) => [
  html`<div class="two-lines"><strong>${token.name}</strong><code class="note">${token.starts_with}…</code></div>`,
  token.scope === 'apps:report' ? 'Logs and pipelines' : 'Runner',
  html`${token.created_by}`,
  lastUsed(token.last_used_at, token.previous),
  html`<div class="row-actions">${rotateDialog(c, {
    id: token.id,
    name: token.name,
    action: `${appPath(alias)}/tokens/${token.id}/rotate`,
  })} ${confirmDialog(c, {
    label: 'Revoke',
    name: `Revoke ${token.name}`,
    title: `Revoke ${token.name}?`,
    action: `${appPath(alias)}/tokens/${token.id}/revoke`,
    text: 'Whatever uses this token stops working immediately. This cannot be undone.',
    submit: 'Revoke token',
  })}</div>`,
]

async function showNew(c: PageContext, scope: AppScope, refused?: Refused) {
  const app = await readApp(c)
  if (!mayWork(sessionOf(c), app))
    throw new ServiceError(
      'FORBIDDEN',
      'Only people who work on the app, owners and admins can create its tokens',
    )
  const { noun, about, example } = KINDS[scope]
  const form = NEW_TOKEN.show({ refused })
  return page(c, {
    title: `New ${noun}`,
    parents: [{ label: app.name, href: appPath(app.alias) }],
    lead: about,
    status: statusOf(refused?.problem),
    body: formCard(c, {
      action: `${appPath(app.alias)}/tokens/new`,
      of: form,
      fields: html`<input type="hidden" name="scope" value="${scope}" /> ${form.field('name', { hint: example })}`,
      submit: 'Create token',
      cancel: tabPath(app.alias, 'settings'),
    }),
  })
}

async function create(c: PageContext) {
  const [alias, scope] = [aliasOf(c), scopeOf(text(c.get('form'), 'scope'))]
  const input = { alias, scope, ...NEW_TOKEN.read(c.get('form')) }
  const result = await attempt(() => sessionOf(c).call(createAppToken, input))
  if ('problem' in result) return showNew(c, scope, refuse(c, result.problem))
  const { token } = result.done
  const app = await readApp(c)
  // Shown in this response and nowhere else: not in a cookie, not in an address.
  return page(c, {
    title: 'Token created',
    parents: [{ label: app.name, href: appPath(alias) }],
    status: 201,
    body: html`<div class="card">
      ${notice('info', html`<p><strong>Copy it now.</strong> It is not stored and cannot be shown again.</p>`)}
      ${copyable('token', token, `Value of ${result.done.name}`)}
      <p>${scope === 'apps:run' ? 'Start a runner where the app is deployed:' : 'Send what your program writes:'}</p>
      ${copyable('use', commandsFor(c, scope, alias, token), 'Commands that use the token')}
      ${scope === 'apps:report' && exporterSettings(c, token)}
      <div class="actions">${linkButton(tabPath(alias, 'settings'), 'Done')}</div>
    </div>`,
  })
}

const commandsFor = (c: PageContext, scope: AppScope, alias: string, token: string): string =>
  [
    `export SVC_API_URL=${apiUrl(c, '/').origin} SVC_API_KEY=${token}`,
    scope === 'apps:run'
      ? `svc apps runner ${alias} --exec ./deploy.sh`
      : `your-program 2>&1 | svc apps logs push ${alias}`,
  ].join('\n')

const apiUrl = (c: PageContext, path: string): URL => new URL(path, c.var.deps.apiUrl ?? c.var.deps.appUrl)

/** What every OpenTelemetry exporter reads from its environment. */
const exporterSettings = (c: PageContext, token: string) =>
  html`<p>Or let an OpenTelemetry exporter send it:</p>
    ${copyable(
      'exporter',
      [
        `OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=${apiUrl(c, '/v1/logs').href}`,
        `OTEL_EXPORTER_OTLP_LOGS_HEADERS="Authorization=Bearer%20${token}"`,
      ].join('\n'),
      'Settings of an exporter',
    )}`

const rotateToken = (c: PageContext) =>
  rotate(
    c,
    tabPath(aliasOf(c), 'settings'),
    (chosen) => sessionOf(c).call(rotateAppToken, { ...routeInput(c, rotateAppToken), ...chosen }),
    (done) => tokenRotated(c, done, tabPath(aliasOf(c), 'settings')),
  )

const revoke = act(revokeAppToken, { back: (c) => tabPath(aliasOf(c), 'settings'), done: 'Token revoked.' })
