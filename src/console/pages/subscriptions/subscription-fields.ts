/** The fields of a subscription: the pattern with a preview of what it matches, and the timing. */
import { html } from 'hono/html'
import { previewEventPattern } from '../../../contracts/subscriptions.ts'
import { CHANNELS, TIMINGS, takesTiming, type Channel, type Timing } from '../../../contracts/channels.ts'
import { icon } from '../../../pages/icons.ts'
import { breakable, labelOptions } from '../../components.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { plural } from '../../format.ts'
import { TIMING_LABELS } from '../deliveries/delivery-labels.ts'
import { attempt } from '../../forms.ts'

export const SUBSCRIPTIONS_PATH = '/console/subscriptions'

/** Answers only the content of the preview; the script inserts it into the page. */
const PREVIEW_PATH = `${SUBSCRIPTIONS_PATH}/preview`

export const showPreview = async (c: PageContext) => c.html(await previewOf(c, c.req.query('pattern') ?? ''))

const options = labelOptions(TIMINGS, TIMING_LABELS)
/** Hourly and daily messages combine several events. */
export const SPECIALS = {
  pattern: { required: true, preview: PREVIEW_PATH },
  timing: { options },
}

export const previewRegion = (fieldId: string, body: unknown) =>
  html`<div id="${fieldId}-preview" class="preview" aria-live="polite">${body}</div>`

export async function previewOf(c: PageContext, submitted: string) {
  const pattern = submitted.trim()
  if (pattern === '') return html``
  const result = await attempt(() => sessionOf(c).call(previewEventPattern, { pattern }))
  if ('problem' in result) {
    return result.problem.code === 'INVALID_REQUEST'
      ? html`<p class="note">Not a valid event type yet. Use lowercase words separated by dots, with an optional * at the end.</p>`
      : html`<p class="note">${result.problem.message}.</p>`
  }
  const { types, events, is_known } = result.done
  if (!is_known && types.length === 0) {
    return html`<p class="preview-sum">${icon('alert')} <span>No event of this type is defined${events > 0 && `, but ${plural(events, 'event')} occurred in the last 7 days`}. You can still save it.</span></p>`
  }
  // Which events an app sends is known once it has sent them.
  if (types.length === 0) {
    return html`<p class="preview-sum">${icon('check')} <span>Matches what the app sends. It sent nothing in the last 7 days.</span></p>`
  }
  return html`<p class="preview-sum">${icon('check')} <span>Matches <strong>${plural(types.length, 'event type')}</strong>, <strong>${plural(events, 'event')}</strong> in the last 7 days.</span></p>
    <ul class="preview-types">
      ${types.map(({ type, when, events }) => html`<li><code>${breakable(type, '.')}</code> <span class="note">${when}. ${events > 0 && html`<span class="measure">${plural(events, 'event')}</span>`}</span></li>`)}
    </ul>`
}

/** As far as the channel takes them. */
export const timingOf = (channel: Channel) => ({
  options: options.filter(({ value }) => takesTiming(channel, value as Timing)),
  ...(!CHANNELS[channel].digest && {
    hint: `${CHANNELS[channel].label} integrations take one message for each event.`,
  }),
})
