/** An agent's day: its calls as a timeline of periods of work, with data sources and counts, never the words. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { showAgentDay } from '../../../contracts/activity.ts'
import { showGrant } from '../../../contracts/grants.ts'
import { inputField, linkButton } from '../../../pages/parts.ts'
import { addressForm, breakable, emptyState, exactTime, stats } from '../../components.ts'
import { createRoutes, idOf, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { readDay } from '../../day-filter.ts'
import { plural } from '../../format.ts'
import { page } from '../../layout.ts'
import { pathOf } from '../data-sources/source-labels.ts'
import { agentPath } from './agent-labels.ts'
import { clientLabel, clientOf } from './client-labels.ts'
import { narrowToUsedForm } from './grant-cards.ts'

type Period = z.output<typeof showAgentDay.output>['periods'][number]

export const agentDayRoutes = () => createRoutes().get('/agents/:id{grt_[0-9a-z]{25}}/day', showDay)

const DAY_MS = 24 * 60 * 60 * 1000
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' })

export const agentDayPath = (grantId: string, day?: string): string =>
  `${agentPath(grantId)}/day${day === undefined ? '' : `?day=${day}`}`

async function showDay(c: PageContext) {
  const session = sessionOf(c)
  const grant_id = idOf(c)
  const day = readDay(c.req.query('day')) ?? c.var.deps.clock().toISOString().slice(0, 10)
  // For whoever may not see the agent there is no day of it either.
  const [grant, done] = await Promise.all([
    session.call(showGrant, { grant_id }),
    session.call(showAgentDay, { grant_id, day }),
  ])
  const called = clientLabel(clientOf(grant))
  const other = (days: number) => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
  return page(c, {
    title: DAY.format(new Date(day)),
    lead: html`What <bdi>${called}</bdi> did in ${organizationOf(c).name}. Times are in UTC until the page knows yours.`,
    parents: [{ href: agentPath(grant_id), label: called }],
    actions: html`${linkButton(agentDayPath(grant_id, other(-1)), 'Day before', 'quiet')} ${linkButton(agentDayPath(grant_id, other(1)), 'Day after', 'quiet')}`,
    body: html`
      <div class="card">
        ${addressForm(c, 'Choose a day', inputField({ name: 'day', label: 'Day (UTC)', type: 'date', value: day }))}
        ${stats('Calls of the day', [
          { label: 'Calls', value: done.calls },
          { label: 'Refused', value: done.refused },
          { label: 'Failed', value: done.failed },
          { label: 'Periods of work', value: done.periods.length },
        ])}
        ${grant.ended === null && grant.use.unused !== null && narrowToUsedForm(c, grant)}
      </div>
      <div class="card">
        ${
          done.periods.length === 0
            ? emptyState('No calls on this day', 'Choose another day, or look at all its activity.')
            : html`<ol class="lines">${done.periods.map(periodItem)}</ol>`
        }
      </div>`,
  })
}

const periodItem = ({ from, to, calls, refused, failed, data_sources, functions, errors }: Period) =>
  html`<li>
    <h2>${exactTime(from)}${from !== to && html` to ${exactTime(to)}`}</h2>
    <p>${plural(calls, 'call')}${refused > 0 && html`, ${refused} refused`}${failed > 0 && html`, ${failed} failed`}</p>
    <ul class="plain">
      ${data_sources.map((one) => html`<li>Asked <a href="${pathOf(one.source_id)}"><code>${one.source_id}</code></a> <span class="note">${plural(one.calls, 'time')}, ${plural(one.hits, 'hit')}${one.refused > 0 && `, ${one.refused} refused`}</span></li>`)}
      ${functions.map((one) => html`<li>Called <code>${one.name}</code> <span class="note">${plural(one.calls, 'time')}${one.refused > 0 && `, ${one.refused} refused`}</span></li>`)}
      ${errors.map(({ error, calls: times }) => html`<li>Was told <code>${breakable(error, '_')}</code> <span class="note">${plural(times, 'time')}</span></li>`)}
    </ul>
  </li>`
