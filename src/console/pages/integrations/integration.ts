/** One integration: its status, name and address, recovering what it missed, turning it off and on, and removing it. */
import { html } from 'hono/html'
import { notFound } from '../../../contracts/errors.ts'
import type { IntegrationKind } from '../../../contracts/channels.ts'
import { listDeliveries, listRecoveries, recoverDeliveries } from '../../../contracts/deliveries.ts'
import {
  configureForum,
  listIntegrations,
  pauseIntegration,
  removeIntegration,
  removeWebhookSecret,
  resumeIntegration,
  rotateWebhookSecret,
  sendAddressVerification,
  updateIntegration,
} from '../../../contracts/integrations.ts'
import { card, linkButton, notice, type Content } from '../../../pages/parts.ts'
import { act, routeInput, submit } from '../../act.ts'
import { formOf, innerProblem, partOf, refuse, type Refused } from '../../fields.ts'
import { attempt, statusOf, text, confirmDialog, formCard, returnPath } from '../../forms.ts'
import { redirectWithMessage, actAndReturn, setFlash } from '../../flash.ts'
import { page } from '../../layout.ts'
import { changing, copyable, day, exactTime, pair, time } from '../../components.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
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
import { DELIVERIES_PATH, outcomeBadge } from '../deliveries/delivery-labels.ts'
import { responseText, type Delivery } from '../deliveries/delivery-list.ts'
import { RECOVER, recoverDialog, recoveryTable, type Recovery } from '../deliveries/integration-panel.ts'
import { testForm } from '../deliveries/test-form.ts'
import { signatureCard } from './webhook-signature.ts'

const NAMED = formOf(updateIntegration, ['name'])
const WITH_URL = formOf(updateIntegration, ['name', 'url'], {
  url: { label: 'New URL', className: 'field-wide', required: false },
})
const WITH_ADDRESS = formOf(updateIntegration, ['name', 'address'], {
  address: { label: 'New email address', required: false },
})
const FORUM = partOf(configureForum.input.shape.config, ['url', 'category'], {
  url: { hint: 'The URL of the connected forum.', placeholder: '' },
})

export const integrationRoutes = () =>
  createRoutes()
    .get('/integrations/:integration_id', (c) => showOne(c))
    .post('/integrations/:integration_id', save)
    .post('/integrations/:integration_id/verification', sendLink)
    .post('/integrations/:integration_id/category', setCategory)
    .post('/integrations/:integration_id/secret', rotateSecret)
    .post('/integrations/:integration_id/secret/remove', removeSecret)
    .post('/integrations/:integration_id/pause', setPaused)
    .post('/integrations/:integration_id/switch', setEnabled)
    .post('/integrations/:integration_id/recover', recover)
    .post('/integrations/:integration_id/remove', remove)

const idOf = (c: PageContext): string => routeInput(c, removeIntegration).integration_id
const here = (c: PageContext): string => pathOf({ id: idOf(c) })

async function showOne(c: PageContext, refused?: Refused, secret?: string) {
  organizationOf(c)
  const { call } = sessionOf(c)
  const { integrations, chat_install } = await call(listIntegrations, {})
  const one = integrations.find(({ id }) => id === idOf(c))
  if (!one) throw notFound()
  const integration_id = one.id
  const [{ recoveries }, { deliveries }] = await Promise.all([
    call(listRecoveries, { integration_id }),
    call(listDeliveries, { integration_id, limit: 1 }),
  ])
  const advice = stateAdvice(one)
  return page(c, {
    title: one.name,
    status: statusOf(refused?.problem),
    actions: html`${testForm(c, one, 'quiet')}
    ${linkButton(`/console/subscriptions/new?integration=${one.id}`, 'Add subscription')}`,
    body: html`
      ${secret !== undefined && newSecret(secret)} ${advice !== undefined && notice('info', html`<p>${advice}</p>`)}
      ${changing('last-answer', 'deliveries', lastAnswer(deliveries[0]))}
      ${detailsCard(one)} ${KIND_CARDS[one.kind]({ c, one, canInstall: chat_install, refused })}
      ${recoverCard(c, one, recoveries)} ${pauseCard(c, one)} ${switchCard(c, one)} ${removeCard(c, one)}
    `,
  })
}

type Shown = { c: PageContext; one: Integration; canInstall: boolean; refused: Refused | undefined }

