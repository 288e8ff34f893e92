/** Activity: who asked which source when and how it went; never what was asked. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  ACTIVITY_OUTCOMES,
  ACTIVITY_TYPES,
  listActivity,
  summarizeActivity,
  type ActivityEntry,
  type ActivityOutcome,
} from '../../contracts/activity.ts'
import { listDataSources } from '../../contracts/data-sources.ts'
import { idPattern } from '../../contracts/ids.ts'
import { PAGE_MAX } from '../../contracts/limits.ts'
import { listMembers } from '../../contracts/members.ts'
import { inputField, selectField, type Option } from '../../pages/parts.ts'
import { page } from '../layout.ts'
import { badge, emptyState, filters, pager, table, time } from '../parts.ts'
import { hasRole, organizationOf, visitOf, type ConsoleEnv, type Visit } from '../visit.ts'
import { activityCharts, chartDays, withEmptyDays } from './activity-charts.ts'
import { beginOf, endOf, readDay } from './day-filter.ts'
import { bytes, duration } from './measures.ts'

type C = Context<ConsoleEnv>
type Entry = z.output<typeof ActivityEntry>
type Type = (typeof ACTIVITY_TYPES)[number]
type Asked = ReturnType<typeof readFilters>
const PATH = '/console/activity'

export const activityPages = () => new Hono<ConsoleEnv>().get('/activity', showActivity)

const TYPE_WORDS: Record<Type, string> = { function: 'Functions', data_source: 'Data sources' }

async function showActivity(c: C) {
  const visit = visitOf(c)
  const org_id = organizationOf(c).id
  const seesAll = hasRole(visit, 'admin')
  const asked = readFilters(c.req.query(), seesAll)
  const { type, outcome, from, to } = asked
  const rows = { type, source: asked.source, user_id: asked.person }
  const days = chartDays(from, to, c.var.needs.clock())
  const [list, summary, sources, people] = await Promise.all([
    visit.call(listActivity, {
      ...rows,
      outcome,
      from: beginOf(from),
      to: endOf(to),
      cursor: c.req.query('cursor'),
    }),
    visit.call(summarizeActivity, {
      ...rows,
      from: beginOf(days[0] ?? from),
      to: endOf(days.at(-1) ?? to),
    }),
    sourceOptions(visit),
    seesAll ? visit.call(listMembers, { org_id, limit: PAGE_MAX }) : undefined,
  ])
  return page(c, {
    title: 'Activity',
    lead: `What ${seesAll ? 'everybody' : 'you'} asked in ${organizationOf(c).name}, here and through assistants and programs. Questions and answers are never stored: only sizes and digests.`,
    body: html`${activityCharts(type === 'data_source' ? 'Questions' : 'Calls', withEmptyDays(days, summary.days))}
      <div class="card card-list">
        ${filters(
          c,
          'Filter the activity',
          html`${typeField(type)} ${sourceField(asked, sources)}
          ${people && personField(asked, people.members)} ${outcomeField(outcome)}
          ${inputField({ name: 'from', label: 'From (UTC)', type: 'date', value: from ?? '' })}
          ${inputField({ name: 'to', label: 'To (UTC)', type: 'date', value: to ?? '' })}`,
        )}
        ${
          list.activity.length === 0
            ? nothing(c, type)
            : table(
                `Activity of ${TYPE_WORDS[type].toLowerCase()}, newest first`,
                [
                  'When',
                  'Who',
                  type === 'data_source' ? 'Source' : 'Function',
                  'Through',
                  'Outcome',
                  'Took',
                  'Asked',
                  'Answer',
                ],
                list.activity.map(entryCells),
              )
        }
        ${pager(c, list.next_cursor)}
      </div>`,
  })
}

/** Filters stand in an address that people edit: what makes no sense is left out, not refused. */
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

/** Only builders may see every source there is; an organization has no more than one page of them. */
async function sourceOptions(visit: Visit): Promise<Option[] | undefined> {
  if (!hasRole(visit, 'developer')) return undefined
  const { data_sources } = await visit.call(listDataSources, { limit: PAGE_MAX })
  return data_sources.map(({ source_id, name }) => ({ value: source_id, label: `${name} (${source_id})` }))
}

