CREATE TABLE "app_members" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"user_id" text NOT NULL,
	"membership_id" text NOT NULL,
	"role" text NOT NULL,
	"added_at" timestamp with time zone NOT NULL,
	CONSTRAINT "app_members_org_id_app_id_user_id_pk" PRIMARY KEY("org_id","app_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "app_tokens" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"app_id" text NOT NULL,
	"name" text NOT NULL,
	"scope" text NOT NULL,
	"secret_hash" text NOT NULL,
	"starts_with" text NOT NULL,
	"created_by" text NOT NULL,
	"created_by_name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone,
	"full_until" timestamp with time zone NOT NULL,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "app_tokens_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "apps" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"alias" text NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"created_by" text,
	CONSTRAINT "apps_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "support_sessions" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"staff_id" text NOT NULL,
	"reason" text NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"elevated_at" timestamp with time zone,
	"elevation_reason" text,
	"ended_at" timestamp with time zone,
	"ended_by" text,
	CONSTRAINT "support_sessions_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "ticket_replies" (
	"org_id" text NOT NULL,
	"ticket_id" text NOT NULL,
	"id" text NOT NULL,
	"is_internal" boolean NOT NULL,
	"body" text NOT NULL,
	"author_id" text NOT NULL,
	"author_name" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	CONSTRAINT "ticket_replies_org_id_ticket_id_id_pk" PRIMARY KEY("org_id","ticket_id","id")
);
--> statement-breakpoint
CREATE TABLE "tickets" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"app_id" text NOT NULL,
	"title" text NOT NULL,
	"body" text NOT NULL,
	"status" text NOT NULL,
	"reporter_id" text NOT NULL,
	"reporter_name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "tickets_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "check_runs" (
	"org_id" text NOT NULL,
	"check_id" text NOT NULL,
	"slot" integer NOT NULL,
	"id" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"result" text NOT NULL,
	"ms" integer,
	"status" integer,
	"reason" text,
	"detail" text,
	CONSTRAINT "check_runs_org_id_check_id_slot_pk" PRIMARY KEY("org_id","check_id","slot")
);
--> statement-breakpoint
CREATE TABLE "checks" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"app_id" text NOT NULL,
	"name" text NOT NULL,
	"definition" jsonb NOT NULL,
	"sealed_secrets" text,
	"interval_seconds" integer NOT NULL,
	"failure_threshold" integer NOT NULL,
	"success_threshold" integer NOT NULL,
	"enabled" boolean NOT NULL,
	"maintenance_windows" jsonb NOT NULL,
	"state" text,
	"state_since" timestamp with time zone,
	"passes" integer DEFAULT 0 NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"reported_failed" boolean DEFAULT false NOT NULL,
	"reported_error" boolean DEFAULT false NOT NULL,
	"reported_indeterminate" boolean DEFAULT false NOT NULL,
	"run_count" bigint DEFAULT 0 NOT NULL,
	"recent" text DEFAULT '' NOT NULL,
	"last_run_at" timestamp with time zone,
	"last_started_at" timestamp with time zone,
	"next_run_at" timestamp with time zone,
	"requested_at" timestamp with time zone,
	"claim" text,
	"lease_until" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "checks_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "oauth_artifacts" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"payload" jsonb NOT NULL,
	"grant_id" text,
	"uid" text,
	"consumed_at" timestamp with time zone,
	"successor" text,
	"expires_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "oauth_metadata_documents" (
	"url" text PRIMARY KEY NOT NULL,
	"document" jsonb NOT NULL,
	"sha256" text NOT NULL,
	"fetched_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "organization_client_blocks" (
	"org_id" text NOT NULL,
	"client_id" text NOT NULL,
	"since" timestamp with time zone NOT NULL,
	CONSTRAINT "organization_client_blocks_org_id_client_id_pk" PRIMARY KEY("org_id","client_id")
);
--> statement-breakpoint
CREATE TABLE "platform_access_grants" (
	"id" text PRIMARY KEY NOT NULL,
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	"client_id" text NOT NULL,
	"client_kind" text NOT NULL,
	"client_name" text,
	"redirect_host" text NOT NULL,
	"document_sha256" text,
	"resource" text NOT NULL,
	"scopes" text[] NOT NULL,
	"sources" text[],
	"payload" jsonb NOT NULL,
	"key_epoch" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone,
	"expires_at" timestamp with time zone NOT NULL,
	"revoked_at" timestamp with time zone,
	"revoked_reason" text
);
--> statement-breakpoint
CREATE TABLE "platform_oauth_clients" (
	"client_id" text PRIMARY KEY NOT NULL,
	"kind" text DEFAULT 'metadata_document' NOT NULL,
	"is_active" boolean DEFAULT true NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"origin_key" text,
	"registered_from" text,
	"registration_hash" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp with time zone,
	"expires_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "activity" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"type" text NOT NULL,
	"name" text,
	"source_id" text,
	"user_id" text NOT NULL,
	"user_name" text NOT NULL,
	"entry_point" text NOT NULL,
	"client_id" text,
	"outcome" text NOT NULL,
	"error" text,
	"duration_ms" integer NOT NULL,
	"question_bytes" integer NOT NULL,
	"answer_bytes" integer NOT NULL,
	"hits" integer,
	"question_digest" text,
	"answer_digest" text,
	"request_id" text NOT NULL,
	CONSTRAINT "activity_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "data_source_health" (
	"org_id" text NOT NULL,
	"source_id" text NOT NULL,
	"check_began" timestamp with time zone,
	"checked_at" timestamp with time zone,
	"problems" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"server_problems" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"error_at" timestamp with time zone,
	"error_kind" text,
	"error_code" text,
	CONSTRAINT "data_source_health_org_id_source_id_pk" PRIMARY KEY("org_id","source_id")
);
--> statement-breakpoint
CREATE TABLE "data_sources" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"name" text NOT NULL,
	"title" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"kind" text NOT NULL,
	"physical_name" text,
	"verifier" text,
	"sealed" text NOT NULL,
	"preparing_until" timestamp with time zone,
	"enabled" boolean DEFAULT false NOT NULL,
	"exposed" boolean DEFAULT false NOT NULL,
	"minimum_role" text DEFAULT 'viewer' NOT NULL,
	"configuration" jsonb,
	"configured_at" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL,
	"created_by" text,
	CONSTRAINT "data_sources_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "disk_use" (
	"org_id" text PRIMARY KEY NOT NULL,
	"bytes" bigint NOT NULL,
	"measured_at" timestamp with time zone NOT NULL,
	"over_since" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "question_counts" (
	"org_id" text PRIMARY KEY NOT NULL,
	"minute" timestamp with time zone NOT NULL,
	"in_minute" integer NOT NULL,
	"day" timestamp with time zone NOT NULL,
	"in_day" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deployment_output" (
	"org_id" text NOT NULL,
	"deployment_id" text NOT NULL,
	"position" bigint NOT NULL,
	"until" bigint NOT NULL,
	"text" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	CONSTRAINT "deployment_output_org_id_deployment_id_position_pk" PRIMARY KEY("org_id","deployment_id","position")
);
--> statement-breakpoint
CREATE TABLE "deployments" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"app_id" text NOT NULL,
	"revision_id" text NOT NULL,
	"fence" integer NOT NULL,
	"state" text NOT NULL,
	"code" text,
	"exit_code" integer,
	"runner" text,
	"claim_id" text,
	"requested_by_id" text,
	"requested_by" text NOT NULL,
	"requested_at" timestamp with time zone NOT NULL,
	"started_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"lease_until" timestamp with time zone,
	"cancel_requested_at" timestamp with time zone,
	"released_at" timestamp with time zone,
	"output_bytes" bigint DEFAULT 0 NOT NULL,
	"dropped_bytes" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "deployments_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "api_tokens" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"user_id" text NOT NULL,
	"parent_id" text,
	"name" text NOT NULL,
	"starts_with" text NOT NULL,
	"secret_hash" text NOT NULL,
	"role_cap" text NOT NULL,
	"scopes" text[],
	"audiences" text[] NOT NULL,
	"key_epoch" text,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone,
	"last_used_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "api_tokens_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "identities" (
	"issuer" text NOT NULL,
	"subject" text NOT NULL,
	"user_id" text NOT NULL,
	"provider" text NOT NULL,
	"email" text,
	"email_verified" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone NOT NULL,
	CONSTRAINT "identities_issuer_subject_pk" PRIMARY KEY("issuer","subject")
);
--> statement-breakpoint
CREATE TABLE "passwords" (
	"user_id" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"hash" text NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "passwords_email_unique" UNIQUE("email")
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"org_id" text,
	"signed_in_by" text NOT NULL,
	"device" text NOT NULL,
	"browser_secret_hash" text,
	"generation" integer DEFAULT 1 NOT NULL,
	"rotated_at" timestamp with time zone NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"email_verified_at" timestamp with time zone,
	"name" text NOT NULL,
	"last_org_id" text,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_groups" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"key" bigint NOT NULL,
	"level" smallint NOT NULL,
	"template" text NOT NULL,
	"last_day" date NOT NULL,
	CONSTRAINT "log_groups_org_id_app_id_key_pk" PRIMARY KEY("org_id","app_id","key")
);
--> statement-breakpoint
CREATE TABLE "log_lines" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"number" bigint NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"level" smallint NOT NULL,
	"group_key" bigint NOT NULL,
	"text" text NOT NULL,
	"service" text,
	"trace_id" text,
	CONSTRAINT "log_lines_org_id_app_id_number_at_pk" PRIMARY KEY("org_id","app_id","number","at")
) PARTITION BY RANGE ("at");
--> statement-breakpoint
CREATE TABLE "log_lines_rest" PARTITION OF "log_lines" DEFAULT;
--> statement-breakpoint
CREATE TABLE "log_usage" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"last_number" bigint NOT NULL,
	"stored_bytes" bigint NOT NULL,
	"full_until" timestamp with time zone NOT NULL,
	"day" date NOT NULL,
	"dropped" bigint NOT NULL,
	"refused" bigint NOT NULL,
	CONSTRAINT "log_usage_org_id_app_id_pk" PRIMARY KEY("org_id","app_id")
);
--> statement-breakpoint
CREATE TABLE "log_volumes" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"level" smallint NOT NULL,
	"lines" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	CONSTRAINT "log_volumes_org_id_app_id_at_level_pk" PRIMARY KEY("org_id","app_id","at","level")
);
--> statement-breakpoint
CREATE TABLE "alert_states" (
	"org_id" text NOT NULL,
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"state" text NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"seq" integer NOT NULL,
	CONSTRAINT "alert_states_org_id_kind_subject_pk" PRIMARY KEY("org_id","kind","subject")
);
--> statement-breakpoint
CREATE TABLE "attempts" (
	"org_id" text NOT NULL,
	"message_id" text NOT NULL,
	"number" integer NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	"outcome" text,
	"reason" text,
	"http_status" integer,
	"duration_ms" integer,
	"carried_by" text,
	"response" text,
	CONSTRAINT "attempts_org_id_message_id_number_pk" PRIMARY KEY("org_id","message_id","number")
);
--> statement-breakpoint
CREATE TABLE "chat_accounts" (
	"team_id" text NOT NULL,
	"chat_user_id" text NOT NULL,
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	CONSTRAINT "chat_accounts_team_id_chat_user_id_org_id_pk" PRIMARY KEY("team_id","chat_user_id","org_id")
);
--> statement-breakpoint
CREATE TABLE "chat_authorizations" (
	"org_id" text NOT NULL,
	"state_hash" text NOT NULL,
	"user_id" text NOT NULL,
	"purpose" text NOT NULL,
	"nonce" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "chat_authorizations_org_id_state_hash_pk" PRIMARY KEY("org_id","state_hash")
);
--> statement-breakpoint
CREATE TABLE "chat_links" (
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	"team_id" text NOT NULL,
	"chat_user_id" text NOT NULL,
	"display_name" text NOT NULL,
	"inactive_at" timestamp with time zone,
	"linked_at" timestamp with time zone NOT NULL,
	CONSTRAINT "chat_links_org_id_user_id_pk" PRIMARY KEY("org_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "default_subscriptions" (
	"org_id" text NOT NULL,
	"default_key" text NOT NULL,
	"subscription_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "default_subscriptions_org_id_default_key_pk" PRIMARY KEY("org_id","default_key")
);
--> statement-breakpoint
CREATE TABLE "deliveries" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"event_id" text NOT NULL,
	"type" text NOT NULL,
	"app_id" text,
	"subscription_id" text,
	"integration_id" text,
	"user_id" text,
	"channel" text,
	"message_id" text,
	"state" text NOT NULL,
	"reason" text,
	"replay_of" text,
	"created_at" timestamp with time zone NOT NULL,
	"settled_at" timestamp with time zone,
	CONSTRAINT "deliveries_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "email_suppressions" (
	"email_digest" text PRIMARY KEY NOT NULL,
	"reason" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "events" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"source" text NOT NULL,
	"dedup_key" text NOT NULL,
	"type" text NOT NULL,
	"subject" text NOT NULL,
	"actor_id" text,
	"concerns_id" text,
	"app_id" text,
	"data" jsonb NOT NULL,
	"occurred_at" timestamp with time zone NOT NULL,
	"seq" bigint NOT NULL,
	"recorded_at" timestamp with time zone NOT NULL,
	"fanned_out_at" timestamp with time zone,
	"fan_out_again_at" timestamp with time zone,
	CONSTRAINT "events_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "follows" (
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	"app_id" text NOT NULL,
	"categories" text[] NOT NULL,
	"frequency" text NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "follows_org_id_user_id_app_id_pk" PRIMARY KEY("org_id","user_id","app_id")
);
--> statement-breakpoint
CREATE TABLE "integrations" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"state" text NOT NULL,
	"config" jsonb NOT NULL,
	"sealed" text NOT NULL,
	"digest" text NOT NULL,
	"team_id" text,
	"verified_at" timestamp with time zone,
	"verification_hash" text,
	"verification_expires_at" timestamp with time zone,
	"failing_since" timestamp with time zone,
	"last_success_at" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL,
	"created_by" text,
	CONSTRAINT "integrations_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "message_targets" (
	"org_id" text NOT NULL,
	"target" text NOT NULL,
	"next_allowed_at" timestamp with time zone NOT NULL,
	"in_flight" integer DEFAULT 0 NOT NULL,
	"unanswered" integer DEFAULT 0 NOT NULL,
	"probe_at" timestamp with time zone,
	"held_until" timestamp with time zone,
	"keeps_sockets" boolean DEFAULT true NOT NULL,
	CONSTRAINT "message_targets_org_id_target_pk" PRIMARY KEY("org_id","target")
);
--> statement-breakpoint
CREATE TABLE "messages" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"channel" text NOT NULL,
	"subscription_id" text,
	"integration_id" text,
	"user_id" text,
	"target" text NOT NULL,
	"ordering_key" text,
	"seq" bigint DEFAULT 0 NOT NULL,
	"digest_key" text,
	"window_end" timestamp with time zone,
	"state" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"goes_alone" boolean DEFAULT false NOT NULL,
	"next_at" timestamp with time zone NOT NULL,
	"slot_at" timestamp with time zone,
	"lease_until" timestamp with time zone,
	"worker" text,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "messages_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "notifications" (
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	"id" text NOT NULL,
	"event_id" text NOT NULL,
	"type" text NOT NULL,
	"subject" text NOT NULL,
	"summary" text NOT NULL,
	"url" text,
	"at" timestamp with time zone NOT NULL,
	"read_at" timestamp with time zone,
	CONSTRAINT "notifications_org_id_user_id_id_pk" PRIMARY KEY("org_id","user_id","id")
);
--> statement-breakpoint
CREATE TABLE "outbox" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"source" text NOT NULL,
	"dedup_key" text NOT NULL,
	"type" text NOT NULL,
	"subject" text NOT NULL,
	"actor_id" text,
	"concerns_id" text,
	"app_id" text,
	"data" jsonb NOT NULL,
	"occurred_at" timestamp with time zone NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "outbox_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	CONSTRAINT "outbox_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "recoveries" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"integration_id" text NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"includes_unconfirmed" boolean NOT NULL,
	"state" text NOT NULL,
	"cursor" text NOT NULL,
	"queued" integer DEFAULT 0 NOT NULL,
	"next_at" timestamp with time zone NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"created_by" text,
	"ended_at" timestamp with time zone,
	CONSTRAINT "recoveries_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "removed_integrations" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"name" text NOT NULL,
	"removed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "removed_integrations_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "subscriptions" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"user_id" text,
	"integration_id" text,
	"pattern" text NOT NULL,
	"timing" text NOT NULL,
	"own_only" boolean DEFAULT false NOT NULL,
	"enabled" boolean NOT NULL,
	"disabled_reason" text,
	"default_key" text,
	"created_at" timestamp with time zone NOT NULL,
	"created_by" text,
	CONSTRAINT "subscriptions_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "audit_log" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"action" text NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" text,
	"actor_name" text NOT NULL,
	"subject" text,
	"request_id" text,
	"support_session_id" text,
	CONSTRAINT "audit_log_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"owner" text NOT NULL,
	"key" text NOT NULL,
	"request_hash" text NOT NULL,
	"status" integer NOT NULL,
	"answer" jsonb NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_owner_key_pk" PRIMARY KEY("owner","key")
);
--> statement-breakpoint
CREATE TABLE "installation_facts" (
	"name" text PRIMARY KEY NOT NULL,
	"value" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "jobs" (
	"name" text PRIMARY KEY NOT NULL,
	"next_run_at" timestamp with time zone NOT NULL,
	"lease_token" text,
	"lease_until" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "former_members" (
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	"emails" text[] DEFAULT '{}'::text[] NOT NULL,
	"since" timestamp with time zone NOT NULL,
	CONSTRAINT "former_members_org_id_user_id_pk" PRIMARY KEY("org_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "invitations" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"email" text NOT NULL,
	"role" text NOT NULL,
	"secret_hash" text NOT NULL,
	"invited_by" text,
	"made_with_token_id" text,
	"waiting_user_id" text,
	"sent_by_mail" boolean NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"accepted_at" timestamp with time zone,
	"accepted_by" text,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "invitations_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "memberships" (
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	"id" text DEFAULT 'mem_' || replace(gen_random_uuid()::text, '-', '') NOT NULL,
	"role" text NOT NULL,
	"joined_by" text NOT NULL,
	"joined_at" timestamp with time zone NOT NULL,
	CONSTRAINT "memberships_org_id_user_id_pk" PRIMARY KEY("org_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "organization_domains" (
	"domain" text PRIMARY KEY NOT NULL,
	"org_id" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "organizations" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"agents_enabled" boolean DEFAULT true NOT NULL,
	"registered_clients" text DEFAULT 'allowed' NOT NULL,
	"admins_may_invite" boolean DEFAULT false NOT NULL,
	"timezone" text DEFAULT 'UTC' NOT NULL,
	"support_access_enabled" boolean DEFAULT true NOT NULL,
	"founded_by" text,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "organizations_slug_unique" UNIQUE("slug")
);
--> statement-breakpoint
CREATE TABLE "validated_members" (
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	"membership_id" text NOT NULL,
	"role" text NOT NULL,
	"name" text NOT NULL,
	"email" text,
	"org_name" text NOT NULL,
	"timezone" text NOT NULL,
	"validated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "validated_members_org_id_user_id_pk" PRIMARY KEY("org_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "pipeline_runs" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"app_id" text NOT NULL,
	"pipeline_id" text NOT NULL,
	"state" text NOT NULL,
	"code" text,
	"due_at" timestamp with time zone NOT NULL,
	"is_scheduled" boolean NOT NULL,
	"claimable_until" timestamp with time zone,
	"started_at" timestamp with time zone,
	"times_out_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"worker" text,
	"fence" integer,
	"claim_id" text,
	"lease_until" timestamp with time zone,
	"message" text,
	CONSTRAINT "pipeline_runs_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "pipeline_workers" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"name" text NOT NULL,
	"pipelines" jsonb NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	CONSTRAINT "pipeline_workers_org_id_app_id_name_pk" PRIMARY KEY("org_id","app_id","name")
);
--> statement-breakpoint
CREATE TABLE "pipelines" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"app_id" text NOT NULL,
	"name" text NOT NULL,
	"cron" text,
	"timezone" text NOT NULL,
	"grace_minutes" integer NOT NULL,
	"timeout_minutes" integer NOT NULL,
	"concurrency" text NOT NULL,
	"enabled" boolean NOT NULL,
	"next_due_at" timestamp with time zone,
	"trouble" text,
	"told" jsonb NOT NULL,
	"event_seq" integer DEFAULT 0 NOT NULL,
	"fence" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "pipelines_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "app_blobs" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"sha256" text NOT NULL,
	"bytes" integer NOT NULL,
	"unnamed_since" timestamp with time zone,
	CONSTRAINT "app_blobs_org_id_app_id_sha256_pk" PRIMARY KEY("org_id","app_id","sha256")
);
--> statement-breakpoint
CREATE TABLE "app_heads" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"revision_id" text NOT NULL,
	"set_at" timestamp with time zone NOT NULL,
	CONSTRAINT "app_heads_org_id_app_id_pk" PRIMARY KEY("org_id","app_id")
);
--> statement-breakpoint
CREATE TABLE "revisions" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"app_id" text NOT NULL,
	"tree_sha256" text NOT NULL,
	"manifest" jsonb NOT NULL,
	"files" integer NOT NULL,
	"bytes" bigint NOT NULL,
	"manifest_bytes" integer NOT NULL,
	"pushed_by_id" text,
	"pushed_by_name" text NOT NULL,
	"pushed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "revisions_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "source_blobs" (
	"org_id" text NOT NULL,
	"sha256" text NOT NULL,
	"content" "bytea" NOT NULL,
	CONSTRAINT "source_blobs_org_id_sha256_pk" PRIMARY KEY("org_id","sha256"),
	CONSTRAINT "source_blobs_by_content" CHECK ("source_blobs"."sha256" = encode(sha256("source_blobs"."content"), 'hex'))
);
--> statement-breakpoint
CREATE TABLE "source_storage" (
	"org_id" text NOT NULL,
	"bytes" bigint NOT NULL,
	CONSTRAINT "source_storage_org_id_pk" PRIMARY KEY("org_id"),
	CONSTRAINT "source_storage_not_negative" CHECK ("source_storage"."bytes" >= 0)
);
--> statement-breakpoint
CREATE TABLE "mailed_links" (
	"secret_hash" text PRIMARY KEY NOT NULL,
	"purpose" text NOT NULL,
	"user_id" text NOT NULL,
	"email" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sign_in_attempts" (
	"state_hash" text PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"browser_hash" text NOT NULL,
	"nonce" text NOT NULL,
	"code_verifier" text NOT NULL,
	"return_to" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sign_in_codes" (
	"code_hash" text PRIMARY KEY NOT NULL,
	"session_id" text NOT NULL,
	"code_challenge" text,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "throttles" (
	"key" text PRIMARY KEY NOT NULL,
	"full_until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "token_pools" (
	"org_id" text NOT NULL,
	"day" date NOT NULL,
	"allowance" bigint NOT NULL,
	"reserved" bigint DEFAULT 0 NOT NULL,
	"spent" bigint DEFAULT 0 NOT NULL,
	"overage" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "token_pools_org_id_day_pk" PRIMARY KEY("org_id","day"),
	CONSTRAINT "token_pools_within_allowance" CHECK ("token_pools"."spent" + "token_pools"."reserved" <= "token_pools"."allowance"),
	CONSTRAINT "token_pools_not_negative" CHECK ("token_pools"."spent" >= 0 and "token_pools"."reserved" >= 0 and "token_pools"."overage" >= 0)
);
--> statement-breakpoint
CREATE TABLE "token_reservations" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"day" date NOT NULL,
	"purpose" text NOT NULL,
	"amount" bigint NOT NULL,
	"state" text NOT NULL,
	"actual" bigint,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "token_reservations_org_id_id_pk" PRIMARY KEY("org_id","id"),
	CONSTRAINT "token_reservations_positive" CHECK ("token_reservations"."amount" > 0)
);
--> statement-breakpoint
ALTER TABLE "organization_client_blocks" ADD CONSTRAINT "organization_client_blocks_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD CONSTRAINT "platform_access_grants_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD CONSTRAINT "platform_access_grants_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "data_source_health" ADD CONSTRAINT "data_source_health_org_id_source_id_data_sources_org_id_id_fk" FOREIGN KEY ("org_id","source_id") REFERENCES "public"."data_sources"("org_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_tokens" ADD CONSTRAINT "api_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "identities" ADD CONSTRAINT "identities_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "passwords" ADD CONSTRAINT "passwords_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "former_members" ADD CONSTRAINT "former_members_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "former_members" ADD CONSTRAINT "former_members_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_invited_by_users_id_fk" FOREIGN KEY ("invited_by") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_waiting_user_id_users_id_fk" FOREIGN KEY ("waiting_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_accepted_by_users_id_fk" FOREIGN KEY ("accepted_by") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_domains" ADD CONSTRAINT "organization_domains_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organizations" ADD CONSTRAINT "organizations_founded_by_users_id_fk" FOREIGN KEY ("founded_by") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mailed_links" ADD CONSTRAINT "mailed_links_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sign_in_codes" ADD CONSTRAINT "sign_in_codes_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "app_members_by_user" ON "app_members" USING btree ("org_id","user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "app_tokens_by_secret" ON "app_tokens" USING btree ("org_id","secret_hash");--> statement-breakpoint
CREATE INDEX "app_tokens_by_app" ON "app_tokens" USING btree ("org_id","app_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "apps_by_alias" ON "apps" USING btree ("org_id","alias");--> statement-breakpoint
CREATE INDEX "support_sessions_by_staff" ON "support_sessions" USING btree ("staff_id","expires_at");--> statement-breakpoint
CREATE INDEX "tickets_by_app" ON "tickets" USING btree ("org_id","app_id","id");--> statement-breakpoint
CREATE INDEX "tickets_by_reporter" ON "tickets" USING btree ("org_id","reporter_id","id");--> statement-breakpoint
CREATE INDEX "check_runs_in_order" ON "check_runs" USING btree ("org_id","check_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "checks_by_name" ON "checks" USING btree ("org_id","app_id","name");--> statement-breakpoint
CREATE INDEX "checks_due" ON "checks" USING btree ((definition ->> 'kind'),"next_run_at") WHERE "checks"."claim" is null and "checks"."next_run_at" is not null;--> statement-breakpoint
CREATE INDEX "checks_due_by_organization" ON "checks" USING btree ((definition ->> 'kind'),"org_id","next_run_at") WHERE "checks"."claim" is null and "checks"."next_run_at" is not null;--> statement-breakpoint
CREATE INDEX "checks_claimed" ON "checks" USING btree ("lease_until") WHERE "checks"."claim" is not null;--> statement-breakpoint
CREATE INDEX "oauth_artifacts_by_grant" ON "oauth_artifacts" USING btree ("grant_id");--> statement-breakpoint
CREATE INDEX "oauth_artifacts_by_uid" ON "oauth_artifacts" USING btree ("uid");--> statement-breakpoint
CREATE INDEX "oauth_artifacts_by_expiry" ON "oauth_artifacts" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "platform_access_grants_by_org" ON "platform_access_grants" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "platform_access_grants_by_user" ON "platform_access_grants" USING btree ("user_id","client_id");--> statement-breakpoint
CREATE INDEX "platform_access_grants_by_client" ON "platform_access_grants" USING btree ("client_id");--> statement-breakpoint
CREATE INDEX "platform_oauth_clients_dynamic" ON "platform_oauth_clients" USING btree ("kind","is_active","expires_at");--> statement-breakpoint
CREATE INDEX "platform_oauth_clients_by_registration" ON "platform_oauth_clients" USING btree ("registration_hash");--> statement-breakpoint
CREATE INDEX "activity_by_type" ON "activity" USING btree ("org_id","type","id");--> statement-breakpoint
CREATE INDEX "activity_by_user" ON "activity" USING btree ("org_id","user_id","id");--> statement-breakpoint
CREATE INDEX "activity_by_name" ON "activity" USING btree ("org_id","name","id");--> statement-breakpoint
CREATE UNIQUE INDEX "data_sources_by_name" ON "data_sources" USING btree ("org_id","name");--> statement-breakpoint
CREATE UNIQUE INDEX "data_sources_by_physical_name" ON "data_sources" USING btree ("physical_name");--> statement-breakpoint
CREATE INDEX "deployment_output_by_time" ON "deployment_output" USING btree ("at");--> statement-breakpoint
CREATE UNIQUE INDEX "deployments_by_fence" ON "deployments" USING btree ("org_id","app_id","fence");--> statement-breakpoint
CREATE UNIQUE INDEX "deployments_one_at_a_time" ON "deployments" USING btree ("org_id","app_id") WHERE started_at is not null and released_at is null;--> statement-breakpoint
CREATE INDEX "deployments_running" ON "deployments" USING btree ("lease_until") WHERE state = 'running';--> statement-breakpoint
CREATE INDEX "deployments_queued" ON "deployments" USING btree ("requested_at") WHERE state = 'queued';--> statement-breakpoint
CREATE INDEX "deployments_by_revision" ON "deployments" USING btree ("org_id","app_id","revision_id");--> statement-breakpoint
CREATE UNIQUE INDEX "api_tokens_by_secret" ON "api_tokens" USING btree ("secret_hash");--> statement-breakpoint
CREATE INDEX "api_tokens_by_user" ON "api_tokens" USING btree ("org_id","user_id");--> statement-breakpoint
CREATE INDEX "api_tokens_by_parent" ON "api_tokens" USING btree ("org_id","parent_id");--> statement-breakpoint
CREATE INDEX "identities_by_user" ON "identities" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_by_user" ON "sessions" USING btree ("user_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "sessions_by_browser" ON "sessions" USING btree ("browser_secret_hash");--> statement-breakpoint
CREATE INDEX "sessions_by_expiry" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "users_by_email" ON "users" USING btree ("email");--> statement-breakpoint
CREATE INDEX "log_groups_by_last_day" ON "log_groups" USING btree ("last_day");--> statement-breakpoint
CREATE INDEX "log_lines_by_time" ON "log_lines" USING btree ("org_id","app_id","at","number");--> statement-breakpoint
CREATE INDEX "log_volumes_by_time" ON "log_volumes" USING btree ("at");--> statement-breakpoint
CREATE INDEX "chat_authorizations_by_expiry" ON "chat_authorizations" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "deliveries_once_per_subscription" ON "deliveries" USING btree ("org_id","event_id","subscription_id") WHERE "deliveries"."replay_of" is null and "deliveries"."subscription_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "deliveries_once_per_follower" ON "deliveries" USING btree ("org_id","event_id","user_id") WHERE "deliveries"."replay_of" is null and "deliveries"."subscription_id" is null and "deliveries"."user_id" is not null;--> statement-breakpoint
CREATE INDEX "deliveries_by_message" ON "deliveries" USING btree ("org_id","message_id");--> statement-breakpoint
CREATE INDEX "deliveries_by_user" ON "deliveries" USING btree ("org_id","user_id","id");--> statement-breakpoint
CREATE INDEX "deliveries_by_subscription" ON "deliveries" USING btree ("org_id","subscription_id","id");--> statement-breakpoint
CREATE INDEX "deliveries_by_replay" ON "deliveries" USING btree ("org_id","replay_of") WHERE "deliveries"."replay_of" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "events_once" ON "events" USING btree ("org_id","source","dedup_key");--> statement-breakpoint
CREATE INDEX "events_to_fan_out" ON "events" USING btree ("org_id","seq") WHERE "events"."fanned_out_at" is null;--> statement-breakpoint
CREATE INDEX "events_that_failed_to_fan_out" ON "events" USING btree ("org_id","subject","seq") WHERE "events"."fanned_out_at" is null and "events"."fan_out_again_at" is not null;--> statement-breakpoint
CREATE INDEX "events_by_type" ON "events" USING btree ("org_id","type","occurred_at");--> statement-breakpoint
CREATE INDEX "follows_by_app" ON "follows" USING btree ("org_id","app_id");--> statement-breakpoint
CREATE INDEX "integrations_by_digest" ON "integrations" USING btree ("org_id","kind","digest");--> statement-breakpoint
CREATE UNIQUE INDEX "messages_one_digest_per_window" ON "messages" USING btree ("org_id","digest_key","window_end") WHERE "messages"."digest_key" is not null;--> statement-breakpoint
CREATE INDEX "messages_due" ON "messages" USING btree ("next_at") WHERE "messages"."state" in ('open', 'pending');--> statement-breakpoint
CREATE INDEX "messages_due_by_organization" ON "messages" USING btree ("org_id","channel","next_at") WHERE "messages"."state" in ('open', 'pending');--> statement-breakpoint
CREATE INDEX "messages_leased" ON "messages" USING btree ("lease_until") WHERE "messages"."state" in ('claimed', 'sending');--> statement-breakpoint
CREATE INDEX "messages_in_order" ON "messages" USING btree ("org_id","target","ordering_key","seq") WHERE "messages"."state" in ('pending', 'claimed', 'sending');--> statement-breakpoint
CREATE UNIQUE INDEX "notifications_by_event" ON "notifications" USING btree ("org_id","user_id","event_id");--> statement-breakpoint
CREATE INDEX "notifications_unread" ON "notifications" USING btree ("org_id","user_id","read_at");--> statement-breakpoint
CREATE INDEX "outbox_in_order" ON "outbox" USING btree ("org_id","seq");--> statement-breakpoint
CREATE UNIQUE INDEX "recoveries_one_at_a_time" ON "recoveries" USING btree ("org_id","integration_id") WHERE "recoveries"."state" = 'running';--> statement-breakpoint
CREATE INDEX "recoveries_due" ON "recoveries" USING btree ("next_at") WHERE "recoveries"."state" = 'running';--> statement-breakpoint
CREATE INDEX "subscriptions_by_pattern" ON "subscriptions" USING btree ("org_id","pattern") WHERE "subscriptions"."enabled";--> statement-breakpoint
CREATE INDEX "subscriptions_by_user" ON "subscriptions" USING btree ("org_id","user_id");--> statement-breakpoint
CREATE INDEX "subscriptions_by_integration" ON "subscriptions" USING btree ("org_id","integration_id");--> statement-breakpoint
CREATE INDEX "audit_log_by_actor" ON "audit_log" USING btree ("org_id","actor_id","id");--> statement-breakpoint
CREATE INDEX "audit_log_by_action" ON "audit_log" USING btree ("org_id","action","id");--> statement-breakpoint
CREATE INDEX "idempotency_keys_by_expiry" ON "idempotency_keys" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "invitations_by_secret" ON "invitations" USING btree ("secret_hash");--> statement-breakpoint
CREATE INDEX "invitations_by_email" ON "invitations" USING btree ("org_id","email");--> statement-breakpoint
CREATE INDEX "invitations_by_token" ON "invitations" USING btree ("org_id","made_with_token_id");--> statement-breakpoint
CREATE INDEX "memberships_by_user" ON "memberships" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "organization_domains_by_org" ON "organization_domains" USING btree ("org_id");--> statement-breakpoint
CREATE INDEX "organizations_by_founder" ON "organizations" USING btree ("founded_by");--> statement-breakpoint
CREATE INDEX "validated_members_by_time" ON "validated_members" USING btree ("org_id","validated_at");--> statement-breakpoint
CREATE UNIQUE INDEX "pipeline_runs_by_slot" ON "pipeline_runs" USING btree ("org_id","pipeline_id","due_at") WHERE is_scheduled;--> statement-breakpoint
CREATE INDEX "pipeline_runs_by_pipeline" ON "pipeline_runs" USING btree ("org_id","pipeline_id","id");--> statement-breakpoint
CREATE INDEX "pipeline_runs_claimable" ON "pipeline_runs" USING btree ("org_id","app_id") WHERE claimable_until is not null;--> statement-breakpoint
CREATE INDEX "pipeline_runs_unclaimed" ON "pipeline_runs" USING btree ("claimable_until") WHERE claimable_until is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "pipeline_runs_by_claim" ON "pipeline_runs" USING btree ("org_id","app_id","claim_id") WHERE state = 'running' and claim_id is not null;--> statement-breakpoint
CREATE INDEX "pipeline_runs_running" ON "pipeline_runs" USING btree ("org_id","pipeline_id") WHERE state = 'running';--> statement-breakpoint
CREATE UNIQUE INDEX "pipelines_by_name" ON "pipelines" USING btree ("org_id","app_id","name");--> statement-breakpoint
CREATE INDEX "pipelines_due" ON "pipelines" USING btree ("next_due_at") WHERE next_due_at is not null;--> statement-breakpoint
CREATE INDEX "app_blobs_by_content" ON "app_blobs" USING btree ("org_id","sha256");--> statement-breakpoint
CREATE INDEX "app_blobs_unnamed" ON "app_blobs" USING btree ("unnamed_since") WHERE unnamed_since is not null;--> statement-breakpoint
CREATE INDEX "revisions_by_app" ON "revisions" USING btree ("org_id","app_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "revisions_by_tree" ON "revisions" USING btree ("org_id","app_id","tree_sha256");--> statement-breakpoint
CREATE INDEX "mailed_links_by_expiry" ON "mailed_links" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "sign_in_attempts_by_expiry" ON "sign_in_attempts" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "sign_in_codes_by_expiry" ON "sign_in_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "throttles_by_end" ON "throttles" USING btree ("full_until");--> statement-breakpoint
CREATE INDEX "token_reservations_open" ON "token_reservations" USING btree ("expires_at") WHERE state in ('held', 'sent');--> statement-breakpoint
CREATE INDEX "token_reservations_by_purpose" ON "token_reservations" USING btree ("org_id","purpose");