/** One assistant to pick. The time is in the address, so that a reload still knows since when to look for its first call. */
import { html } from 'hono/html'
import type { PageContext } from '../../context.ts'
import { ASSISTANTS, type AssistantId } from './assistants.ts'

export const CONNECT_PATH = '/console/connect'

/** Scripts, and assistants that send a header instead of signing in; with hosted auth the only way. */
export const BY_TOKEN = { id: 'token', name: 'API token' } as const
export type Way = AssistantId | typeof BY_TOKEN.id

export const waysToConnect = (c: PageContext): readonly { id: Way; name: string }[] =>
  c.get('deps').authMode === 'hosted' ? [BY_TOKEN] : [...ASSISTANTS, BY_TOKEN]

/** No name of a way to connect needs to be escaped. */
const connectPath = (assistant: Way, since: number): string =>
  `${CONNECT_PATH}?assistant=${assistant}&since=${since}`

export const assistantLinks = (c: PageContext, current?: Way) => {
  const since = Math.floor(c.get('deps').clock().getTime() / 1_000)
  return html`<nav class="assistants" aria-label="Assistants">
    ${waysToConnect(c).map(({ id, name }) => html`<a href="${connectPath(id, since)}" ${id === current && html`aria-current="page"`}>${name}</a>`)}
  </nav>`
}
