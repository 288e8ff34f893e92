/** The tab Checks of an app: the state of each, with its last results. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listChecks } from '../../../contracts/checks.ts'
import { linkButton } from '../../../pages/parts.ts'
import { listCard, time } from '../../components.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { listOf } from '../../list-of.ts'
import { aliasOf, appPage, emptyTab, mayWork, readApp, tabPath, type App } from './app-tabs.ts'
import { checkRoutes } from './check.ts'
import { checkEditorRoutes, newCheckPath } from './check-editor.ts'
import { checkPath, targetOf } from './check-labels.ts'
import { checkBadge, checkStrip } from './check-strip.ts'

const CHECKS = listOf(listChecks)

type Listed = z.output<typeof listChecks.output>

export const appChecksRoutes = () =>
  createRoutes()
    .get('/apps/:alias/checks', showChecks)
    // Before those of one check: `new` would be taken for an id.
    .route('/', checkEditorRoutes())
    .route('/', checkRoutes())

async function showChecks(c: PageContext) {
  const alias = aliasOf(c)
  const [app, listed] = await Promise.all([readApp(c), CHECKS.call(c, { alias })])
  return appPage(c, app, 'checks', {
    actions: mayWork(sessionOf(c), app) && linkButton(newCheckPath(alias, 'http'), 'New check'),
    body: checkList(c, app, listed),
  })
}

const checkList = (c: PageContext, app: App, listed: Listed) =>
  listCard(c, {
    changes: 'checks',
    ...CHECKS.parts(c, listed),
    caption: 'Checks by name',
    columns: ['Check', 'State', 'Last results', 'What', 'Last run'],
    rows: listed.checks.map(({ id, name, state, paused, recent, definition, last_run_at }) => [
      html`<a class="subject" href="${checkPath(app.alias, id)}">${name}</a>`,
      checkBadge({ state, paused }),
      recent.length > 0 ? checkStrip(recent) : html`<span class="note">None</span>`,
      html`<span class="note">${targetOf(definition)}</span>`,
      last_run_at === null ? html`<span class="note">Never</span>` : time(last_run_at),
    ]),
    empty: emptyTab(
      'No checks yet',
      html`A check asks your app at an interval whether it works. Followers are notified once when it fails, and once when
        it passes again.
        ${mayWork(sessionOf(c), app) && html`<a href="${tabPath(app.alias, 'checks')}/new">Create a check</a>, or run:`}`,
      mayWork(sessionOf(c), app) &&
        `svc apps checks add ${app.alias} Health --url https://example.com/health`,
    ),
  })
