/** One integration: its status, name and address, recovering what it missed, turning it off and on, and removing it. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { notFound, type ServiceError } from '../../../contracts/errors.ts'
import type { IntegrationKind } from '../../../contracts/channels.ts'
import { listRecoveries, recoverDeliveries } from '../../../contracts/deliveries.ts'
import {
  configureForum,
  listIntegrations,
  removeIntegration,
  sendAddressVerification,
  updateIntegration,
} from '../../../contracts/integrations.ts'
import { card, inputField, linkButton, notice, type Content } from '../../../pages/parts.ts'
import { attempt, statusOf, text, confirmDialog, formCard, returnPath, utcMoment } from '../../forms.ts'
import { redirectWithMessage, actAndReturn, setFlash } from '../../flash.ts'
import { page } from '../../layout.ts'
import { pair, day, time } from '../../components.ts'
import { createRoutes, idOf, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { plural } from '../../format.ts'
import {
  INTEGRATIONS_PATH,
  KIND_LABELS,
  pathOf,
  stateAdvice,
  stateBadge,
  type Integration,
  resendChoices,
} from './integration-labels.ts'
import { DELIVERIES_PATH } from '../deliveries/delivery-labels.ts'
import { recoverDialog, recoveryTable, type Recovery } from '../deliveries/integration-panel.ts'
import { testForm } from '../deliveries/test-form.ts'
import { signatureCard } from './webhook-signature.ts'

type Refused = { form: 'name' | 'url' | 'category' | 'address'; submitted: string; problem: ServiceError }

export const integrationRoutes = () =>
  createRoutes()
    .get('/integrations/:id', (c) => showOne(c))
    .post('/integrations/:id/name', rename)
    .post('/integrations/:id/url', setUrl)
    .post('/integrations/:id/address', setAddress)
    .post('/integrations/:id/verification', sendLink)
    .post('/integrations/:id/category', setCategory)
    .post('/integrations/:id/switch', setEnabled)
    .post('/integrations/:id/resend', setResend)
    .post('/integrations/:id/recover', recover)
    .post('/integrations/:id/remove', remove)

const here = (c: PageContext): string => pathOf({ id: idOf(c) })

async function showOne(c: PageContext, refused?: Refused) {
  organizationOf(c)
  const { call } = sessionOf(c)
  const { integrations, chat_install } = await call(listIntegrations, {})
  const one = integrations.find(({ id }) => id === idOf(c))
  if (!one) throw notFound()
  const { recoveries } = await call(listRecoveries, { integration_id: one.id })
  const advice = stateAdvice(one)
  return page(c, {
    title: one.name,
    status: statusOf(refused?.problem),
    actions: html`${testForm(c, one, 'quiet')}
    ${linkButton(`/console/subscriptions/new?integration=${one.id}`, 'Add subscription')}`,
    body: html`
      ${advice !== undefined && notice('info', html`<p>${advice}</p>`)}
      ${detailsCard(one)} ${KIND_CARDS[one.kind]({ c, one, canInstall: chat_install, refused })}
      ${recoverCard(c, one, recoveries)} ${switchCard(c, one)} ${removeCard(c, one)}
    `,
  })
}

type Shown = { c: PageContext; one: Integration; canInstall: boolean; refused: Refused | undefined }

const KIND_CARDS: Record<IntegrationKind, (shown: Shown) => Content> = {
  chat: (shown) => [
    nameCard(shown),
    // An installed one gets its URL from the chat service.
    shown.one.workspace === null
      ? urlCard(shown)
      : shown.canInstall &&
        reconnectCard(
          'chat',
          'Install the app again and choose the same channel. Subscriptions are kept, and paused ones resume.',
        ),
  ],
  webhook: (shown) => [
    nameCard(shown),
    urlCard(shown, 'The signing key changes with the URL. Update the receiver at the same time.'),
    resendCard(shown),
    signatureCard(),
  ],
  email: (shown) => [
    shown.one.state === 'unverified' && verificationCard(shown),
    nameCard(shown),
    addressCard(shown),
  ],
  forum: (shown) => [
    categoryCard(shown),
    nameCard(shown),
    reconnectCard('forum', 'Use a new API key or a new URL. Subscriptions are kept.'),
  ],
}

function addressCard(shown: Shown) {
  const { c, one } = shown
  const refused = refusedAt('address', shown)
  return formCard(c, {
    title: 'Change address',
    lead: 'The new address is sent a link, and gets nothing else before it is confirmed.',
    action: `${pathOf(one)}/address`,
    problem: refused?.problem,
    shown: ['address'],
    fields: inputField({
      name: 'address',
      label: 'New email address',
      type: 'email',
      value: refused?.submitted ?? '',
      required: true,
      maxlength: 254,
      autocomplete: 'off',
      problem: refused?.problem,
    }),
    submit: 'Save address',
    kind: 'quiet',
  })
}

const verificationCard = ({ c, one }: Shown) =>
  formCard(c, {
    title: 'Confirm the address',
    action: `${pathOf(one)}/verification`,
    fields: html`<p>The link works for a day. Another one ends the earlier one.</p>`,
    submit: 'Send the link again',
  })

const refusedAt = (name: Refused['form'], { refused }: Shown) =>
  refused?.form === name ? refused : undefined

const detailsCard = (one: Integration) =>
  card(
    'Details',
    html`<dl class="pairs">
      ${pair('Status', stateBadge(one))} ${pair('Kind', KIND_LABELS[one.kind])}
      ${pair(one.kind === 'email' ? 'Address' : 'URL', html`<code>${one.address}</code>`)}
      ${one.workspace !== null && pair('Workspace', one.workspace)}
      ${one.channel !== null && pair('Channel', one.channel)}
      ${pair('Subscriptions', html`<a href="/console/subscriptions?integration=${one.id}">${plural(one.subscriptions, 'subscription')}</a>`)}
      ${pair('Last delivery', one.last_success_at ? time(one.last_success_at) : 'Never')}
      ${pair('Deliveries', html`<a href="/console/deliveries?integration=${one.id}">View deliveries</a>`)}
      ${pair('Connected', day(one.created_at))}
    </dl>`,
  )

function nameCard(shown: Shown) {
  const { c, one } = shown
  const refused = refusedAt('name', shown)
  return formCard(c, {
    title: 'Name',
    action: `${pathOf(one)}/name`,
    problem: refused?.problem,
    shown: ['name'],
    fields: inputField({
      name: 'name',
      label: 'Name',
      value: refused?.submitted ?? one.name,
      required: true,
      maxlength: 120,
      autocomplete: 'off',
      problem: refused?.problem,
    }),
    submit: 'Save name',
    kind: 'quiet',
  })
}

const reconnectCard = (kind: IntegrationKind, about: string) =>
  card(
    'Reconnect',
    html`<p>${about}</p>
      <div class="actions">${linkButton(`${INTEGRATIONS_PATH}/new/${kind}`, 'Reconnect', 'quiet')}</div>`,
  )

function urlCard(shown: Shown, hint?: string) {
  const { c, one } = shown
  const refused = refusedAt('url', shown)
  return formCard(c, {
    title: 'Change URL',
    lead: 'A stopped integration is turned on again with its new URL.',
    action: `${pathOf(one)}/url`,
    problem: refused?.problem,
    shown: ['url'],
    fields: inputField({
      name: 'url',
      label: 'New URL',
      value: refused?.submitted ?? '',
      required: true,
      maxlength: 2_048,
      autocomplete: 'off',
      className: 'field-wide',
      problem: refused?.problem,
      hint,
    }),
    submit: 'Save URL',
    kind: 'quiet',
  })
}

function categoryCard(shown: Shown) {
  const { c, one } = shown
  const refused = refusedAt('category', shown)
  return formCard(c, {
    title: 'Category',
    action: `${pathOf(one)}/category`,
    problem: refused?.problem,
    fields: html`${inputField({ name: 'url', label: 'Forum URL', value: knownPart(one.address), required: true, maxlength: 2_048, autocomplete: 'off', hint: 'The URL of the connected forum.' })}
      ${inputField({ name: 'category', label: 'Category number', value: refused?.submitted ?? (one.category === null ? '' : String(one.category)), required: true, maxlength: 9, autocomplete: 'off', hint: 'The number at the end of the category URL, such as 7 in /c/news/7.', problem: refused?.problem })}`,
    submit: 'Save',
  })
}

/** The part of a masked URL before the mask. */
const knownPart = (masked: string): string => masked.split('…')[0]?.replace(/\/$/, '') ?? ''

