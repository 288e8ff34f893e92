/** One connection: how it does, its name, a new address, off and on, and its end. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { notFound, type ServiceError } from '../../contracts/errors.ts'
import {
  configureForum,
  listIntegrations,
  removeIntegration,
  updateIntegration,
} from '../../contracts/integrations.ts'
import {
  button,
  card,
  choice,
  inputField,
  linkButton,
  notice,
  problemNotice,
  type Content,
} from '../../pages/parts.ts'
import { attempt, statusOf } from '../attempt.ts'
import { actAndReturn, leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { day, form, opens, time } from '../parts.ts'
import { organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'
import {
  INTEGRATIONS_PATH,
  KIND_WORDS,
  pathOf,
  stateAdvice,
  stateBadge,
  type Integration,
} from './integration-words.ts'
import { signatureCard } from './webhook-signature.ts'

type C = Context<ConsoleEnv>
type Refused = { form: 'name' | 'address' | 'place'; typed: string; problem: ServiceError }

export const integrationPages = () =>
  new Hono<ConsoleEnv>()
    .get('/integrations/:id', (c) => showOne(c))
    .post('/integrations/:id/name', rename)
    .post('/integrations/:id/address', giveAddress)
    .post('/integrations/:id/place', setPlace)
    .post('/integrations/:id/switch', turn)
    .post('/integrations/:id/resend', setResend)
    .post('/integrations/:id/remove', remove)

const idOf = (c: C): string => c.req.param('id') ?? ''
const here = (c: C): string => pathOf({ id: idOf(c) })

async function showOne(c: C, refused?: Refused) {
  organizationOf(c)
  const { integrations, chat_install } = await visitOf(c).call(listIntegrations, {})
  const one = integrations.find(({ id }) => id === idOf(c))
  if (!one) throw notFound()
  const advice = stateAdvice(one)
  return page(c, {
    title: one.name,
    lead: html`<a href="${INTEGRATIONS_PATH}">Integrations</a>`,
    status: statusOf(refused?.problem),
    actions: linkButton(`/console/subscriptions/new?integration=${one.id}`, 'Add a subscription'),
    body: html`
      ${advice !== undefined && one.state !== 'off' && notice('info', html`<p>${advice}</p>`)}
      ${aboutCard(one)} ${one.kind === 'forum' && placeCard(c, one, refusedAt('place', refused))}
      ${nameCard(c, one, refusedAt('name', refused))}
      ${comesFromOutside(one) ? againCard(one, chat_install) : addressCard(c, one, refusedAt('address', refused))}
      ${one.kind === 'webhook' && resendCard(c, one)} ${switchCard(c, one)}
      ${one.kind === 'webhook' && signatureCard()} ${removeCard(c, one)}
    `,
  })
}

const refusedAt = (name: Refused['form'], refused: Refused | undefined) =>
  refused?.form === name ? refused : undefined

const pair = (label: string, value: Content) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`

const aboutCard = (one: Integration) =>
  card(
    'About',
    html`<dl class="pairs">
      ${pair('State', stateBadge(one))} ${pair('Kind', KIND_WORDS[one.kind])}
      ${pair('Address', html`<code>${one.address}</code>`)}
      ${one.workspace !== null && pair('Workspace', one.workspace)}
      ${one.channel !== null && pair('Channel', one.channel)}
      ${pair('Subscriptions', html`<a href="/console/subscriptions?integration=${one.id}">${one.subscriptions === 1 ? '1 subscription' : `${one.subscriptions} subscriptions`}</a>`)}
      ${pair('Last arrived', one.last_success_at ? time(one.last_success_at) : 'Never')}
      ${pair('Deliveries', html`<a href="/console/deliveries?integration=${one.id}">In the ledger</a>`)}
      ${pair('Connected', day(one.created_at))}
    </dl>`,
  )

const nameCard = (c: C, one: Integration, refused: Refused | undefined) =>
  card(
    'Name',
    html`${problemNotice(refused?.problem, ['name'])}
    ${form(
      c,
      `${pathOf(one)}/name`,
      html`${inputField({ name: 'name', label: 'How the ledger calls it', value: refused?.typed ?? one.name, required: true, maxlength: 120, autocomplete: 'off', problem: refused?.problem })}
      ${button('Save name', 'quiet')}`,
      'stack',
    )}`,
  )

/** Given by whoever connected it there: by installing the app, or with the key of the forum. */
const comesFromOutside = ({ kind, workspace }: Integration): boolean => kind === 'forum' || workspace !== null

const againCard = ({ kind }: Integration, canInstall: boolean) =>
  (kind === 'forum' || canInstall) &&
  card(
    'Connect it again',
    html`<p>${
      kind === 'forum'
        ? 'With a new API key, or at a new address. Its subscriptions stay.'
        : 'Install the app once more and choose the same channel. Its subscriptions stay, and what its loss paused goes on.'
    }</p>
      <div class="actions">${linkButton(`${INTEGRATIONS_PATH}/new/${kind}`, 'Connect again', 'quiet')}</div>`,
  )

const addressCard = (c: C, one: Integration, refused: Refused | undefined) =>
  card(
    'New address',
    html`${problemNotice(refused?.problem, ['url'])}
    ${form(
      c,
      `${pathOf(one)}/address`,
      html`${inputField({
        name: 'url',
        label: 'Address',
        value: refused?.typed ?? '',
        required: true,
        maxlength: 2_048,
        autocomplete: 'off',
        className: 'field-wide',
        problem: refused?.problem,
        hint:
          one.kind === 'webhook'
            ? 'Changes the key of the signature at once: change the receiver at the same moment.'
            : undefined,
      })}
      ${button('Use this address', 'quiet')}`,
      'stack',
    )}`,
    'A connection that was stopped is tried again with its new address.',
  )

