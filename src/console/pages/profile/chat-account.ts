/** The user's own chat account: linking and unlinking it. */
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  beginChatLink,
  completeChatLink,
  removeChatLink,
  type showChatLink,
} from '../../../contracts/integrations.ts'
import { button, card, type Content } from '../../../pages/parts.ts'
import { attempt, form, confirmDialog } from '../../forms.ts'
import { act } from '../../act.ts'
import { setFlash } from '../../flash.ts'
import { badge, day } from '../../components.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { externalPage, handleChatCallback } from '../integrations/chat-callback.ts'

type ChatLink = z.output<typeof showChatLink.output>

export const NOTIFICATIONS_PATH = '/console/profile/notifications'

export const chatAccountRoutes = () =>
  createRoutes()
    .post('/profile/notifications/chat/link', begin)
    .get('/profile/notifications/chat/callback', complete)
    .post('/profile/notifications/chat/unlink', unlink)

export const chatAccountCard = (c: PageContext, account: ChatLink) =>
  card(
    'Chat account',
    bodyFor(c, account),
    'Receive direct messages about apps you follow. Only your user ID and display name at the chat service are stored.',
  )

function bodyFor(c: PageContext, { workspace_connected, link }: ChatLink): Content {
  if (link === null && !workspace_connected) {
    return html`<p class="switch-state">${badge('No workspace', 'off')} <span>No chat workspace is connected to ${organizationOf(c).name}.</span></p>
      <p class="note">${hasRole(sessionOf(c), 'admin') ? html`<a href="/console/integrations/new/chat">Install the app</a> so that members can link their accounts.` : 'An owner or admin can connect one. Until then, notifications appear in your inbox.'}</p>`
  }
  if (link === null) {
    return html`<p class="switch-state">${badge('Not linked', 'off')} <span>Until you link an account, notifications appear in your inbox.</span></p>
      ${linkForm(c, 'Link account')}`
  }
  return html`<p class="switch-state">${link.active ? badge('Linked', 'on') : badge('Inactive', 'bad')} <span><strong>${link.display_name}</strong> in ${link.workspace}, linked ${day(link.linked_at)}</span></p>
    ${!link.active && html`<p class="note">The chat service reports that this account is no longer active, so nothing is sent to it. Your notification settings are kept. Link another account to continue.</p>`}
    <div class="actions">${!link.active && workspace_connected && linkForm(c, 'Link another account')} ${unlinkDialog(c)}</div>`
}

const linkForm = (c: PageContext, label: string) =>
  form(c, `${NOTIFICATIONS_PATH}/chat/link`, button(label), '')

const unlinkDialog = (c: PageContext) =>
  confirmDialog(c, {
    label: 'Unlink',
    title: 'Unlink your chat account?',
    action: `${NOTIFICATIONS_PATH}/chat/unlink`,
    text: 'Nothing more is sent to it. Your notification settings are kept.',
  })

async function begin(c: PageContext) {
  const result = await attempt(() => sessionOf(c).call(beginChatLink, {}))
  if ('problem' in result) {
    setFlash(c, 'problem', [`${result.problem.message}.`, result.problem.hint].filter(Boolean).join(' '))
    return c.redirect(NOTIFICATIONS_PATH, 303)
  }
  return externalPage(c, {
    url: result.done.url,
    title: 'Link your chat account',
    about: 'Sign in with the account that should receive your messages. You then return here.',
    back: NOTIFICATIONS_PATH,
  })
}

/** The three failures (another workspace, linked to another user, no workspace) have messages of their own. */
const complete = (c: PageContext) =>
  handleChatCallback(c, {
    retryPath: NOTIFICATIONS_PATH,
    complete: async (answer) => {
      const { display_name, workspace } = await sessionOf(c).call(completeChatLink, answer)
      setFlash(c, 'done', `Messages are now sent to ${display_name} in ${workspace}.`)
      return NOTIFICATIONS_PATH
    },
  })

const unlink = act(removeChatLink, {
  back: NOTIFICATIONS_PATH,
  done: 'Chat account unlinked. Your notification settings are kept.',
})