const KIND_CARDS: Record<IntegrationKind, (shown: Shown) => Content> = {
  chat: (shown) => [
    // An installed one gets its URL from the chat service.
    shown.one.workspace === null
      ? settingsCard(
          shown,
          WITH_URL.show({
            refused: shown.refused,
            now: { name: shown.one.name },
            with: { url: { hint: URL_HINT } },
          }),
        )
      : settingsCard(shown, NAMED.show({ refused: shown.refused, now: shown.one })),
    shown.one.workspace !== null &&
      shown.canInstall &&
      reconnectCard(
        'chat',
        'Install the app again and choose the same channel. Subscriptions are kept, and paused ones resume.',
      ),
  ],
  webhook: (shown) => [
    settingsCard(
      shown,
      WITH_URL.show({
        refused: shown.refused,
        now: { name: shown.one.name },
        with: {
          url: {
            hint: `${URL_HINT} The signing key changes with the URL. Update the receiver at the same time.`,
          },
        },
      }),
      resendField(shown),
    ),
    secretCard(shown),
    signatureCard(),
  ],
  email: (shown) => [
    shown.one.state === 'unverified' && verificationCard(shown),
    settingsCard(
      shown,
      WITH_ADDRESS.show({
        refused: shown.refused,
        now: { name: shown.one.name },
        with: {
          address: {
            hint: 'Left empty, it stays. A new one is sent a link, and gets nothing else before it is confirmed.',
          },
        },
      }),
    ),
  ],
  forum: (shown) => [
    categoryCard(shown),
    settingsCard(shown, NAMED.show({ refused: shown.refused, now: shown.one })),
    reconnectCard('forum', 'Use a new API key or a new URL. Subscriptions are kept.'),
  ],
}

const URL_HINT = 'Left empty, it stays. A stopped integration is turned on again with its new URL.'

type ShownForm = Parameters<typeof formCard>[1]['of']

const settingsCard = ({ c, one }: Shown, of: NonNullable<ShownForm>, more?: Content) =>
  formCard(c, {
    of,
    title: 'Settings',
    action: pathOf(one),
    fields: html`${of.all()} ${more}`,
    submit: 'Save',
  })

/** How the last one went, before all else: whoever comes here mostly wants to know that. */
const lastAnswer = (last: Delivery | undefined) =>
  last === undefined
    ? null
    : html`<p class="card last-answer">
        ${outcomeBadge(last)} <span>${responseText(last)}</span>
        <a href="${DELIVERIES_PATH}/${last.id}"><code>${last.type}</code></a> ${time(last.created_at)}
      </p>`

const verificationCard = ({ c, one }: Shown) =>
  formCard(c, {
    title: 'Confirm the address',
    action: `${pathOf(one)}/verification`,
    fields: html`<p>The link works for a day. Another one ends the earlier one.</p>`,
    submit: 'Send the link again',
  })

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

const reconnectCard = (kind: IntegrationKind, about: string) =>
  card(
    'Reconnect',
    html`<p>${about}</p>
      <div class="actions">${linkButton(`${INTEGRATIONS_PATH}/new/${kind}`, 'Reconnect', 'quiet')}</div>`,
  )

const categoryCard = ({ c, one, refused }: Shown) =>
  formCard(c, {
    of: FORUM.show({ now: { ...one, url: knownPart(one.address) }, refused }),
    title: 'Category',
    action: `${pathOf(one)}/category`,
    submit: 'Save',
  })

/** The part of a masked URL before the mask. */
const knownPart = (masked: string): string => masked.split('…')[0]?.replace(/\/$/, '') ?? ''

const resendField = ({ one }: Shown) =>
  html`<fieldset>
    <legend>If no response is received</legend>
    ${resendChoices(one.resend_on_unknown)}
  </fieldset>`

/** In the response to the form, and never again. */
const newSecret = (secret: string) =>
  notice(
    'done',
    html`<p>New signing secret. It is not shown again: copy it to the receiver now.</p>
      ${copyable('secret', secret, 'Signing secret')}`,
  )

const secretCard = ({ c, one }: Shown) =>
  card(
    'Signing secret',
    html`<p>${one.own_secret ? 'The webhook-signature header is signed with a secret of this webhook.' : 'Signatures use a key made from the URL. A secret of its own stays the same when the URL changes.'}</p>
      ${isRotating(one) && html`<p>The previous key signs, too, until ${exactTime(one.previous_secret_until!)}.</p>`}
      <div class="actions">${confirmDialog(c, {
        label: one.own_secret ? 'Rotate secret' : 'Create secret',
        title: one.own_secret ? 'Rotate the secret?' : 'Create a secret?',
        action: `${pathOf(one)}/secret`,
        text: 'The new secret is shown once. The previous key signs beside it for 24 hours, so that the receiver can change in between.',
      })}
      ${
        one.own_secret &&
        confirmDialog(c, {
          label: 'Remove secret',
          title: 'Remove the secret?',
          action: `${pathOf(one)}/secret/remove`,
          text: 'From now on only the key made from the URL signs.',
        })
      }</div>`,
  )

const isRotating = ({ previous_secret_until: until }: Integration): boolean =>
  until !== null && Date.parse(until) > Date.now()

/** Only where something can be sent; what was recovered before stays visible. */
function recoverCard(c: PageContext, one: Integration, recoveries: readonly Recovery[]) {
  if (one.state !== 'active' && recoveries.length === 0) return null
  return card(
    'Recover missed deliveries',
    html`${recoveries.length > 0 && recoveryTable(recoveries)}
    ${one.state === 'active' && html`<div class="actions">${recoverDialog(c, one)}</div>`}`,
    'Sends everything again that failed, was given up, is unconfirmed or was dropped while the integration was off since a time, each delivery with a new ID.',
  )
}

