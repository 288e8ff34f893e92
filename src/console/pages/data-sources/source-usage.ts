/** The Usage tab of a data source: how often it is asked, and by whom; of those who see only their own, theirs. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listActivity, summarizeActivity, type ActivityEntry } from '../../../contracts/activity.ts'
import { showQuota } from '../../../contracts/data-sources.ts'
import { badge, emptyState, listCard, stats, time } from '../../components.ts'
import { createRoutes, hasRole, sessionOf, type PageContext } from '../../context.ts'
import { beginOf } from '../../day-filter.ts'
import { formatDuration, plural } from '../../format.ts'
import { activityCharts, chartDays, withEmptyDays } from '../activity/activity-charts.ts'
import { pathOf } from './source-labels.ts'
import { openSource, sourcePage } from './source-tabs.ts'

type Entry = z.output<typeof ActivityEntry>

export const sourceUsageRoutes = () => createRoutes().get('/data-sources/:id/usage', showUsage)

const SHOWN = 20

async function showUsage(c: PageContext) {
  const open = await openSource(c)
  const session = sessionOf(c)
  const { id } = open.askable
  const days = chartDays(undefined, undefined, c.var.deps.clock())
  const [{ activity }, summary, quota] = await Promise.all([
    session.call(listActivity, { type: 'data_source', source: id, limit: SHOWN }),
    session.call(summarizeActivity, { type: 'data_source', source: id, from: beginOf(days[0]) }),
    session.call(showQuota, {}),
  ])
  const all = withEmptyDays(days, summary.days)
  const sum = (part: 'answered' | 'refused' | 'failed') => all.reduce((total, day) => total + day[part], 0)
  const activityPath = `/console/activity?${new URLSearchParams({ type: 'data_source', source: id })}`
  return sourcePage(c, open, 'usage', {
    body: html`${stats('Use in 30 days', [
      {
        label: hasRole(session, 'admin') ? 'Questions in 30 days' : 'Your questions in 30 days',
        value: sum('answered') + sum('refused') + sum('failed'),
        href: activityPath,
      },
      { label: 'Answered', value: sum('answered') },
      { label: 'Refused', value: sum('refused') },
      { label: 'Failed', value: sum('failed') },
      {
        label: 'Left today',
        value: quota.day.left.toLocaleString('en'),
        note: `of ${quota.day.limit.toLocaleString('en')}, for the whole organization`,
      },
    ])}
    ${activityCharts('Questions', all)}
    ${listCard(c, {
      title: 'Last questions',
      caption: 'Last questions, newest first',
      columns: ['Time', 'User', 'Source', 'Outcome', 'Duration', 'Hits'],
      rows: activity.map(entryRow),
      empty: emptyState(
        'No questions yet',
        'Questions from the console, an assistant or a script are listed here.',
        html`<a href="${pathOf(id)}">Ask</a>`,
      ),
      after: activity.length > 0 && html`<p><a href="${activityPath}">All activity</a></p>`,
    })}`,
  })
}

const OUTCOME_BADGES = { answered: 'on', refused: 'wait', failed: 'bad' } as const

const entryRow = (entry: Entry) => [
  time(entry.at),
  entry.user.name,
  entry.source,
  html`${badge(entry.outcome, OUTCOME_BADGES[entry.outcome])}${entry.error !== null && html` <code class="note">${entry.error}</code>`}`,
  html`<span class="measure">${formatDuration(entry.duration_ms)}</span>`,
  entry.hits === null ? html`<span class="note">None</span>` : plural(entry.hits, 'hit'),
]
