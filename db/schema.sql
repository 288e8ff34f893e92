CREATE TABLE activity (
  org_id text NOT NULL,
  id text NOT NULL,
  at timestamp with time zone NOT NULL,
  type text NOT NULL,
  name text,
  source_id text,
  user_id text NOT NULL,
  user_name text NOT NULL,
  entry_point text NOT NULL,
  client_id text,
  outcome text NOT NULL,
  error text,
  duration_ms integer NOT NULL,
  question_bytes integer NOT NULL,
  answer_bytes integer NOT NULL,
  hits integer,
  question_digest text,
  answer_digest text,
  request_id text NOT NULL,
  client_name text,
  grant_id text,
  trail_order bigint,
  CONSTRAINT activity_org_id_id_pk PRIMARY KEY (org_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX activity_by_name ON ONLY public.activity USING btree (org_id, name, id);
CREATE INDEX activity_by_type ON ONLY public.activity USING btree (org_id, type, id);
CREATE INDEX activity_by_user ON ONLY public.activity USING btree (org_id, user_id, id);

CREATE TABLE activity_rest PARTITION OF activity DEFAULT;

CREATE TABLE alert_states (
  org_id text NOT NULL,
  kind text NOT NULL,
  subject text NOT NULL,
  state text NOT NULL,
  since timestamp with time zone NOT NULL,
  seq integer NOT NULL,
  CONSTRAINT alert_states_org_id_kind_subject_pk PRIMARY KEY (org_id, kind, subject)
);

CREATE TABLE api_tokens (
  org_id text NOT NULL,
  id text NOT NULL,
  user_id text NOT NULL,
  parent_id text,
  name text NOT NULL,
  starts_with text NOT NULL,
  secret_hash text NOT NULL,
  role_cap text NOT NULL,
  scopes text[],
  audiences text[] NOT NULL,
  key_epoch text,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  scope_edition integer NOT NULL DEFAULT 1,
  carries_app_roles boolean NOT NULL DEFAULT false,
  rotated_at timestamp with time zone,
  previous_hash text,
  previous_starts_with text,
  previous_until timestamp with time zone,
  previous_last_used_at timestamp with time zone,
  CONSTRAINT api_tokens_org_id_id_pk PRIMARY KEY (org_id, id),
  CONSTRAINT api_tokens_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX api_tokens_by_parent ON public.api_tokens USING btree (org_id, parent_id);
CREATE UNIQUE INDEX api_tokens_by_previous ON public.api_tokens USING btree (previous_hash);
CREATE UNIQUE INDEX api_tokens_by_secret ON public.api_tokens USING btree (secret_hash);
CREATE INDEX api_tokens_by_user ON public.api_tokens USING btree (org_id, user_id);

CREATE TABLE app_blobs (
  org_id text NOT NULL,
  app_id text NOT NULL,
  sha256 text NOT NULL,
  bytes integer NOT NULL,
  unnamed_since timestamp with time zone,
  CONSTRAINT app_blobs_org_id_app_id_sha256_pk PRIMARY KEY (org_id, app_id, sha256)
);
CREATE INDEX app_blobs_by_content ON public.app_blobs USING btree (org_id, sha256);
CREATE INDEX app_blobs_unnamed ON public.app_blobs USING btree (unnamed_since) WHERE (unnamed_since IS NOT NULL);

CREATE TABLE app_heads (
  org_id text NOT NULL,
  app_id text NOT NULL,
  revision_id text NOT NULL,
  set_at timestamp with time zone NOT NULL,
  CONSTRAINT app_heads_org_id_app_id_pk PRIMARY KEY (org_id, app_id)
);

CREATE TABLE app_leases (
  org_id text NOT NULL,
  app_id text NOT NULL,
  fence bigint NOT NULL DEFAULT 0,
  execution_id text,
  expires_at timestamp with time zone,
  CONSTRAINT app_leases_expire CHECK (((execution_id IS NULL) = (expires_at IS NULL))),
  CONSTRAINT app_leases_org_id_app_id_pk PRIMARY KEY (org_id, app_id)
);
CREATE INDEX app_leases_held ON public.app_leases USING btree (expires_at) WHERE (execution_id IS NOT NULL);

CREATE TABLE app_maintenance (
  org_id text NOT NULL,
  app_id text NOT NULL,
  enabled boolean NOT NULL,
  changed_at timestamp with time zone NOT NULL,
  CONSTRAINT app_maintenance_org_id_app_id_pk PRIMARY KEY (org_id, app_id)
);

CREATE TABLE app_members (
  org_id text NOT NULL,
  app_id text NOT NULL,
  user_id text NOT NULL,
  membership_id text NOT NULL,
  role text NOT NULL,
  added_at timestamp with time zone NOT NULL,
  CONSTRAINT app_members_org_id_app_id_user_id_pk PRIMARY KEY (org_id, app_id, user_id)
);
CREATE INDEX app_members_by_user ON public.app_members USING btree (org_id, user_id);

CREATE TABLE app_remotes (
  org_id text NOT NULL,
  app_id text NOT NULL,
  host text NOT NULL,
  url text NOT NULL,
  sealed_token text NOT NULL,
  sealed_hook_secret text,
  excess jsonb NOT NULL,
  set_by_id text NOT NULL,
  set_by text NOT NULL,
  set_at timestamp with time zone NOT NULL,
  is_public boolean NOT NULL DEFAULT false,
  CONSTRAINT app_remotes_org_id_app_id_apps_org_id_id_fk FOREIGN KEY (org_id, app_id) REFERENCES apps(org_id, id) ON DELETE CASCADE,
  CONSTRAINT app_remotes_org_id_app_id_pk PRIMARY KEY (org_id, app_id)
);

CREATE TABLE app_tokens (
  org_id text NOT NULL,
  id text NOT NULL,
  app_id text NOT NULL,
  name text NOT NULL,
  scope text NOT NULL,
  secret_hash text NOT NULL,
  starts_with text NOT NULL,
  created_by text NOT NULL,
  created_by_name text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone,
  full_until timestamp with time zone NOT NULL,
  revoked_at timestamp with time zone,
  key_epoch text,
  previous_hash text,
  previous_starts_with text,
  previous_until timestamp with time zone,
  previous_last_used_at timestamp with time zone,
  rotated_by text,
  rotated_at timestamp with time zone,
  CONSTRAINT app_tokens_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX app_tokens_by_app ON public.app_tokens USING btree (org_id, app_id, id);
CREATE UNIQUE INDEX app_tokens_by_previous ON public.app_tokens USING btree (org_id, previous_hash);
CREATE UNIQUE INDEX app_tokens_by_secret ON public.app_tokens USING btree (org_id, secret_hash);

CREATE TABLE apps (
  org_id text NOT NULL,
  id text NOT NULL,
  alias text NOT NULL,
  name text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  created_by text,
  runner_commands jsonb NOT NULL DEFAULT '[]'::jsonb,
  CONSTRAINT apps_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX apps_by_alias ON public.apps USING btree (org_id, alias);

CREATE TABLE assertion_refusals (
  id text NOT NULL,
  provider_id text NOT NULL,
  client_id text,
  reason text NOT NULL,
  subject text,
  key_id text,
  refused_at timestamp with time zone NOT NULL,
  CONSTRAINT assertion_refusals_pkey PRIMARY KEY (id),
  CONSTRAINT assertion_refusals_provider_id_organization_identity_providers_ FOREIGN KEY (provider_id) REFERENCES organization_identity_providers(id) ON DELETE CASCADE
);
CREATE INDEX assertion_refusals_by_provider ON public.assertion_refusals USING btree (provider_id, id);

CREATE TABLE assertion_uses (
  id text NOT NULL,
  provider_id text NOT NULL,
  client_id text NOT NULL,
  grant_id text NOT NULL,
  used_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT assertion_uses_pkey PRIMARY KEY (id)
);
CREATE INDEX assertion_uses_by_expiry ON public.assertion_uses USING btree (expires_at);

CREATE TABLE attempts (
  org_id text NOT NULL,
  message_id text NOT NULL,
  number integer NOT NULL,
  started_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  outcome text,
  reason text,
  http_status integer,
  duration_ms integer,
  carried_by text,
  response text,
  request_headers jsonb,
  response_withheld boolean,
  CONSTRAINT attempts_org_id_message_id_number_pk PRIMARY KEY (org_id, message_id, number)
) PARTITION BY RANGE (message_id);
CREATE INDEX attempts_to_clear ON ONLY public.attempts USING btree (started_at) WHERE ((response IS NOT NULL) OR (request_headers IS NOT NULL));

CREATE TABLE attempts_rest PARTITION OF attempts DEFAULT;

CREATE TABLE audit_log (
  org_id text NOT NULL,
  id text NOT NULL,
  at timestamp with time zone NOT NULL,
  action text NOT NULL,
  actor_kind text NOT NULL,
  actor_id text,
  actor_name text NOT NULL,
  subject text,
  request_id text,
  support_session_id text,
  trail_order bigint DEFAULT nextval('trail_order'::regclass),
  CONSTRAINT audit_log_org_id_id_pk PRIMARY KEY (org_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX audit_log_by_action ON ONLY public.audit_log USING btree (org_id, action, id);
CREATE INDEX audit_log_by_actor ON ONLY public.audit_log USING btree (org_id, actor_id, id);
CREATE INDEX audit_log_by_trail_order ON ONLY public.audit_log USING btree (trail_order);

CREATE TABLE audit_log_rest PARTITION OF audit_log DEFAULT;

CREATE TABLE chat_accounts (
  team_id text NOT NULL,
  chat_user_id text NOT NULL,
  org_id text NOT NULL,
  user_id text NOT NULL,
  CONSTRAINT chat_accounts_team_id_chat_user_id_org_id_pk PRIMARY KEY (team_id, chat_user_id, org_id)
);

CREATE TABLE chat_authorizations (
  org_id text NOT NULL,
  state_hash text NOT NULL,
  user_id text NOT NULL,
  purpose text NOT NULL,
  nonce text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT chat_authorizations_org_id_state_hash_pk PRIMARY KEY (org_id, state_hash)
);
CREATE INDEX chat_authorizations_by_expiry ON public.chat_authorizations USING btree (expires_at);

CREATE TABLE chat_links (
  org_id text NOT NULL,
  user_id text NOT NULL,
  team_id text NOT NULL,
  chat_user_id text NOT NULL,
  display_name text NOT NULL,
  inactive_at timestamp with time zone,
  linked_at timestamp with time zone NOT NULL,
  CONSTRAINT chat_links_org_id_user_id_pk PRIMARY KEY (org_id, user_id)
);

CREATE TABLE check_runs (
  org_id text NOT NULL,
  check_id text NOT NULL,
  slot integer NOT NULL,
  id text NOT NULL,
  at timestamp with time zone NOT NULL,
  result text NOT NULL,
  ms integer,
  status integer,
  reason text,
  detail text,
  CONSTRAINT check_runs_org_id_check_id_slot_pk PRIMARY KEY (org_id, check_id, slot)
);
CREATE INDEX check_runs_in_order ON public.check_runs USING btree (org_id, check_id, id);

CREATE TABLE checks (
  org_id text NOT NULL,
  id text NOT NULL,
  app_id text NOT NULL,
  name text NOT NULL,
  definition jsonb NOT NULL,
  sealed_secrets text,
  interval_seconds integer NOT NULL,
  failure_threshold integer NOT NULL,
  success_threshold integer NOT NULL,
  enabled boolean NOT NULL,
  maintenance_windows jsonb NOT NULL,
  state text,
  state_since timestamp with time zone,
  passes integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  reported_failed boolean NOT NULL DEFAULT false,
  reported_error boolean NOT NULL DEFAULT false,
  reported_indeterminate boolean NOT NULL DEFAULT false,
  run_count bigint NOT NULL DEFAULT 0,
  recent text NOT NULL DEFAULT ''::text,
  last_run_at timestamp with time zone,
  last_started_at timestamp with time zone,
  next_run_at timestamp with time zone,
  requested_at timestamp with time zone,
  claim text,
  lease_until timestamp with time zone,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT checks_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX checks_by_name ON public.checks USING btree (org_id, app_id, name);
CREATE INDEX checks_claimed ON public.checks USING btree (lease_until) WHERE (claim IS NOT NULL);
CREATE INDEX checks_due ON public.checks USING btree (((definition ->> 'kind'::text)), next_run_at) WHERE ((claim IS NULL) AND (next_run_at IS NOT NULL));
CREATE INDEX checks_due_by_organization ON public.checks USING btree (((definition ->> 'kind'::text)), org_id, next_run_at) WHERE ((claim IS NULL) AND (next_run_at IS NOT NULL));

CREATE TABLE cli_logins (
  secret_hash text NOT NULL,
  user_code_hash text,
  redirect_uri text,
  state text,
  code_challenge text,
  client_name text NOT NULL,
  host_name text,
  address text NOT NULL,
  interval_seconds integer NOT NULL,
  polled_at timestamp with time zone,
  denied_at timestamp with time zone,
  session_id text,
  authorization_code_hash text,
  used_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT cli_logins_by_code UNIQUE (authorization_code_hash),
  CONSTRAINT cli_logins_by_user_code UNIQUE (user_code_hash),
  CONSTRAINT cli_logins_pkey PRIMARY KEY (secret_hash),
  CONSTRAINT cli_logins_session_id_sessions_id_fk FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE
);
CREATE INDEX cli_logins_by_expiry ON public.cli_logins USING btree (expires_at);
CREATE INDEX cli_logins_by_session ON public.cli_logins USING btree (session_id);

CREATE TABLE data_source_health (
  org_id text NOT NULL,
  source_id text NOT NULL,
  check_began timestamp with time zone,
  checked_at timestamp with time zone,
  problems jsonb NOT NULL DEFAULT '[]'::jsonb,
  server_problems jsonb NOT NULL DEFAULT '[]'::jsonb,
  error_at timestamp with time zone,
  error_kind text,
  error_code text,
  CONSTRAINT data_source_health_org_id_source_id_data_sources_org_id_id_fk FOREIGN KEY (org_id, source_id) REFERENCES data_sources(org_id, id) ON DELETE CASCADE,
  CONSTRAINT data_source_health_org_id_source_id_pk PRIMARY KEY (org_id, source_id)
);

CREATE TABLE data_sources (
  org_id text NOT NULL,
  id text NOT NULL,
  name text NOT NULL,
  title text NOT NULL,
  description text NOT NULL DEFAULT ''::text,
  kind text NOT NULL,
  physical_name text,
  verifier text,
  sealed text NOT NULL,
  preparing_until timestamp with time zone,
  enabled boolean NOT NULL DEFAULT false,
  exposed boolean NOT NULL DEFAULT false,
  minimum_role text NOT NULL DEFAULT 'viewer'::text,
  configuration jsonb,
  configured_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL,
  created_by text,
  word_statistics jsonb,
  documents jsonb,
  threshold jsonb,
  CONSTRAINT data_sources_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX data_sources_by_name ON public.data_sources USING btree (org_id, name);
CREATE UNIQUE INDEX data_sources_by_physical_name ON public.data_sources USING btree (physical_name);

CREATE TABLE default_subscriptions (
  org_id text NOT NULL,
  default_key text NOT NULL,
  subscription_id text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT default_subscriptions_org_id_default_key_pk PRIMARY KEY (org_id, default_key)
);

CREATE TABLE deliveries (
  org_id text NOT NULL,
  id text NOT NULL,
  event_id text NOT NULL,
  type text NOT NULL,
  app_id text,
  subscription_id text,
  integration_id text,
  user_id text,
  channel text,
  message_id text,
  state text NOT NULL,
  reason text,
  replay_of text,
  created_at timestamp with time zone NOT NULL,
  settled_at timestamp with time zone,
  replayed_at timestamp with time zone,
  CONSTRAINT deliveries_org_id_id_pk PRIMARY KEY (org_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX deliveries_by_destination ON ONLY public.deliveries USING btree (org_id, COALESCE(integration_id, user_id), id);
CREATE INDEX deliveries_by_message ON ONLY public.deliveries USING btree (org_id, message_id);
CREATE INDEX deliveries_by_subscription ON ONLY public.deliveries USING btree (org_id, subscription_id, id);
CREATE TRIGGER changes_of_deliveries_are_counted AFTER UPDATE ON public.deliveries REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION count_changed_deliveries();
CREATE TRIGGER deliveries_are_counted AFTER INSERT ON public.deliveries REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_new_deliveries();

CREATE TABLE deliveries_rest PARTITION OF deliveries DEFAULT;

CREATE TABLE delivery_count_changes (
  org_id text NOT NULL,
  hour timestamp with time zone NOT NULL,
  integration_id text NOT NULL,
  state text NOT NULL,
  reason text NOT NULL,
  n integer NOT NULL,
  seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  CONSTRAINT delivery_count_changes_org_id_hour_seq_pk PRIMARY KEY (org_id, hour, seq)
);

CREATE TABLE delivery_counts (
  org_id text NOT NULL,
  hour timestamp with time zone NOT NULL,
  integration_id text NOT NULL,
  state text NOT NULL,
  reason text NOT NULL,
  n integer NOT NULL,
  CONSTRAINT delivery_counts_org_id_hour_integration_id_state_reason_pk PRIMARY KEY (org_id, hour, integration_id, state, reason)
);

CREATE TABLE delivery_keys (
  org_id text NOT NULL,
  event_id text NOT NULL,
  recipient text NOT NULL,
  delivery_id text NOT NULL,
  CONSTRAINT delivery_keys_org_id_event_id_recipient_pk PRIMARY KEY (org_id, event_id, recipient)
) PARTITION BY RANGE (event_id);

CREATE TABLE delivery_keys_rest PARTITION OF delivery_keys DEFAULT;

CREATE TABLE deployment_output (
  org_id text NOT NULL,
  deployment_id text NOT NULL,
  "position" bigint NOT NULL,
  until bigint NOT NULL,
  text text NOT NULL,
  at timestamp with time zone NOT NULL,
  CONSTRAINT deployment_output_org_id_deployment_id_position_pk PRIMARY KEY (org_id, deployment_id, "position")
);
CREATE INDEX deployment_output_by_time ON public.deployment_output USING btree (at);

CREATE TABLE deployments (
  org_id text NOT NULL,
  id text NOT NULL,
  app_id text NOT NULL,
  revision_id text NOT NULL,
  fence integer NOT NULL,
  state text NOT NULL,
  code text,
  exit_code integer,
  runner text,
  claim_id text,
  requested_by_id text,
  requested_by text NOT NULL,
  requested_at timestamp with time zone NOT NULL,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  lease_until timestamp with time zone,
  cancel_requested_at timestamp with time zone,
  released_at timestamp with time zone,
  output_bytes bigint NOT NULL DEFAULT 0,
  dropped_bytes bigint NOT NULL DEFAULT 0,
  CONSTRAINT deployments_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX deployments_by_fence ON public.deployments USING btree (org_id, app_id, fence);
CREATE INDEX deployments_by_revision ON public.deployments USING btree (org_id, app_id, revision_id);
CREATE UNIQUE INDEX deployments_one_at_a_time ON public.deployments USING btree (org_id, app_id) WHERE ((started_at IS NOT NULL) AND (released_at IS NULL));
CREATE INDEX deployments_queued ON public.deployments USING btree (requested_at) WHERE (state = 'queued'::text);
CREATE INDEX deployments_running ON public.deployments USING btree (lease_until) WHERE (state = 'running'::text);

CREATE TABLE digest_keys (
  org_id text NOT NULL,
  digest_key text NOT NULL,
  window_end timestamp with time zone NOT NULL,
  message_id text NOT NULL,
  CONSTRAINT digest_keys_org_id_digest_key_window_end_pk PRIMARY KEY (org_id, digest_key, window_end)
);
CREATE INDEX digest_keys_by_time ON public.digest_keys USING btree (window_end);

CREATE TABLE disk_use (
  org_id text NOT NULL,
  bytes bigint NOT NULL,
  measured_at timestamp with time zone NOT NULL,
  over_since timestamp with time zone,
  CONSTRAINT disk_use_pkey PRIMARY KEY (org_id)
);

CREATE TABLE email_suppressions (
  email_digest text NOT NULL,
  reason text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT email_suppressions_pkey PRIMARY KEY (email_digest)
);

CREATE TABLE embedding_counts (
  org_id text NOT NULL,
  day timestamp with time zone NOT NULL,
  tokens bigint NOT NULL,
  CONSTRAINT embedding_counts_pkey PRIMARY KEY (org_id)
);

CREATE TABLE evals (
  org_id text NOT NULL,
  id text NOT NULL,
  source_id text NOT NULL,
  questions integer NOT NULL,
  asked integer NOT NULL DEFAULT 0,
  totals jsonb NOT NULL,
  scores jsonb NOT NULL DEFAULT '[]'::jsonb,
  models jsonb NOT NULL,
  configured_at timestamp with time zone,
  rows bigint,
  rows_changed_at timestamp with time zone,
  changes jsonb NOT NULL DEFAULT '[]'::jsonb,
  created_by text NOT NULL,
  created_by_name text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  finished_at timestamp with time zone,
  CONSTRAINT evals_org_id_id_pk PRIMARY KEY (org_id, id),
  CONSTRAINT evals_org_id_source_id_data_sources_org_id_id_fk FOREIGN KEY (org_id, source_id) REFERENCES data_sources(org_id, id) ON DELETE CASCADE
);
CREATE INDEX evals_by_source ON public.evals USING btree (org_id, source_id, id);

CREATE TABLE event_keys (
  org_id text NOT NULL,
  source text NOT NULL,
  dedup_key text NOT NULL,
  event_id text NOT NULL,
  recorded_at timestamp with time zone NOT NULL,
  CONSTRAINT event_keys_org_id_source_dedup_key_pk PRIMARY KEY (org_id, source, dedup_key)
);
CREATE INDEX event_keys_by_time ON public.event_keys USING btree (recorded_at);

CREATE TABLE events (
  org_id text NOT NULL,
  id text NOT NULL,
  source text NOT NULL,
  dedup_key text NOT NULL,
  type text NOT NULL,
  subject text NOT NULL,
  actor_id text,
  concerns_id text,
  app_id text,
  data jsonb NOT NULL,
  occurred_at timestamp with time zone NOT NULL,
  seq bigint NOT NULL,
  recorded_at timestamp with time zone NOT NULL,
  fanned_out_at timestamp with time zone,
  fan_out_again_at timestamp with time zone,
  text text,
  CONSTRAINT events_org_id_id_pk PRIMARY KEY (org_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX events_by_type ON ONLY public.events USING btree (org_id, type, occurred_at);
CREATE INDEX events_that_failed_to_fan_out ON ONLY public.events USING btree (org_id, subject, seq) WHERE ((fanned_out_at IS NULL) AND (fan_out_again_at IS NOT NULL));
CREATE INDEX events_to_fan_out ON ONLY public.events USING btree (org_id, seq) WHERE (fanned_out_at IS NULL);

CREATE TABLE events_rest PARTITION OF events DEFAULT;

CREATE TABLE findings (
  org_id text NOT NULL,
  id text NOT NULL,
  app_id text NOT NULL,
  fingerprint text NOT NULL,
  matter jsonb NOT NULL,
  kind text NOT NULL,
  summary text NOT NULL,
  location text,
  state text NOT NULL,
  execution_id text NOT NULL,
  evidence jsonb NOT NULL,
  times_found integer NOT NULL DEFAULT 1,
  first_found_at timestamp with time zone NOT NULL,
  last_found_at timestamp with time zone NOT NULL,
  reported_at timestamp with time zone,
  reported_in text,
  reopened_by text,
  CONSTRAINT findings_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX findings_by_app ON public.findings USING btree (org_id, app_id, id);
CREATE UNIQUE INDEX findings_by_fingerprint ON public.findings USING btree (org_id, app_id, fingerprint);
CREATE INDEX findings_by_run ON public.findings USING btree (org_id, execution_id);

CREATE TABLE follows (
  org_id text NOT NULL,
  user_id text NOT NULL,
  app_id text NOT NULL,
  categories text[] NOT NULL,
  frequency text NOT NULL,
  changed_at timestamp with time zone NOT NULL,
  CONSTRAINT follows_org_id_user_id_app_id_pk PRIMARY KEY (org_id, user_id, app_id)
);
CREATE INDEX follows_by_app ON public.follows USING btree (org_id, app_id);

CREATE TABLE former_members (
  org_id text NOT NULL,
  user_id text NOT NULL,
  emails text[] NOT NULL DEFAULT '{}'::text[],
  since timestamp with time zone NOT NULL,
  CONSTRAINT former_members_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT former_members_org_id_user_id_pk PRIMARY KEY (org_id, user_id),
  CONSTRAINT former_members_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

CREATE TABLE grant_uses (
  org_id text NOT NULL,
  grant_id text NOT NULL,
  scope text NOT NULL,
  source_id text NOT NULL,
  calls integer NOT NULL,
  last_used_at timestamp with time zone NOT NULL,
  CONSTRAINT grant_uses_org_id_grant_id_scope_source_id_pk PRIMARY KEY (org_id, grant_id, scope, source_id)
);

CREATE TABLE group_members (
  org_id text NOT NULL,
  group_id text NOT NULL,
  user_id text NOT NULL,
  membership_id text NOT NULL,
  added_at timestamp with time zone NOT NULL,
  provisioned boolean NOT NULL DEFAULT false,
  CONSTRAINT group_members_org_id_group_id_user_id_pk PRIMARY KEY (org_id, group_id, user_id)
);
CREATE INDEX group_members_by_user ON public.group_members USING btree (org_id, user_id);

CREATE TABLE groups (
  org_id text NOT NULL,
  id text NOT NULL,
  name text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  created_by text NOT NULL,
  CONSTRAINT groups_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX groups_by_name ON public.groups USING btree (org_id, lower(name));

CREATE TABLE idempotency_keys (
  owner text NOT NULL,
  key text NOT NULL,
  request_hash text NOT NULL,
  status integer NOT NULL,
  answer jsonb NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT idempotency_keys_owner_key_pk PRIMARY KEY (owner, key)
);
CREATE INDEX idempotency_keys_by_expiry ON public.idempotency_keys USING btree (expires_at);

CREATE TABLE identities (
  issuer text NOT NULL,
  subject text NOT NULL,
  user_id text NOT NULL,
  provider text NOT NULL,
  email text,
  email_verified boolean NOT NULL DEFAULT false,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone NOT NULL,
  CONSTRAINT identities_issuer_subject_pk PRIMARY KEY (issuer, subject),
  CONSTRAINT identities_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX identities_by_user ON public.identities USING btree (user_id);

CREATE TABLE identity_links (
  id text NOT NULL,
  provider_id text NOT NULL,
  subject text NOT NULL,
  user_id text NOT NULL,
  linked_by text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone,
  created_by text,
  CONSTRAINT identity_links_pkey PRIMARY KEY (id),
  CONSTRAINT identity_links_provider_id_organization_identity_providers_id_f FOREIGN KEY (provider_id) REFERENCES organization_identity_providers(id) ON DELETE CASCADE,
  CONSTRAINT identity_links_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX identity_links_by_subject ON public.identity_links USING btree (provider_id, subject);
CREATE INDEX identity_links_by_user ON public.identity_links USING btree (user_id);

CREATE TABLE identity_provider_clients (
  provider_id text NOT NULL,
  client_id text NOT NULL,
  kind text NOT NULL,
  name text,
  may_be_public boolean NOT NULL DEFAULT false,
  max_scopes text[] NOT NULL,
  resources text[] NOT NULL,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone,
  CONSTRAINT identity_provider_clients_provider_id_client_id_pk PRIMARY KEY (provider_id, client_id),
  CONSTRAINT identity_provider_clients_provider_id_organization_identity_pro FOREIGN KEY (provider_id) REFERENCES organization_identity_providers(id) ON DELETE CASCADE
);
CREATE INDEX identity_provider_clients_by_client ON public.identity_provider_clients USING btree (client_id);

CREATE TABLE identity_provider_rules (
  provider_id text NOT NULL,
  "position" integer NOT NULL,
  claim text,
  value text,
  scopes text[] NOT NULL,
  sources text[],
  CONSTRAINT identity_provider_rules_provider_id_organization_identity_provi FOREIGN KEY (provider_id) REFERENCES organization_identity_providers(id) ON DELETE CASCADE,
  CONSTRAINT identity_provider_rules_provider_id_position_pk PRIMARY KEY (provider_id, "position")
);

CREATE TABLE installation_facts (
  name text NOT NULL,
  value jsonb NOT NULL,
  CONSTRAINT installation_facts_pkey PRIMARY KEY (name)
);

CREATE TABLE integrations (
  org_id text NOT NULL,
  id text NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  state text NOT NULL,
  config jsonb NOT NULL,
  sealed text NOT NULL,
  digest text NOT NULL,
  team_id text,
  verified_at timestamp with time zone,
  verification_hash text,
  verification_expires_at timestamp with time zone,
  failing_since timestamp with time zone,
  last_success_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL,
  created_by text,
  CONSTRAINT integrations_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX integrations_by_digest ON public.integrations USING btree (org_id, kind, digest);

CREATE TABLE invitations (
  org_id text NOT NULL,
  id text NOT NULL,
  email text NOT NULL,
  role text NOT NULL,
  secret_hash text NOT NULL,
  invited_by text,
  made_with_token_id text,
  waiting_user_id text,
  sent_by_mail boolean NOT NULL,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  accepted_at timestamp with time zone,
  accepted_by text,
  revoked_at timestamp with time zone,
  CONSTRAINT invitations_accepted_by_users_id_fk FOREIGN KEY (accepted_by) REFERENCES users(id) ON DELETE SET NULL,
  CONSTRAINT invitations_invited_by_users_id_fk FOREIGN KEY (invited_by) REFERENCES users(id) ON DELETE SET NULL,
  CONSTRAINT invitations_org_id_id_pk PRIMARY KEY (org_id, id),
  CONSTRAINT invitations_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT invitations_waiting_user_id_users_id_fk FOREIGN KEY (waiting_user_id) REFERENCES users(id) ON DELETE SET NULL
);
CREATE INDEX invitations_by_email ON public.invitations USING btree (org_id, email);
CREATE UNIQUE INDEX invitations_by_secret ON public.invitations USING btree (secret_hash);
CREATE INDEX invitations_by_token ON public.invitations USING btree (org_id, made_with_token_id);

CREATE TABLE jobs (
  name text NOT NULL,
  next_run_at timestamp with time zone NOT NULL,
  lease_token text,
  lease_until timestamp with time zone,
  CONSTRAINT jobs_pkey PRIMARY KEY (name)
);

CREATE TABLE loads (
  org_id text NOT NULL,
  id text NOT NULL,
  source_id text NOT NULL,
  filename text NOT NULL,
  format text NOT NULL,
  bytes bigint NOT NULL,
  sha256 text NOT NULL,
  received bigint NOT NULL DEFAULT 0,
  state text NOT NULL,
  phase text,
  plan jsonb,
  read_bytes bigint NOT NULL DEFAULT 0,
  read_lines bigint NOT NULL DEFAULT 0,
  rows bigint NOT NULL DEFAULT 0,
  embedded bigint NOT NULL DEFAULT 0,
  problems jsonb NOT NULL DEFAULT '[]'::jsonb,
  problem_count integer NOT NULL DEFAULT 0,
  failure text,
  configuration_saved boolean NOT NULL DEFAULT false,
  waits_for text,
  waits_until timestamp with time zone,
  failing_since timestamp with time zone,
  is_staged boolean NOT NULL DEFAULT false,
  lease_token text,
  lease_until timestamp with time zone,
  worked_at timestamp with time zone,
  created_by text NOT NULL,
  created_by_name text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  finished_at timestamp with time zone,
  CONSTRAINT loads_org_id_id_pk PRIMARY KEY (org_id, id),
  CONSTRAINT loads_org_id_source_id_data_sources_org_id_id_fk FOREIGN KEY (org_id, source_id) REFERENCES data_sources(org_id, id) ON DELETE CASCADE
);
CREATE INDEX loads_by_source ON public.loads USING btree (org_id, source_id, id);
CREATE INDEX loads_unfinished ON public.loads USING btree (state, worked_at) WHERE ((state = ANY (ARRAY['uploading'::text, 'running'::text])) OR is_staged);

CREATE TABLE log_groups (
  org_id text NOT NULL,
  app_id text NOT NULL,
  key bigint NOT NULL,
  level smallint NOT NULL,
  template text NOT NULL,
  last_day date NOT NULL,
  CONSTRAINT log_groups_org_id_app_id_key_pk PRIMARY KEY (org_id, app_id, key)
);
CREATE INDEX log_groups_by_last_day ON public.log_groups USING btree (last_day);

CREATE TABLE log_lines (
  org_id text NOT NULL,
  app_id text NOT NULL,
  number bigint NOT NULL,
  at timestamp with time zone NOT NULL,
  level smallint NOT NULL,
  group_key bigint NOT NULL,
  text text NOT NULL,
  service text,
  trace_id text,
  CONSTRAINT log_lines_org_id_app_id_number_at_pk PRIMARY KEY (org_id, app_id, number, at)
) PARTITION BY RANGE (at);
CREATE INDEX log_lines_by_time ON ONLY public.log_lines USING btree (org_id, app_id, at, number);

CREATE TABLE log_lines_rest PARTITION OF log_lines DEFAULT;

CREATE TABLE log_usage (
  org_id text NOT NULL,
  app_id text NOT NULL,
  last_number bigint NOT NULL,
  stored_bytes bigint NOT NULL,
  full_until timestamp with time zone NOT NULL,
  day date NOT NULL,
  dropped bigint NOT NULL,
  refused bigint NOT NULL,
  CONSTRAINT log_usage_org_id_app_id_pk PRIMARY KEY (org_id, app_id)
);

CREATE TABLE log_volumes (
  org_id text NOT NULL,
  app_id text NOT NULL,
  at timestamp with time zone NOT NULL,
  level smallint NOT NULL,
  lines bigint NOT NULL,
  bytes bigint NOT NULL,
  CONSTRAINT log_volumes_org_id_app_id_at_level_pk PRIMARY KEY (org_id, app_id, at, level)
);
CREATE INDEX log_volumes_by_time ON public.log_volumes USING btree (at);

CREATE TABLE machine_agent_credentials (
  id text NOT NULL,
  agent_id text NOT NULL,
  kind text NOT NULL,
  secret_hash text,
  starts_with text,
  public_key jsonb,
  created_by text,
  made_with_token_id text,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  key_epoch text,
  replaced_by text,
  CONSTRAINT machine_agent_credentials_agent_id_machine_agents_id_fk FOREIGN KEY (agent_id) REFERENCES machine_agents(id) ON DELETE CASCADE,
  CONSTRAINT machine_agent_credentials_created_by_users_id_fk FOREIGN KEY (created_by) REFERENCES users(id) ON DELETE SET NULL,
  CONSTRAINT machine_agent_credentials_pkey PRIMARY KEY (id)
);
CREATE INDEX machine_agent_credentials_by_agent ON public.machine_agent_credentials USING btree (agent_id, id);
CREATE INDEX machine_agent_credentials_by_creator ON public.machine_agent_credentials USING btree (created_by);
CREATE INDEX machine_agent_credentials_by_token ON public.machine_agent_credentials USING btree (made_with_token_id);

CREATE TABLE machine_agents (
  id text NOT NULL,
  org_id text NOT NULL,
  user_id text NOT NULL,
  client_id text NOT NULL,
  owner_id text NOT NULL,
  owner_membership_id text NOT NULL,
  name text NOT NULL,
  role text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  removed_at timestamp with time zone,
  CONSTRAINT machine_agents_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT machine_agents_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE,
  CONSTRAINT machine_agents_pkey PRIMARY KEY (id),
  CONSTRAINT machine_agents_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX machine_agents_by_client ON public.machine_agents USING btree (client_id);
CREATE INDEX machine_agents_by_org ON public.machine_agents USING btree (org_id, id);
CREATE INDEX machine_agents_by_owner ON public.machine_agents USING btree (owner_id);
CREATE UNIQUE INDEX machine_agents_by_user ON public.machine_agents USING btree (user_id);

CREATE TABLE mailed_links (
  secret_hash text NOT NULL,
  purpose text NOT NULL,
  user_id text NOT NULL,
  email text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT mailed_links_pkey PRIMARY KEY (secret_hash),
  CONSTRAINT mailed_links_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX mailed_links_by_expiry ON public.mailed_links USING btree (expires_at);

CREATE TABLE maintenance_changes (
  org_id text NOT NULL,
  id text NOT NULL,
  app_id text,
  user_id text NOT NULL,
  user_name text NOT NULL,
  at timestamp with time zone NOT NULL,
  CONSTRAINT maintenance_changes_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX maintenance_changes_by_time ON public.maintenance_changes USING btree (org_id, at);

CREATE TABLE maintenance_runs (
  org_id text NOT NULL,
  id text NOT NULL,
  app_id text NOT NULL,
  status text NOT NULL,
  terminal_code text,
  reason text,
  mode text NOT NULL,
  slot_at timestamp with time zone,
  requested_by_id text,
  requested_by text,
  via text,
  idempotency_key text,
  model text NOT NULL,
  fence bigint,
  claim_id text,
  base_revision_id text,
  tokens bigint NOT NULL DEFAULT 0,
  evidence_read integer NOT NULL DEFAULT 0,
  summary text,
  fingerprint text,
  proposal_id text,
  created_at timestamp with time zone NOT NULL,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  undone_by text,
  CONSTRAINT maintenance_runs_ended CHECK ((((status = 'ended'::text) = (terminal_code IS NOT NULL)) AND ((status = 'ended'::text) = (ended_at IS NOT NULL)))),
  CONSTRAINT maintenance_runs_org_id_id_pk PRIMARY KEY (org_id, id),
  CONSTRAINT maintenance_runs_status CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'ended'::text]))),
  CONSTRAINT maintenance_runs_terminal_code CHECK ((terminal_code = ANY (ARRAY['found_nothing'::text, 'finding_recorded'::text, 'proposed'::text, 'budget_exhausted'::text, 'skipped'::text, 'agent_error'::text, 'lease_lost'::text, 'fenced_disabled'::text])))
);
CREATE INDEX maintenance_runs_by_app ON public.maintenance_runs USING btree (org_id, app_id, id);
CREATE INDEX maintenance_runs_by_claim ON public.maintenance_runs USING btree (claim_id) WHERE (status = 'running'::text);
CREATE UNIQUE INDEX maintenance_runs_by_key ON public.maintenance_runs USING btree (org_id, app_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX maintenance_runs_by_time ON public.maintenance_runs USING btree (org_id, created_at);
CREATE UNIQUE INDEX maintenance_runs_one_open ON public.maintenance_runs USING btree (org_id, app_id) WHERE (status <> 'ended'::text);
CREATE INDEX maintenance_runs_queued ON public.maintenance_runs USING btree (created_at) WHERE (status = 'queued'::text);

CREATE TABLE maintenance_settings (
  org_id text NOT NULL,
  enabled boolean NOT NULL,
  model text,
  nightly_cron text NOT NULL,
  timezone text NOT NULL,
  cooldown_hours integer NOT NULL,
  token_allowance bigint NOT NULL,
  protected_paths jsonb NOT NULL,
  mcp_decisions text NOT NULL,
  next_slot_at timestamp with time zone,
  allowed_classes jsonb NOT NULL DEFAULT '[]'::jsonb,
  CONSTRAINT maintenance_settings_model CHECK (((NOT enabled) OR (model IS NOT NULL))),
  CONSTRAINT maintenance_settings_org_id_pk PRIMARY KEY (org_id)
);
CREATE INDEX maintenance_settings_due ON public.maintenance_settings USING btree (next_slot_at) WHERE (next_slot_at IS NOT NULL);

CREATE TABLE maintenance_slots (
  org_id text NOT NULL,
  app_id text NOT NULL,
  slot_at timestamp with time zone NOT NULL,
  execution_id text,
  CONSTRAINT maintenance_slots_org_id_app_id_slot_at_pk PRIMARY KEY (org_id, app_id, slot_at)
);
CREATE INDEX maintenance_slots_by_time ON public.maintenance_slots USING btree (slot_at);

CREATE TABLE memberships (
  org_id text NOT NULL,
  user_id text NOT NULL,
  id text NOT NULL DEFAULT ('mem_'::text || replace((gen_random_uuid())::text, '-'::text, ''::text)),
  role text NOT NULL,
  joined_by text NOT NULL,
  joined_at timestamp with time zone NOT NULL,
  CONSTRAINT memberships_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT memberships_org_id_user_id_pk PRIMARY KEY (org_id, user_id),
  CONSTRAINT memberships_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX memberships_by_user ON public.memberships USING btree (user_id);

CREATE TABLE message_targets (
  org_id text NOT NULL,
  target text NOT NULL,
  next_allowed_at timestamp with time zone NOT NULL,
  in_flight integer NOT NULL DEFAULT 0,
  unanswered integer NOT NULL DEFAULT 0,
  probe_at timestamp with time zone,
  held_until timestamp with time zone,
  keeps_sockets boolean NOT NULL DEFAULT true,
  answer_ms integer,
  CONSTRAINT message_targets_org_id_target_pk PRIMARY KEY (org_id, target)
);

CREATE TABLE messages (
  org_id text NOT NULL,
  id text NOT NULL,
  channel text NOT NULL,
  subscription_id text,
  integration_id text,
  user_id text,
  target text NOT NULL,
  ordering_key text,
  seq bigint NOT NULL DEFAULT 0,
  digest_key text,
  window_end timestamp with time zone,
  state text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  goes_alone boolean NOT NULL DEFAULT false,
  next_at timestamp with time zone NOT NULL,
  slot_at timestamp with time zone,
  lease_until timestamp with time zone,
  worker text,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT messages_org_id_id_pk PRIMARY KEY (org_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX messages_active ON ONLY public.messages USING btree (lease_until, next_at) WHERE (state = ANY (ARRAY['open'::text, 'pending'::text, 'claimed'::text, 'sending'::text]));
CREATE INDEX messages_due_by_organization ON ONLY public.messages USING btree (org_id, channel, next_at) WHERE (state = ANY (ARRAY['open'::text, 'pending'::text]));
CREATE INDEX messages_in_order ON ONLY public.messages USING btree (org_id, target, ordering_key, seq) WHERE (state = ANY (ARRAY['pending'::text, 'claimed'::text, 'sending'::text]));

CREATE TABLE messages_rest PARTITION OF messages DEFAULT;

CREATE TABLE model_outages (
  org_id text NOT NULL,
  model text NOT NULL,
  failures integer NOT NULL,
  failed_at timestamp with time zone NOT NULL,
  left_alone_until timestamp with time zone,
  provider_failures integer NOT NULL DEFAULT 0,
  CONSTRAINT model_outages_org_id_model_pk PRIMARY KEY (org_id, model)
);
CREATE INDEX model_outages_by_model ON public.model_outages USING btree (model, left_alone_until);

CREATE TABLE notifications (
  org_id text NOT NULL,
  user_id text NOT NULL,
  id text NOT NULL,
  event_id text NOT NULL,
  type text NOT NULL,
  subject text NOT NULL,
  summary text NOT NULL,
  url text,
  at timestamp with time zone NOT NULL,
  read_at timestamp with time zone,
  CONSTRAINT notifications_org_id_user_id_id_pk PRIMARY KEY (org_id, user_id, id)
);
CREATE UNIQUE INDEX notifications_by_event ON public.notifications USING btree (org_id, user_id, event_id);
CREATE INDEX notifications_unread ON public.notifications USING btree (org_id, user_id, read_at);

CREATE TABLE oauth_artifacts (
  id text NOT NULL,
  kind text NOT NULL,
  payload jsonb NOT NULL,
  grant_id text,
  uid text,
  consumed_at timestamp with time zone,
  successor text,
  expires_at timestamp with time zone,
  CONSTRAINT oauth_artifacts_pkey PRIMARY KEY (id)
);
CREATE INDEX oauth_artifacts_by_expiry ON public.oauth_artifacts USING btree (expires_at);
CREATE INDEX oauth_artifacts_by_grant ON public.oauth_artifacts USING btree (grant_id);
CREATE INDEX oauth_artifacts_by_uid ON public.oauth_artifacts USING btree (uid);

CREATE TABLE oauth_metadata_documents (
  url text NOT NULL,
  document jsonb NOT NULL,
  sha256 text NOT NULL,
  fetched_at timestamp with time zone NOT NULL,
  CONSTRAINT oauth_metadata_documents_pkey PRIMARY KEY (url)
);

CREATE TABLE organization_client_blocks (
  org_id text NOT NULL,
  client_id text NOT NULL,
  since timestamp with time zone NOT NULL,
  CONSTRAINT organization_client_blocks_org_id_client_id_pk PRIMARY KEY (org_id, client_id),
  CONSTRAINT organization_client_blocks_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE
);

CREATE TABLE organization_domains (
  domain text NOT NULL,
  org_id text NOT NULL,
  CONSTRAINT organization_domains_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT organization_domains_pkey PRIMARY KEY (domain)
);
CREATE INDEX organization_domains_by_org ON public.organization_domains USING btree (org_id);

CREATE TABLE organization_identity_providers (
  id text NOT NULL,
  org_id text NOT NULL,
  name text NOT NULL,
  issuer text NOT NULL,
  tenant_claim text NOT NULL DEFAULT ''::text,
  tenant_value text NOT NULL DEFAULT ''::text,
  jwks_uri text NOT NULL,
  state text NOT NULL,
  linking text NOT NULL DEFAULT 'admin'::text,
  default_scopes text[] NOT NULL,
  assertion_seconds integer NOT NULL,
  token_minutes integer NOT NULL,
  is_required boolean NOT NULL DEFAULT false,
  edition integer NOT NULL DEFAULT 1,
  proven_by text,
  proven_at timestamp with time zone,
  proven_domain text,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone,
  CONSTRAINT organization_identity_providers_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT organization_identity_providers_pkey PRIMARY KEY (id),
  CONSTRAINT organization_identity_providers_proven_by_users_id_fk FOREIGN KEY (proven_by) REFERENCES users(id) ON DELETE SET NULL
);
CREATE UNIQUE INDEX organization_identity_providers_by_issuer ON public.organization_identity_providers USING btree (issuer, tenant_value) WHERE (state = 'on'::text);
CREATE UNIQUE INDEX organization_identity_providers_by_org ON public.organization_identity_providers USING btree (org_id);

CREATE TABLE organizations (
  id text NOT NULL,
  name text NOT NULL,
  slug text NOT NULL,
  agents_enabled boolean NOT NULL DEFAULT true,
  registered_clients text NOT NULL DEFAULT 'allowed'::text,
  admins_may_invite boolean NOT NULL DEFAULT false,
  timezone text NOT NULL DEFAULT 'UTC'::text,
  support_access_enabled boolean NOT NULL DEFAULT true,
  founded_by text,
  created_at timestamp with time zone NOT NULL,
  narrow_unused_after_days integer,
  end_unused_after_days integer,
  CONSTRAINT organizations_founded_by_users_id_fk FOREIGN KEY (founded_by) REFERENCES users(id) ON DELETE SET NULL,
  CONSTRAINT organizations_pkey PRIMARY KEY (id),
  CONSTRAINT organizations_slug_unique UNIQUE (slug)
);
CREATE INDEX organizations_by_founder ON public.organizations USING btree (founded_by);

CREATE TABLE outbox (
  org_id text NOT NULL,
  id text NOT NULL,
  source text NOT NULL,
  dedup_key text NOT NULL,
  type text NOT NULL,
  subject text NOT NULL,
  actor_id text,
  concerns_id text,
  app_id text,
  data jsonb NOT NULL,
  occurred_at timestamp with time zone NOT NULL,
  seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  text text,
  CONSTRAINT outbox_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX outbox_in_order ON public.outbox USING btree (org_id, seq);

CREATE TABLE passwords (
  user_id text NOT NULL,
  email text NOT NULL,
  hash text NOT NULL,
  changed_at timestamp with time zone NOT NULL,
  CONSTRAINT passwords_email_unique UNIQUE (email),
  CONSTRAINT passwords_pkey PRIMARY KEY (user_id),
  CONSTRAINT passwords_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

CREATE TABLE pipeline_runs (
  org_id text NOT NULL,
  id text NOT NULL,
  app_id text NOT NULL,
  pipeline_id text NOT NULL,
  state text NOT NULL,
  code text,
  due_at timestamp with time zone NOT NULL,
  is_scheduled boolean NOT NULL,
  claimable_until timestamp with time zone,
  started_at timestamp with time zone,
  times_out_at timestamp with time zone,
  ended_at timestamp with time zone,
  worker text,
  fence integer,
  claim_id text,
  lease_until timestamp with time zone,
  message text,
  CONSTRAINT pipeline_runs_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX pipeline_runs_by_claim ON public.pipeline_runs USING btree (org_id, app_id, claim_id) WHERE ((state = 'running'::text) AND (claim_id IS NOT NULL));
CREATE INDEX pipeline_runs_by_pipeline ON public.pipeline_runs USING btree (org_id, pipeline_id, id);
CREATE UNIQUE INDEX pipeline_runs_by_slot ON public.pipeline_runs USING btree (org_id, pipeline_id, due_at) WHERE is_scheduled;
CREATE INDEX pipeline_runs_claimable ON public.pipeline_runs USING btree (org_id, app_id) WHERE (claimable_until IS NOT NULL);
CREATE INDEX pipeline_runs_running ON public.pipeline_runs USING btree (org_id, pipeline_id) WHERE (state = 'running'::text);
CREATE INDEX pipeline_runs_unclaimed ON public.pipeline_runs USING btree (claimable_until) WHERE (claimable_until IS NOT NULL);

CREATE TABLE pipeline_workers (
  org_id text NOT NULL,
  app_id text NOT NULL,
  name text NOT NULL,
  pipelines jsonb NOT NULL,
  last_seen_at timestamp with time zone NOT NULL,
  CONSTRAINT pipeline_workers_org_id_app_id_name_pk PRIMARY KEY (org_id, app_id, name)
);

CREATE TABLE pipelines (
  org_id text NOT NULL,
  id text NOT NULL,
  app_id text NOT NULL,
  name text NOT NULL,
  cron text,
  timezone text NOT NULL,
  grace_minutes integer NOT NULL,
  timeout_minutes integer NOT NULL,
  concurrency text NOT NULL,
  enabled boolean NOT NULL,
  next_due_at timestamp with time zone,
  trouble text,
  told jsonb NOT NULL,
  event_seq integer NOT NULL DEFAULT 0,
  fence integer NOT NULL DEFAULT 0,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT pipelines_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX pipelines_by_name ON public.pipelines USING btree (org_id, app_id, name);
CREATE INDEX pipelines_due ON public.pipelines USING btree (next_due_at) WHERE (next_due_at IS NOT NULL);

CREATE TABLE platform_access_grants (
  id text NOT NULL,
  org_id text NOT NULL,
  user_id text NOT NULL,
  client_id text NOT NULL,
  client_kind text NOT NULL,
  client_name text,
  redirect_host text NOT NULL,
  document_sha256 text,
  resource text NOT NULL,
  scopes text[] NOT NULL,
  sources text[],
  payload jsonb NOT NULL,
  key_epoch text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone NOT NULL,
  revoked_at timestamp with time zone,
  revoked_reason text,
  scope_edition integer NOT NULL DEFAULT 1,
  via text NOT NULL DEFAULT 'consent'::text,
  identity_provider_id text,
  machine_agent_id text,
  role_cap text NOT NULL DEFAULT 'owner'::text,
  carries_app_roles boolean NOT NULL DEFAULT true,
  uses_since timestamp with time zone NOT NULL DEFAULT now(),
  narrowing_told_at timestamp with time zone,
  ending_told_at timestamp with time zone,
  CONSTRAINT platform_access_grants_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT platform_access_grants_pkey PRIMARY KEY (id),
  CONSTRAINT platform_access_grants_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX platform_access_grants_by_client ON public.platform_access_grants USING btree (client_id);
CREATE UNIQUE INDEX platform_access_grants_by_machine_agent ON public.platform_access_grants USING btree (machine_agent_id, resource) WHERE ((machine_agent_id IS NOT NULL) AND (revoked_at IS NULL));
CREATE INDEX platform_access_grants_by_org ON public.platform_access_grants USING btree (org_id, id);
CREATE UNIQUE INDEX platform_access_grants_by_provider ON public.platform_access_grants USING btree (identity_provider_id, user_id, client_id, resource) WHERE ((identity_provider_id IS NOT NULL) AND (revoked_at IS NULL));
CREATE INDEX platform_access_grants_by_user ON public.platform_access_grants USING btree (user_id, client_id);

CREATE TABLE platform_oauth_clients (
  client_id text NOT NULL,
  kind text NOT NULL DEFAULT 'metadata_document'::text,
  is_active boolean NOT NULL DEFAULT true,
  metadata jsonb NOT NULL DEFAULT '{}'::jsonb,
  origin_key text,
  registered_from text,
  registration_hash text,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone,
  org_id text,
  CONSTRAINT platform_oauth_clients_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT platform_oauth_clients_pkey PRIMARY KEY (client_id)
);
CREATE INDEX platform_oauth_clients_by_org ON public.platform_oauth_clients USING btree (org_id);
CREATE INDEX platform_oauth_clients_by_registration ON public.platform_oauth_clients USING btree (registration_hash);
CREATE INDEX platform_oauth_clients_dynamic ON public.platform_oauth_clients USING btree (kind, is_active, expires_at);

CREATE TABLE processes (
  name text NOT NULL,
  until timestamp with time zone NOT NULL,
  is_remote boolean NOT NULL,
  CONSTRAINT processes_pkey PRIMARY KEY (name)
);

CREATE TABLE proposals (
  org_id text NOT NULL,
  id text NOT NULL,
  app_id text NOT NULL,
  execution_id text NOT NULL,
  day date NOT NULL,
  base_revision_id text NOT NULL,
  new_revision_id text NOT NULL,
  tree_sha256 text NOT NULL,
  diff text NOT NULL,
  diff_sha256 text NOT NULL,
  files jsonb NOT NULL,
  title text NOT NULL,
  rationale text NOT NULL,
  fingerprint text NOT NULL,
  matter jsonb NOT NULL,
  evidence jsonb NOT NULL,
  edits jsonb NOT NULL,
  state text NOT NULL,
  requested_by_id text,
  requested_by text,
  decided_by_id text,
  decided_by text,
  decided_via text,
  decided_token_id text,
  decided_token text,
  decided_grant_id text,
  decided_agent text,
  decided_at timestamp with time zone,
  deployment_id text,
  created_at timestamp with time zone NOT NULL,
  changed_at timestamp with time zone NOT NULL,
  undone_by text,
  changed_by jsonb NOT NULL DEFAULT '[]'::jsonb,
  decision_note text,
  renamed_files jsonb NOT NULL DEFAULT '{}'::jsonb,
  effect jsonb,
  restored_at timestamp with time zone,
  deployed_at timestamp with time zone,
  measured_at timestamp with time zone,
  CONSTRAINT proposals_org_id_id_pk PRIMARY KEY (org_id, id),
  CONSTRAINT proposals_state CHECK ((state = ANY (ARRAY['preparing'::text, 'ready'::text, 'approved'::text, 'deploying'::text, 'deployed'::text, 'failed'::text, 'denied'::text, 'stale'::text])))
);
CREATE INDEX proposals_by_app ON public.proposals USING btree (org_id, app_id, id);
CREATE INDEX proposals_by_deployment ON public.proposals USING btree (org_id, deployment_id) WHERE (deployment_id IS NOT NULL);
CREATE INDEX proposals_by_organization ON public.proposals USING btree (org_id, state, id);
CREATE INDEX proposals_deployed ON public.proposals USING btree (deployed_at) WHERE (state = 'deployed'::text);
CREATE UNIQUE INDEX proposals_one_a_day ON public.proposals USING btree (org_id, app_id, day);

CREATE TABLE proposed_revisions (
  org_id text NOT NULL,
  revision_id text NOT NULL,
  app_id text NOT NULL,
  CONSTRAINT proposed_revisions_org_id_revision_id_pk PRIMARY KEY (org_id, revision_id)
);

CREATE TABLE provisioned_groups (
  org_id text NOT NULL,
  group_id text NOT NULL,
  external_id text,
  role text,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT provisioned_groups_org_id_group_id_pk PRIMARY KEY (org_id, group_id),
  CONSTRAINT provisioned_groups_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE
);

CREATE TABLE provisioned_people (
  org_id text NOT NULL,
  id text NOT NULL,
  bearer_id text NOT NULL,
  user_name text NOT NULL,
  email text NOT NULL,
  external_id text,
  display_name text,
  given_name text,
  family_name text,
  active boolean NOT NULL,
  active_since timestamp with time zone NOT NULL,
  user_id text,
  role text,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  deleted_at timestamp with time zone,
  CONSTRAINT provisioned_people_org_id_id_pk PRIMARY KEY (org_id, id),
  CONSTRAINT provisioned_people_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT provisioned_people_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE SET NULL
);
CREATE INDEX provisioned_people_by_address ON public.provisioned_people USING btree (email, org_id, id);
CREATE UNIQUE INDEX provisioned_people_by_email ON public.provisioned_people USING btree (org_id, email) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX provisioned_people_by_external_id ON public.provisioned_people USING btree (org_id, external_id) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX provisioned_people_by_name ON public.provisioned_people USING btree (org_id, lower(user_name)) WHERE (deleted_at IS NULL);
CREATE INDEX provisioned_people_by_subject ON public.provisioned_people USING btree (external_id);
CREATE UNIQUE INDEX provisioned_people_by_user ON public.provisioned_people USING btree (org_id, user_id) WHERE (deleted_at IS NULL);
CREATE INDEX provisioned_people_of_name ON public.provisioned_people USING btree (org_id, lower(user_name), id);
CREATE INDEX provisioned_people_of_user ON public.provisioned_people USING btree (user_id);

CREATE TABLE provisioned_places (
  org_id text NOT NULL,
  group_id text NOT NULL,
  person_id text NOT NULL,
  CONSTRAINT provisioned_places_org_id_group_id_person_id_pk PRIMARY KEY (org_id, group_id, person_id),
  CONSTRAINT provisioned_places_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX provisioned_places_by_person ON public.provisioned_places USING btree (org_id, person_id);

CREATE TABLE pull_requests (
  org_id text NOT NULL,
  id text NOT NULL,
  app_id text NOT NULL,
  ordinal integer NOT NULL,
  state text NOT NULL,
  code text,
  number integer,
  url text,
  landed_by text,
  requested_at timestamp with time zone NOT NULL,
  opened_at timestamp with time zone,
  failures integer NOT NULL DEFAULT 0,
  looked_at timestamp with time zone,
  next_at timestamp with time zone,
  lease_until timestamp with time zone,
  lease_token text,
  CONSTRAINT pull_requests_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX pull_requests_by_app ON public.pull_requests USING btree (org_id, app_id, id);
CREATE INDEX pull_requests_due ON public.pull_requests USING btree (next_at) WHERE (next_at IS NOT NULL);

CREATE TABLE question_counts (
  org_id text NOT NULL,
  minute timestamp with time zone NOT NULL,
  in_minute integer NOT NULL,
  day timestamp with time zone NOT NULL,
  in_day integer NOT NULL,
  CONSTRAINT question_counts_pkey PRIMARY KEY (org_id)
);

CREATE TABLE receipt_acknowledgements (
  receipt_id text NOT NULL,
  process text NOT NULL,
  at timestamp with time zone NOT NULL,
  cut jsonb NOT NULL,
  CONSTRAINT receipt_acknowledgements_receipt_id_process_pk PRIMARY KEY (receipt_id, process),
  CONSTRAINT receipt_acknowledgements_receipt_id_receipts_id_fk FOREIGN KEY (receipt_id) REFERENCES receipts(id) ON DELETE CASCADE
);

CREATE TABLE receipts (
  id text NOT NULL,
  org_id text NOT NULL,
  of_kind text NOT NULL,
  of_id text NOT NULL,
  of_name text NOT NULL,
  by_id text,
  by_name text NOT NULL,
  is_rehearsal boolean NOT NULL,
  began_at timestamp with time zone NOT NULL,
  ended jsonb NOT NULL,
  remains jsonb NOT NULL,
  whose jsonb NOT NULL,
  final_at timestamp with time zone,
  signed text,
  signature text,
  CONSTRAINT receipts_pkey PRIMARY KEY (id)
);
CREATE INDEX receipts_by_organization ON public.receipts USING btree (org_id, id);
CREATE INDEX receipts_pending ON public.receipts USING btree (id) WHERE (final_at IS NULL);

CREATE TABLE recoveries (
  org_id text NOT NULL,
  id text NOT NULL,
  integration_id text NOT NULL,
  since timestamp with time zone NOT NULL,
  includes_unconfirmed boolean NOT NULL,
  state text NOT NULL,
  cursor text NOT NULL,
  queued integer NOT NULL DEFAULT 0,
  next_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone NOT NULL,
  created_by text,
  ended_at timestamp with time zone,
  CONSTRAINT recoveries_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX recoveries_due ON public.recoveries USING btree (next_at) WHERE (state = 'running'::text);
CREATE UNIQUE INDEX recoveries_one_at_a_time ON public.recoveries USING btree (org_id, integration_id) WHERE (state = 'running'::text);

CREATE TABLE removed_integrations (
  org_id text NOT NULL,
  id text NOT NULL,
  name text NOT NULL,
  removed_at timestamp with time zone NOT NULL,
  CONSTRAINT removed_integrations_org_id_id_pk PRIMARY KEY (org_id, id)
);

CREATE TABLE removed_organizations (
  org_id text NOT NULL,
  name text NOT NULL,
  removed_at timestamp with time zone NOT NULL,
  emptied_at timestamp with time zone,
  CONSTRAINT removed_organizations_pkey PRIMARY KEY (org_id)
);

CREATE TABLE revisions (
  org_id text NOT NULL,
  id text NOT NULL,
  app_id text NOT NULL,
  tree_sha256 text NOT NULL,
  manifest jsonb NOT NULL,
  files integer NOT NULL,
  bytes bigint NOT NULL,
  manifest_bytes integer NOT NULL,
  pushed_by_id text,
  pushed_by_name text NOT NULL,
  pushed_at timestamp with time zone NOT NULL,
  CONSTRAINT revisions_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX revisions_by_app ON public.revisions USING btree (org_id, app_id, id);
CREATE UNIQUE INDEX revisions_by_tree ON public.revisions USING btree (org_id, app_id, tree_sha256);
CREATE TRIGGER revisions_are_not_truncated BEFORE TRUNCATE ON public.revisions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_source();
CREATE TRIGGER revisions_do_not_change BEFORE DELETE OR UPDATE ON public.revisions FOR EACH ROW EXECUTE FUNCTION refuse_change_of_source();

CREATE TABLE run_evidence (
  org_id text NOT NULL,
  execution_id text NOT NULL,
  ref text NOT NULL,
  kind text NOT NULL,
  location text NOT NULL,
  from_line integer,
  to_line integer,
  sha256 text NOT NULL,
  sealed_text text,
  pinned boolean NOT NULL DEFAULT false,
  read_at timestamp with time zone NOT NULL,
  CONSTRAINT run_evidence_org_id_execution_id_ref_pk PRIMARY KEY (org_id, execution_id, ref)
);
CREATE INDEX run_evidence_unpinned ON public.run_evidence USING btree (read_at) WHERE (NOT pinned);

CREATE TABLE run_steps (
  org_id text NOT NULL,
  execution_id text NOT NULL,
  number integer NOT NULL,
  tool text,
  result text NOT NULL,
  request_sha256 text NOT NULL,
  result_sha256 text NOT NULL,
  tokens bigint NOT NULL DEFAULT 0,
  ms integer NOT NULL,
  at timestamp with time zone NOT NULL,
  sealed_transcript text,
  CONSTRAINT run_steps_org_id_execution_id_number_pk PRIMARY KEY (org_id, execution_id, number)
);
CREATE INDEX run_steps_with_transcript ON public.run_steps USING btree (at) WHERE (sealed_transcript IS NOT NULL);

CREATE TABLE scim_bearers (
  org_id text NOT NULL,
  id text NOT NULL,
  provider text NOT NULL,
  issuer text NOT NULL,
  starts_with text NOT NULL,
  secret_hash text NOT NULL,
  key_epoch text,
  created_by text NOT NULL,
  created_by_name text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  rotated_by text,
  rotated_at timestamp with time zone,
  last_used_at timestamp with time zone,
  full_until timestamp with time zone NOT NULL,
  previous_hash text,
  previous_starts_with text,
  previous_until timestamp with time zone,
  previous_last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  CONSTRAINT scim_bearers_org_id_id_pk PRIMARY KEY (org_id, id),
  CONSTRAINT scim_bearers_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX scim_bearers_by_issuer ON public.scim_bearers USING btree (issuer);
CREATE UNIQUE INDEX scim_bearers_by_organization ON public.scim_bearers USING btree (org_id) WHERE (revoked_at IS NULL);
CREATE UNIQUE INDEX scim_bearers_by_previous ON public.scim_bearers USING btree (previous_hash);
CREATE UNIQUE INDEX scim_bearers_by_secret ON public.scim_bearers USING btree (secret_hash);

CREATE TABLE sessions (
  id text NOT NULL,
  user_id text NOT NULL,
  org_id text,
  signed_in_by text NOT NULL,
  device text NOT NULL,
  browser_secret_hash text,
  generation integer NOT NULL DEFAULT 1,
  rotated_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  role_cap text NOT NULL DEFAULT 'owner'::text,
  carries_app_roles boolean NOT NULL DEFAULT true,
  kind text NOT NULL DEFAULT 'browser'::text,
  CONSTRAINT sessions_pkey PRIMARY KEY (id),
  CONSTRAINT sessions_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX sessions_by_browser ON public.sessions USING btree (browser_secret_hash);
CREATE INDEX sessions_by_expiry ON public.sessions USING btree (expires_at);
CREATE INDEX sessions_by_user ON public.sessions USING btree (user_id, id);

CREATE TABLE sign_in_attempts (
  state_hash text NOT NULL,
  provider text NOT NULL,
  browser_hash text NOT NULL,
  nonce text NOT NULL,
  code_verifier text NOT NULL,
  return_to text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT sign_in_attempts_pkey PRIMARY KEY (state_hash)
);
CREATE INDEX sign_in_attempts_by_expiry ON public.sign_in_attempts USING btree (expires_at);

CREATE TABLE sign_in_codes (
  code_hash text NOT NULL,
  session_id text NOT NULL,
  code_challenge text,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT sign_in_codes_pkey PRIMARY KEY (code_hash),
  CONSTRAINT sign_in_codes_session_id_sessions_id_fk FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE
);
CREATE INDEX sign_in_codes_by_expiry ON public.sign_in_codes USING btree (expires_at);

CREATE TABLE source_blobs (
  org_id text NOT NULL,
  sha256 text NOT NULL,
  content bytea NOT NULL,
  CONSTRAINT source_blobs_by_content CHECK ((sha256 = encode(sha256(content), 'hex'::text))),
  CONSTRAINT source_blobs_org_id_sha256_pk PRIMARY KEY (org_id, sha256)
);
CREATE TRIGGER source_blobs_are_not_truncated BEFORE TRUNCATE ON public.source_blobs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_source();
CREATE TRIGGER source_blobs_do_not_change BEFORE DELETE OR UPDATE ON public.source_blobs FOR EACH ROW EXECUTE FUNCTION refuse_change_of_source();

CREATE TABLE source_storage (
  org_id text NOT NULL,
  bytes bigint NOT NULL,
  CONSTRAINT source_storage_not_negative CHECK ((bytes >= 0)),
  CONSTRAINT source_storage_org_id_pk PRIMARY KEY (org_id)
);

CREATE TABLE subscriptions (
  org_id text NOT NULL,
  id text NOT NULL,
  user_id text,
  integration_id text,
  pattern text NOT NULL,
  timing text NOT NULL,
  own_only boolean NOT NULL DEFAULT false,
  enabled boolean NOT NULL,
  disabled_reason text,
  default_key text,
  created_at timestamp with time zone NOT NULL,
  created_by text,
  CONSTRAINT subscriptions_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX subscriptions_by_integration ON public.subscriptions USING btree (org_id, integration_id);
CREATE INDEX subscriptions_by_pattern ON public.subscriptions USING btree (org_id, pattern) WHERE enabled;
CREATE INDEX subscriptions_by_user ON public.subscriptions USING btree (org_id, user_id);

CREATE TABLE support_sessions (
  org_id text NOT NULL,
  id text NOT NULL,
  staff_id text NOT NULL,
  reason text NOT NULL,
  started_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  elevated_at timestamp with time zone,
  elevation_reason text,
  ended_at timestamp with time zone,
  ended_by text,
  CONSTRAINT support_sessions_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX support_sessions_by_staff ON public.support_sessions USING btree (staff_id, expires_at);

CREATE TABLE svc_migrations (
  name text NOT NULL,
  sha256 text NOT NULL,
  applied_at timestamp with time zone NOT NULL,
  CONSTRAINT svc_migrations_pkey PRIMARY KEY (name)
);

CREATE TABLE throttles (
  key text NOT NULL,
  full_until timestamp with time zone NOT NULL,
  CONSTRAINT throttles_pkey PRIMARY KEY (key)
);

CREATE TABLE ticket_replies (
  org_id text NOT NULL,
  ticket_id text NOT NULL,
  id text NOT NULL,
  is_internal boolean NOT NULL,
  body text NOT NULL,
  author_id text NOT NULL,
  author_name text NOT NULL,
  at timestamp with time zone NOT NULL,
  CONSTRAINT ticket_replies_org_id_ticket_id_id_pk PRIMARY KEY (org_id, ticket_id, id)
);

CREATE TABLE tickets (
  org_id text NOT NULL,
  id text NOT NULL,
  app_id text NOT NULL,
  title text NOT NULL,
  body text NOT NULL,
  status text NOT NULL,
  reporter_id text NOT NULL,
  reporter_name text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  changed_at timestamp with time zone NOT NULL,
  CONSTRAINT tickets_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX tickets_by_app ON public.tickets USING btree (org_id, app_id, id);
CREATE INDEX tickets_by_reporter ON public.tickets USING btree (org_id, reporter_id, id);

CREATE TABLE token_pools (
  org_id text NOT NULL,
  day date NOT NULL,
  allowance bigint NOT NULL,
  reserved bigint NOT NULL DEFAULT 0,
  spent bigint NOT NULL DEFAULT 0,
  overage bigint NOT NULL DEFAULT 0,
  outage bigint NOT NULL DEFAULT 0,
  CONSTRAINT token_pools_not_negative CHECK (((spent >= 0) AND (reserved >= 0) AND (overage >= 0))),
  CONSTRAINT token_pools_org_id_day_pk PRIMARY KEY (org_id, day),
  CONSTRAINT token_pools_outage CHECK ((outage >= 0)),
  CONSTRAINT token_pools_within_allowance CHECK (((spent + reserved) <= allowance))
);

CREATE TABLE token_reservations (
  org_id text NOT NULL,
  id text NOT NULL,
  day date NOT NULL,
  purpose text NOT NULL,
  amount bigint NOT NULL,
  state text NOT NULL,
  actual bigint,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT token_reservations_org_id_id_pk PRIMARY KEY (org_id, id),
  CONSTRAINT token_reservations_positive CHECK ((amount > 0))
);
CREATE INDEX token_reservations_by_purpose ON public.token_reservations USING btree (org_id, purpose);
CREATE INDEX token_reservations_open ON public.token_reservations USING btree (expires_at) WHERE (state = ANY (ARRAY['held'::text, 'sent'::text]));

CREATE TABLE trail_pending (
  trail_order bigint NOT NULL,
  org_id text NOT NULL,
  id text NOT NULL,
  CONSTRAINT trail_pending_trail_order_org_id_pk PRIMARY KEY (trail_order, org_id)
);

CREATE TABLE trail_seals (
  org_id text NOT NULL,
  number bigint NOT NULL,
  epoch text NOT NULL,
  first_row bigint NOT NULL,
  row_count integer NOT NULL,
  activity_count integer NOT NULL,
  order_from bigint NOT NULL,
  order_to bigint NOT NULL,
  activity_first text,
  activity_last text,
  audit_first text,
  audit_last text,
  signed text NOT NULL,
  signature text NOT NULL,
  sealed_at timestamp with time zone NOT NULL,
  leaves bytea NOT NULL,
  place bigint NOT NULL DEFAULT nextval('trail_place'::regclass),
  removed_before timestamp with time zone,
  CONSTRAINT trail_seals_org_id_number_pk PRIMARY KEY (org_id, number)
);
CREATE INDEX trail_seals_by_place ON public.trail_seals USING btree (place);
CREATE INDEX trail_seals_by_row ON public.trail_seals USING btree (org_id, first_row);

CREATE TABLE trail_streams (
  org_id text NOT NULL,
  id text NOT NULL,
  kind text NOT NULL,
  host text NOT NULL,
  sealed text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  created_by text NOT NULL,
  after_epoch text NOT NULL,
  after_row bigint NOT NULL,
  next_at timestamp with time zone NOT NULL,
  failures integer NOT NULL,
  problem text,
  sent_at timestamp with time zone,
  lease_token text,
  lease_until timestamp with time zone,
  CONSTRAINT trail_streams_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX trail_streams_by_time ON public.trail_streams USING btree (next_at);

CREATE TABLE users (
  id text NOT NULL,
  email text NOT NULL,
  email_verified_at timestamp with time zone,
  name text NOT NULL,
  last_org_id text,
  created_at timestamp with time zone NOT NULL,
  kind text NOT NULL DEFAULT 'person'::text,
  CONSTRAINT users_pkey PRIMARY KEY (id)
);
CREATE INDEX users_by_email ON public.users USING btree (email);

CREATE TABLE validated_members (
  org_id text NOT NULL,
  user_id text NOT NULL,
  membership_id text NOT NULL,
  role text NOT NULL,
  name text NOT NULL,
  email text,
  org_name text NOT NULL,
  timezone text NOT NULL,
  validated_at timestamp with time zone NOT NULL,
  CONSTRAINT validated_members_org_id_user_id_pk PRIMARY KEY (org_id, user_id)
);
CREATE INDEX validated_members_by_time ON public.validated_members USING btree (org_id, validated_at);

CREATE TABLE workload_bindings (
  id text NOT NULL,
  org_id text NOT NULL,
  app_id text NOT NULL,
  app_alias text NOT NULL,
  namespace text NOT NULL,
  service_account text NOT NULL,
  uid text NOT NULL,
  created_by text NOT NULL,
  created_by_name text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone,
  CONSTRAINT workload_bindings_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT workload_bindings_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX workload_bindings_by_account ON public.workload_bindings USING btree (namespace, service_account, uid);
CREATE INDEX workload_bindings_by_app ON public.workload_bindings USING btree (org_id, app_id, id);

CREATE TABLE workload_pods (
  binding_id text NOT NULL,
  pod_uid text NOT NULL,
  pod_name text NOT NULL,
  first_seen_at timestamp with time zone NOT NULL,
  last_seen_at timestamp with time zone NOT NULL,
  CONSTRAINT workload_pods_binding_id_pod_uid_pk PRIMARY KEY (binding_id, pod_uid),
  CONSTRAINT workload_pods_binding_id_workload_bindings_id_fk FOREIGN KEY (binding_id) REFERENCES workload_bindings(id) ON DELETE CASCADE
);

CREATE OR REPLACE FUNCTION public.count_changed_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO delivery_count_changes (org_id, hour, integration_id, state, reason, n)
  SELECT org_id, date_trunc('hour', created_at, 'UTC'), coalesce(integration_id, ''), state, coalesce(reason, ''), sum(n)
  FROM (
    SELECT org_id, created_at, integration_id, state, reason, 1 AS n FROM after WHERE channel IS NOT NULL
    UNION ALL
    SELECT org_id, created_at, integration_id, state, reason, -1 FROM before WHERE channel IS NOT NULL
  ) changed
  GROUP BY 1, 2, 3, 4, 5 HAVING sum(n) <> 0;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION public.count_new_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO delivery_count_changes (org_id, hour, integration_id, state, reason, n)
  SELECT org_id, date_trunc('hour', created_at, 'UTC'), coalesce(integration_id, ''), state, coalesce(reason, ''), count(*)
  FROM added WHERE channel IS NOT NULL GROUP BY 1, 2, 3, 4, 5;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION public.refuse_change_of_source()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'DELETE' AND current_setting('svc.retention', true) = 'on' THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% of % is refused: source does not change', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END
$function$;
