/** How connections are spoken of: what they are, how they do, and what to do about it. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { Integration as IntegrationShape, IntegrationKind } from '../../contracts/integrations.ts'
import type { Content } from '../../pages/parts.ts'
import { badge, time } from '../parts.ts'

export type Integration = z.output<typeof IntegrationShape>

export const INTEGRATIONS_PATH = '/console/integrations'
export const pathOf = ({ id }: { id: string }): string => `${INTEGRATIONS_PATH}/${id}`

export const KIND_WORDS: Record<IntegrationKind, string> = {
  chat: 'Chat channel',
  webhook: 'Signed webhook',
  forum: 'Forum',
}

export function stateBadge({ state, failing_since, kind, category }: Integration): Content {
  if (state === 'off') return badge('Switched off', 'off')
  if (state === 'lost') return badge('Stopped: connection lost', 'bad')
  if (state === 'gone') return badge('Stopped: receiver answered 410', 'bad')
  if (state === 'dead') return badge('Stopped: failed for days', 'bad')
  if (kind === 'forum' && category === null) return badge('Not finished', 'wait')
  if (failing_since === null) return badge('Active', 'on')
  return html`${badge('Failing', 'wait')} <span class="note">since ${time(failing_since)}</span>`
}

/** What the state means and what gets it going again; nothing where all is well. */
export function stateAdvice({ state, failing_since, kind, category }: Integration): string | undefined {
  if (state === 'off')
    return 'Nothing is sent to it. What happens meanwhile stands in the ledger as not sent.'
  if (state === 'lost') {
    return 'The chat service no longer takes messages for it: the app was removed, or the channel was archived. Its subscriptions are paused, and go on when it is connected again, or switched on because it works after all.'
  }
  if (state === 'gone') {
    return 'The receiver answered that this address is gone for good, so nothing more is sent there. Give it a new address, or switch it on again once the old one works.'
  }
  if (state === 'dead') {
    return 'Every message failed for five days, so sending was stopped. Mend the receiver, then switch it on again; what failed can be replayed from the ledger.'
  }
  if (kind === 'forum' && category === null)
    return 'Say where in the forum to post before anything can be sent.'
  if (failing_since !== null) {
    return 'The last messages failed and are tried again. After five days without any success sending stops.'
  }
  return undefined
}

export const whereItLeads = ({ kind, workspace, channel, category, address }: Integration): Content => {
  const place = [workspace, channel, category === null ? null : `category ${category}`].filter(
    (part) => part !== null,
  )
  return html`${KIND_WORDS[kind]}${place.length > 0 && html` · ${place.join(' · ')}`} <code class="id-text">${address}</code>`
}
