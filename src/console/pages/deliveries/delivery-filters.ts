/** The filters of the list of deliveries, as part of its address and of its export. */
import { html } from 'hono/html'
import { CHANNEL_NAMES, DELIVERY_STATES } from '../../../contracts/channels.ts'
import { DELIVERY_REASONS, deliveryFilters, REASONS } from '../../../contracts/deliveries.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { inputField } from '../../../pages/parts.ts'
import { dayFilters, filterSelect, labelOptions } from '../../components.ts'
import { beginOf, endOf, readDay } from '../../day-filter.ts'
import { utcMoment } from '../../forms.ts'
import { CHANNEL_LABELS, STATE_LABELS } from './delivery-labels.ts'
import { integrationOptions, type NamedIntegration } from '../integrations/integration-labels.ts'

/** Of several states: failed, retrying, or dropped because of the receiver. */
const MISSED = 'missed'

export type Filters = ReturnType<typeof readFilters>

/** People edit addresses: invalid values are ignored. For what they type into a field, they get a message. */
export function readFilters(query: Record<string, string>) {
  const { state, reason, channel, integration, app, from, to } = query
  const submitted = { type: normalize(query['type']), event_id: normalize(query['event']) }
  const type = deliveryFilters.type.safeParse(submitted.type)
  const event_id = deliveryFilters.event_id.safeParse(submitted.event_id)
  const problems = [
    type.error && 'type: not a valid event type, ignored',
    event_id.error && 'event: not a valid event ID, ignored',
  ].filter((problem) => problem !== undefined)
  return {
    submitted,
    problem: problems.length === 0 ? undefined : new ServiceError('INVALID_REQUEST', undefined, { problems }),
    type: type.data,
    event_id: event_id.data,
    state: DELIVERY_STATES.find((one) => one === state),
    isMissed: state === MISSED,
    reason: DELIVERY_REASONS.find((one) => one === reason),
    channel: CHANNEL_NAMES.find((one) => one === channel),
    integration_id: deliveryFilters.integration_id.safeParse(integration || undefined).data,
    app: deliveryFilters.app.safeParse(app?.trim() || undefined).data,
    from: readFrom(from),
    to: readDay(to),
  }
}

/** A day, or a moment in UTC: the numbers above the list count 24 hours. */
function readFrom(text: string | undefined): string | undefined {
  const moment = deliveryFilters.from.safeParse(text).data
  return readDay(text) ?? moment ?? utcMoment(text ?? '')
}

export const momentOf = (from: string): string => (readDay(from) === undefined ? from : beginOf(from)!)

const normalize = (submitted: string | undefined): string | undefined =>
  submitted?.trim().toLowerCase() || undefined

/** As the gateway takes them. */
export const asInput = ({
  submitted: _submitted,
  problem: _problem,
  isMissed,
  from,
  to,
  ...rest
}: Filters) => ({
  ...rest,
  missed: String(isMissed),
  from: from && momentOf(from),
  to: endOf(to),
})

/** The most used filters are always visible; the rest is open while one of them is set. */
export function filterFields(filters: Filters, integrations: readonly NamedIntegration[]) {
  const { reason, channel, integration_id, app, submitted } = filters
  const usesMore = [reason, channel, integration_id, app, submitted.event_id].some((one) => one !== undefined)
  return html`${inputField({ name: 'type', label: 'Event type', value: submitted.type ?? '', maxlength: 100, placeholder: 'deploy.failed, deploy.*', problem: filters.problem })}
    ${filterSelect({ name: 'state', label: 'Status', value: filters.isMissed ? MISSED : filters.state, all: 'All statuses', options: [{ value: MISSED, label: 'Not arrived' }, ...labelOptions(DELIVERY_STATES, STATE_LABELS)] })}
    ${dayFilters(filters)}
    <details class="more" ${usesMore && html`open`}>
      <summary>More filters</summary>
      <div class="more-filters">
        ${filterSelect({ name: 'reason', label: 'Reason', value: reason, all: 'All reasons', options: labelOptions(DELIVERY_REASONS, REASONS) })}
        ${filterSelect({ name: 'channel', label: 'Channel', value: channel, all: 'All channels', options: labelOptions(CHANNEL_NAMES, CHANNEL_LABELS) })}
        ${filterSelect({ name: 'integration', label: 'Destination', value: integration_id, all: 'All integrations', options: integrationOptions(integrations), missing: 'Removed integration' })}
        ${inputField({ name: 'app', label: 'App', value: app ?? '', maxlength: 40, placeholder: 'alias' })}
        ${inputField({ name: 'event', label: 'Event ID', value: submitted.event_id ?? '', maxlength: 40, placeholder: 'evt_…', problem: filters.problem })}
      </div>
    </details>`
}
