/** How the console speaks of an agent's client: what is proven first, what it says of itself as just that. */
import { html } from 'hono/html'
import type { ClientKind } from '../../contracts/grants.ts'
import { badge } from '../parts.ts'

type Client = { client_id: string; kind: ClientKind; name: string | null; host: string | null }

/** In one line, for titles and lists to choose from. */
export function clientWord({ client_id, kind, name, host }: Client): string {
  if (name === null || host === null) return name === null ? (host ?? client_id) : `“${name}”`
  return kind === 'metadata_document' ? `${host} (“${name}”)` : `“${name}” (${host})`
}

/** The host of a metadata document is proven once one was read from it; of others we know where answers go. */
export function clientLines({ client_id, kind, name, host }: Client, wasHere = true) {
  const itself = name && html`<bdi>“${name}”</bdi>`
  const answersTo = host && `; answers to ${host}`
  switch (kind) {
    case 'metadata_document':
      return html`<div class="two-lines">
        <span><strong>${host ?? client_id}</strong> ${wasHere && badge('verified host', 'on')}</span>
        ${itself && html`<span class="note">calls itself ${itself}, unverified</span>`}
      </div>`
    case 'dynamic':
      return html`<div class="two-lines">
        ${itself && html`<strong>${itself}</strong>`}
        <span class="note">${itself ? 'its own word, unverified' : 'unverified'}${answersTo}</span>
      </div>`
    case 'pre_registered':
      return html`<div class="two-lines">
        ${itself && html`<strong>${itself}</strong>`}
        <span class="note">set up by the operator${answersTo}</span>
      </div>`
  }
}
