/** Labels of an agent's client: verified facts first, self-declared ones marked as such. */
import { html } from 'hono/html'
import type { ClientKind } from '../../../contracts/grants.ts'
import { badge } from '../../components.ts'

type Client = { client_id: string; kind: ClientKind; name: string | null; host: string | null }

/** In one line, for titles and lists to choose from. */
export function clientLabel({ client_id, kind, name, host }: Client): string {
  if (name === null || host === null) return name === null ? (host ?? client_id) : `“${name}”`
  return kind === 'metadata_document' ? `${host} (“${name}”)` : `“${name}” (${host})`
}

/** The host of a metadata document is verified once one was read from it; of others we know the redirect host. */
export function clientSummary({ client_id, kind, name, host }: Client, isVerified = true) {
  const itself = name && html`<bdi>“${name}”</bdi>`
  const redirectsTo = host && `; redirects to ${host}`
  switch (kind) {
    case 'metadata_document':
      return html`<div class="two-lines">
        <span><strong>${host ?? client_id}</strong> ${isVerified && badge('verified host', 'on')}</span>
        ${itself && html`<span class="note">calls itself ${itself}, unverified</span>`}
      </div>`
    case 'dynamic':
      return html`<div class="two-lines">
        ${itself && html`<strong>${itself}</strong>`}
        <span class="note">${itself ? 'self-declared name, unverified' : 'unverified'}${redirectsTo}</span>
      </div>`
    case 'pre_registered':
      return html`<div class="two-lines">
        ${itself && html`<strong>${itself}</strong>`}
        <span class="note">registered by the operator${redirectsTo}</span>
      </div>`
  }
}
