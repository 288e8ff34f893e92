/** Connecting an email address, a webhook, a chat channel by incoming webhook or by installing the app, or a forum. */
import { html } from 'hono/html'
import type { ServiceError } from '../../../contracts/errors.ts'
import { INTEGRATION_KINDS, type IntegrationKind } from '../../../contracts/channels.ts'
import {
  beginChatInstall,
  completeChatInstall,
  connectChatWebhook,
  connectEmail,
  connectForum,
  connectWebhook,
  listIntegrations,
} from '../../../contracts/integrations.ts'
import { inputField } from '../../../pages/parts.ts'
import { attempt, statusOf, text, formCard } from '../../forms.ts'
import { redirectWithMessage, setFlash } from '../../flash.ts'
import { page } from '../../layout.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { externalPage, handleChatCallback } from './chat-callback.ts'
import { INTEGRATIONS_PATH, pathOf, type Integration, resendChoices } from './integration-labels.ts'
import { signatureCard } from './webhook-signature.ts'

type Submitted = { name: string; url: string; resends?: boolean }
const EMPTY_FORM: Submitted = { name: '', url: '' }

type Handler = (c: PageContext) => Response | Promise<Response>

const PAGES: Record<IntegrationKind, { show: Handler; create: Handler }> = {
  chat: { show: (c) => showChat(c), create: createChat },
  webhook: { show: (c) => showWebhook(c), create: createWebhook },
  forum: { show: (c) => showForum(c), create: createForum },
  email: { show: (c) => showEmail(c), create: createEmail },
}

export function connectIntegrationRoutes() {
  const routes = createRoutes()
    .post('/integrations/chat/install', beginInstall)
    .get('/integrations/chat/callback', completeInstall)
  for (const kind of INTEGRATION_KINDS) {
    routes
      .get(`/integrations/new/${kind}`, PAGES[kind].show)
      .post(`/integrations/new/${kind}`, PAGES[kind].create)
  }
  return routes
}

const nameField = (value: string, example: string, problem: ServiceError | undefined) =>
  inputField({
    name: 'name',
    label: 'Name',
    value,
    required: true,
    maxlength: 120,
    autocomplete: 'off',
    hint: `Shown in deliveries, such as “${example}”.`,
    problem,
  })

/** Visible while typing, because a missing character is another URL; never shown again once saved. */
const urlField = (value: string, placeholder: string, problem: ServiceError | undefined) =>
  inputField({
    name: 'url',
    label: 'URL',
    value,
    required: true,
    maxlength: 2_048,
    autocomplete: 'off',
    placeholder,
    className: 'field-wide',
    hint: 'Stored encrypted and never shown again. Addresses in private networks are not allowed.',
    problem,
  })

function showWebhook(c: PageContext, submitted = EMPTY_FORM, problem?: ServiceError) {
  organizationOf(c)
  return page(c, {
    title: 'Connect a webhook',
    lead: 'Sends signed POST requests to your endpoint.',
    status: statusOf(problem),
    body: html`${formCard(c, {
      action: `${INTEGRATIONS_PATH}/new/webhook`,
      problem,
      shown: ['name', 'url'],
      fields: html`${nameField(submitted.name, 'Operations desk', problem)}
        ${urlField(submitted.url, 'https://hooks.example.com/svc/…', problem)}
        <fieldset>
          <legend>If no response is received</legend>
          ${resendChoices(submitted.resends === true)}
        </fieldset>`,
      submit: 'Connect',
      cancel: INTEGRATIONS_PATH,
    })}
    ${signatureCard()}`,
  })
}

async function createWebhook(c: PageContext) {
  const fields = c.get('form')
  const submitted = {
    name: text(fields, 'name'),
    url: text(fields, 'url'),
    resends: text(fields, 'resend') === 'yes',
  }
  const result = await attempt(() =>
    sessionOf(c).call(connectWebhook, {
      name: submitted.name,
      url: submitted.url,
      resend_on_unknown: submitted.resends,
    }),
  )
  return 'problem' in result ? showWebhook(c, submitted, result.problem) : connected(c, result.done)
}

