/** Connecting an email address, a webhook, a chat channel by incoming webhook or by installing the app, or a forum. */
import { html } from 'hono/html'
import type { IntegrationKind } from '../../../contracts/channels.ts'
import {
  beginChatInstall,
  completeChatInstall,
  connectChatWebhook,
  connectEmail,
  connectForum,
  connectWebhook,
  listIntegrations,
} from '../../../contracts/integrations.ts'
import { submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { formPage } from '../../form-page.ts'
import { attempt, statusOf, formCard } from '../../forms.ts'
import { setFlash } from '../../flash.ts'
import { page } from '../../layout.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { externalPage, handleChatCallback } from './chat-callback.ts'
import { INTEGRATIONS_PATH, pathOf, type Integration, resendChoices } from './integration-labels.ts'
import { signatureCard } from './webhook-signature.ts'

const WIDE = { className: 'field-wide' }

const WEBHOOK = formOf(connectWebhook, ['name', 'url', 'resend_on_unknown'], {
  url: WIDE,
  resend_on_unknown: { name: 'resend' },
})
const CHAT = formOf(connectChatWebhook, ['name', 'url'], {
  url: WIDE,
})
const FORUM = formOf(connectForum, ['url', 'api_key'])
const EMAIL = formOf(connectEmail, ['address'])

const pathOfNew = (kind: IntegrationKind): string => `/integrations/new/${kind}`
const connect = { submit: 'Connect', cancel: INTEGRATIONS_PATH }

export const connectIntegrationRoutes = () =>
  createRoutes()
    .post('/integrations/chat/install', beginInstall)
    .get('/integrations/chat/callback', completeInstall)
    .get(pathOfNew('chat'), (c) => showChat(c))
    .post(pathOfNew('chat'), submit(CHAT, { again: showChat, done: connected }))
    .route('', webhookPage)
    .route('', emailPage)
    .route('', forumPage)

const connected = (integration: Integration) =>
  [
    pathOf(integration),
    `${integration.name} connected. Add a subscription to choose what it receives.`,
  ] as const

const webhookPage = formPage(pathOfNew('webhook'), {
  ...connect,
  form: WEBHOOK,
  title: 'Connect a webhook',
  lead: 'Sends signed POST requests to your endpoint.',
  fields: (form) => html`${form.field('name')} ${form.field('url')}
    <fieldset>
      <legend>If no response is received</legend>
      ${resendChoices(form.isOn('resend_on_unknown'))}
    </fieldset>`,
  after: signatureCard,
  done: connected,
})

const emailPage = formPage(pathOfNew('email'), {
  ...connect,
  form: EMAIL,
  title: 'Connect an email address',
  lead: 'A link is sent to the address. Nothing else is, until somebody there has confirmed it.',
  submit: 'Send the link',
  done: (integration) => [
    pathOf(integration),
    'A link was sent to the address. Add a subscription to choose what it receives once it is confirmed.',
  ],
})

const forumPage = formPage(pathOfNew('forum'), {
  ...connect,
  form: FORUM,
  title: 'Connect a forum',
  lead: 'A Discourse forum whose users sign in with the same accounts. Each post is made in the name of the person who acted.',
  done: (integration) => [pathOf(integration), 'Forum connected. Choose the category to post in.'],
})

async function showChat(c: PageContext, refused?: Refused) {
  organizationOf(c)
  const { chat_install } = await sessionOf(c).call(listIntegrations, {})
  return page(c, {
    title: 'Connect a chat channel',
    lead: 'Posts one line and a link for every subscribed event. New tickets are subscribed by default; you can pause this.',
    status: statusOf(refused?.problem),
    body: html`${chat_install && installCard(c)}
      ${formCard(c, {
        ...connect,
        of: CHAT.show({ refused }),
        title: chat_install ? 'Or use an incoming webhook' : 'Use an incoming webhook',
        lead: `Paste the URL of an incoming webhook from Slack, Mattermost or Rocket.Chat. Direct messages require the app${chat_install ? '.' : ', which the operator of this service has not set up.'}`,
        action: `${INTEGRATIONS_PATH}/new/chat`,
      })}`,
  })
}

const installCard = (c: PageContext) =>
  formCard(c, {
    title: 'Install the app',
    action: `${INTEGRATIONS_PATH}/chat/install`,
    fields: html`<p>Choose a channel at the chat service. Members can then link their own accounts and receive direct messages.</p>`,
    submit: 'Choose a channel',
  })

async function beginInstall(c: PageContext) {
  const result = await attempt(() => sessionOf(c).call(beginChatInstall, {}))
  if ('problem' in result) return showChat(c, { form: new FormData(), problem: result.problem })
  return externalPage(c, {
    url: result.done.url,
    title: 'Install the app',
    about: 'Choose a channel and allow the app to post in it. You then return here.',
    back: INTEGRATIONS_PATH,
  })
}

const completeInstall = (c: PageContext) =>
  handleChatCallback(c, {
    retryPath: `${INTEGRATIONS_PATH}/new/chat`,
    complete: async (answer) => {
      const integration = await sessionOf(c).call(completeChatInstall, answer)
      setFlash(c, 'done', `${integration.name} connected.`)
      return pathOf(integration)
    },
  })
