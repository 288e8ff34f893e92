/** Labels of an agent's client: verified facts first, self-declared ones marked as such. */
import { html } from 'hono/html'
import type { ClientKind } from '../../../contracts/grants.ts'
import { badge } from '../../components.ts'

type Client = { client_id: string; kind: ClientKind; name: string | null; host: string | null }

/** In one line, for titles and lists to choose from. */
export function clientLabel({ client_id, kind, name, host }: Client): string {
  // An admin named it, and it comes from nowhere in particular.
  if (kind === 'machine') return name ?? client_id
  if (name === null || host === null) return name === null ? (host ?? client_id) : `“${name}”`
  return kind === 'metadata_document' ? `${host} (“${name}”)` : `“${name}” (${host})`
}

/** Of a row of activity, which keeps nothing else: the address of a metadata document is verified, other ids say little. */
export function principalLabel(client_id: string, name: string | null): string {
  const host = hostOf(client_id)
  return clientLabel({ client_id, kind: host === null ? 'dynamic' : 'metadata_document', name, host })
}

/** For a column: what is verified, or else the name. */
export const shortPrincipalLabel = (client_id: string, name: string | null): string =>
  hostOf(client_id) ?? principalLabel(client_id, name)

const hostOf = (client_id: string): string | null =>
  client_id.startsWith('https://') ? (URL.parse(client_id)?.host ?? null) : null

export type GrantOfClient = {
  client_id: string
  client_kind: ClientKind
  client_name: string | null
  host: string
}

export const clientOf = ({ client_id, client_kind, client_name, host }: GrantOfClient): Client => ({
  client_id,
  kind: client_kind,
  name: client_name,
  host,
})

/** The host of a metadata document is verified once one was read from it. */
export const verifiedBadge = ({ kind }: Pick<Client, 'kind'>) =>
  kind === 'metadata_document' && badge('verified host', 'on')

/** The host of a metadata document is verified once one was read from it; of others we know the redirect host. */
export function clientSummary(client: Client, isVerified = true) {
  const { client_id, kind, name, host } = client
  const itself = name && html`<bdi>“${name}”</bdi>`
  const redirectsTo = host && `; redirects to ${host}`
  switch (kind) {
    case 'metadata_document':
      return html`<div class="two-lines">
        <span><strong>${host ?? client_id}</strong> ${isVerified && verifiedBadge(client)}</span>
        ${itself && html`<span class="note">calls itself ${itself}, unverified</span>`}
      </div>`
    case 'dynamic':
      return html`<div class="two-lines">
        ${itself && html`<strong>${itself}</strong>`}
        <span class="note">${itself ? 'self-declared name, unverified' : 'unverified'}${redirectsTo}</span>
      </div>`
    case 'pre_registered':
      return html`<div class="two-lines">
        <strong>${itself ?? client_id}</strong>
        <span class="note">registered by the operator${redirectsTo}</span>
      </div>`
    case 'machine':
      return html`<div class="two-lines">
        <strong><bdi>${name ?? client_id}</bdi></strong>
        <span class="note">machine agent</span>
      </div>`
  }
}
