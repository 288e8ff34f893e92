/** The filters of the ledger, as they stand in its address and in that of its export. */
import { html } from 'hono/html'
import {
  CHANNELS,
  DELIVERY_STATES,
  deliveryFilters,
  REASONS,
  SEND_REASONS,
} from '../../contracts/deliveries.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { inputField, selectField } from '../../pages/parts.ts'
import { beginOf, endOf, readDay } from './day-filter.ts'
import { CHANNEL_WORDS, STATE_WORDS } from './delivery-words.ts'
import { KIND_WORDS, type Integration } from './integration-words.ts'

export type Filters = ReturnType<typeof readFilters>

/** People edit addresses: what makes no sense is left out. Of what they type into a field, they are told. */
export function readFilters(query: Record<string, string>) {
  const { state, reason, channel, integration, app, from, to } = query
  const typed = { type: wordOf(query['type']), event_id: wordOf(query['event']) }
  const type = deliveryFilters.type.safeParse(typed.type)
  const event_id = deliveryFilters.event_id.safeParse(typed.event_id)
  const problems = [
    type.error && 'type: this is no event type; it was left out',
    event_id.error && 'event: this is no id of an event; it was left out',
  ].filter((said) => said !== undefined)
  return {
    typed,
    problem: problems.length === 0 ? undefined : new ServiceError('INVALID_REQUEST', undefined, { problems }),
    type: type.data,
    event_id: event_id.data,
    state: DELIVERY_STATES.find((one) => one === state),
    reason: SEND_REASONS.find((one) => one === reason),
    channel: CHANNELS.find((one) => one === channel),
    integration_id: deliveryFilters.integration_id.safeParse(integration || undefined).data,
    app: deliveryFilters.app.safeParse(app?.trim() || undefined).data,
    from: readDay(from),
    to: readDay(to),
  }
}

const wordOf = (typed: string | undefined): string | undefined => typed?.trim().toLowerCase() || undefined

/** As the gateway takes them. */
export const asInput = ({ typed: _typed, problem: _problem, from, to, ...rest }: Filters) => ({
  ...rest,
  from: beginOf(from),
  to: endOf(to),
})

/** What is asked for most stands open, and the rest is open as long as it is used. */
export function filterFields(asked: Filters, integrations: readonly Integration[]) {
  const { reason, channel, integration_id, app, typed } = asked
  const usesMore = [reason, channel, integration_id, app, typed.event_id].some((one) => one !== undefined)
  return html`${inputField({ name: 'type', label: 'Event type', value: typed.type ?? '', maxlength: 100, placeholder: 'deploy.failed, deploy.*', problem: asked.problem })}
    ${choose('state', 'State', 'Every state', asked.state, DELIVERY_STATES, STATE_WORDS)}
    ${inputField({ name: 'from', label: 'From (UTC)', type: 'date', value: asked.from ?? '' })}
    ${inputField({ name: 'to', label: 'To (UTC)', type: 'date', value: asked.to ?? '' })}
    <details class="more" ${usesMore && html`open`}>
      <summary>More filters</summary>
      <div class="more-filters">
        ${choose('reason', 'Reason', 'Every reason', reason, SEND_REASONS, REASONS)}
        ${choose('channel', 'Channel', 'Every channel', channel, CHANNELS, CHANNEL_WORDS)}
        ${selectField({ name: 'integration', label: 'Destination', value: integration_id ?? '', options: connectionOptions(asked, integrations) })}
        ${inputField({ name: 'app', label: 'App', value: app ?? '', maxlength: 40, placeholder: 'alias' })}
        ${inputField({ name: 'event', label: 'Event id', value: typed.event_id ?? '', maxlength: 40, placeholder: 'evt_…', problem: asked.problem })}
      </div>
    </details>`
}

const choose = <Value extends string>(
  name: string,
  label: string,
  every: string,
  value: Value | undefined,
  values: readonly Value[],
  words: Readonly<Record<Value, string>>,
) =>
  selectField({
    name,
    label,
    value: value ?? '',
    options: [{ value: '', label: every }, ...values.map((one) => ({ value: one, label: words[one] }))],
  })

/** What is filtered by stays chosen, though the connection is gone. */
const connectionOptions = ({ integration_id }: Filters, integrations: readonly Integration[]) => [
  { value: '', label: 'Every connection' },
  ...integrations.map(({ id, name, kind }) => ({
    value: id,
    label: `${name} (${KIND_WORDS[kind].toLowerCase()})`,
  })),
  ...(integration_id === undefined || integrations.some(({ id }) => id === integration_id)
    ? []
    : [{ value: integration_id, label: 'A connection that was removed' }]),
]
