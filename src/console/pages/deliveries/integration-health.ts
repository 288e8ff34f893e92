/** Every integration with how deliveries to it go, those in trouble first. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { listIntegrationHealth } from '../../../contracts/deliveries.ts'
import type { Content } from '../../../pages/parts.ts'
import { stripHeight, stripOfBars } from '../../../pages/strip.ts'
import { listCard, time } from '../../components.ts'
import type { PageContext } from '../../context.ts'
import { dayLabel } from '../../format.ts'
import { DELIVERIES_PATH, failureWords } from './delivery-labels.ts'
import { conditionBadge, rankOf } from './integration-condition.ts'
import { testForm } from './test-form.ts'

type Listed = z.output<typeof listIntegrationHealth.output>
type Health = Listed['members']

export function healthCard(c: PageContext, { integrations, members }: Listed) {
  const sorted = integrations.toSorted((a, b) => rankOf(a) - rankOf(b))
  const now = c.var.deps.clock()
  const rows = sorted.map((one) => [
    html`<a class="subject" href="${DELIVERIES_PATH}?integration=${one.id}">${one.name}</a>`,
    conditionBadge(one),
    dayCounts(one),
    weekStrip(one, now),
    one.last_success_at === null ? html`<span class="note">Never</span>` : time(one.last_success_at),
    lastFailure(one, one.id),
    html`<div class="row-actions">${testForm(c, one, 'row')}</div>`,
  ])
  const isReached = members.days.length > 0
  if (rows.length === 0 && !isReached) return null
  return listCard(c, {
    title: 'Integrations',
    caption: 'Integrations, those in trouble first',
    columns: ['Integration', 'Status', '24 hours', '7 days', 'Last success', 'Last failure', '(Actions)'],
    rows: isReached ? [...rows, membersRow(members, now)] : rows,
    empty: null,
  })
}

/** They are reached without an integration. */
const membersRow = (members: Health, now: Date): Content[] => [
  html`<div class="two-lines"><span class="subject">Members</span><span class="note">Email and direct messages</span></div>`,
  '',
  dayCounts(members),
  weekStrip(members, now),
  '',
  lastFailure(members),
  '',
]

function dayCounts({ last_24_hours: { sent, failed, unconfirmed, retrying, not_sent } }: Health) {
  const missed = failed + unconfirmed + retrying + not_sent
  if (sent + missed === 0) return html`<span class="note">None</span>`
  return html`<span class="measure">${sent}</span> <span class="note">arrived</span>${missed > 0 && html` <span class="measure missed">${missed}</span> <span class="note">not</span>`}`
}

const DAYS = 7
const DAY_MS = 86_400_000

/** As high as what was to arrive, and on top of each day what did not. */
function weekStrip({ days }: Health, now: Date) {
  const week = Array.from({ length: DAYS }, (_, at) => {
    const day = new Date(now.getTime() - (DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10)
    return days.find((one) => one.day === day) ?? { day, sent: 0, missed: 0 }
  })
  const most = Math.max(1, ...week.map(({ sent, missed }) => sent + missed))
  const total = (part: 'sent' | 'missed') => week.reduce((sum, day) => sum + day[part], 0)
  return stripOfBars(
    `${total('sent')} arrived and ${total('missed')} did not in ${DAYS} days`,
    week.map(({ day, sent, missed }) => ({
      title: `${dayLabel(day)}: ${sent} arrived, ${missed} not`,
      height: stripHeight(sent + missed, most),
      fill: sent + missed === 0 ? 'strip-ground' : 'ink-plain',
      ...(missed > 0 && { top: { height: stripHeight(missed, most), fill: 'ink-dotted' as const } }),
    })),
  )
}

const lastFailure = ({ last_failure }: Health, integration?: string) =>
  last_failure === null
    ? html`<span class="note">None</span>`
    : html`<a href="${DELIVERIES_PATH}/${last_failure.delivery_id}${integration && `?integration=${integration}`}">${failureWords(last_failure)}</a> <span class="note">${time(last_failure.at)}</span>`
