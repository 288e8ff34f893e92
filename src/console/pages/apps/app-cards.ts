/** Apps at a glance: a card for each, with what runs, how its checks are, and what waits for somebody. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { summarizeApps } from '../../../contracts/app-summaries.ts'
import type { Content } from '../../../pages/parts.ts'
import { badge, time } from '../../components.ts'
import { plural } from '../../format.ts'
import { incidentPath } from '../incidents/incident-labels.ts'
import { appPath, partLabel } from './app-labels.ts'
import { tabPath } from './app-tabs.ts'
import { checkPath } from './check-labels.ts'
import { checkStrip, RESULT_LABELS } from './check-strip.ts'
import { deploymentBadge, deploymentPath, shortId } from './deployment-labels.ts'

type App = z.output<typeof summarizeApps.output>['apps'][number]

export const appCards = (apps: readonly App[]) =>
  html`<ul class="apps" aria-label="Apps, by alias">${apps.map(appCard)}</ul>`

const appCard = (app: App) =>
  html`<li class="app-card">
    <div class="app-head">
      <h2><a href="${appPath(app.alias)}">${app.name}</a></h2>
      <code class="note">${app.alias}</code> ${app.my_role !== null && html`<span class="note">${partLabel(app.my_role)}</span>`}
    </div>
    <dl class="app-facts">
      ${fact('Running', runningText(app))} ${fact('Last deployment', deploymentText(app))}
      ${app.errors_of_a_day !== null && fact('Errors, 24 hours', errorsText(app, app.errors_of_a_day))}
      ${fact('Open', openText(app))}
    </dl>
    ${checksText(app)}
  </li>`

const fact = (term: string, value: Content) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`
const none = (text: string) => html`<span class="note">${text}</span>`

const runningText = ({ running }: App) =>
  running === null ? none('Nothing yet') : html`${shortId(running.revision_id)} ${time(running.at)}`

const deploymentText = ({ alias, last_deployment: last }: App) =>
  last === null
    ? none('None')
    : html`<a href="${deploymentPath(alias, last.id)}">${last.requested_by}</a> ${last.state !== 'succeeded' && deploymentBadge(last.state)} <span class="note">${time(last.at)}</span>`

const errorsText = ({ alias }: App, errors: number) =>
  errors === 0
    ? none('None')
    : html`<a href="${tabPath(alias, 'logs')}?view=groups&amp;level=error">${plural(errors, 'error')}</a>`

function openText({ alias, open_proposals, open_findings, finding_id, open_tickets }: App): Content {
  const trouble = (list: string): string =>
    finding_id === null ? `${tabPath(alias, 'maintenance')}/${list}` : incidentPath(alias, finding_id)
  const parts = [
    open_proposals > 0 && html`<a href="${trouble('proposals')}">${plural(open_proposals, 'proposal')}</a>`,
    open_findings > 0 && html`<a href="${trouble('findings')}">${plural(open_findings, 'finding')}</a>`,
    open_tickets > 0 && html`<a href="${tabPath(alias, 'tickets')}">${plural(open_tickets, 'ticket')}</a>`,
  ].filter((part) => part !== false)
  return parts.length === 0 ? none('Nothing') : parts.map((part, at) => html`${at > 0 && ', '}${part}`)
}

function checksText({ alias, checks, checks_total, checks_failing }: App) {
  if (checks_total === 0) return html`<p class="note">No checks.</p>`
  return html`<ul class="app-checks" aria-label="Checks of ${alias}">${checks.map(
    ({ id, name, enabled, state, recent }) => html`<li>
      <a href="${enabled && state === 'fail' ? incidentPath(alias, id) : checkPath(alias, id)}">${name}</a>
      ${!enabled ? badge('Off', 'off') : state !== null && state !== 'pass' && badge(RESULT_LABELS[state].label, RESULT_LABELS[state].badge)}
      ${recent.length > 0 && checkStrip(recent)}
    </li>`,
  )}</ul>
  ${checks_total > checks.length && html`<p class="note"><a href="${tabPath(alias, 'checks')}">${checks_total} checks<span class="unseen"> of ${alias}</span></a>${checks_failing > 0 && `, ${checks_failing} failing`}</p>`}`
}
