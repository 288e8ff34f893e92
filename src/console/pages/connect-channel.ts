/** Connecting a channel: a webhook, a chat channel by its address or by installing the app, a forum. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type { ServiceError } from '../../contracts/errors.ts'
import {
  beginChatInstall,
  completeChatInstall,
  connectChatWebhook,
  connectForum,
  connectWebhook,
  listIntegrations,
} from '../../contracts/integrations.ts'
import { button, card, choice, inputField, linkButton, problemNotice } from '../../pages/parts.ts'
import { attempt, statusOf } from '../attempt.ts'
import { leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { form } from '../parts.ts'
import { organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'
import { goOutside, returnedFrom } from './chat-return.ts'
import { INTEGRATIONS_PATH, pathOf, type Integration } from './integration-words.ts'
import { signatureCard } from './webhook-signature.ts'

type C = Context<ConsoleEnv>
type Typed = { name: string; url: string; resends?: boolean }
const NOTHING_TYPED: Typed = { name: '', url: '' }

export const connectChannelPages = () =>
  new Hono<ConsoleEnv>()
    .get('/integrations/new/webhook', (c) => showWebhook(c))
    .post('/integrations/new/webhook', makeWebhook)
    .get('/integrations/new/chat', (c) => showChat(c))
    .post('/integrations/new/chat', makeChat)
    .post('/integrations/chat/install', beginInstall)
    .get('/integrations/chat/callback', completeInstall)
    .get('/integrations/new/forum', (c) => showForum(c))
    .post('/integrations/new/forum', makeForum)

const nameField = (value: string, example: string, problem: ServiceError | undefined) =>
  inputField({
    name: 'name',
    label: 'Name',
    value,
    required: true,
    maxlength: 120,
    autocomplete: 'off',
    hint: `How the ledger calls it, such as “${example}”.`,
    problem,
  })

/** Typed in the open, because a letter less is another address; after that nobody sees it again. */
const addressField = (value: string, placeholder: string, problem: ServiceError | undefined) =>
  inputField({
    name: 'url',
    label: 'Address',
    value,
    required: true,
    maxlength: 2_048,
    autocomplete: 'off',
    placeholder,
    className: 'field-wide',
    hint: 'Kept encrypted and never shown again. Addresses inside private networks are refused.',
    problem,
  })

function showWebhook(c: C, typed = NOTHING_TYPED, problem?: ServiceError) {
  organizationOf(c)
  return page(c, {
    title: 'Connect a webhook',
    lead: 'A program of yours is told what happened by a signed POST request.',
    status: statusOf(problem),
    body: html`<div class="card">
        ${problemNotice(problem, ['name', 'url'])}
        ${form(
          c,
          `${INTEGRATIONS_PATH}/new/webhook`,
          html`${nameField(typed.name, 'Operations desk', problem)}
          ${addressField(typed.url, 'https://hooks.example.com/svc/…', problem)}
          <fieldset>
            <legend>When an answer is lost</legend>
            ${choice('radio', 'resend', 'no', typed.resends !== true, 'Leave it unconfirmed', 'It may have arrived, so it is not sent again until somebody presses Replay.')}
            ${choice('radio', 'resend', 'yes', typed.resends === true, 'Send it again', 'For receivers that know repetitions by the id of the notification.')}
          </fieldset>
          <div class="actions">${button('Connect')} ${linkButton(INTEGRATIONS_PATH, 'Cancel', 'quiet')}</div>`,
          'stack',
        )}
      </div>
      ${signatureCard()}`,
  })
}

async function makeWebhook(c: C) {
  const fields = c.get('form')
  const typed = {
    name: text(fields, 'name'),
    url: text(fields, 'url'),
    resends: text(fields, 'resend') === 'yes',
  }
  const tried = await attempt(() =>
    visitOf(c).call(connectWebhook, {
      name: typed.name,
      url: typed.url,
      resend_on_unknown: typed.resends,
    }),
  )
  return 'problem' in tried ? showWebhook(c, typed, tried.problem) : connected(c, tried.done)
}

