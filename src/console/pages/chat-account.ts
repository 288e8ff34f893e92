/** One's own chat account: linking it, what can go wrong with that, and unlinking. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  beginChatLink,
  completeChatLink,
  removeChatLink,
  type showChatLink,
} from '../../contracts/integrations.ts'
import { button, card, type Content } from '../../pages/parts.ts'
import { attempt } from '../attempt.ts'
import { actAndReturn, leaveFlash } from '../flash.ts'
import { badge, day, form, opens } from '../parts.ts'
import { hasRole, organizationOf, visitOf, type ConsoleEnv } from '../visit.ts'
import { goOutside, returnedFrom } from './chat-return.ts'

type C = Context<ConsoleEnv>
type ChatLink = z.output<typeof showChatLink.output>

export const FOLLOWS_PATH = '/console/profile/notifications'

export const chatAccountPages = () =>
  new Hono<ConsoleEnv>()
    .post('/profile/notifications/chat/link', begin)
    .get('/profile/notifications/chat/callback', complete)
    .post('/profile/notifications/chat/unlink', unlink)

export const chatAccountCard = (c: C, account: ChatLink) =>
  card(
    'Chat account',
    bodyFor(c, account),
    'Messages about apps you follow go to you alone. We keep who you are there and your display name, nothing else.',
  )

function bodyFor(c: C, { workspace_connected, link }: ChatLink): Content {
  if (link === null && !workspace_connected) {
    return html`<p class="switch-state">${badge('No workspace', 'off')} <span>No chat workspace is connected to ${organizationOf(c).name}.</span></p>
      <p class="note">${hasRole(visitOf(c), 'admin') ? html`<a href="/console/integrations/new/chat">Install the app in one</a>, then everybody can link their accounts.` : 'An owner or admin can connect one. Until then your notifications stand in the inbox.'}</p>`
  }
  if (link === null) {
    return html`<p class="switch-state">${badge('Not linked', 'off')} <span>Until you link an account, your notifications stand in the inbox.</span></p>
      ${linkForm(c, 'Link my account')}`
  }
  return html`<p class="switch-state">${link.active ? badge('Linked', 'on') : badge('Inactive', 'bad')} <span><strong>${link.display_name}</strong> in ${link.workspace}, since ${day(link.linked_at)}</span></p>
    ${!link.active && html`<p class="note">The chat service says that this account is no longer active, so nothing is sent to it. What you follow is kept. Link another account to go on.</p>`}
    <div class="actions">${!link.active && workspace_connected && linkForm(c, 'Link another account')} ${unlinkWindow(c)}</div>`
}

const linkForm = (c: C, label: string) => form(c, `${FOLLOWS_PATH}/chat/link`, button(label))

const unlinkWindow = (c: C) =>
  opens('unlink', 'Unlink', {
    title: 'Unlink your chat account?',
    content: form(
      c,
      `${FOLLOWS_PATH}/chat/unlink`,
      html`<p>Nothing more is sent to it. What you follow is kept, and goes on when you link an account again.</p>
        ${button('Unlink', 'danger')}`,
      'stack',
    ),
  })

async function begin(c: C) {
  const tried = await attempt(() => visitOf(c).call(beginChatLink, {}))
  if ('problem' in tried) {
    leaveFlash(c, 'problem', [`${tried.problem.message}.`, tried.problem.hint].filter(Boolean).join(' '))
    return c.redirect(FOLLOWS_PATH, 303)
  }
  return goOutside(c, {
    url: tried.done.url,
    title: 'Link your chat account',
    about: 'Sign in there with the account that should get your messages. Then you come back here.',
    back: FOLLOWS_PATH,
  })
}

/** The three failures (another workspace, taken by somebody who is not named, no workspace) come in words of their own. */
const complete = (c: C) =>
  returnedFrom(c, {
    again: FOLLOWS_PATH,
    complete: async (answer) => {
      const { display_name, workspace } = await visitOf(c).call(completeChatLink, answer)
      leaveFlash(c, 'done', `Your messages go to ${display_name} in ${workspace} now.`)
      return FOLLOWS_PATH
    },
  })

const unlink = (c: C) =>
  actAndReturn(c, FOLLOWS_PATH, 'Your chat account is unlinked. What you follow is kept.', () =>
    visitOf(c).call(removeChatLink, {}),
  )
