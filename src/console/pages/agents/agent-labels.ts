/** Where an agent's page is, and what the pages about agents say alike. */
import { html } from 'hono/html'
import type { GrantEndReason, GrantVia } from '../../../contracts/grants.ts'
import { atLeast } from '../../../contracts/roles.ts'
import { notice } from '../../../pages/parts.ts'
import { badge } from '../../components.ts'
import type { Organization } from '../../context.ts'
import { clientLabel, clientOf, type GrantOfClient } from './client-labels.ts'

export const AGENTS_PATH = '/console/agents'
export const agentPath = (grantId: string): string => `${AGENTS_PATH}/${grantId}`

/** Sends the form that narrows elsewhere: what it would take is shown, and nothing is saved. */
export const previewButton = (grantId: string) =>
  html`<button type="submit" class="button button-quiet" formaction="${agentPath(grantId)}/preview">Show what is lost</button>`

export const agentsOffNotice = ({ agents_enabled, role }: Organization) =>
  !agents_enabled &&
  notice(
    'info',
    html`<p><strong>Agents are turned off.</strong> No agent has access until ${atLeast(role, 'admin') ? html`they are <a href="/console/settings/security">turned on</a>` : 'an admin turns them on'} again.</p>`,
  )

type Disconnected = GrantOfClient & { user: { name: string }; via: GrantVia }

/** What becomes of it afterwards. */
const COMES_BACK: Record<GrantVia, string> = {
  consent: 'and must be approved again to reconnect',
  enterprise: 'and can connect again through your identity provider',
  machine: 'and cannot come back',
}

export const disconnectText = (grant: Disconnected, isMine: boolean) =>
  html`<span class="long"><bdi>${clientLabel(clientOf(grant))}</bdi>${!isMine && grant.via !== 'machine' && ` of ${grant.user.name}`} loses access on its next call ${COMES_BACK[grant.via]}.</span>`

/** Nothing for those that their user approved. */
export const viaBadge = (via: GrantVia) =>
  via === 'enterprise'
    ? badge('By your organization', 'on')
    : via === 'machine' && badge('Machine agent', 'off')

export const END_LABELS: Record<GrantEndReason, string> = {
  disconnected: 'Its user disconnected it',
  revoked: 'An admin or the operator revoked it',
  token_revoked: 'The assistant disconnected itself',
  reuse_detected: 'One of its tokens was used twice, which may mean that it was stolen',
  access_ended: 'The access of its user ended',
  credential_revoked: 'One of its credentials was revoked; with another one it has a new grant',
  expired: 'It expired',
  keys_rotated: 'The operator rotated the secrets of this installation',
  provider_paused: 'The identity provider was paused',
  provider_removed: 'The identity provider was removed',
  rules_changed: 'The rules of the identity provider changed',
  replaced: 'It was given more data sources, on a grant of their own',
  client_forbidden: 'An admin no longer allows its client for the identity provider',
  unlinked: 'Its user was unlinked from the identity provider',
  agent_removed: 'The machine agent was removed',
  unused: 'Nobody used it, and the organization disconnects such agents',
}
