/**
 * What becomes of the rows of a person in each table when their membership ends. A table that is missing here does not
 * compile; that those which end really do, and that the list is that of the database, test/walks/endings.test.ts asks.
 */
import type { TABLE_KINDS } from '../../db/table-kinds.ts'

type TableEnding =
  | { readonly endsWith: 'its row' | 'the row of its membership' | 'the row of its grant' }
  | { readonly noRight: string }

const PERSON = { noRight: 'belongs to the person, who may be a member of other organizations' } as const
const ORGANIZATION = {
  noRight: 'belongs to the organization; who made it is told, and has nothing by it',
} as const
const NOTIFICATION = {
  noRight: 'whether somebody may have it is asked again at every read and every send',
} as const
const RECORD = { noRight: 'says what happened' } as const
const MACHINERY = { noRight: 'belongs to the installation' } as const

export const TABLE_ENDINGS = {
  activity: RECORD,
  activity_rest: RECORD,
  alert_states: ORGANIZATION,
  api_tokens: { endsWith: 'its row' },
  app_blobs: ORGANIZATION,
  app_heads: ORGANIZATION,
  app_leases: ORGANIZATION,
  app_maintenance: ORGANIZATION,
  app_members: { endsWith: 'the row of its membership' },
  app_remotes: { noRight: 'belongs to the app, which goes on when whoever set it leaves' },
  app_tokens: { noRight: 'belongs to the app, which goes on when whoever made it leaves' },
  apps: ORGANIZATION,
  assertion_refusals: RECORD,
  assertion_uses: RECORD,
  attempts: RECORD,
  attempts_rest: RECORD,
  audit_log: RECORD,
  audit_log_rest: RECORD,
  cli_logins: {
    noRight: 'opens nothing: what was approved with it is the session of the client, which ends',
  },
  chat_accounts: { noRight: 'says whose account at a chat service it is' },
  chat_authorizations: { noRight: 'finishing it asks for the role again' },
  chat_links: NOTIFICATION,
  check_runs: RECORD,
  checks: ORGANIZATION,
  data_source_health: ORGANIZATION,
  data_sources: ORGANIZATION,
  embedding_counts: ORGANIZATION,
  evals: RECORD,
  loads: {
    noRight: 'ends without a table when whoever started it may no longer; what it made is the organization’s',
  },
  default_subscriptions: ORGANIZATION,
  grant_uses: RECORD,
  group_members: { endsWith: 'the row of its membership' },
  groups: ORGANIZATION,
  provisioned_groups: ORGANIZATION,
  provisioned_people: {
    noRight: 'says what the directory said of somebody; they must be a member at every call',
  },
  provisioned_places: {
    noRight: 'says what the directory said; the place that it gave ends with the membership',
  },
  scim_bearers: {
    noRight: 'belongs to the organization, whose directory goes on when whoever made it leaves',
  },
  deliveries: NOTIFICATION,
  deliveries_rest: NOTIFICATION,
  delivery_count_changes: RECORD,
  delivery_counts: RECORD,
  delivery_keys: RECORD,
  delivery_keys_rest: RECORD,
  deployment_output: RECORD,
  deployments: RECORD,
  digest_keys: RECORD,
  disk_use: ORGANIZATION,
  email_suppressions: MACHINERY,
  event_keys: RECORD,
  events: RECORD,
  events_rest: RECORD,
  findings: RECORD,
  follows: NOTIFICATION,
  former_members: { noRight: 'takes one away: the email domain does not bring them back' },
  idempotency_keys: { noRight: 'repeats an answer to whoever may make the request now' },
  identities: PERSON,
  identity_links: { noRight: 'says who somebody is; they must be a member at every exchange and every call' },
  identity_provider_clients: ORGANIZATION,
  identity_provider_rules: ORGANIZATION,
  installation_facts: MACHINERY,
  integrations: ORGANIZATION,
  invitations: { endsWith: 'its row' },
  jobs: MACHINERY,
  log_groups: ORGANIZATION,
  log_lines: ORGANIZATION,
  log_lines_rest: ORGANIZATION,
  log_usage: ORGANIZATION,
  log_volumes: ORGANIZATION,
  machine_agent_credentials: {
    noRight: 'belongs to the machine agent, which does not go on without its owner',
  },
  machine_agents: { endsWith: 'the row of its membership' },
  mailed_links: PERSON,
  maintenance_runs: RECORD,
  maintenance_changes: RECORD,
  maintenance_settings: ORGANIZATION,
  maintenance_slots: RECORD,
  model_outages: ORGANIZATION,
  memberships: { endsWith: 'its row' },
  message_targets: MACHINERY,
  messages: NOTIFICATION,
  messages_rest: NOTIFICATION,
  notifications: NOTIFICATION,
  oauth_artifacts: { endsWith: 'the row of its grant' },
  oauth_metadata_documents: MACHINERY,
  organization_client_blocks: ORGANIZATION,
  organization_domains: ORGANIZATION,
  organization_identity_providers: ORGANIZATION,
  organizations: ORGANIZATION,
  outbox: RECORD,
  passwords: PERSON,
  pipeline_runs: RECORD,
  pipeline_workers: ORGANIZATION,
  pipelines: ORGANIZATION,
  platform_access_grants: { endsWith: 'its row' },
  platform_oauth_clients: MACHINERY,
  processes: MACHINERY,
  proposals: RECORD,
  proposed_revisions: ORGANIZATION,
  pull_requests: RECORD,
  question_counts: ORGANIZATION,
  receipt_acknowledgements: RECORD,
  receipts: RECORD,
  recoveries: ORGANIZATION,
  removed_integrations: ORGANIZATION,
  removed_organizations: MACHINERY,
  revisions: ORGANIZATION,
  run_evidence: RECORD,
  run_steps: RECORD,
  sessions: {
    noRight:
      'opens only organizations that its person is a member of at that moment; one of the client ends with its membership: cli-login.test.ts',
  },
  sign_in_attempts: PERSON,
  sign_in_codes: PERSON,
  source_blobs: ORGANIZATION,
  source_storage: ORGANIZATION,
  subscriptions: NOTIFICATION,
  support_sessions: { noRight: 'is for staff, who are not members' },
  svc_migrations: MACHINERY,
  throttles: MACHINERY,
  ticket_replies: RECORD,
  tickets: RECORD,
  token_pools: ORGANIZATION,
  token_reservations: RECORD,
  trail_pending: RECORD,
  trail_seals: RECORD,
  trail_streams: ORGANIZATION,
  users: PERSON,
  workload_bindings: { noRight: 'belongs to the app, which goes on when whoever made it leaves' },
  workload_pods: RECORD,
  validated_members: { noRight: 'says what the vendor said; every call is validated anew' },
} as const satisfies Record<keyof typeof TABLE_KINDS, TableEnding>

type Endings = typeof TABLE_ENDINGS
/** The tables whose rows end. */
export type EndingTable = {
  [Table in keyof Endings]: Endings[Table] extends { endsWith: string } ? Table : never
}[keyof Endings]
