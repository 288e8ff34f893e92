/** What there is to know of one delivery: why it failed, what was sent, what was answered, and every attempt. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { ADVICE, REASONS, type showDelivery } from '../../../contracts/deliveries.ts'
import { button, card, type Content } from '../../../pages/parts.ts'
import { badge, copyable, pair, table, time, timeToCome } from '../../components.ts'
import type { PageContext } from '../../context.ts'
import { formatDuration } from '../../format.ts'
import { confirmDialog, form } from '../../forms.ts'
import { attemptsTimeline } from './attempts-timeline.ts'
import {
  CHANNEL_LABELS,
  DELIVERIES_PATH,
  destinationOf,
  outcomeBadge,
  SHORT_REASONS,
  STATE_LABELS,
  TIMING_LABELS,
} from './delivery-labels.ts'
import type { Integration } from '../integrations/integration-labels.ts'
import { testForm } from './test-form.ts'

type Delivery = z.output<typeof showDelivery.output>
type Attempt = Delivery['attempts_made'][number]

export const deliveryDetail = (one: Delivery, now: Date) =>
  html`${whyCard(one, now)} ${attemptsCard(one)} ${requestCard(one)} ${aboutCard(one)}`

/** Only what had a recipient and is no longer in progress. */
const mayReplay = ({ state, channel }: Delivery): boolean =>
  channel !== null && ['sent', 'failed', 'dropped'].includes(state)

/** What waits for its digest is not waiting for an attempt. */
const mayRetry = ({ state, timing }: Delivery): boolean =>
  state === 'retrying' || (state === 'waiting' && (timing === null || timing === 'immediately'))

/** `query` is of the list beside it, which both keep. */
export const deliveryActions = (
  c: PageContext,
  one: Delivery,
  integration: Integration | undefined,
  query: string,
): Content =>
  html`${mayRetry(one) && form(c, `${DELIVERIES_PATH}/${one.id}/retry${query}`, button('Retry now'), '')}
  ${mayReplay(one) && replayDialog(c, one, query)} ${integration && testForm(c, integration, 'quiet')}`

/** The answer to the question that people come with, before everything else. */
function whyCard(one: Delivery, now: Date) {
  const last = one.attempts_made.at(-1)
  return card(
    HEADINGS[one.unconfirmed ? 'unconfirmed' : one.state],
    html`<p class="switch-state">${outcomeBadge(one)} <span>${sentenceOf(one, last, now)}</span></p>
      ${adviceOf(one, last).map((advice) => html`<p>${advice}</p>`)}
      ${one.unconfirmed && unconfirmedAdvice(one)}
      ${last?.response ? response(last) : null} ${last?.response_withheld ? WITHHELD : null}`,
  )
}

const HEADINGS: Record<Delivery['state'] | 'unconfirmed', string> = {
  waiting: 'Not sent yet',
  retrying: 'Why it has not arrived yet',
  sent: 'It arrived',
  failed: 'Why it failed',
  dropped: 'Why it was not sent',
  unconfirmed: 'It may have arrived',
}

function sentenceOf(
  { state, reason, next_attempt_at }: Delivery,
  last: Attempt | undefined,
  now: Date,
): Content {
  const next =
    next_attempt_at !== null && html` ${last ? 'Next attempt' : 'Due'} ${timeToCome(next_attempt_at, now)}`
  if (!last) return html`${reason === null ? 'No attempt was made yet' : REASONS[reason]}.${next}`
  const took = last.duration_ms === null ? '' : ` after ${formatDuration(last.duration_ms)}`
  if (state === 'sent') return html`The receiver answered ${statusWords(last)}${took}.`
  // What was given up has the reason of its last attempt.
  const why = last.reason ?? reason
  const said = last.http_status !== null && html` It answered ${statusWords(last)}${took}.`
  return html`${why === null ? 'An attempt is under way' : REASONS[why]}.${said}${next}`
}

const statusWords = ({ http_status }: Attempt): Content =>
  http_status === null ? 'without a status' : html`<code>${http_status}</code>`

/** Of what was given up, what made its last attempt fail comes first. */
const adviceOf = ({ reason }: Delivery, last: Attempt | undefined): string[] =>
  [...new Set([reason === 'gave_up' ? last?.reason : null, reason])].flatMap(
    (one) => (one && ADVICE[one]) || [],
  )

const WITHHELD = html`<p class="note">What the receiver answered is not kept, because it is in a private network. The
  operator of this service can give that network to this organization alone, and then it is.</p>`

const unconfirmedAdvice = ({ id, destination, notification }: Delivery) =>
  html`<p>Sending it again could deliver it twice, so it is not retried automatically. Check with ${destination ?? 'the receiver'} whether <code class="long">${notification?.id ?? id}</code> arrived. If not, replay it.</p>`

