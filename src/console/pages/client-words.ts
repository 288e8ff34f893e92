/** How the console speaks of an agent's client: what is proven first, what it says of itself as just that. */
import { html } from 'hono/html'
import type { ClientKind } from '../../contracts/grants.ts'
import { badge } from '../parts.ts'

type Client = { client_id: string; kind: ClientKind; name: string | null; host: string | null }

/** In one line, for lists to choose from and titles. */
export const clientWord = ({ client_id, name, host }: Omit<Client, 'kind'>): string =>
  name === null ? (host ?? client_id) : host === null ? `“${name}”` : `“${name}” (${host})`

/** Only the host of a metadata document is proven; of the others we know where the approval was sent. */
export const clientLines = ({ client_id, kind, name, host }: Client) =>
  html`<div class="two-lines">
    ${
      kind === 'metadata_document'
        ? html`<span><strong>${host ?? client_id}</strong> ${badge('verified host', 'on')}</span>`
        : name && html`<strong><bdi>“${name}”</bdi></strong>`
    }
    ${kind === 'metadata_document' && name && html`<span class="note">calls itself <bdi>“${name}”</bdi>, unverified</span>`}
    ${kind === 'dynamic' && html`<span class="note">${name ? 'its own word, unverified' : 'unverified'}${host && `; answers to ${host}`}</span>`}
    ${kind === 'pre_registered' && html`<span class="note">set up by the operator${host && `; answers to ${host}`}</span>`}
  </div>`
