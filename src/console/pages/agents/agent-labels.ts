/** Where an agent's page is, and what the pages about agents say alike. */
import { html } from 'hono/html'
import type { GrantEndReason } from '../../../contracts/grants.ts'
import { atLeast } from '../../../contracts/roles.ts'
import { notice } from '../../../pages/parts.ts'
import type { Organization } from '../../context.ts'
import { clientLabel, clientOf, type GrantOfClient } from './client-labels.ts'

export const AGENTS_PATH = '/console/agents'
export const agentPath = (grantId: string): string => `${AGENTS_PATH}/${grantId}`

export const agentsOffNotice = ({ agents_enabled, role }: Organization) =>
  !agents_enabled &&
  notice(
    'info',
    html`<p><strong>Agents are turned off.</strong> No agent has access until ${atLeast(role, 'admin') ? html`they are <a href="/console/settings/security">turned on</a>` : 'an admin turns them on'} again.</p>`,
  )

export const disconnectText = (grant: GrantOfClient & { user: { name: string } }, isMine: boolean) =>
  html`<span class="long"><bdi>${clientLabel(clientOf(grant))}</bdi>${!isMine && ` of ${grant.user.name}`} loses access on its next call and must be approved again to reconnect.</span>`

export const END_LABELS: Record<GrantEndReason, string> = {
  disconnected: 'Its user disconnected it',
  revoked: 'An admin or the operator revoked it',
  token_revoked: 'The assistant disconnected itself',
  reuse_detected: 'One of its tokens was used twice, which may mean that it was stolen',
  access_ended: 'The access of its user ended',
  expired: 'It expired',
  keys_rotated: 'The operator rotated the secrets of this installation',
}