/** What the receiver wrote, as text: it is theirs, and nothing in it is a link. */
const response = ({ number, response: text }: Attempt) =>
  html`<div class="excerpt">
    <h3>Response to attempt #${number}</h3>
    ${copyable(`response-${number}`, text ?? '', `Response to attempt #${number}`)}
  </div>`

const attemptsCard = (one: Delivery) =>
  one.attempts_made.length === 0
    ? null
    : card(
        'Attempts',
        html`${attemptsTimeline(one)}
          ${table(
            'Attempts',
            ['Attempt', 'Started', 'Response', 'Duration', 'Status'],
            one.attempts_made.map((made) => [
              `#${made.number}`,
              time(made.started_at),
              made.http_status === null
                ? html`<span class="note">None</span>`
                : html`<code>${made.http_status}</code>`,
              made.duration_ms === null
                ? html`<span class="note">Unknown</span>`
                : html`<span class="measure">${formatDuration(made.duration_ms)}</span>`,
              outcomeOf(made),
            ]),
          )}
          ${one.attempts_made.map(carriedNote)} ${earlierResponses(one.attempts_made.slice(0, -1))}`,
      )

const carriedNote = ({ number, carried_by }: Attempt) =>
  carried_by !== null &&
  html`<p class="note">Attempt #${number} was sent together with others, in the POST of <code>${carried_by}</code>.</p>`

/** The last response stands above. */
function earlierResponses(attempts: readonly Attempt[]) {
  const answered = attempts.filter(({ response: text }) => text !== null)
  return (
    answered.length > 0 &&
    html`<details class="more"><summary>Earlier responses</summary>${answered.map(response)}</details>`
  )
}

function outcomeOf({ outcome, reason }: Attempt) {
  if (reason === 'outcome_unknown') return badge('Unconfirmed', 'wait')
  if (outcome === null) return badge('In progress', 'off')
  return html`<div class="two-lines">${badge(STATE_LABELS[outcome], outcome === 'sent' ? 'on' : 'bad')} ${reason !== null && html`<span class="note">${SHORT_REASONS[reason]}</span>`}</div>`
}

function requestCard(one: Delivery) {
  const last = one.attempts_made.findLast(({ request_headers }) => request_headers !== null)
  return card(
    'Request',
    html`${
      last &&
      html`<h3>Headers of attempt #${last.number}</h3>
        ${copyable('headers', headerLines(last.request_headers ?? {}), `Headers of attempt #${last.number}`)}`
    }
    <h3>Payload</h3>
    ${copyable('payload', JSON.stringify(one.notification, null, 2), 'Payload as sent')}`,
    'Contains identifiers only; details are visible after sign-in. Webhooks receive it in an array; chat and email receive a one-line summary.',
  )
}

const headerLines = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')

const aboutCard = (one: Delivery) =>
  card(
    'Details',
    html`<dl class="pairs">
      ${pair('Destination', destinationText(one))}
      ${one.timing !== null && pair('Timing', TIMING_LABELS[one.timing])}
      ${one.digest_of > 1 && pair('Digest', one.digest_of === 2 ? 'with 1 other' : `with ${one.digest_of - 1} others`)}
      ${pair('Event', html`<a href="${DELIVERIES_PATH}?event=${one.event_id}"><code>${one.event_id}</code></a>`)}
      ${pair('Subject', html`<code>${one.subject}</code>`)}
      ${one.app !== null && pair('App', html`<a href="/console/apps/${one.app}">${one.app}</a>`)}
      ${pair('Created', time(one.created_at))}
      ${one.settled_at && pair('Completed', time(one.settled_at))}
      ${one.replay_of !== null && pair('Replay of', html`<a href="${DELIVERIES_PATH}/${one.replay_of}"><code>${one.replay_of}</code></a>`)}
      ${pair('ID', html`<code>${one.id}</code>`)}
    </dl>`,
  )

function destinationText({ channel, destination, integration_id }: Delivery): Content {
  if (channel === null) return 'No recipient'
  const name = `${destinationOf({ channel, destination })} · ${CHANNEL_LABELS[channel]}`
  return integration_id === null || destination === null
    ? name
    : html`<a href="${DELIVERIES_PATH}?integration=${integration_id}">${name}</a>`
}

const replayDialog = (c: PageContext, one: Delivery, query: string) =>
  confirmDialog(c, {
    label: 'Replay',
    title: 'Replay this delivery?',
    action: `${DELIVERIES_PATH}/${one.id}/replay${query}`,
    text: `The same payload is sent again with a new ID. ${replayWarning(one)}`,
    kind: 'main',
  })

function replayWarning({ state, unconfirmed }: Delivery): string {
  if (state === 'sent') return 'It has already arrived, so it will arrive twice.'
  return unconfirmed
    ? 'It may already have arrived, so it may arrive twice.'
    : 'If an earlier attempt did arrive, it will arrive twice.'
}
