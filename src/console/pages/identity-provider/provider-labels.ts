/** What the pages about the identity provider say alike. */
import { html } from 'hono/html'
import type {
  IdentityLinking,
  IdentityLinkOrigin,
  IdentityProviderState,
  RefusalReason,
} from '../../../contracts/identity-provider-states.ts'
import {
  SCOPE_LABELS,
  SCOPES_OF_OTHERS,
  SENSITIVE_SCOPES,
  type Resource,
  type Scope,
} from '../../../contracts/scopes.ts'
import { choice, type Content } from '../../../pages/parts.ts'
import { badge } from '../../components.ts'

export const STATE_BADGES: Record<IdentityProviderState, Content> = {
  draft: badge('Draft', 'wait'),
  on: badge('On', 'on'),
  paused: badge('Paused', 'off'),
}

export const LINKING_LABELS: Record<IdentityLinking, { label: string; about: string }> = {
  admin: { label: 'Only by an admin', about: 'Anyone not linked under People is refused.' },
  member: {
    label: 'Also by email address',
    about: 'The first time, by an address that the provider and a member have both verified. Never owners.',
  },
  domain: {
    label: 'Also people who are not members yet',
    about: 'With an address in the email domains of the organization, an account is created for them.',
  },
}

export const ORIGIN_LABELS: Record<IdentityLinkOrigin, string> = {
  admin: 'by an admin',
  email: 'by email address',
  domain: 'joined by email domain',
  proof: 'when it was switched on',
}

export const ENDPOINT_LABELS: Record<Resource, string> = {
  platform: 'Data and maintenance',
  notifications: 'Notifications',
}

/** What each check looks at, and what to do where it fails. `REFUSALS` says what is wrong then. */
export const CHECKS: Record<RefusalReason, { label: string; advice: string }> = {
  malformed: {
    label: 'Format',
    advice: 'Paste the whole assertion. If it is too long, send fewer groups.',
  },
  type: {
    label: 'Type',
    advice: 'This is another token, often the ID token. The client must exchange it for an ID-JAG first.',
  },
  algorithm: {
    label: 'Algorithm',
    advice: 'Sign with ES256, EdDSA, RS256 or PS256.',
  },
  issuer: {
    label: 'Issuer',
    advice: 'Compare with iss of the assertion. To change the issuer, remove the provider and add it again.',
  },
  paused: { label: 'Provider is on', advice: 'Switch it on or resume it.' },
  key: {
    label: 'Key',
    advice:
      'Check the keys of the provider. New ones are found within a minute. If they moved, an owner switches it on again.',
  },
  signature: { label: 'Signature', advice: 'Ask whoever runs the provider which key it signs with.' },
  audience: {
    label: 'Audience',
    advice: 'Copy the audience from the tab Provider. Usually there is a slash too many at the end.',
  },
  expired: { label: 'Not expired', advice: 'Use a new one. If it is new, compare the clocks.' },
  not_yet_valid: { label: 'Valid already', advice: 'Compare the clocks; 60 seconds are allowed.' },
  lifetime: {
    label: 'Lifetime',
    advice: 'Issue assertions that are valid for a shorter time, or allow longer ones in the settings.',
  },
  tenant: { label: 'Tenant', advice: 'Remove the provider and add it with your tenant.' },
  audience_tenant: {
    label: 'Organization',
    advice: 'aud_tenant must be the ID or short name of this organization, or be left out.',
  },
  client: {
    label: 'Client that brings it',
    advice: 'At the provider, enter the client ID that the assistant has here.',
  },
  client_not_allowed: { label: 'Client is allowed', advice: 'Allow it under Clients.' },
  client_public: {
    label: 'Client proves who it is',
    advice: 'Use a client with a secret or key, or allow it without under Clients.',
  },
  proof_of_possession: {
    label: 'Not bound to a key',
    advice: 'Turn DPoP off for this client at the provider.',
  },
  claims: {
    label: 'Claims',
    advice: 'It must have sub, client_id, jti, iat and exp, and no authorization_details.',
  },
  not_linked: {
    label: 'Person is linked',
    advice: 'Link them under People, or allow linking by email address.',
  },
  email_unverified: {
    label: 'Verified email',
    advice:
      'The provider must send email and email_verified: true; the latter may be absent in your email domains. Or link them under People.',
  },
  email_unknown: { label: 'Known email', advice: 'Invite them first.' },
  subject_changed: {
    label: 'Same person as before',
    advice: 'Make sure that it is the same person, then remove the old link under People.',
  },
  not_a_member: { label: 'Member', advice: 'They left or were removed. Invite them again.' },
  agents_off: { label: 'Agents are on', advice: 'Turn agents on under Organization settings, Security.' },
  client_blocked: { label: 'Client is not blocked', advice: 'Unblock it under Connected agents, Clients.' },
  resource: {
    label: 'Endpoint',
    advice: 'Compare resource with the tab Provider, and the endpoints of the client.',
  },
  rule: { label: 'Rules', advice: 'A rule refuses everybody it matches. Preview it under Rules.' },
  scope: { label: 'Permissions', advice: 'Preview under Rules what they would get.' },
  replayed: {
    label: 'Used once',
    advice: 'The assistant must get a new one. If it did not send it, ask where it leaked.',
  },
}

export const isSensitive = (scope: Scope): boolean => (SENSITIVE_SCOPES as readonly Scope[]).includes(scope)

/** Whoever is no owner does not see what only owners may give. */
export const scopeBoxes = (
  name: string,
  offered: readonly Scope[],
  isTicked: (scope: Scope) => boolean,
  mayGiveAll: boolean,
) =>
  html`${offered
    .filter((scope) => mayGiveAll || !isSensitive(scope))
    .map((scope) =>
      choice('checkbox', name, scope, isTicked(scope), SCOPES_OF_OTHERS[scope], html`<code>${scope}</code>`),
    )}
  ${!mayGiveAll && offered.some(isSensitive) && html`<p class="note">Only owners can give ${SENSITIVE_SCOPES.map((scope, at) => html`${at > 0 && ' and '}<code>${scope}</code>`)}.</p>`}`

export const scopesSummary = (scopes: readonly Scope[]) =>
  scopes.length === 0 ? badge('Refused', 'bad') : scopes.map((scope) => SCOPE_LABELS[scope]).join(', ')
