/** Activity: who called what, when and with which outcome; never the content. */
import { html } from 'hono/html'
import { listActivity, summarizeActivity } from '../../../contracts/activity.ts'
import { listDataSources } from '../../../contracts/data-sources.ts'
import { COUNT_MAX, PAGE_MAX } from '../../../contracts/limits.ts'
import type { ACTIVITY_TYPES } from '../../../contracts/list-filters.ts'
import { listMembers } from '../../../contracts/members.ts'
import type { Option } from '../../../pages/parts.ts'
import { page } from '../../layout.ts'
import { dayFilters, emptyState, filterSelect, memberOptions, listCard, type Tab } from '../../components.ts'
import {
  createRoutes,
  hasRole,
  organizationOf,
  sessionOf,
  type ConsoleSession,
  type PageContext,
} from '../../context.ts'
import { principalLabel } from '../agents/client-labels.ts'
import { activityCharts, callsIn, chartDays, withEmptyDays } from './activity-charts.ts'
import { ACTIVITY_PATH, entryCells, entryColumns } from './activity-rows.ts'
import { listOf } from '../../list-of.ts'
import { beginOf, endOf, readDay } from '../../day-filter.ts'
import { totalBeside } from '../../total-beside.ts'

type Type = (typeof ACTIVITY_TYPES)[number]

export const activityRoutes = () => createRoutes().get('/activity', showActivity)

/** The first is what the page opens with. */
const TABS = [
  { type: 'data_source', label: 'Questions' },
  { type: 'function', label: 'Functions' },
] as const satisfies { type: Type; label: string }[]

const SOURCE = listOf(listActivity, { source: { label: 'Data source', placeholder: 'db_…' } })
const PERSON = listOf(listActivity, {
  user_id: { name: 'person', label: 'User', all: 'All users', missing: 'Former member' },
})
const CALLS = listOf(listActivity, {
  grant_id: { name: 'agent', label: 'Agent', all: 'All agents', missing: 'Another agent' },
  entry_point: { name: 'via', label: 'Entry point', all: 'All entry points' },
  outcome: { label: 'Outcome', all: 'All outcomes' },
})

async function showActivity(c: PageContext) {
  const session = sessionOf(c)
  const org_id = organizationOf(c).id
  const seesAll = hasRole(session, 'admin')
  const filters = readFilters(c, seesAll)
  const { type, outcome, from, to, user_id, grant_id, entry_point } = filters
  const calls = { user_id, grant_id, entry_point }
  const rows = { ...calls, type, source: filters.source }
  const period = { from: beginOf(from), to: endOf(to) }
  const days = chartDays(from, to, c.var.deps.clock())
  const charted = { from: beginOf(days[0] ?? from), to: endOf(days.at(-1) ?? to) }
  const listed = { ...rows, ...period, outcome }
  const cursor = c.req.query('cursor')
  const [list, other, summary, offered, sources, people] = await Promise.all([
    session.call(listActivity, { ...listed, cursor }),
    // A function names no data source.
    session.call(listActivity, {
      ...calls,
      ...period,
      outcome,
      type: otherThan(type),
      limit: 1,
      count: 'true',
    }),
    session.call(summarizeActivity, { ...rows, ...charted, agents: 'true' }),
    // Of one agent it names no other, and another is to be chosen.
    grant_id === undefined
      ? undefined
      : session.call(summarizeActivity, { ...rows, ...charted, grant_id: undefined, agents: 'true' }),
    sourceOptions(session),
    seesAll ? session.call(listMembers, { org_id, limit: PAGE_MAX }) : undefined,
  ])
  const isWhole = cursor === undefined && list.next_cursor === undefined
  const total = await totalBeside(
    { whole: isWhole ? list.activity.length : undefined, charted: callsIn(summary.days, outcome) },
    () => session.call(listActivity, { ...listed, limit: 1, count: 'true' }),
  )
  const noun = type === 'data_source' ? 'Questions' : 'Calls'
  return page(c, {
    title: 'Activity',
    lead: `${seesAll ? 'Calls by all members' : 'Your calls'} in ${organizationOf(c).name}, from the console, assistants and scripts. Questions and answers are never stored, only sizes and digests.`,
    tabs: tabsFor(c, type, { [type]: total, [otherThan(type)]: other.total }),
    body: html`${activityCharts(noun, withEmptyDays(days, summary.days))}
      ${listCard(c, {
        changes: 'activity',
        noun: 'activity',
        filters: html`<input type="hidden" name="type" value="${type}" />
          ${type === 'data_source' && sourceFilter(c, filters.source, sources)}
          ${people && PERSON.fields(c, { user_id: memberOptions(people.members) })}
          ${CALLS.fields(c, { grant_id: ((offered ?? summary).agents ?? []).map(agentOption) })}
          ${dayFilters(filters)}`,
        caption: `${noun}, newest first`,
        columns: entryColumns(type),
        rows: list.activity.map(entryCells),
        empty: emptyList(c, type),
        next: list.next_cursor,
        total,
        age: list.age_seconds,
      })}`,
  })
}

const otherThan = (type: Type): Type => (type === 'function' ? 'data_source' : 'function')

/** The other tab keeps the filters, but not the page of the list. */
function tabsFor(c: PageContext, current: Type, counts: Partial<Record<Type, number | undefined>>): Tab[] {
  const kept = new URL(c.req.url).searchParams
  for (const name of ['type', 'cursor', 'cursor_page', 'cursor_back']) kept.delete(name)
  return TABS.map(({ type, label }) => {
    const query = new URLSearchParams([['type', type], ...kept])
    if (type === 'function') query.delete('source')
    return {
      href: `${ACTIVITY_PATH}?${query}`,
      label,
      isCurrent: type === current,
      count: countLabel(counts[type] ?? 0),
    }
  })
}

const NUMBER = new Intl.NumberFormat('en-US')
const countLabel = (count: number): string => `${NUMBER.format(count)}${count >= COUNT_MAX ? '+' : ''}`

type Agent = { grant_id: string; client_id: string; client_name: string | null; user: { name: string } }

const agentOption = ({ grant_id, client_id, client_name, user }: Agent): Option => ({
  value: grant_id,
  label: `${principalLabel(client_id, client_name)}, ${user.name}`,
})

/** Filters are part of an address that people edit: invalid values are ignored, not refused. */
function readFilters(c: PageContext, seesAll: boolean) {
  const { type, from, to } = c.req.query()
  const isFunction = type === 'function'
  return {
    type: isFunction ? ('function' as const) : ('data_source' as const),
    source: isFunction ? undefined : SOURCE.read(c).source,
    user_id: seesAll ? PERSON.read(c).user_id : undefined,
    ...CALLS.read(c),
    from: readDay(from),
    to: readDay(to),
  }
}

const sourceFilter = (c: PageContext, value: string | undefined, options: Option[] | undefined) =>
  options
    ? filterSelect({ name: 'source', label: 'Data source', value, all: 'All data sources', options })
    : SOURCE.fields(c)

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
      html`<a href="${ACTIVITY_PATH}?${new URLSearchParams({ type })}">Clear filters</a>`,
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
        html`<a href="/console/connect">Connect an assistant</a>`,
      )
}
