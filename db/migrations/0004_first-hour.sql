CREATE TABLE "embedding_counts" (
	"org_id" text PRIMARY KEY NOT NULL,
	"day" timestamp with time zone NOT NULL,
	"tokens" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "loads" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"source_id" text NOT NULL,
	"filename" text NOT NULL,
	"format" text NOT NULL,
	"bytes" bigint NOT NULL,
	"sha256" text NOT NULL,
	"received" bigint DEFAULT 0 NOT NULL,
	"state" text NOT NULL,
	"phase" text,
	"plan" jsonb,
	"read_bytes" bigint DEFAULT 0 NOT NULL,
	"read_lines" bigint DEFAULT 0 NOT NULL,
	"rows" bigint DEFAULT 0 NOT NULL,
	"embedded" bigint DEFAULT 0 NOT NULL,
	"problems" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"problem_count" integer DEFAULT 0 NOT NULL,
	"failure" text,
	"configuration_saved" boolean DEFAULT false NOT NULL,
	"waits_for" text,
	"waits_until" timestamp with time zone,
	"failing_since" timestamp with time zone,
	"is_staged" boolean DEFAULT false NOT NULL,
	"lease_token" text,
	"lease_until" timestamp with time zone,
	"worked_at" timestamp with time zone,
	"created_by" text NOT NULL,
	"created_by_name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone,
	CONSTRAINT "loads_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
ALTER TABLE "activity" ADD COLUMN "client_name" text;--> statement-breakpoint
ALTER TABLE "activity" ADD COLUMN "grant_id" text;--> statement-breakpoint
ALTER TABLE "attempts" ADD COLUMN "request_headers" jsonb;--> statement-breakpoint
ALTER TABLE "loads" ADD CONSTRAINT "loads_org_id_source_id_data_sources_org_id_id_fk" FOREIGN KEY ("org_id","source_id") REFERENCES "public"."data_sources"("org_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "loads_by_source" ON "loads" USING btree ("org_id","source_id","id");--> statement-breakpoint
CREATE INDEX "loads_unfinished" ON "loads" USING btree ("state","worked_at") WHERE state in ('uploading', 'running') or is_staged;--> statement-breakpoint
CREATE INDEX "activity_by_grant" ON "activity" USING btree ("org_id","grant_id","id") WHERE "activity"."grant_id" is not null;