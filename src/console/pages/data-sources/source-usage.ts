/** The Usage tab of a data source: how often it is asked, and by whom; of those who see only their own, theirs. */
import { html } from 'hono/html'
import { listActivity, summarizeActivity } from '../../../contracts/activity.ts'
import { showQuota } from '../../../contracts/data-sources.ts'
import { card } from '../../../pages/parts.ts'
import { emptyState, stats, table } from '../../components.ts'
import { createRoutes, hasRole, sessionOf, type PageContext } from '../../context.ts'
import { beginOf } from '../../day-filter.ts'
import { activityCharts, chartDays, withEmptyDays } from '../activity/activity-charts.ts'
import { ACTIVITY_PATH, USAGE_COLUMNS, usageCells } from '../activity/activity-rows.ts'
import { pathOf } from './source-labels.ts'
import { openSource, sourcePage } from './source-tabs.ts'

export const sourceUsageRoutes = () => createRoutes().get('/data-sources/:source_id/usage', showUsage)

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
  const ofSource = { type: 'data_source', source: id }
  const pathTo = (filters: Record<string, string>) => `${ACTIVITY_PATH}?${new URLSearchParams(filters)}`
  return sourcePage(c, open, 'usage', {
    body: html`${stats('Use in 30 days', [
      {
        label: hasRole(session, 'admin') ? 'Questions in 30 days' : 'Your questions in 30 days',
        value: sum('answered') + sum('refused') + sum('failed'),
        href: pathTo({ ...ofSource, from: days[0] ?? '' }),
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
    ${card(
      'Last questions',
      activity.length === 0
        ? emptyState(
            'No questions yet',
            'Questions from the console, an assistant or a script are listed here.',
            html`<a href="${pathOf(id)}">Ask</a>`,
          )
        : html`${table('Last questions, newest first', USAGE_COLUMNS, activity.map(usageCells))}
            <p class="note"><a href="${pathTo(ofSource)}">All questions</a></p>`,
      undefined,
      'card-list',
    )}`,
  })
}
