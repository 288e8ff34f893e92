/**
 * What ends by a row of its own, or becomes less, and which of these ends each kind of credential. Closed: whoever ends one
 * says its kind, and what ends it again after the database has lost that has a row for each.
 */
import type { CredentialKind } from './credential-kinds.ts'

/** A right that is less than before and can be given again, with its name in the audit trail. */
const NARROWED_KINDS = {
  role: 'role of member',
  organization: 'switches of organization',
  client_block: 'blocked client',
  client_activity: 'switched-off client',
  data_source: 'narrowed data source',
  app_member: 'member of app',
  integration: 'switched-off integration',
  machine_agent_expiry: 'expiry of machine agent',
  provisioned_person: 'inactive person of the directory',
  provisioned_place: 'place in a group of the directory',
  group_role: 'role of a group of the directory',
  group: 'removed or renamed group',
  group_member: 'member of group',
  data_source_access: 'access column of data source',
  maintenance: 'maintenance settings',
  app_maintenance: 'maintenance of app',
} as const

export type NarrowedKind = keyof typeof NARROWED_KINDS

/** With its name in the audit trail. In the order in which they end again: a credential before the grant that ended with it. */
export const ENDED_KINDS = {
  key_epoch: 'tokens of the keys before',
  membership: 'member',
  machine_agent: 'machine agent',
  machine_credential: 'credential of a machine agent',
  machine_credential_rotated: 'rotated credential of a machine agent',
  session: 'session',
  support_session: 'support session',
  password: 'password',
  invitation: 'invitation',
  api_token: 'API token',
  api_token_rotated: 'rotated API token',
  app_token: 'token of an app',
  app_token_rotated: 'rotated token of an app',
  scim_bearer: 'SCIM bearer',
  scim_bearer_rotated: 'rotated SCIM bearer',
  service_account: 'service account of an app',
  identity_provider: 'identity provider',
  grant: 'agent',
  grant_narrowed: 'narrowed agent',
  ...NARROWED_KINDS,
} as const

export type EndedKind = keyof typeof ENDED_KINDS

/** A kind that is missing here does not compile. Those without an ending of their own say why none comes back. */
export const ENDED_AS: Readonly<Record<CredentialKind, readonly EndedKind[] | { readonly none: string }>> = {
  session: ['session', 'password'],
  cli_session: ['session', 'membership'],
  cli_login: { none: 'one use within 10 minutes; its login ends as a session' },
  browser_session: ['session'],
  sign_in_code: { none: 'one use within 60 seconds, by the browser that began it' },
  mailed_link: { none: 'one use within an hour, by whoever reads the mailbox' },
  invitation: ['invitation', 'membership'],
  api_token: ['api_token', 'api_token_rotated', 'membership'],
  grant: ['grant', 'membership'],
  machine_credential: ['machine_credential', 'machine_credential_rotated', 'machine_agent', 'key_epoch'],
  app_token: ['app_token', 'app_token_rotated', 'key_epoch'],
  scim_bearer: ['scim_bearer', 'scim_bearer_rotated', 'key_epoch'],
  assertion: { none: '60 seconds; the token or grant behind it is read' },
  operator_token: { none: 'in the settings, not in the database' },
  run_token: { none: 'its run has a lease, whose fence carries the timeline' },
  agent_runner_token: { none: '60 seconds, and never in the database' },
  unsubscribe_link: { none: 'it only ever turns off a mail' },
  workload: ['service_account'],
}

/** What becomes of an ending when the database is lost right after it was told: as the start, `/readyz` and `svc doctor` say it. */
export const ENDINGS_PROMISES = {
  'synchronous standby': 'stay ended: a standby has each before it is answered',
  'shared journal': 'stay ended: a journal that all processes share has each before it is answered',
  'own journals':
    'stay ended, except those known only to processes that are lost together with the primary: each has a journal of its own',
  nothing:
    'may be undone by a failover: there is neither a synchronous standby nor an ENDINGS_JOURNAL in every process',
} as const
export type EndingsPromise = keyof typeof ENDINGS_PROMISES
