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
import { act, routeInput } from '../../act.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { partOf } from '../../fields.ts'
import { listOf } from '../../list-of.ts'
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
    .get('/apps/:alias/checks/:check_id', showOne)
    .post('/apps/:alias/checks/:check_id/run', runNow)
    .post('/apps/:alias/checks/:check_id/switch', turn)
    .post('/apps/:alias/checks/:check_id/windows', addWindow)
    .post('/apps/:alias/checks/:check_id/windows/remove', removeWindow)
    .post('/apps/:alias/checks/:check_id/remove', remove)

const pathOf = (c: PageContext): string => checkPath(aliasOf(c), routeInput(c, showCheck).check_id)

async function showOne(c: PageContext) {
  const key = routeInput(c, showCheck)
  const [app, check, runs] = await Promise.all([
    readApp(c),
    sessionOf(c).call(showCheck, key),
    RUNS.call(c, key),
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
      label: 'Remove',
      title: `Remove ${name}?`,
      action: `${pathOf(c)}/remove`,
      text: 'Its history is removed with it.',
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
    noun: 'runs',
    caption: 'Runs, newest first',
    columns: ['Time', 'Result', 'Why', 'Status', 'Took'],
    rows: listed.runs.map(({ at, result: found, reason, detail, status, ms }) => [
      exactTime(at),
      resultBadge(found),
      html`${reason && CHECK_REASONS[reason]} ${detail !== null && html`<code>${detail}</code>`}`,
      html`${status}`,
      html`${ms !== null && `${ms} ms`}`,
    ]),
    empty: emptyState('No runs yet', 'Runs are listed here, the newest first.'),
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

const runNow = act(runCheck, {
  back: pathOf,
  done: 'Run requested. Its result appears here in a moment.',
})

const turn = act(updateCheck, {
  input: (sent) => ({ enabled: text(sent, 'enabled') === 'yes' }),
  back: pathOf,
  done: (_, { enabled }) => (enabled ? 'Turned on.' : 'Turned off.'),
})

const addWindow = act(updateCheck, {
  input: (sent) => ({ add_maintenance_window: WINDOW.read(sent) }),
  back: pathOf,
  done: 'Window added.',
})

const removeWindow = act(updateCheck, {
  input: (sent) => ({ remove_maintenance_window: { from: text(sent, 'from'), until: text(sent, 'until') } }),
  back: pathOf,
  done: 'Window removed.',
})

const remove = act(removeCheck, { back: (c) => tabPath(aliasOf(c), 'checks'), done: 'Check removed.' })