/** Only where something is sent, or waits to be. */
function pauseCard(c: PageContext, one: Integration) {
  if (one.state !== 'active' && one.state !== 'paused') return null
  const isPaused = one.state === 'paused'
  return formCard(c, {
    title: isPaused ? 'Resume' : 'Pause',
    action: `${pathOf(one)}/pause`,
    fields: html`<input type="hidden" name="pause" value="${isPaused ? 'no' : 'yes'}" />
      <p>${isPaused ? `${one.waiting === 1 ? 'One delivery waits' : `${one.waiting.toLocaleString('en')} deliveries wait`}. They are sent in order, the oldest first.` : 'Deliveries wait until you resume it, and are then sent in order. Nothing is dropped.'}</p>`,
    submit: isPaused ? 'Resume' : 'Pause',
    kind: isPaused ? 'main' : 'quiet',
  })
}

function switchCard(c: PageContext, one: Integration) {
  const isOn = ['active', 'paused', 'unverified'].includes(one.state)
  return formCard(c, {
    title: isOn ? 'Turn off' : 'Turn on',
    action: `${pathOf(one)}/switch`,
    fields: html`<input type="hidden" name="on" value="${isOn ? 'no' : 'yes'}" />
      <p>${isOn ? 'What comes meanwhile is dropped, and can be recovered once it is on again. Subscriptions are kept.' : 'New events are sent to it again. What was dropped meanwhile can be recovered then.'}</p>`,
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

/** One form: the address is changed only where a new one was entered. */
function save(c: PageContext) {
  const sent = c.get('form')
  const form = sent.has('url') ? WITH_URL : sent.has('address') ? WITH_ADDRESS : NAMED
  const isNewAddress = text(sent, 'address').trim() !== ''
  return submit(form as typeof NAMED, {
    input: () => ({
      // Left empty it stays; an empty one would be refused.
      ...(text(sent, 'url').trim() === '' && { url: undefined }),
      ...(!isNewAddress && { address: undefined }),
      ...(sent.has('resend') && { resend_on_unknown: text(sent, 'resend') === 'yes' }),
    }),
    again: showOne,
    done: () => [here(c), isNewAddress ? 'Saved. A link was sent to the new address.' : 'Saved.'],
  })(c)
}

const sendLink = act(sendAddressVerification, { back: here, done: 'A link was sent to the address.' })

async function rotateSecret(c: PageContext) {
  const result = await attempt(() =>
    sessionOf(c).call(rotateWebhookSecret, routeInput(c, rotateWebhookSecret)),
  )
  if ('problem' in result) return redirectWithMessage(c, here(c), result.problem.message)
  return showOne(c, undefined, result.done.secret)
}

const removeSecret = act(removeWebhookSecret, { back: here, done: 'Secret removed.' })

const pause = act(pauseIntegration, { back: here, done: 'Integration paused.' })
const resume = act(resumeIntegration, { back: here, done: 'Integration resumed.' })
const setPaused = (c: PageContext) => (text(c.get('form'), 'pause') === 'yes' ? pause(c) : resume(c))

const setEnabled = act(updateIntegration, {
  input: (sent) => ({ enabled: text(sent, 'on') === 'yes' }),
  back: here,
  done: (_, { enabled }) => (enabled ? 'Integration turned on.' : 'Integration turned off.'),
})

async function setCategory(c: PageContext) {
  const config = FORUM.read(c.get('form'))
  const result = await attempt(() => sessionOf(c).call(configureForum, { config }))
  if ('problem' in result) return showOne(c, refuse(c, innerProblem(result.problem, /^config\./), FORUM))
  return redirectWithMessage(c, here(c), `Posts go to category ${result.done.category}.`)
}

async function recover(c: PageContext) {
  const input = RECOVER.read(c.get('form'))
  // Started from the deliveries, it leads back there.
  const isElsewhere = text(c.get('form'), 'back').startsWith(DELIVERIES_PATH)
  const back = isElsewhere ? returnPath(c, DELIVERIES_PATH) : here(c)
  if (!recoverDeliveries.input.shape.since.safeParse(input.since).success) {
    setFlash(c, 'problem', 'Enter a start date and time in UTC.')
    return c.redirect(back, 303)
  }
  return actAndReturn(c, back, 'Recovery started.', () =>
    sessionOf(c).call(recoverDeliveries, { ...input, integration_id: idOf(c) }),
  )
}

async function remove(c: PageContext) {
  const result = await attempt(() => sessionOf(c).call(removeIntegration, routeInput(c, removeIntegration)))
  if ('problem' in result) setFlash(c, 'problem', result.problem.message)
  else setFlash(c, 'done', 'Integration removed.')
  return c.redirect(INTEGRATIONS_PATH, 303)
}