const resendCard = ({ c, one }: Shown) =>
  formCard(c, {
    title: 'If no response is received',
    action: `${pathOf(one)}/resend`,
    fields: html`<fieldset>
      <legend class="unseen">If no response is received</legend>
      ${resendChoices(one.resend_on_unknown)}
    </fieldset>`,
    submit: 'Save',
    kind: 'quiet',
  })

/** Only where something can be sent; what was recovered before stays visible. */
function recoverCard(c: PageContext, one: Integration, recoveries: readonly Recovery[]) {
  if (one.state !== 'active' && recoveries.length === 0) return null
  return card(
    'Recover missed deliveries',
    html`${recoveries.length > 0 && recoveryTable(recoveries)}
    ${one.state === 'active' && html`<div class="actions">${recoverDialog(c, one)}</div>`}`,
    'Sends everything again that failed, was given up or is unconfirmed since a time, each delivery with a new ID.',
  )
}

function switchCard(c: PageContext, one: Integration) {
  const isOn = one.state === 'active' || one.state === 'unverified'
  return formCard(c, {
    title: isOn ? 'Turn off' : 'Turn on',
    action: `${pathOf(one)}/switch`,
    fields: html`<input type="hidden" name="on" value="${isOn ? 'no' : 'yes'}" />
      <p>${isOn ? 'Nothing is sent until it is turned on again. Subscriptions are kept.' : 'New events are sent to it again.'}</p>`,
    submit: isOn ? 'Turn off' : 'Turn on',
    kind: isOn ? 'quiet' : 'main',
  })
}

