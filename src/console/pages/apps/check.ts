/** One check: its status, its last results, its runs, and its maintenance windows. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { CHECK_REASONS } from '../../../contracts/check-results.ts'
import {
  listCheckRuns,
  MaintenanceWindow,
  removeCheck,
  runCheck,
  showCheck,
  updateCheck,
} from '../../../contracts/checks.ts'
import { button, card, linkButton } from '../../../pages/parts.ts'
import { changing, emptyState, exactTime, listCard, pair, time } from '../../components.ts'
import { createRoutes, idOf, sessionOf, type PageContext } from '../../context.ts'
import { partOf } from '../../fields.ts'
import { listOf } from '../../list-of.ts'
import { actAndReturn } from '../../flash.ts'
import { plural } from '../../format.ts'
import { confirmDialog, form, text } from '../../forms.ts'
import { page } from '../../layout.ts'
import { incidentPath } from '../incidents/incident-labels.ts'
import { aliasOf, mayWork, readApp, tabParents, tabPath } from './app-tabs.ts'
import { checkPath, targetOf, type Check } from './check-labels.ts'
import { checkStrip, pauseBadge, RESULT_LABELS, resultBadge } from './check-strip.ts'

const RUNS = listOf(listCheckRuns, {
  result: { label: 'Result', all: 'All results', labels: RESULT_LABELS },
})
const WINDOW = partOf(MaintenanceWindow, ['from', 'until'])

type Runs = z.output<typeof listCheckRuns.output>

export const checkRoutes = () =>
  createRoutes()
    .get('/apps/:alias/checks/:id', showOne)
    .post('/apps/:alias/checks/:id/run', runNow)
    .post('/apps/:alias/checks/:id/switch', turn)
    .post('/apps/:alias/checks/:id/windows', addWindow)
    .post('/apps/:alias/checks/:id/windows/remove', removeWindow)
    .post('/apps/:alias/checks/:id/remove', remove)

const keyOf = (c: PageContext) => ({ alias: aliasOf(c), check_id: idOf(c) })
const pathOf = (c: PageContext): string => checkPath(aliasOf(c), idOf(c))

async function showOne(c: PageContext) {
  const { call } = sessionOf(c)
  const [app, check, runs] = await Promise.all([
    readApp(c),
    call(showCheck, keyOf(c)),
    RUNS.call(c, keyOf(c)),
  ])
  const worksOnIt = mayWork(sessionOf(c), app)
  return page(c, {
    title: check.name,
    parents: tabParents(app, 'checks'),
    lead: html`${resultBadge(check.state)} ${check.paused !== null && pauseBadge(check.paused)}`,
    actions: html`${isTrouble(check) && linkButton(incidentPath(app.alias, check.id), 'Incident', worksOnIt ? 'quiet' : 'main')} ${worksOnIt && actions(c, check)}`,
    body: html`${changing('status', 'checks', facts(check, c.var.deps.clock()))} ${runList(c, runs)} ${windowCard(c, check, worksOnIt)}`,
  })
}

/** Also one that has not failed often enough to be told of. */
const isTrouble = ({ state, recent }: Check): boolean =>
  (state ?? 'pass') !== 'pass' || (recent.at(-1) ?? 'pass') !== 'pass'

const actions = (c: PageContext, { name, enabled, paused }: Check) =>
  html`${paused === null && form(c, `${pathOf(c)}/run`, button('Run now'), '')}
    ${linkButton(`${pathOf(c)}/edit`, 'Edit', 'quiet')}
    ${form(c, `${pathOf(c)}/switch`, html`<button type="submit" name="enabled" value="${enabled ? 'no' : 'yes'}" class="button button-quiet">${enabled ? 'Turn off' : 'Turn on'}</button>`, '')}
    ${confirmDialog(c, {
      id: 'remove-check',
      label: 'Remove',
      title: `Remove ${name}?`,
      action: `${pathOf(c)}/remove`,
      text: 'Its history is removed with it.',
      submit: 'Remove',
    })}`

