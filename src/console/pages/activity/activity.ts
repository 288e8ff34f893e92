/** Activity: who called what, when and with which outcome; never the content. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listActivity, summarizeActivity, type ActivityEntry } from '../../../contracts/activity.ts'
import { listDataSources } from '../../../contracts/data-sources.ts'
import { idPattern } from '../../../contracts/ids.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { ACTIVITY_OUTCOMES, ACTIVITY_TYPES } from '../../../contracts/list-filters.ts'
import { listMembers } from '../../../contracts/members.ts'
import { inputField, selectField, type Option } from '../../../pages/parts.ts'
import { page } from '../../layout.ts'
import {
  badge,
  breakable,
  dayFilters,
  emptyState,
  filterSelect,
  labelOptions,
  memberOptions,
  time,
  listCard,
} from '../../components.ts'
import {
  createRoutes,
  hasRole,
  organizationOf,
  sessionOf,
  type ConsoleSession,
  type PageContext,
} from '../../context.ts'
import { activityCharts, chartDays, withEmptyDays } from './activity-charts.ts'
import { beginOf, endOf, readDay } from '../../day-filter.ts'
import { plural, formatBytes, formatDuration } from '../../format.ts'

type Entry = z.output<typeof ActivityEntry>
type Type = (typeof ACTIVITY_TYPES)[number]
const PATH = '/console/activity'

export const activityRoutes = () => createRoutes().get('/activity', showActivity)

const TYPE_LABELS: Record<Type, string> = { function: 'Functions', data_source: 'Data sources' }

async function showActivity(c: PageContext) {
  const session = sessionOf(c)
  const org_id = organizationOf(c).id
  const seesAll = hasRole(session, 'admin')
  const filters = readFilters(c.req.query(), seesAll)
  const { type, outcome, from, to } = filters
  const rows = { type, source: filters.source, user_id: filters.person }
  const subject = type === 'data_source' ? 'Data source' : 'Function'
  const days = chartDays(from, to, c.var.deps.clock())
  const [list, summary, sources, people] = await Promise.all([
    session.call(listActivity, {
      ...rows,
      outcome,
      from: beginOf(from),
      to: endOf(to),
      cursor: c.req.query('cursor'),
      count: 'true',
    }),
    session.call(summarizeActivity, {
      ...rows,
      from: beginOf(days[0] ?? from),
      to: endOf(days.at(-1) ?? to),
    }),
    sourceOptions(session),
    seesAll ? session.call(listMembers, { org_id, limit: PAGE_MAX }) : undefined,
  ])
  return page(c, {
    title: 'Activity',
    lead: `${seesAll ? 'Calls by all members' : 'Your calls'} in ${organizationOf(c).name}, from the console, assistants and scripts. Questions and answers are never stored, only sizes and digests.`,
    body: html`${activityCharts(type === 'data_source' ? 'Questions' : 'Calls', withEmptyDays(days, summary.days))}
      ${listCard(c, {
        label: 'Filter activity',
        filters: html`${selectField({ name: 'type', label: 'Type', value: type, options: labelOptions(ACTIVITY_TYPES, TYPE_LABELS) })}
          ${sources ? filterSelect({ name: 'source', label: 'Data source', value: filters.source, all: 'All data sources', options: sources }) : inputField({ name: 'source', label: 'Data source', value: filters.source ?? '', maxlength: 60, placeholder: 'db_…' })}
          ${people && filterSelect({ name: 'person', label: 'User', value: filters.person, all: 'All users', options: memberOptions(people.members), missing: 'Former member' })}
          ${filterSelect({ name: 'outcome', label: 'Outcome', value: outcome, all: 'All outcomes', options: ACTIVITY_OUTCOMES.map((value) => ({ value, label: value })) })}
          ${dayFilters(filters)}`,
        caption: `Activity of ${TYPE_LABELS[type].toLowerCase()}, newest first`,
        columns: ['Time', 'User', subject, 'Via', 'Outcome', 'Duration', 'Request', 'Response'],
        rows: list.activity.map(entryRow),
        empty: emptyList(c, type),
        next: list.next_cursor,
        total: list.total,
      })}`,
  })
}

/** Filters are part of an address that people edit: invalid values are ignored, not refused. */
function readFilters(query: Record<string, string>, seesAll: boolean) {
  const { type, source, person, outcome, from, to } = query
  return {
    type: ACTIVITY_TYPES.find((one) => one === type) ?? ACTIVITY_TYPES[0],
    source: listActivity.input.shape.source.safeParse(source?.trim() || undefined).data,
    person: seesAll && person !== undefined && idPattern('usr').test(person) ? person : undefined,
    outcome: ACTIVITY_OUTCOMES.find((one) => one === outcome),
    from: readDay(from),
    to: readDay(to),
  }
}

/** Only developers may list every data source; an organization has no more than one page of them. */
async function sourceOptions(session: ConsoleSession): Promise<Option[] | undefined> {
  if (!hasRole(session, 'developer')) return undefined
  const { data_sources } = await session.call(listDataSources, { limit: PAGE_MAX })
  return data_sources.map(({ source_id, name }) => ({ value: source_id, label: `${name} (${source_id})` }))
}

function emptyList(c: PageContext, type: Type) {
  const isFiltered = Object.keys(c.req.query()).some((name) => name !== 'type')
  if (isFiltered) {
    return emptyState(
      'No activity found',
      'Try different filters.',
      html`<a href="${PATH}?${new URLSearchParams({ type })}">Clear filters</a>`,
    )
  }
  return type === 'data_source'
    ? emptyState(
        'No questions yet',
        'Questions to data sources, from the console or an assistant, are listed here.',
        html`<a href="/console/data-sources">Data sources</a>`,
      )
    : emptyState(
        'No function calls yet',
        'Functions are the tools that assistants call besides querying data sources.',
        html`<a href="${PATH}?type=data_source">Show data source questions</a>`,
      )
}

const OUTCOME_BADGES = { answered: 'on', refused: 'wait', failed: 'bad' } as const

const entryRow = (entry: Entry) => [
  time(entry.at),
  entry.user.name,
  entry.name === null
    ? html`<span class="note">None</span>`
    : html`<code class="id-text">${entry.name}</code>`,
  html`${entry.source}${entry.client_id !== null && html` <span class="note id-text" title="${entry.client_id}">${clientHost(entry.client_id)}</span>`}`,
  html`${badge(entry.outcome, OUTCOME_BADGES[entry.outcome])}${entry.error !== null && html` <code class="note">${breakable(entry.error, '_')}</code>`}`,
  html`<span class="measure">${formatDuration(entry.duration_ms)}</span>`,
  html`<span class="measure">${formatBytes(entry.question_bytes)}</span>`,
  html`<span class="measure">${formatBytes(entry.answer_bytes)}</span>${entry.hits !== null && html` <span class="note measure">${plural(entry.hits, 'hit')}</span>`}`,
]

const clientHost = (id: string): string => (id.startsWith('https://') ? (URL.parse(id)?.host ?? id) : id)