function showEmail(c: PageContext, address = '', problem?: ServiceError) {
  organizationOf(c)
  return page(c, {
    title: 'Connect an email address',
    lead: 'A link is sent to the address. Nothing else is, until somebody there has confirmed it.',
    status: statusOf(problem),
    body: formCard(c, {
      action: `${INTEGRATIONS_PATH}/new/email`,
      problem,
      shown: ['address'],
      fields: inputField({
        name: 'address',
        label: 'Email address',
        type: 'email',
        value: address,
        required: true,
        maxlength: 254,
        autocomplete: 'off',
        hint: 'Stored encrypted and shown masked.',
        problem,
      }),
      submit: 'Send the link',
      cancel: INTEGRATIONS_PATH,
    }),
  })
}

async function createEmail(c: PageContext) {
  const address = text(c.get('form'), 'address')
  const result = await attempt(() => sessionOf(c).call(connectEmail, { address }))
  if ('problem' in result) return showEmail(c, address, result.problem)
  return redirectWithMessage(
    c,
    pathOf(result.done),
    'A link was sent to the address. Add a subscription to choose what it receives once it is confirmed.',
  )
}

async function showChat(c: PageContext, submitted = EMPTY_FORM, problem?: ServiceError) {
  organizationOf(c)
  const { chat_install } = await sessionOf(c).call(listIntegrations, {})
  return page(c, {
    title: 'Connect a chat channel',
    lead: 'Posts one line and a link for every subscribed event. New tickets are subscribed by default; you can pause this.',
    status: statusOf(problem),
    body: html`${chat_install && installCard(c)}
      ${formCard(c, {
        title: chat_install ? 'Or use an incoming webhook' : 'Use an incoming webhook',
        lead: `Paste the URL of an incoming webhook from Slack, Mattermost or Rocket.Chat. Direct messages require the app${chat_install ? '.' : ', which the operator of this service has not set up.'}`,
        action: `${INTEGRATIONS_PATH}/new/chat`,
        problem,
        shown: ['name', 'url'],
        fields: html`${nameField(submitted.name, '#tickets', problem)}
          ${urlField(submitted.url, 'https://hooks.slack.com/services/…', problem)}`,
        submit: 'Connect',
        cancel: INTEGRATIONS_PATH,
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

async function createChat(c: PageContext) {
  const submitted = { name: text(c.get('form'), 'name'), url: text(c.get('form'), 'url') }
  const result = await attempt(() => sessionOf(c).call(connectChatWebhook, submitted))
  return 'problem' in result ? showChat(c, submitted, result.problem) : connected(c, result.done)
}

async function beginInstall(c: PageContext) {
  const result = await attempt(() => sessionOf(c).call(beginChatInstall, {}))
  if ('problem' in result) return showChat(c, EMPTY_FORM, result.problem)
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

function showForum(c: PageContext, submitted = EMPTY_FORM, problem?: ServiceError) {
  organizationOf(c)
  return page(c, {
    title: 'Connect a forum',
    lead: 'A Discourse forum whose users sign in with the same accounts. Each post is made in the name of the person who acted.',
    status: statusOf(problem),
    body: formCard(c, {
      action: `${INTEGRATIONS_PATH}/new/forum`,
      problem,
      shown: ['url', 'api_key'],
      fields: html`${inputField({
        name: 'url',
        label: 'Forum URL',
        value: submitted.url,
        required: true,
        maxlength: 2_048,
        autocomplete: 'off',
        placeholder: 'https://forum.example.com',
        problem,
      })}
      ${inputField({
        name: 'api_key',
        label: 'Admin API key',
        type: 'password',
        required: true,
        maxlength: 200,
        autocomplete: 'off',
        hint: 'Valid for all users and allowed to write topics. A single-user key is refused, because every post would be theirs.',
        problem,
      })}`,
      submit: 'Connect',
      cancel: INTEGRATIONS_PATH,
    }),
  })
}

async function createForum(c: PageContext) {
  const url = text(c.get('form'), 'url')
  const result = await attempt(() =>
    sessionOf(c).call(connectForum, { url, api_key: text(c.get('form'), 'api_key') }),
  )
  if ('problem' in result) return showForum(c, { name: '', url }, result.problem)
  return redirectWithMessage(c, pathOf(result.done), 'Forum connected. Choose the category to post in.')
}

function connected(c: PageContext, integration: Integration) {
  return redirectWithMessage(
    c,
    pathOf(integration),
    `${integration.name} connected. Add a subscription to choose what it receives.`,
  )
}
