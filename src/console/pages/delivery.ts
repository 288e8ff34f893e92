/** One delivery: what was sent, every attempt, and sending it once more. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { REASONS, replayDelivery, showDelivery } from '../../contracts/deliveries.ts'
import { idPattern } from '../../contracts/ids.ts'
import { notFound } from '../../contracts/errors.ts'
import { button, card, notice, type Content } from '../../pages/parts.ts'
import { attempt } from '../attempt.ts'
import { leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { badge, copyable, form, opens, table, time } from '../parts.ts'
import { organizationOf, visitOf, type ConsoleEnv } from '../visit.ts'
import { attemptsTimeline } from './attempts-timeline.ts'
import {
  CHANNEL_WORDS,
  destinationOf,
  LEDGER_PATH,
  outcomeBadge,
  reasonWords,
  STATE_WORDS,
  TIMING_WORDS,
} from './delivery-words.ts'
import { duration } from './measures.ts'

type C = Context<ConsoleEnv>
type Delivery = z.output<typeof showDelivery.output>

export const deliveryPages = () =>
  new Hono<ConsoleEnv>().get('/deliveries/:id', showOne).post('/deliveries/:id/replay', replay)

/** Of the wrong shape it is an unknown one, and the gateway need not be asked. */
function idOf(c: C): string {
  const id = c.req.param('id') ?? ''
  if (!idPattern('ntf').test(id)) throw notFound()
  return id
}

async function showOne(c: C) {
  organizationOf(c)
  const one = await visitOf(c).call(showDelivery, { delivery_id: idOf(c) })
  return page(c, {
    title: one.type,
    lead: html`<a href="${LEDGER_PATH}">Delivery ledger</a>`,
    actions: mayReplay(one) && replayWindow(c, one),
    body: html`
      ${one.unconfirmed && unconfirmedNotice(one)} ${aboutCard(one)} ${attemptsCard(one)}
      ${card(
        'What was sent',
        copyable(
          'payload',
          JSON.stringify(one.notification, null, 2),
          'The notification as receivers get it',
        ),
        'Identifiers only: whoever reads it signs in here to see more. Webhooks get it in an array; chat and mail get a line made of it.',
      )}
    `,
  })
}

/** Nothing can be sent again that went to nobody, and nothing need be that is still under way. */
const mayReplay = ({ state, channel }: Delivery): boolean =>
  channel !== null && ['sent', 'failed', 'dropped'].includes(state)

const unconfirmedNotice = ({ id, destination }: Delivery) =>
  notice(
    'info',
    html`<p><strong>It may have arrived.</strong> The message was on its way when the answer was lost: the connection broke, or a worker was stopped. Sending it again could make it arrive twice, so that is left to you.</p>
      <p>Ask ${destination ?? 'the receiver'} for the notification <code class="long">${id}</code>. If it is not there, press Replay.</p>`,
  )

const pair = (label: string, value: Content) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`

const aboutCard = (one: Delivery) =>
  card(
    'About',
    html`<dl class="pairs">
      ${pair('Outcome', html`<div class="two-lines">${outcomeBadge(one)} ${reasonWords(one.reason)}</div>`)}
      ${pair('To', toWhom(one))}
      ${one.timing !== null && pair('When', TIMING_WORDS[one.timing])}
      ${one.digest_of > 1 && pair('In one message with', one.digest_of === 2 ? 'one other' : `${one.digest_of - 1} others`)}
      ${pair('Event', html`<a href="${LEDGER_PATH}?event=${one.event_id}"><code>${one.event_id}</code></a>`)}
      ${pair('About', html`<code>${one.subject}</code>`)}
      ${one.app !== null && pair('App', html`<a href="/console/apps/${one.app}">${one.app}</a>`)}
      ${pair('Happened', time(one.created_at))}
      ${one.settled_at && pair('Settled', time(one.settled_at))}
      ${one.next_attempt_at && pair(one.attempts === 0 ? 'Goes out' : 'Next attempt', time(one.next_attempt_at))}
      ${one.replay_of !== null && pair('Replay of', html`<a href="${LEDGER_PATH}/${one.replay_of}"><code>${one.replay_of}</code></a>`)}
      ${pair('Id', html`<code>${one.id}</code>`)}
    </dl>`,
  )

const toWhom = ({ channel, destination }: Delivery): string =>
  channel === null ? 'Nobody' : `${destinationOf({ channel, destination })} · ${CHANNEL_WORDS[channel]}`

const attemptsCard = (one: Delivery) =>
  card(
    'Attempts',
    one.attempts_made.length === 0
      ? html`<p class="note">${one.state === 'waiting' ? 'None yet.' : 'None was made.'}</p>`
      : html`${attemptsTimeline(one)}
        ${table(
          'Attempts in their order',
          ['Attempt', 'Began', 'Answer', 'Took', 'Outcome'],
          one.attempts_made.map((made) => [
            `#${made.number}`,
            time(made.started_at),
            made.http_status === null
              ? html`<span class="note">none</span>`
              : html`<code>${made.http_status}</code>`,
            made.duration_ms === null
              ? html`<span class="note">unknown</span>`
              : html`<span class="measure">${duration(made.duration_ms)}</span>`,
            outcomeOf(made),
          ]),
        )}`,
  )

function outcomeOf({ outcome, reason }: Delivery['attempts_made'][number]) {
  if (reason === 'outcome_unknown') return badge('Unconfirmed', 'wait')
  if (outcome === null) return badge('Under way', 'off')
  return html`<div class="two-lines">${badge(STATE_WORDS[outcome], outcome === 'sent' ? 'on' : 'bad')} ${reason !== null && html`<span class="note">${REASONS[reason]}</span>`}</div>`
}

const replayWindow = (c: C, one: Delivery) =>
  opens('replay', 'Replay', {
    title: 'Send it once more?',
    content: form(
      c,
      `${LEDGER_PATH}/${one.id}/replay`,
      html`<p>The same notification goes out under a new id. ${twiceWords(one)}</p>
        ${button('Replay')}`,
      'stack',
    ),
  })

function twiceWords({ state, unconfirmed }: Delivery): string {
  if (state === 'sent') return 'It arrived already, so it will arrive a second time.'
  return unconfirmed
    ? 'It may have arrived already, so it may arrive a second time.'
    : 'Should an earlier attempt have arrived after all, it may arrive a second time.'
}

async function replay(c: C) {
  const id = idOf(c)
  const tried = await attempt(() => visitOf(c).call(replayDelivery, { delivery_id: id }))
  if ('problem' in tried) {
    const { message, hint } = tried.problem
    leaveFlash(c, 'problem', [`${message}.`, hint].filter(Boolean).join(' '))
    return c.redirect(`${LEDGER_PATH}/${id}`, 303)
  }
  leaveFlash(c, 'done', 'It is on its way once more, under the new id of this page.')
  return c.redirect(`${LEDGER_PATH}/${tried.done.id}`, 303)
}
