CREATE TABLE "app_members" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"user_id" text NOT NULL,
	"role" text NOT NULL,
	"added_at" timestamp with time zone NOT NULL,
	CONSTRAINT "app_members_org_id_app_id_user_id_pk" PRIMARY KEY("org_id","app_id","user_id")
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
	"send_id" text NOT NULL,
	"number" integer NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	"outcome" text,
	"reason" text,
	"http_status" integer,
	"duration_ms" integer,
	CONSTRAINT "attempts_org_id_send_id_number_pk" PRIMARY KEY("org_id","send_id","number")
);
--> statement-breakpoint
CREATE TABLE "chat_accounts" (
	"team_id" text NOT NULL,
	"chat_user_id" text NOT NULL,
	"user_id" text NOT NULL,
	CONSTRAINT "chat_accounts_team_id_chat_user_id_pk" PRIMARY KEY("team_id","chat_user_id")
);
--> statement-breakpoint
CREATE TABLE "chat_attempts" (
	"state_hash" text PRIMARY KEY NOT NULL,
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	"purpose" text NOT NULL,
	"nonce" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
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
CREATE TABLE "default_seeds" (
	"org_id" text NOT NULL,
	"seed_key" text NOT NULL,
	"subscription_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "default_seeds_org_id_seed_key_pk" PRIMARY KEY("org_id","seed_key")
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
	"send_id" text,
	"state" text NOT NULL,
	"reason" text,
	"replay_of" text,
	"created_at" timestamp with time zone NOT NULL,
	"settled_at" timestamp with time zone,
	CONSTRAINT "deliveries_org_id_id_pk" PRIMARY KEY("org_id","id")
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
	CONSTRAINT "events_org_id_id_pk" PRIMARY KEY("org_id","id")
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
	"failing_since" timestamp with time zone,
	"last_success_at" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL,
	"created_by" text,
	CONSTRAINT "integrations_org_id_id_pk" PRIMARY KEY("org_id","id")
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
CREATE TABLE "personal_follows" (
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	"app_id" text NOT NULL,
	"categories" text[] NOT NULL,
	"frequency" text NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "personal_follows_org_id_user_id_app_id_pk" PRIMARY KEY("org_id","user_id","app_id")
);
--> statement-breakpoint
CREATE TABLE "send_targets" (
	"org_id" text NOT NULL,
	"target" text NOT NULL,
	"next_allowed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "send_targets_org_id_target_pk" PRIMARY KEY("org_id","target")
);
--> statement-breakpoint
CREATE TABLE "sends" (
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
	"next_at" timestamp with time zone NOT NULL,
	"slot_at" timestamp with time zone,
	"lease_until" timestamp with time zone,
	"worker" text,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "sends_org_id_id_pk" PRIMARY KEY("org_id","id")
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
	"seed_key" text,
	"created_at" timestamp with time zone NOT NULL,
	"created_by" text,
	CONSTRAINT "subscriptions_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "suppressions" (
	"email_digest" text PRIMARY KEY NOT NULL,
	"reason" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "audit_log" ADD COLUMN "support_session_id" text;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "timezone" text DEFAULT 'UTC' NOT NULL;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "support_access_enabled" boolean DEFAULT true NOT NULL;--> statement-breakpoint
CREATE INDEX "app_members_by_user" ON "app_members" USING btree ("org_id","user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "apps_by_alias" ON "apps" USING btree ("org_id","alias");--> statement-breakpoint
CREATE INDEX "support_sessions_by_staff" ON "support_sessions" USING btree ("staff_id","expires_at");--> statement-breakpoint
CREATE INDEX "tickets_by_app" ON "tickets" USING btree ("org_id","app_id","id");--> statement-breakpoint
CREATE INDEX "tickets_by_reporter" ON "tickets" USING btree ("org_id","reporter_id","id");--> statement-breakpoint
CREATE INDEX "chat_attempts_by_expiry" ON "chat_attempts" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "deliveries_once_per_subscription" ON "deliveries" USING btree ("org_id","event_id","subscription_id") WHERE "deliveries"."replay_of" is null and "deliveries"."subscription_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "deliveries_once_per_follower" ON "deliveries" USING btree ("org_id","event_id","user_id") WHERE "deliveries"."replay_of" is null and "deliveries"."subscription_id" is null and "deliveries"."user_id" is not null;--> statement-breakpoint
CREATE INDEX "deliveries_by_send" ON "deliveries" USING btree ("org_id","send_id");--> statement-breakpoint
CREATE INDEX "deliveries_by_user" ON "deliveries" USING btree ("org_id","user_id","id");--> statement-breakpoint
CREATE INDEX "deliveries_by_subscription" ON "deliveries" USING btree ("org_id","subscription_id","id");--> statement-breakpoint
CREATE INDEX "deliveries_by_replay" ON "deliveries" USING btree ("org_id","replay_of") WHERE "deliveries"."replay_of" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "events_once" ON "events" USING btree ("org_id","source","dedup_key");--> statement-breakpoint
CREATE INDEX "events_to_fan_out" ON "events" USING btree ("seq") WHERE "events"."fanned_out_at" is null;--> statement-breakpoint
CREATE INDEX "events_of_subject_to_fan_out" ON "events" USING btree ("org_id","subject","seq") WHERE "events"."fanned_out_at" is null;--> statement-breakpoint
CREATE INDEX "events_by_type" ON "events" USING btree ("org_id","type","occurred_at");--> statement-breakpoint
CREATE INDEX "integrations_by_digest" ON "integrations" USING btree ("org_id","kind","digest");--> statement-breakpoint
CREATE INDEX "outbox_in_order" ON "outbox" USING btree ("seq");--> statement-breakpoint
CREATE INDEX "personal_follows_by_app" ON "personal_follows" USING btree ("org_id","app_id");--> statement-breakpoint
CREATE UNIQUE INDEX "sends_one_digest_per_window" ON "sends" USING btree ("org_id","digest_key","window_end") WHERE "sends"."digest_key" is not null;--> statement-breakpoint
CREATE INDEX "sends_due" ON "sends" USING btree ("next_at") WHERE "sends"."state" in ('open', 'pending');--> statement-breakpoint
CREATE INDEX "sends_due_by_organization" ON "sends" USING btree ("org_id","next_at") WHERE "sends"."state" in ('open', 'pending');--> statement-breakpoint
CREATE INDEX "sends_leased" ON "sends" USING btree ("lease_until") WHERE "sends"."state" in ('claimed', 'sending');--> statement-breakpoint
CREATE INDEX "sends_in_order" ON "sends" USING btree ("org_id","target","ordering_key","seq") WHERE "sends"."state" in ('pending', 'claimed', 'sending');--> statement-breakpoint
CREATE INDEX "subscriptions_by_pattern" ON "subscriptions" USING btree ("org_id","pattern") WHERE "subscriptions"."enabled";--> statement-breakpoint
CREATE INDEX "subscriptions_by_user" ON "subscriptions" USING btree ("org_id","user_id");--> statement-breakpoint
CREATE INDEX "subscriptions_by_integration" ON "subscriptions" USING btree ("org_id","integration_id");