const typeField = (type: Type) =>
  selectField({
    name: 'type',
    label: 'Type',
    value: type,
    options: ACTIVITY_TYPES.map((value) => ({ value, label: TYPE_WORDS[value] })),
  })

const sourceField = ({ source }: Asked, options: readonly Option[] | undefined) =>
  options
    ? selectField({
        name: 'source',
        label: 'Source',
        value: source ?? '',
        options: withAsked(source, source ?? '', [{ value: '', label: 'Every source' }, ...options]),
      })
    : inputField({ name: 'source', label: 'Source', value: source ?? '', maxlength: 60, placeholder: 'db_…' })

const personField = (
  { person }: Asked,
  members: readonly { user_id: string; name: string; email: string }[],
) =>
  selectField({
    name: 'person',
    label: 'Who',
    value: person ?? '',
    options: withAsked(person, 'A former member', [
      { value: '', label: 'Everybody' },
      ...members.map(({ user_id, name, email }) => ({ value: user_id, label: `${name} (${email})` })),
    ]),
  })

/** What is filtered by stays chosen, though it is no longer on offer. */
const withAsked = (
  asked: string | undefined,
  label: string,
  options: readonly Option[],
): readonly Option[] =>
  asked === undefined || options.some(({ value }) => value === asked)
    ? options
    : [...options, { value: asked, label }]

const outcomeField = (outcome: ActivityOutcome | undefined) =>
  selectField({
    name: 'outcome',
    label: 'Outcome',
    value: outcome ?? '',
    options: [
      { value: '', label: 'Everything' },
      ...ACTIVITY_OUTCOMES.map((value) => ({ value, label: value })),
    ],
  })

function nothing(c: C, type: Type) {
  const isFiltered = Object.keys(c.req.query()).some((name) => name !== 'type')
  if (isFiltered) {
    return emptyState(
      'Nothing found',
      'Nothing of that kind happened in that time.',
      html`<a href="${PATH}?${new URLSearchParams({ type })}">Show all ${TYPE_WORDS[type].toLowerCase()}</a>`,
    )
  }
  return type === 'data_source'
    ? emptyState(
        'Nobody has asked anything yet',
        'As soon as somebody asks a data source, here or through an assistant, it is listed.',
        html`<a href="/console/data-sources">Data sources</a>`,
      )
    : emptyState(
        'No function was called yet',
        'Functions are what assistants call besides asking data sources.',
        html`<a href="${PATH}?type=data_source">Show questions to data sources</a>`,
      )
}

const OUTCOME_BADGES = { answered: 'on', refused: 'wait', failed: 'bad' } as const

const entryCells = (entry: Entry) => [
  time(entry.at),
  entry.user.name,
  entry.name === null
    ? html`<span class="note">none</span>`
    : html`<code class="id-text">${entry.name}</code>`,
  html`${entry.source}${entry.client_id !== null && html` <span class="note id-text" title="${entry.client_id}">${clientHost(entry.client_id)}</span>`}`,
  html`${badge(entry.outcome, OUTCOME_BADGES[entry.outcome])}${entry.error !== null && html` <code class="note">${breakable(entry.error)}</code>`}`,
  html`<span class="measure">${duration(entry.duration_ms)}</span>`,
  html`<span class="measure">${bytes(entry.question_bytes)}</span>`,
  html`<span class="measure">${bytes(entry.answer_bytes)}</span>${entry.hits !== null && html` <span class="note measure">${entry.hits === 1 ? '1 hit' : `${entry.hits} hits`}</span>`}`,
]

/** A code in capitals is one long word otherwise. */
const breakable = (code: string) =>
  code.split('_').map((word, at) => html`${at > 0 && html`_<wbr />`}${word}`)

const clientHost = (id: string): string => (id.startsWith('https://') ? (URL.parse(id)?.host ?? id) : id)
