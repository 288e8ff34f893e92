/** An agent's day: its calls as a timeline of periods of work, with data sources and counts, never the words. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { showAgentDay } from '../../../contracts/activity.ts'
import { showGrant } from '../../../contracts/grants.ts'
import { inputField, linkButton, type Content } from '../../../pages/parts.ts'
import { addressForm, breakable, emptyState, stats, timeOfDay } from '../../components.ts'
import { routeInput } from '../../act.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { readDay } from '../../day-filter.ts'
import { plural } from '../../format.ts'
import { page } from '../../layout.ts'
import { pathOf } from '../data-sources/source-labels.ts'
import { agentPath } from './agent-labels.ts'
import { clientLabel, clientOf } from './client-labels.ts'
import { unusedNotice } from './grant-cards.ts'

type Period = z.output<typeof showAgentDay.output>['periods'][number]

export const agentDayRoutes = () => createRoutes().get('/agents/:grant_id{grt_[0-9a-z]{25}}/day', showDay)

const DAY_MS = 24 * 60 * 60 * 1000
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' })

export const agentDayPath = (grantId: string, day?: string): string =>
  `${agentPath(grantId)}/day${day === undefined ? '' : `?day=${day}`}`

async function showDay(c: PageContext) {
  const session = sessionOf(c)
  const { grant_id } = routeInput(c, showGrant)
  const today = c.var.deps.clock().toISOString().slice(0, 10)
  const day = readDay(c.req.query('day')) ?? today
  // For whoever may not see the agent there is no day of it either.
  const [grant, done] = await Promise.all([
    session.call(showGrant, { grant_id }),
    session.call(showAgentDay, { grant_id, day }),
  ])
  const called = clientLabel(clientOf(grant))
  const other = (days: number) => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
  return page(c, {
    title: DAY.format(new Date(day)),
    lead: html`What <bdi>${called}</bdi> did in ${organizationOf(c).name}, by period of work. Its questions are never stored.`,
    parents: [{ href: agentPath(grant_id), label: called }],
    actions: html`${linkButton(agentDayPath(grant_id, other(-1)), 'Day before', 'quiet')} ${day < today && linkButton(agentDayPath(grant_id, other(1)), 'Day after', 'quiet')}`,
    body: html`
        ${unusedNotice(c, grant)}
        ${stats('Calls of the day', [
          { label: 'Calls', value: done.calls },
          { label: 'Refused', value: done.refused },
          { label: 'Failed', value: done.failed },
          { label: 'Periods of work', value: done.periods.length },
        ])}
      <div class="card">
        ${addressForm(c, 'Choose a day', inputField({ name: 'day', label: 'Day (UTC)', type: 'date', value: day }))}
        ${
          done.periods.length === 0
            ? emptyState('No calls on this day', 'Choose another day, or look at all its activity.')
            : html`<ol class="periods">${done.periods.map(periodItem)}</ol>`
        }
      </div>`,
  })
}

const periodItem = ({ from, to, calls, refused, failed, data_sources, functions, errors }: Period) =>
  html`<li>
    <div class="period-head">
      <h2>${timeOfDay(from)}${from !== to && html` to ${timeOfDay(to)}`}</h2>
      <p class="note">${plural(calls, 'call')}${refused > 0 && `, ${refused} refused`}${failed > 0 && `, ${failed} failed`}</p>
    </div>
    <ul>
      ${data_sources.map((one) => did('Asked', html`<a href="${pathOf(one.source_id)}"><code>${breakable(one.source_id, '_')}</code></a>`, `${plural(one.calls, 'time')}, ${plural(one.hits, 'hit')}${one.refused > 0 ? `, ${one.refused} refused` : ''}`))}
      ${functions.map((one) => did('Called', html`<code>${breakable(one.name, '_')}</code>`, `${plural(one.calls, 'time')}${one.refused > 0 ? `, ${one.refused} refused` : ''}`))}
      ${errors.map((one) => did('Error', html`<code>${breakable(one.error, '_')}</code>`, plural(one.calls, 'time')))}
    </ul>
  </li>`

const did = (verb: string, what: Content, counted: string) =>
  html`<li><span class="note">${verb}</span> <span>${what}</span> <span class="note">${counted}</span></li>`
