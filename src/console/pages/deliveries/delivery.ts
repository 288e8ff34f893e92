/** One delivery: its payload, its attempts, and its replay. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { REASONS, replayDelivery, retryDelivery, showDelivery } from '../../../contracts/deliveries.ts'
import { idPattern } from '../../../contracts/ids.ts'
import { notFound } from '../../../contracts/errors.ts'
import { button, card, notice } from '../../../pages/parts.ts'
import { attempt, confirmDialog, form } from '../../forms.ts'
import { actAndReturn, redirectWithMessage, setFlash } from '../../flash.ts'
import { page } from '../../layout.ts'
import { pair, badge, copyable, table, time } from '../../components.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { attemptsTimeline } from './attempts-timeline.ts'
import {
  CHANNEL_LABELS,
  destinationOf,
  DELIVERIES_PATH,
  outcomeBadge,
  reasonNote,
  STATE_LABELS,
  TIMING_LABELS,
} from './delivery-labels.ts'
import { formatDuration } from '../../format.ts'

type Delivery = z.output<typeof showDelivery.output>

export const deliveryRoutes = () =>
  createRoutes()
    .get('/deliveries/:id', showOne)
    .post('/deliveries/:id/replay', replay)
    .post('/deliveries/:id/retry', retry)

/** An id of the wrong shape is not found, like an unknown one. */
function idOf(c: PageContext): string {
  const id = c.req.param('id') ?? ''
  if (!idPattern('dlv').test(id)) throw notFound()
  return id
}

async function showOne(c: PageContext) {
  organizationOf(c)
  const one = await sessionOf(c).call(showDelivery, { delivery_id: idOf(c) })
  return page(c, {
    title: one.type,
    lead: html`<a href="${DELIVERIES_PATH}">Deliveries</a>`,
    actions: mayReplay(one) ? replayDialog(c, one) : mayRetry(one) && retryButton(c, one),
    body: html`
      ${one.unconfirmed && unconfirmedNotice(one)} ${aboutCard(one)} ${attemptsCard(one)}
      ${card(
        'Payload',
        copyable('payload', JSON.stringify(one.notification, null, 2), 'Payload as sent'),
        'Contains identifiers only; details are visible after sign-in. Webhooks receive it in an array; chat and email receive a one-line summary.',
      )}
    `,
  })
}

/** Only what had a recipient and is no longer in progress. */
const mayReplay = ({ state, channel }: Delivery): boolean =>
  channel !== null && ['sent', 'failed', 'dropped'].includes(state)

/** What waits for its digest is not waiting for an attempt. */
const mayRetry = ({ state, timing }: Delivery): boolean =>
  state === 'retrying' || (state === 'waiting' && (timing === null || timing === 'immediately'))

const retryButton = (c: PageContext, { id }: Delivery) =>
  form(c, `${DELIVERIES_PATH}/${id}/retry`, button('Retry now'))

const unconfirmedNotice = ({ id, destination }: Delivery) =>
  notice(
    'info',
    html`<p><strong>This delivery may have arrived.</strong> No response was received. Sending it again could deliver it twice, so it is not retried automatically.</p>
      <p>Check with ${destination ?? 'the receiver'} whether <code class="long">${id}</code> arrived. If not, replay it.</p>`,
  )

const aboutCard = (one: Delivery) =>
  card(
    'Details',
    html`<dl class="pairs">
      ${pair('Status', html`<div class="two-lines">${outcomeBadge(one)} ${reasonNote(one.reason)}</div>`)}
      ${pair('Destination', destinationText(one))}
      ${one.timing !== null && pair('Timing', TIMING_LABELS[one.timing])}
      ${one.digest_of > 1 && pair('Digest', one.digest_of === 2 ? 'with 1 other' : `with ${one.digest_of - 1} others`)}
      ${pair('Event', html`<a href="${DELIVERIES_PATH}?event=${one.event_id}"><code>${one.event_id}</code></a>`)}
      ${pair('Subject', html`<code>${one.subject}</code>`)}
      ${one.app !== null && pair('App', html`<a href="/console/apps/${one.app}">${one.app}</a>`)}
      ${pair('Created', time(one.created_at))}
      ${one.settled_at && pair('Completed', time(one.settled_at))}
      ${one.next_attempt_at && pair(one.attempts === 0 ? 'Scheduled for' : 'Next attempt', time(one.next_attempt_at))}
      ${one.replay_of !== null && pair('Replay of', html`<a href="${DELIVERIES_PATH}/${one.replay_of}"><code>${one.replay_of}</code></a>`)}
      ${pair('ID', html`<code>${one.id}</code>`)}
    </dl>`,
  )

const destinationText = ({ channel, destination }: Delivery): string =>
  channel === null
    ? 'No recipient'
    : `${destinationOf({ channel, destination })} · ${CHANNEL_LABELS[channel]}`

const attemptsCard = (one: Delivery) =>
  card(
    'Attempts',
    one.attempts_made.length === 0
      ? html`<p class="note">${one.state === 'waiting' ? 'None yet.' : 'None.'}</p>`
      : html`${attemptsTimeline(one)}
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
        ${one.attempts_made.map(responseOf)}`,
  )

/** What the receiver wrote, as text: it is theirs, and nothing in it is a link. */
const responseOf = ({ number, response, carried_by }: Delivery['attempts_made'][number]) =>
  html`${carried_by !== null && html`<p class="note">Attempt #${number} was sent together with others, in the POST of <code>${carried_by}</code>.</p>`}
  ${
    response !== null &&
    html`<details class="more"><summary>Response to attempt #${number}</summary>${copyable(`response-${number}`, response, `Response to attempt #${number}`)}</details>`
  }`

function outcomeOf({ outcome, reason }: Delivery['attempts_made'][number]) {
  if (reason === 'outcome_unknown') return badge('Unconfirmed', 'wait')
  if (outcome === null) return badge('In progress', 'off')
  return html`<div class="two-lines">${badge(STATE_LABELS[outcome], outcome === 'sent' ? 'on' : 'bad')} ${reason !== null && html`<span class="note">${REASONS[reason]}</span>`}</div>`
}

const replayDialog = (c: PageContext, one: Delivery) =>
  confirmDialog(c, {
    id: 'replay',
    label: 'Replay',
    title: 'Replay this delivery?',
    action: `${DELIVERIES_PATH}/${one.id}/replay`,
    text: `The same payload is sent again with a new ID. ${replayWarning(one)}`,
    submit: 'Replay',
    kind: 'main',
  })

function replayWarning({ state, unconfirmed }: Delivery): string {
  if (state === 'sent') return 'It has already arrived, so it will arrive twice.'
  return unconfirmed
    ? 'It may already have arrived, so it may arrive twice.'
    : 'If an earlier attempt did arrive, it will arrive twice.'
}

const retry = (c: PageContext) =>
  actAndReturn(c, `${DELIVERIES_PATH}/${idOf(c)}`, 'The next attempt is made now.', () =>
    sessionOf(c).call(retryDelivery, { delivery_id: idOf(c) }),
  )

async function replay(c: PageContext) {
  const id = idOf(c)
  const result = await attempt(() => sessionOf(c).call(replayDelivery, { delivery_id: id }))
  if ('problem' in result) {
    const { message, hint } = result.problem
    setFlash(c, 'problem', [`${message}.`, hint].filter(Boolean).join(' '))
    return c.redirect(`${DELIVERIES_PATH}/${id}`, 303)
  }
  return redirectWithMessage(
    c,
    `${DELIVERIES_PATH}/${result.done.id}`,
    'Replay queued. This page shows the new delivery.',
  )
}
