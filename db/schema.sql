CREATE TABLE activity (
  org_id text NOT NULL,
  id text NOT NULL,
  at timestamp with time zone NOT NULL,
  type text NOT NULL,
  name text,
  source_id text,
  user_id text NOT NULL,
  user_name text NOT NULL,
  door text NOT NULL,
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
  CONSTRAINT activity_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX activity_by_name ON public.activity USING btree (org_id, name, id);
CREATE INDEX activity_by_type ON public.activity USING btree (org_id, type, id);
CREATE INDEX activity_by_user ON public.activity USING btree (org_id, user_id, id);

CREATE TABLE api_tokens (
  org_id text NOT NULL,
  id text NOT NULL,
  user_id text NOT NULL,
  name text NOT NULL,
  starts_with text NOT NULL,
  secret_hash text NOT NULL,
  role_cap text NOT NULL,
  scopes text[],
  audiences text[] NOT NULL,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  CONSTRAINT api_tokens_org_id_id_pk PRIMARY KEY (org_id, id),
  CONSTRAINT api_tokens_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX api_tokens_by_secret ON public.api_tokens USING btree (secret_hash);
CREATE INDEX api_tokens_by_user ON public.api_tokens USING btree (org_id, user_id);

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
  CONSTRAINT audit_log_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE INDEX audit_log_by_action ON public.audit_log USING btree (org_id, action, id);
CREATE INDEX audit_log_by_actor ON public.audit_log USING btree (org_id, actor_id, id);

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
  CONSTRAINT data_sources_org_id_id_pk PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX data_sources_by_name ON public.data_sources USING btree (org_id, name);
CREATE UNIQUE INDEX data_sources_by_physical_name ON public.data_sources USING btree (physical_name);

CREATE TABLE former_members (
  org_id text NOT NULL,
  user_id text NOT NULL,
  since timestamp with time zone NOT NULL,
  CONSTRAINT former_members_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT former_members_org_id_user_id_pk PRIMARY KEY (org_id, user_id),
  CONSTRAINT former_members_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

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
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone NOT NULL,
  CONSTRAINT identities_issuer_subject_pk PRIMARY KEY (issuer, subject),
  CONSTRAINT identities_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX identities_by_user ON public.identities USING btree (user_id);

CREATE TABLE inbox (
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
  CONSTRAINT inbox_org_id_user_id_id_pk PRIMARY KEY (org_id, user_id, id)
);
CREATE UNIQUE INDEX inbox_by_event ON public.inbox USING btree (org_id, user_id, event_id);
CREATE INDEX inbox_unread ON public.inbox USING btree (org_id, user_id, read_at);

CREATE TABLE installation_facts (
  name text NOT NULL,
  value jsonb NOT NULL,
  CONSTRAINT installation_facts_pkey PRIMARY KEY (name)
);

CREATE TABLE invitations (
  org_id text NOT NULL,
  id text NOT NULL,
  email text NOT NULL,
  role text NOT NULL,
  secret_hash text NOT NULL,
  invited_by text,
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

CREATE TABLE jobs (
  name text NOT NULL,
  next_run_at timestamp with time zone NOT NULL,
  lease_token text,
  lease_until timestamp with time zone,
  CONSTRAINT jobs_pkey PRIMARY KEY (name)
);

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

CREATE TABLE memberships (
  org_id text NOT NULL,
  user_id text NOT NULL,
  role text NOT NULL,
  joined_by text NOT NULL,
  joined_at timestamp with time zone NOT NULL,
  CONSTRAINT memberships_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT memberships_org_id_user_id_pk PRIMARY KEY (org_id, user_id),
  CONSTRAINT memberships_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX memberships_by_user ON public.memberships USING btree (user_id);

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

CREATE TABLE organizations (
  id text NOT NULL,
  name text NOT NULL,
  slug text NOT NULL,
  agents_enabled boolean NOT NULL DEFAULT true,
  admins_may_invite boolean NOT NULL DEFAULT false,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT organizations_pkey PRIMARY KEY (id),
  CONSTRAINT organizations_slug_unique UNIQUE (slug)
);

CREATE TABLE passwords (
  user_id text NOT NULL,
  email text NOT NULL,
  hash text NOT NULL,
  changed_at timestamp with time zone NOT NULL,
  CONSTRAINT passwords_email_unique UNIQUE (email),
  CONSTRAINT passwords_pkey PRIMARY KEY (user_id),
  CONSTRAINT passwords_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

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
  payload jsonb NOT NULL,
  key_epoch text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone NOT NULL,
  revoked_at timestamp with time zone,
  revoked_reason text,
  sources text[],
  CONSTRAINT platform_access_grants_org_id_organizations_id_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT platform_access_grants_pkey PRIMARY KEY (id),
  CONSTRAINT platform_access_grants_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX platform_access_grants_by_client ON public.platform_access_grants USING btree (client_id);
CREATE INDEX platform_access_grants_by_org ON public.platform_access_grants USING btree (org_id, id);
CREATE INDEX platform_access_grants_by_user ON public.platform_access_grants USING btree (user_id, client_id);

CREATE TABLE platform_oauth_clients (
  client_id text NOT NULL,
  kind text NOT NULL,
  is_active boolean NOT NULL DEFAULT true,
  metadata jsonb NOT NULL DEFAULT '{}'::jsonb,
  origin_key text,
  registration_hash text,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone,
  CONSTRAINT platform_oauth_clients_pkey PRIMARY KEY (client_id)
);
CREATE INDEX platform_oauth_clients_by_registration ON public.platform_oauth_clients USING btree (registration_hash);
CREATE INDEX platform_oauth_clients_dynamic ON public.platform_oauth_clients USING btree (kind, is_active, expires_at);

CREATE TABLE question_counts (
  org_id text NOT NULL,
  minute timestamp with time zone NOT NULL,
  in_minute integer NOT NULL,
  day timestamp with time zone NOT NULL,
  in_day integer NOT NULL,
  CONSTRAINT question_counts_pkey PRIMARY KEY (org_id)
);

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
CREATE INDEX throttles_by_end ON public.throttles USING btree (full_until);

CREATE TABLE users (
  id text NOT NULL,
  email text NOT NULL,
  email_verified_at timestamp with time zone,
  name text NOT NULL,
  last_org_id text,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT users_pkey PRIMARY KEY (id)
);
CREATE INDEX users_by_email ON public.users USING btree (email);