async function showChat(c: C, typed = NOTHING_TYPED, problem?: ServiceError) {
  organizationOf(c)
  const { chat_install } = await visitOf(c).call(listIntegrations, {})
  return page(c, {
    title: 'Connect a chat channel',
    lead: 'It gets one line and a link for every event it is subscribed to. New tickets come by themselves; you can pause that.',
    status: statusOf(problem),
    body: html`${chat_install && installCard(c)}
      ${card(
        chat_install ? 'Or paste an address' : 'Paste an address',
        html`${problemNotice(problem, ['name', 'url'])}
        ${form(
          c,
          `${INTEGRATIONS_PATH}/new/chat`,
          html`${nameField(typed.name, '#tickets', problem)}
          ${addressField(typed.url, 'https://hooks.slack.com/services/…', problem)}
          <div class="actions">${button('Connect')} ${linkButton(INTEGRATIONS_PATH, 'Cancel', 'quiet')}</div>`,
          'stack',
        )}`,
        html`Of an incoming webhook made in Slack, Mattermost or Rocket.Chat. Messages to single people need the app${chat_install ? '.' : ', which the operator of this service has not set up.'}`,
      )}`,
  })
}

const installCard = (c: C) =>
  card(
    'Install the app',
    form(
      c,
      `${INTEGRATIONS_PATH}/chat/install`,
      html`<p>Choose the channel at the chat service. People can then link their own accounts and get messages of their own.</p>
      ${button('Choose a channel')}`,
      'stack',
    ),
  )

async function makeChat(c: C) {
  const typed = { name: text(c.get('form'), 'name'), url: text(c.get('form'), 'url') }
  const tried = await attempt(() => visitOf(c).call(connectChatWebhook, typed))
  return 'problem' in tried ? showChat(c, typed, tried.problem) : connected(c, tried.done)
}

async function beginInstall(c: C) {
  const tried = await attempt(() => visitOf(c).call(beginChatInstall, {}))
  if ('problem' in tried) return showChat(c, NOTHING_TYPED, tried.problem)
  return goOutside(c, {
    url: tried.done.url,
    title: 'Install the app',
    about: 'There you choose the channel and allow the app to post in it. Then you come back here.',
    back: INTEGRATIONS_PATH,
  })
}

const completeInstall = (c: C) =>
  returnedFrom(c, {
    again: `${INTEGRATIONS_PATH}/new/chat`,
    complete: async (answer) => {
      const integration = await visitOf(c).call(completeChatInstall, answer)
      leaveFlash(c, 'done', `${integration.name} is connected.`)
      return pathOf(integration)
    },
  })

function showForum(c: C, typed = NOTHING_TYPED, problem?: ServiceError) {
  organizationOf(c)
  return page(c, {
    title: 'Connect a forum',
    lead: 'A Discourse whose people sign in with the same accounts. Each post stands there in the name of whoever acted.',
    status: statusOf(problem),
    body: html`<div class="card">
      ${problemNotice(problem, ['url', 'api_key'])}
      ${form(
        c,
        `${INTEGRATIONS_PATH}/new/forum`,
        html`${inputField({
          name: 'url',
          label: 'Address of the forum',
          value: typed.url,
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
          hint: 'For all users, allowed to write topics. A key of a single user is refused: every post would be theirs.',
          problem,
        })}
        <div class="actions">${button('Connect')} ${linkButton(INTEGRATIONS_PATH, 'Cancel', 'quiet')}</div>`,
        'stack',
      )}
    </div>`,
  })
}

async function makeForum(c: C) {
  const url = text(c.get('form'), 'url')
  const tried = await attempt(() =>
    visitOf(c).call(connectForum, { url, api_key: text(c.get('form'), 'api_key') }),
  )
  if ('problem' in tried) return showForum(c, { name: '', url }, tried.problem)
  leaveFlash(c, 'done', 'The forum is connected. One thing is left: where to post.')
  return c.redirect(pathOf(tried.done), 303)
}

function connected(c: C, integration: Integration) {
  leaveFlash(c, 'done', `${integration.name} is connected. Subscribe it to what it should be told.`)
  return c.redirect(pathOf(integration), 303)
}