function placeCard(c: C, one: Integration, refused: Refused | undefined) {
  return card(
    'Where to post',
    html`${problemNotice(refused?.problem)}
    ${form(
      c,
      `${pathOf(one)}/place`,
      html`${inputField({ name: 'url', label: 'Address of the forum', value: knownPart(one.address), required: true, maxlength: 2_048, autocomplete: 'off', hint: 'The one that was connected.' })}
      ${inputField({ name: 'category', label: 'Number of the category', value: refused?.typed ?? (one.category === null ? '' : String(one.category)), required: true, maxlength: 9, autocomplete: 'off', hint: 'It stands at the end of the address of the category, such as 7 in /c/news/7.', problem: refused?.problem })}
      ${button('Save')}`,
      'stack',
    )}`,
  )
}

/** Of a masked address, what comes before the mask. */
const knownPart = (masked: string): string => masked.split('…')[0]?.replace(/\/$/, '') ?? ''

const resendCard = (c: C, one: Integration) =>
  card(
    'When an answer is lost',
    form(
      c,
      `${pathOf(one)}/resend`,
      html`<fieldset>
          <legend class="unseen">What to do then</legend>
          ${choice('radio', 'resend', 'no', !one.resend_on_unknown, 'Leave it unconfirmed', 'It may have arrived, so it is not sent again until somebody presses Replay.')}
          ${choice('radio', 'resend', 'yes', one.resend_on_unknown, 'Send it again', 'For receivers that know repetitions by the id of the notification.')}
        </fieldset>
        ${button('Save', 'quiet')}`,
      'stack',
    ),
  )

function switchCard(c: C, one: Integration) {
  const isOn = one.state === 'active'
  return card(
    isOn ? 'Switch it off' : 'Switch it on',
    form(
      c,
      `${pathOf(one)}/switch`,
      html`<input type="hidden" name="on" value="${isOn ? 'no' : 'yes'}" />
        <p>${isOn ? 'Nothing is sent to it until it is switched on again. Its subscriptions stay.' : 'What happens from then on is sent to it again.'}</p>
        ${button(isOn ? 'Switch off' : 'Switch on', isOn ? 'quiet' : 'main')}`,
      'stack',
    ),
  )
}

const removeCard = (c: C, one: Integration) =>
  card(
    'Remove it',
    html`<p>${one.subscriptions === 0 ? 'Nothing is subscribed to it.' : `Its ${one.subscriptions === 1 ? 'subscription goes' : `${one.subscriptions} subscriptions go`} with it, and what waits for it is not sent.`} The ledger keeps what was sent.</p>
    <div class="actions">${opens(
      'remove',
      'Remove',
      {
        title: `Remove ${one.name}?`,
        content: form(
          c,
          `${pathOf(one)}/remove`,
          html`<p>The connection and its subscriptions are gone at once. Defaults among them never come back by themselves.</p>
          ${button('Remove the connection', 'danger')}`,
          'stack',
        ),
      },
      `Remove ${one.name}`,
    )}</div>`,
  )

type Change = Omit<z.input<typeof updateIntegration.input>, 'integration_id'>

async function change(c: C, what: Change, done: string, refusal?: Omit<Refused, 'problem'>) {
  const act = () => visitOf(c).call(updateIntegration, { integration_id: idOf(c), ...what })
  if (!refusal) return actAndReturn(c, here(c), done, act)
  const tried = await attempt(act)
  if ('problem' in tried) return showOne(c, { ...refusal, problem: tried.problem })
  leaveFlash(c, 'done', done)
  return c.redirect(here(c), 303)
}

const rename = (c: C) => {
  const name = text(c.get('form'), 'name')
  return change(c, { name }, 'The name is saved.', { form: 'name', typed: name })
}

const giveAddress = (c: C) => {
  const url = text(c.get('form'), 'url')
  return change(c, { url }, 'The new address is in use.', { form: 'address', typed: url })
}

const turn = (c: C) => {
  const enabled = text(c.get('form'), 'on') === 'yes'
  return change(c, { enabled }, enabled ? 'It is switched on.' : 'It is switched off.')
}

const setResend = (c: C) => {
  const resend_on_unknown = text(c.get('form'), 'resend') === 'yes'
  return change(
    c,
    { resend_on_unknown },
    resend_on_unknown ? 'A lost answer is tried again now.' : 'A lost answer is left unconfirmed now.',
  )
}

async function setPlace(c: C) {
  const typed = text(c.get('form'), 'category').trim()
  const tried = await attempt(() =>
    visitOf(c).call(configureForum, {
      config: { url: text(c.get('form'), 'url'), category: Number(typed) },
    }),
  )
  if ('problem' in tried) return showOne(c, { form: 'place', typed, problem: tried.problem })
  leaveFlash(c, 'done', `Posts go to category ${tried.done.category}.`)
  return c.redirect(here(c), 303)
}

async function remove(c: C) {
  const tried = await attempt(() => visitOf(c).call(removeIntegration, { integration_id: idOf(c) }))
  if ('problem' in tried) leaveFlash(c, 'problem', tried.problem.message)
  else leaveFlash(c, 'done', 'The connection is removed.')
  return c.redirect(INTEGRATIONS_PATH, 303)
}