const facts = (check: Check, now: Date) =>
  card(
    'Status',
    html`${check.recent.length > 0 && html`<p class="strip-large">${checkStrip(check.recent)}</p>`}
      <dl class="pairs">
        ${pair('Target', html`<code>${targetOf(check.definition)}</code>`)}
        ${
          check.definition.kind === 'http' &&
          pair(
            'Conditions',
            check.definition.conditions.map((condition) => html`<code>${condition}</code><br />`),
          )
        }
        ${check.state_since !== null && pair('Since', exactTime(check.state_since))}
        ${check.last_run_at !== null && pair('Last run', time(check.last_run_at))}
        ${check.next_run_at !== null && pair('Next run', Date.parse(check.next_run_at) > now.getTime() ? time(check.next_run_at) : 'Due now')}
        ${pair('Interval', `${check.interval_seconds} s`)}
        ${pair('Notifications', `After ${plural(check.failure_threshold, 'failure')} without a pass between, and ${check.success_threshold === 1 ? 'the first pass' : `${check.success_threshold} passes in a row`}`)}
      </dl>`,
  )

const runList = (c: PageContext, listed: Runs) =>
  listCard(c, {
    changes: 'checks',
    ...RUNS.parts(c, listed),
    title: 'History',
    label: 'Filter runs',
    caption: 'Runs, newest first',
    columns: ['Time', 'Result', 'Why', 'Status', 'Took'],
    rows: listed.runs.map(({ at, result: found, reason, detail, status, ms }) => [
      exactTime(at),
      resultBadge(found),
      html`${reason && CHECK_REASONS[reason]} ${detail !== null && html`<code>${detail}</code>`}`,
      html`${status}`,
      html`${ms !== null && `${ms} ms`}`,
    ]),
    empty: emptyState(
      RUNS.isFiltered(c) ? 'No runs with this result' : 'No runs yet',
      RUNS.isFiltered(c) ? 'Try a different result.' : 'Runs are listed here, the newest first.',
    ),
  })

const windowCard = (c: PageContext, { maintenance_windows: windows }: Check, worksOnIt: boolean) =>
  card(
    'Maintenance windows',
    html`${
      windows.length === 0
        ? html`<p class="note">None.</p>`
        : html`<ul class="plain">
            ${windows.map(
              ({ from, until }) =>
                html`<li>
                  ${exactTime(from)} – ${exactTime(until)}
                  ${worksOnIt && form(c, `${pathOf(c)}/windows/remove`, html`<input type="hidden" name="from" value="${from}" /><input type="hidden" name="until" value="${until}" /><button type="submit" class="button button-quiet button-small" aria-label="Remove the window from ${from}">Remove</button>`, '')}
                </li>`,
            )}
          </ul>`
    }
    ${
      worksOnIt &&
      form(c, `${pathOf(c)}/windows`, html`${WINDOW.show().all()} ${button('Add window', 'quiet')}`)
    }`,
    html`In a window the check is not run, and nobody is notified.`,
  )

const runNow = (c: PageContext) =>
  actAndReturn(c, pathOf(c), 'Run requested. Its result appears here in a moment.', () =>
    sessionOf(c).call(runCheck, keyOf(c)),
  )

function turn(c: PageContext) {
  const enabled = text(c.get('form'), 'enabled') === 'yes'
  return actAndReturn(c, pathOf(c), enabled ? 'Turned on.' : 'Turned off.', () =>
    sessionOf(c).call(updateCheck, { ...keyOf(c), enabled }),
  )
}

const addWindow = (c: PageContext) =>
  actAndReturn(c, pathOf(c), 'Window added.', () => {
    const added = WINDOW.read(c.get('form'))
    return sessionOf(c).call(updateCheck, { ...keyOf(c), add_maintenance_window: added })
  })

const removeWindow = (c: PageContext) =>
  actAndReturn(c, pathOf(c), 'Window removed.', () =>
    sessionOf(c).call(updateCheck, { ...keyOf(c), remove_maintenance_window: windowIn(c) }),
  )

const windowIn = (c: PageContext) => ({
  from: text(c.get('form'), 'from'),
  until: text(c.get('form'), 'until'),
})

async function remove(c: PageContext) {
  const list = tabPath(aliasOf(c), 'checks')
  return actAndReturn(c, list, 'Check removed.', () => sessionOf(c).call(removeCheck, keyOf(c)))
}