const removeCard = (c: PageContext, one: Integration) =>
  card(
    'Remove integration',
    html`<p>${one.subscriptions === 0 ? 'It has no subscriptions.' : `Its ${one.subscriptions === 1 ? 'subscription is' : `${one.subscriptions} subscriptions are`} removed too, and pending deliveries are not sent.`} Past deliveries remain visible.</p>
    <div class="actions">${confirmDialog(c, {
      id: 'remove',
      label: 'Remove',
      name: `Remove ${one.name}`,
      title: `Remove ${one.name}?`,
      action: `${pathOf(one)}/remove`,
      text: 'The integration and its subscriptions are removed immediately. Default subscriptions are not created again.',
      submit: 'Remove integration',
    })}</div>`,
  )

type Change = Omit<z.input<typeof updateIntegration.input>, 'integration_id'>

async function change(c: PageContext, what: Change, done: string, refusal?: Omit<Refused, 'problem'>) {
  const act = () => sessionOf(c).call(updateIntegration, { integration_id: idOf(c), ...what })
  if (!refusal) return actAndReturn(c, here(c), done, act)
  const result = await attempt(act)
  if ('problem' in result) return showOne(c, { ...refusal, problem: result.problem })
  return redirectWithMessage(c, here(c), done)
}

const rename = (c: PageContext) => {
  const name = text(c.get('form'), 'name')
  return change(c, { name }, 'Name saved.', { form: 'name', submitted: name })
}

const setUrl = (c: PageContext) => {
  const url = text(c.get('form'), 'url')
  return change(c, { url }, 'URL saved.', { form: 'url', submitted: url })
}

const setAddress = (c: PageContext) => {
  const address = text(c.get('form'), 'address')
  return change(c, { address }, 'Address saved. A link was sent to it.', {
    form: 'address',
    submitted: address,
  })
}

const sendLink = (c: PageContext) =>
  actAndReturn(c, here(c), 'A link was sent to the address.', () =>
    sessionOf(c).call(sendAddressVerification, { integration_id: idOf(c) }),
  )

const setEnabled = (c: PageContext) => {
  const enabled = text(c.get('form'), 'on') === 'yes'
  return change(c, { enabled }, enabled ? 'Integration turned on.' : 'Integration turned off.')
}

const setResend = (c: PageContext) => {
  const resend_on_unknown = text(c.get('form'), 'resend') === 'yes'
  return change(
    c,
    { resend_on_unknown },
    resend_on_unknown
      ? 'Deliveries without a response are now sent again.'
      : 'Deliveries without a response are now marked as unconfirmed.',
  )
}

async function setCategory(c: PageContext) {
  const submitted = text(c.get('form'), 'category').trim()
  const result = await attempt(() =>
    sessionOf(c).call(configureForum, {
      config: { url: text(c.get('form'), 'url'), category: Number(submitted) },
    }),
  )
  if ('problem' in result) return showOne(c, { form: 'category', submitted, problem: result.problem })
  return redirectWithMessage(c, here(c), `Posts go to category ${result.done.category}.`)
}

async function recover(c: PageContext) {
  const since = utcMoment(text(c.get('form'), 'since'))
  // Started from the deliveries, it leads back there.
  const isElsewhere = text(c.get('form'), 'back').startsWith(DELIVERIES_PATH)
  const back = isElsewhere ? returnPath(c, DELIVERIES_PATH) : here(c)
  if (since === undefined) {
    setFlash(c, 'problem', 'Enter a start date and time in UTC.')
    return c.redirect(back, 303)
  }
  const include_unconfirmed = text(c.get('form'), 'unconfirmed') === 'yes'
  return actAndReturn(c, back, 'Recovery started.', () =>
    sessionOf(c).call(recoverDeliveries, { integration_id: idOf(c), since, include_unconfirmed }),
  )
}

async function remove(c: PageContext) {
  const result = await attempt(() => sessionOf(c).call(removeIntegration, { integration_id: idOf(c) }))
  if ('problem' in result) setFlash(c, 'problem', result.problem.message)
  else setFlash(c, 'done', 'Integration removed.')
  return c.redirect(INTEGRATIONS_PATH, 303)
}
