/**
 * Which tables stay on the one server that knows people and organizations (identity), and which may lie with their
 * organization on a server of its own (tenant): no foreign key and no statement goes from one kind to the other, and
 * every unique key of a tenant table has `org_id` in it. test/repository/schema.test.ts keeps it.
 */
import type * as schema from './schema.ts'

/** `beside`: a row lies beside what it describes, in its transaction, so the table belongs to both kinds. */
export type TableKind = 'identity' | 'tenant' | 'beside'

/** A table that is missing here does not compile. */
export const TABLE_KINDS: Record<TableName, TableKind> = {
  activity: 'tenant',
  alert_states: 'tenant',
  api_tokens: 'identity',
  app_members: 'tenant',
  apps: 'tenant',
  attempts: 'tenant',
  audit_log: 'beside',
  chat_accounts: 'identity',
  chat_authorizations: 'tenant',
  chat_links: 'tenant',
  data_sources: 'identity',
  default_subscriptions: 'tenant',
  deliveries: 'tenant',
  email_suppressions: 'identity',
  events: 'tenant',
  follows: 'tenant',
  former_members: 'identity',
  idempotency_keys: 'beside',
  identities: 'identity',
  installation_facts: 'identity',
  integrations: 'tenant',
  invitations: 'identity',
  jobs: 'identity',
  mailed_links: 'identity',
  memberships: 'identity',
  message_targets: 'tenant',
  messages: 'tenant',
  notifications: 'tenant',
  oauth_artifacts: 'identity',
  oauth_metadata_documents: 'identity',
  organization_client_blocks: 'identity',
  organization_domains: 'identity',
  organizations: 'identity',
  outbox: 'tenant',
  passwords: 'identity',
  platform_access_grants: 'identity',
  platform_oauth_clients: 'identity',
  question_counts: 'identity',
  sessions: 'identity',
  sign_in_attempts: 'identity',
  sign_in_codes: 'identity',
  subscriptions: 'tenant',
  support_sessions: 'identity',
  svc_migrations: 'identity',
  throttles: 'identity',
  ticket_replies: 'tenant',
  tickets: 'tenant',
  token_pools: 'tenant',
  token_reservations: 'tenant',
  users: 'identity',
  validated_members: 'identity',
}

type Schema = typeof schema
type TableName = Schema[keyof Schema]['_']['name'] | 'svc_migrations'
