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

export const filterFields = (asked: Filters, integrations: readonly Integration[]) =>
  html`${inputField({ name: 'type', label: 'Event type', value: asked.typed.type ?? '', maxlength: 100, placeholder: 'deploy.failed, deploy.*', problem: asked.problem })}
  ${selectField({
    name: 'state',
    label: 'State',
    value: asked.state ?? '',
    options: [
      { value: '', label: 'Every state' },
      ...DELIVERY_STATES.map((value) => ({ value, label: STATE_WORDS[value] })),
    ],
  })}
  ${selectField({
    name: 'reason',
    label: 'Reason',
    value: asked.reason ?? '',
    options: [
      { value: '', label: 'Every reason' },
      ...SEND_REASONS.map((value) => ({ value, label: REASONS[value] })),
    ],
  })}
  ${selectField({
    name: 'channel',
    label: 'Channel',
    value: asked.channel ?? '',
    options: [
      { value: '', label: 'Every channel' },
      ...CHANNELS.map((value) => ({ value, label: CHANNEL_WORDS[value] })),
    ],
  })}
  ${selectField({
    name: 'integration',
    label: 'Destination',
    value: asked.integration_id ?? '',
    options: connectionOptions(asked, integrations),
  })}
  ${inputField({ name: 'app', label: 'App', value: asked.app ?? '', maxlength: 40, placeholder: 'alias' })}
  ${inputField({ name: 'from', label: 'From (UTC)', type: 'date', value: asked.from ?? '' })}
  ${inputField({ name: 'to', label: 'To (UTC)', type: 'date', value: asked.to ?? '' })}
  ${inputField({ name: 'event', label: 'Event id', value: asked.typed.event_id ?? '', maxlength: 40, placeholder: 'evt_…', problem: asked.problem })}`

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
