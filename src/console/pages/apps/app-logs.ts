/** The tab Logs of an app: lines that were found, the groups they fall into, and those that arrive. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { idPattern } from '../../../contracts/ids.ts'
import { LOG_LEVELS, type LogLevel } from '../../../contracts/log-levels.ts'
import { listLogGroups, listLogs, summarizeLogs } from '../../../contracts/logs.ts'
import { card, notice, type Content } from '../../../pages/parts.ts'
import {
  badge,
  emptyState,
  exactTime,
  filterForm,
  filterSelect,
  listCard,
  tabBar,
  time,
} from '../../components.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { listOf } from '../../list-of.ts'
import { byteSize } from '../../../contracts/byte-size.ts'
import { plural } from '../../format.ts'
import { pager } from '../../pager.ts'
import { incidentPath } from '../incidents/incident-labels.ts'
import { logChart, logSteps } from './log-chart.ts'
import { aliasOf, appPage, emptyTab, mayWork, readApp, tabPath } from './app-tabs.ts'

type Line = z.output<typeof listLogs.output>['lines'][number]
type Group = z.output<typeof listLogGroups.output>['groups'][number]

export const appLogsRoutes = () =>
  createRoutes().get('/apps/:alias/logs', showLogs).get('/apps/:alias/logs/live', readMore)

const VIEWS = { lines: 'Lines', groups: 'Groups', live: 'Live' } as const
type View = keyof typeof VIEWS

const HOUR_MS = 3_600_000
const WINDOWS = {
  hour: { label: 'Last hour', ms: HOUR_MS },
  day: { label: 'Last day', ms: 24 * HOUR_MS },
  week: { label: 'Last seven days', ms: 7 * 24 * HOUR_MS },
} as const

async function showLogs(c: PageContext) {
  const app = await readApp(c, 'logs')
  const filters = readFilters(c)
  const now = c.var.deps.clock()
  const since = new Date(now.getTime() - WINDOWS[filters.window ?? 'week'].ms)
  const [summary, shown] = await Promise.all([
    sessionOf(c).call(summarizeLogs, { alias: app.alias, since: since.toISOString() }),
    VIEW_BODIES[filters.view](c, filters),
  ])
  const steps = logSteps(summary, since, now)
  return appPage(c, app, 'logs', {
    body: html`${limitNotices(summary)}
      ${
        summary.stored_bytes === 0
          ? emptyTab(
              'No logs in the last seven days',
              html`Send the output of your program, or point an OpenTelemetry exporter to <code>/v1/logs</code> with a
                reporting token of this app.`,
              mayWork(sessionOf(c), app) && `your-program 2>&1 | svc apps logs push ${app.alias}`,
            )
          : html`${tabBar(viewTabs(c, filters), 'Views of the logs')}
            ${filters.view !== 'live' && html`<div class="card">${logChart(steps)}</div>`} ${shown}`
      }`,
  })
}

function limitNotices({ dropped_today, refused_today, max_bytes }: z.output<typeof summarizeLogs.output>) {
  return html`${
    dropped_today > 0 &&
    notice(
      'problem',
      `${plural(dropped_today, 'line')} dropped today: the logs of this app are full, ${byteSize(max_bytes)}. Lines are deleted after seven days.`,
    )
  }
  ${
    refused_today > 0 &&
    notice(
      'info',
      `${plural(refused_today, 'request')} rate limited today. Lines of senders that did not retry are lost.`,
    )
  }`
}

type Filters = ReturnType<typeof readFilters>

const LEVEL = {
  label: 'Level',
  all: 'All levels',
  options: LOG_LEVELS.map((value) => ({ value, label: `${value} and above` })),
}
const LINES = listOf(listLogs, { text: { label: 'Contains' }, level: LEVEL })
const GROUPS = listOf(listLogGroups, { level: LEVEL })

/** They are part of an address that people edit: invalid values are ignored, not refused. */
function readFilters(c: PageContext) {
  const { view, group, window } = c.req.query()
  return {
    view: (view !== undefined && Object.hasOwn(VIEWS, view) ? view : 'lines') as View,
    ...LINES.read(c),
    group: group !== undefined && idPattern('lgr').test(group) ? group : undefined,
    window: (window !== undefined && Object.hasOwn(WINDOWS, window) ? window : undefined) as
      | keyof typeof WINDOWS
      | undefined,
  }
}

const sinceOf = (c: PageContext, window: Filters['window']): string | undefined =>
  window && new Date(c.var.deps.clock().getTime() - WINDOWS[window].ms).toISOString()

/** Between views the filters stay. */
const viewTabs = (c: PageContext, filters: Filters) =>
  (Object.keys(VIEWS) as View[]).map((view) => ({
    href: `${tabPath(aliasOf(c), 'logs')}?${queryOf({ ...filters, view })}`,
    label: VIEWS[view],
    isCurrent: view === filters.view,
  }))

