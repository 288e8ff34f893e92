CREATE TABLE "app_leases" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"fence" bigint DEFAULT 0 NOT NULL,
	"execution_id" text,
	"expires_at" timestamp with time zone,
	CONSTRAINT "app_leases_org_id_app_id_pk" PRIMARY KEY("org_id","app_id"),
	CONSTRAINT "app_leases_expire" CHECK (("app_leases"."execution_id" is null) = ("app_leases"."expires_at" is null))
);
--> statement-breakpoint
CREATE TABLE "app_maintenance" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"enabled" boolean NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "app_maintenance_org_id_app_id_pk" PRIMARY KEY("org_id","app_id")
);
--> statement-breakpoint
CREATE TABLE "findings" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"app_id" text NOT NULL,
	"fingerprint" text NOT NULL,
	"matter" jsonb NOT NULL,
	"kind" text NOT NULL,
	"summary" text NOT NULL,
	"location" text,
	"state" text NOT NULL,
	"execution_id" text NOT NULL,
	"evidence" jsonb NOT NULL,
	"times_found" integer DEFAULT 1 NOT NULL,
	"first_found_at" timestamp with time zone NOT NULL,
	"last_found_at" timestamp with time zone NOT NULL,
	"reported_at" timestamp with time zone,
	"reported_in" text,
	CONSTRAINT "findings_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "maintenance_runs" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"app_id" text NOT NULL,
	"status" text NOT NULL,
	"terminal_code" text,
	"reason" text,
	"mode" text NOT NULL,
	"slot_at" timestamp with time zone,
	"requested_by_id" text,
	"requested_by" text,
	"via" text,
	"idempotency_key" text,
	"model" text NOT NULL,
	"fence" bigint,
	"claim_id" text,
	"base_revision_id" text,
	"tokens" bigint DEFAULT 0 NOT NULL,
	"evidence_read" integer DEFAULT 0 NOT NULL,
	"summary" text,
	"fingerprint" text,
	"proposal_id" text,
	"created_at" timestamp with time zone NOT NULL,
	"started_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	CONSTRAINT "maintenance_runs_org_id_id_pk" PRIMARY KEY("org_id","id"),
	CONSTRAINT "maintenance_runs_status" CHECK ("maintenance_runs"."status" in ('queued', 'running', 'ended')),
	CONSTRAINT "maintenance_runs_terminal_code" CHECK ("maintenance_runs"."terminal_code" in ('found_nothing', 'finding_recorded', 'proposed', 'budget_exhausted', 'skipped',
        'agent_error', 'lease_lost', 'fenced_disabled')),
	CONSTRAINT "maintenance_runs_ended" CHECK (("maintenance_runs"."status" = 'ended') = ("maintenance_runs"."terminal_code" is not null)
        and ("maintenance_runs"."status" = 'ended') = ("maintenance_runs"."ended_at" is not null))
);
--> statement-breakpoint
CREATE TABLE "maintenance_settings" (
	"org_id" text NOT NULL,
	"enabled" boolean NOT NULL,
	"model" text,
	"nightly_cron" text NOT NULL,
	"timezone" text NOT NULL,
	"cooldown_hours" integer NOT NULL,
	"token_allowance" bigint NOT NULL,
	"protected_paths" jsonb NOT NULL,
	"mcp_decisions" text NOT NULL,
	"next_slot_at" timestamp with time zone,
	CONSTRAINT "maintenance_settings_org_id_pk" PRIMARY KEY("org_id"),
	CONSTRAINT "maintenance_settings_model" CHECK (not "maintenance_settings"."enabled" or "maintenance_settings"."model" is not null)
);
--> statement-breakpoint
CREATE TABLE "maintenance_slots" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"slot_at" timestamp with time zone NOT NULL,
	"execution_id" text,
	CONSTRAINT "maintenance_slots_org_id_app_id_slot_at_pk" PRIMARY KEY("org_id","app_id","slot_at")
);
--> statement-breakpoint
CREATE TABLE "proposals" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"app_id" text NOT NULL,
	"execution_id" text NOT NULL,
	"day" date NOT NULL,
	"base_revision_id" text NOT NULL,
	"new_revision_id" text NOT NULL,
	"tree_sha256" text NOT NULL,
	"diff" text NOT NULL,
	"diff_sha256" text NOT NULL,
	"files" jsonb NOT NULL,
	"title" text NOT NULL,
	"rationale" text NOT NULL,
	"fingerprint" text NOT NULL,
	"matter" jsonb NOT NULL,
	"evidence" jsonb NOT NULL,
	"edits" jsonb NOT NULL,
	"state" text NOT NULL,
	"requested_by_id" text,
	"requested_by" text,
	"decided_by_id" text,
	"decided_by" text,
	"decided_via" text,
	"decided_token_id" text,
	"decided_token" text,
	"decided_grant_id" text,
	"decided_agent" text,
	"decided_at" timestamp with time zone,
	"deployment_id" text,
	"created_at" timestamp with time zone NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "proposals_org_id_id_pk" PRIMARY KEY("org_id","id"),
	CONSTRAINT "proposals_state" CHECK ("proposals"."state" in ('preparing', 'ready', 'approved', 'deploying', 'deployed', 'failed', 'denied', 'stale'))
);
--> statement-breakpoint
CREATE TABLE "run_evidence" (
	"org_id" text NOT NULL,
	"execution_id" text NOT NULL,
	"ref" text NOT NULL,
	"kind" text NOT NULL,
	"location" text NOT NULL,
	"from_line" integer,
	"to_line" integer,
	"sha256" text NOT NULL,
	"sealed_text" text,
	"pinned" boolean DEFAULT false NOT NULL,
	"read_at" timestamp with time zone NOT NULL,
	CONSTRAINT "run_evidence_org_id_execution_id_ref_pk" PRIMARY KEY("org_id","execution_id","ref")
);
--> statement-breakpoint
CREATE TABLE "run_steps" (
	"org_id" text NOT NULL,
	"execution_id" text NOT NULL,
	"number" integer NOT NULL,
	"tool" text,
	"result" text NOT NULL,
	"request_sha256" text NOT NULL,
	"result_sha256" text NOT NULL,
	"tokens" bigint DEFAULT 0 NOT NULL,
	"ms" integer NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"sealed_transcript" text,
	CONSTRAINT "run_steps_org_id_execution_id_number_pk" PRIMARY KEY("org_id","execution_id","number")
);
--> statement-breakpoint
CREATE TABLE "proposed_revisions" (
	"org_id" text NOT NULL,
	"revision_id" text NOT NULL,
	"app_id" text NOT NULL,
	CONSTRAINT "proposed_revisions_org_id_revision_id_pk" PRIMARY KEY("org_id","revision_id")
);
--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD COLUMN "scope_edition" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "api_tokens" ADD COLUMN "scope_edition" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
CREATE INDEX "app_leases_held" ON "app_leases" USING btree ("expires_at") WHERE execution_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "findings_by_fingerprint" ON "findings" USING btree ("org_id","app_id","fingerprint");--> statement-breakpoint
CREATE INDEX "findings_by_app" ON "findings" USING btree ("org_id","app_id","id");--> statement-breakpoint
CREATE INDEX "findings_by_run" ON "findings" USING btree ("org_id","execution_id");--> statement-breakpoint
CREATE INDEX "maintenance_runs_by_app" ON "maintenance_runs" USING btree ("org_id","app_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "maintenance_runs_by_key" ON "maintenance_runs" USING btree ("org_id","app_id","idempotency_key") WHERE idempotency_key is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "maintenance_runs_one_open" ON "maintenance_runs" USING btree ("org_id","app_id") WHERE status <> 'ended';--> statement-breakpoint
CREATE INDEX "maintenance_runs_queued" ON "maintenance_runs" USING btree ("created_at") WHERE status = 'queued';--> statement-breakpoint
CREATE INDEX "maintenance_runs_by_time" ON "maintenance_runs" USING btree ("org_id","created_at");--> statement-breakpoint
CREATE INDEX "maintenance_runs_by_claim" ON "maintenance_runs" USING btree ("claim_id") WHERE status = 'running';--> statement-breakpoint
CREATE INDEX "maintenance_settings_due" ON "maintenance_settings" USING btree ("next_slot_at") WHERE next_slot_at is not null;--> statement-breakpoint
CREATE INDEX "maintenance_slots_by_time" ON "maintenance_slots" USING btree ("slot_at");--> statement-breakpoint
CREATE UNIQUE INDEX "proposals_one_a_day" ON "proposals" USING btree ("org_id","app_id","day");--> statement-breakpoint
CREATE INDEX "proposals_by_app" ON "proposals" USING btree ("org_id","app_id","id");--> statement-breakpoint
CREATE INDEX "proposals_by_organization" ON "proposals" USING btree ("org_id","state","id");--> statement-breakpoint
CREATE INDEX "proposals_by_deployment" ON "proposals" USING btree ("org_id","deployment_id") WHERE deployment_id is not null;--> statement-breakpoint
CREATE INDEX "run_evidence_unpinned" ON "run_evidence" USING btree ("read_at") WHERE not pinned;--> statement-breakpoint
CREATE INDEX "run_steps_with_transcript" ON "run_steps" USING btree ("at") WHERE sealed_transcript is not null;