const queryOf = (filters: Filters): URLSearchParams =>
  new URLSearchParams(
    Object.entries(filters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )

const filterFields = ({ view, group, window }: Filters, fields: Content, hasWindow: boolean) =>
  html`<input type="hidden" name="view" value="${view}" />
    ${group !== undefined && html`<input type="hidden" name="group" value="${group}" />`}
    ${fields}
    ${hasWindow && filterSelect({ name: 'window', label: 'Time', value: window, all: view === 'groups' ? 'Last day' : 'All that is kept', options: Object.entries(WINDOWS).map(([value, { label }]) => ({ value, label })) })}`

const VIEW_BODIES: Record<View, (c: PageContext, filters: Filters) => Promise<Content>> = {
  async lines(c, filters) {
    const { lines, next_cursor, age_seconds } = await LINES.call(c, {
      alias: aliasOf(c),
      group_id: filters.group,
      since: sinceOf(c, filters.window),
    })
    return html`<div class="card card-list">
      ${filterForm(c, 'Filter log lines', filterFields(filters, LINES.fields(c), true))}
      ${lines.length === 0 ? notFoundState(c) : html`<ol class="log" aria-label="Log lines, newest first">${lines.map(lineItem(c))}</ol>`}
      ${pager(c, lines.length, { next_cursor, age_seconds })}
    </div>`
  },

  async groups(c, filters) {
    const { groups, next_cursor, age_seconds } = await GROUPS.call(c, {
      alias: aliasOf(c),
      since: sinceOf(c, filters.window),
    })
    return listCard(c, {
      noun: 'groups',
      filters: filterFields({ ...filters, group: undefined }, GROUPS.fields(c), true),
      caption: 'Groups of similar log lines, the most frequent first',
      columns: ['Pattern', 'Level', 'Lines', 'First', 'Last'],
      rows: groups.map(groupRow(c, filters)),
      empty: notFoundState(c),
      next: next_cursor,
      age: age_seconds,
    })
  },

  async live(c, filters) {
    const { lines, after } = await sessionOf(c).call(listLogs, {
      alias: aliasOf(c),
      ...LINES.read(c),
      group_id: filters.group,
    })
    return card(
      'Live',
      html`${filterForm(c, 'Filter log lines', filterFields(filters, LINES.fields(c), false))}
        <pre
          class="output"
          tabindex="0"
          role="log"
          aria-label="Log lines as they arrive"
          data-live="${livePath(c, filters, after)}"
        >${lines.toReversed().map(lineText).join('')}</pre>
        <p class="note">Times are UTC. The same in a terminal: <code>svc apps logs ${aliasOf(c)} --follow</code></p>
        <noscript><p><a href="">Refresh</a></p></noscript>`,
    )
  },
}

const notFoundState = (c: PageContext) =>
  emptyState(
    'No lines found',
    'Try different filters.',
    html`<a href="${tabPath(aliasOf(c), 'logs')}">Clear filters</a>`,
  )

/** Most lines are no trouble: a badge on each would hide the others. */
function levelBadge(level: LogLevel) {
  if (!isTrouble(level)) return html`<span class="note">${level}</span>`
  return badge(level, level === 'warn' ? 'wait' : 'bad')
}

const SECOND = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZone: 'UTC',
})

/** To the second: lines of one minute are told apart by it. */
const clockTime = (at: string) =>
  html`<time datetime="${at}" title="${at.slice(0, 23).replace('T', ' ')} UTC" data-clock>${SECOND.format(new Date(at))}</time>`

/** What somebody's program wrote is text and nothing else. Stack traces are folded. */
const lineItem =
  (c: PageContext) =>
  ({ id, at, level, service, text, trace_id, group_id }: Line) => {
    const [first = '', ...rest] = text.split('\n')
    const about = html`<p class="note">
      ${exactTime(at)}${trace_id !== null && html`, trace <code>${trace_id}</code>`},
      <a href="${tabPath(aliasOf(c), 'logs')}?${new URLSearchParams({ group: group_id })}">lines like this</a>
    </p>`
    return html`<li id="${id}">
      ${clockTime(at)} ${levelBadge(level)}
      <details>
        <summary>${service !== null && html`<span class="note">${service}</span> `}<code>${first}</code></summary>
        ${rest.length > 0 && html`<pre>${rest.join('\n')}</pre>`} ${about}
      </details>
      ${isTrouble(level) && html`<a class="log-incident" href="${incidentPath(aliasOf(c), group_id)}">Incident</a>`}
    </li>`
  }

/** What is worth a page of its own. */
const isTrouble = (level: LogLevel): boolean => LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf('warn')

const groupRow =
  (c: PageContext, { window }: Filters) =>
  ({ id, template, level, count, first_at, last_at }: Group) => [
    html`<a href="${tabPath(aliasOf(c), 'logs')}?${new URLSearchParams({ group: id, ...(window && { window }) })}"><code>${template}</code></a>${isTrouble(level) && html` <a class="note" href="${incidentPath(aliasOf(c), id)}">Incident</a>`}`,
    levelBadge(level),
    count,
    time(first_at),
    time(last_at),
  ]

const lineText = ({ at, level, service, text }: Line): string =>
  `${at.slice(0, 19).replace('T', ' ')} ${level.toUpperCase().padEnd(5)} ${service === null ? '' : `${service} `}${text}\n`

const livePath = (c: PageContext, filters: Filters, after: string): string => {
  const query = queryOf({ ...filters, window: undefined })
  query.set('after', after)
  return `${tabPath(aliasOf(c), 'logs')}/live?${query}`
}

/** The script shows a line when it comes: until then this waits, but not so long that a proxy gives up. */
const WAIT_SECONDS = 15

async function readMore(c: PageContext) {
  const filters = readFilters(c)
  const after = c.req.query('after') ?? ''
  const { signal } = c.req.raw
  const waiting = sessionOf(c).callWhile(signal)(listLogs, {
    alias: aliasOf(c),
    ...LINES.read(c),
    group_id: filters.group,
    after: idPattern('lgl').test(after) ? after : undefined,
    wait_seconds: WAIT_SECONDS,
  })
  const found = await waiting.catch((error: unknown) => {
    // Nobody reads the answer any more.
    if (signal.aborted) return { lines: [], after }
    throw error
  })
  const text = found.lines.map(lineText).join('')
  return c.json({ text, more: livePath(c, filters, found.after), ended: false })
}
